"""How many sessions were told each lesson by which channel, held out, or neither: one read a scope.

A session counts for a lesson if it went on when the lesson was known already. Told comes before
held out: what one channel held out and another told was told.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from tasks.domain.scope import Scope
from tasks.domain.units import USABLE, Lifecycle
from tasks.store import reads
from tasks.store.database import Database
from tasks.store.reads import AllVersions, Query, Subject
from tasks.store.told import CHANNELS, SHOWN

COUNTS: Final = ("sessions", *CHANNELS, "told", "held_out")
"""What is counted; the sessions that remain of the first were in no channel, nor held out."""

_BY: Final = ", ".join(
    f"bool_or(disposition = '{SHOWN}' AND channel = '{name}') AS {name}" for name in CHANNELS
)
_SUMS: Final = ", ".join(f"count(*) FILTER ({name}) AS {name}" for name in (*CHANNELS, "told"))


def reaching(database: Database, scope: Scope, since: datetime) -> list[dict[str, Any]]:
    """Return the counts of `COUNTS` by lesson, over the sessions that began from `since` on.

    A row of `lesson_id` "" holds those over all lessons; the others are of lessons in use.
    """
    told, params = reads.compile(Query(Subject.TOLD, scope))
    sessions, _ = reads.compile(Query(Subject.SESSIONS, scope))
    versions, _ = reads.compile(Query(Subject.LESSONS, scope, (AllVersions(),)))
    sql = f"""
WITH one AS MATERIALIZED (
  SELECT DISTINCT id AS session_id, ended FROM ({sessions}) WHERE started >= $since
), known AS MATERIALIZED (
  SELECT lesson_id, arg_max(text, version) AS text, min(recorded_at) AS made FROM ({versions})
  GROUP BY lesson_id HAVING arg_max(lifecycle, version) = '{Lifecycle.LIVE}'
  AND list_contains($trusts, arg_max(trust, version))
), told AS MATERIALIZED (
  FROM (FROM ({told}) WHERE since >= $since) SEMI JOIN one USING (session_id)
), pairs AS (
  SELECT lesson_id, session_id, bool_or(disposition = '{SHOWN}') AS told, {_BY}
  FROM told GROUP BY ALL
), whole AS (
  SELECT session_id, bool_or(disposition = '{SHOWN}') AS told, {_BY} FROM told GROUP BY ALL
)
SELECT '' AS lesson_id, '' AS text, (SELECT count(*) FROM one) AS sessions, {_SUMS},
       count(*) FILTER (NOT told) AS held_out
FROM whole
UNION ALL
SELECT k.lesson_id, k.text, k.sessions, {_SUMS}, count(*) FILTER (NOT p.told) AS held_out
FROM (SELECT k.*, (SELECT count(*) FROM one WHERE one.ended >= k.made) AS sessions
      FROM known k) k
LEFT JOIN (FROM pairs SEMI JOIN one USING (session_id)) p USING (lesson_id)
GROUP BY ALL
ORDER BY lesson_id
"""  # noqa: S608  put together of what `reads` compiled
    trusts = [str(one) for one in USABLE]
    return database.frame(sql, {**params, "since": since, "trusts": trusts}).to_dicts()
