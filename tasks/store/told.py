"""In which session which lesson was in which channel, and which of its sources bear witness.

Both are read out of exposures and sources as they stand, so that a rebuild agrees and an exposure
that is folded late still counts. Invariant: a source bears witness of a lesson unless its session
was told that lesson, or one that lives on in it, before the source joined; what a session is told
afterwards changes nothing about what it had said.

SQL alone: `reads` compiles it into statements, whose parameters are the four keys.
"""

from __future__ import annotations

from typing import Final

from tasks.store.schema import KEYS

HOOK: Final = "hook"
PROXY: Final = "proxy"
FILE: Final = "file"
"""The channel of lines rendered into a host's `MEMORY.md`."""
CHANNELS: Final = (HOOK, PROXY, FILE)
SHOWN: Final = "shown"
HELD_OUT: Final = "held_out"
NOTHING: Final = "nothing"
"""The disposition of a render that left no line, whose row names no lesson."""
FILE_READER: Final = "claude_code"
"""The agent into whose folder lines are rendered; no other loads them."""


def _own(alias: str) -> str:
    return " AND ".join(f"{alias}.{key} = ${key}" for key in KEYS)


_KEYS: Final = ", ".join(f"e.{key}" for key in KEYS)

_BEGUN: Final = f"""
begun AS (
  SELECT s.id AS session_id, s.started, r.id AS render
  FROM (FROM sessions s WHERE {_own("s")} AND s.agent = '{FILE_READER}') s
  ASOF JOIN (SELECT max(e.id) AS id, e."at" FROM exposures e
             WHERE {_own("e")} AND e.channel = '{FILE}' GROUP BY e."at") r ON s.started >= r."at"
)"""  # noqa: S608  the schema's names
"""A row for each session that began after some render: the last one before it."""

_FAMILY: Final = f"""
family AS (
  SELECT a.new_id AS lesson_id, a.old_id AS member FROM aliases a WHERE {_own("a")}
  UNION
  SELECT a.new_id, f.member FROM family f JOIN aliases a ON a.old_id = f.lesson_id
  WHERE {_own("a")}
)"""  # noqa: S608
"""A row for each lesson and each that lives on in it."""

TOLD: Final = f"""
(WITH RECURSIVE {_FAMILY}, {_BEGUN}, points AS NOT MATERIALIZED (
  SELECT e.lesson_id, {_KEYS}, e.session_id, e."at" AS since, e.channel, e.disposition
  FROM exposures e WHERE {_own("e")} AND e.session_id <> ''
  UNION ALL
  SELECT e.lesson_id, {_KEYS}, b.session_id, b.started, e.channel, e.disposition
  FROM begun b JOIN exposures e ON e.id = b.render AND e.disposition <> '{NOTHING}'
)
FROM points
UNION ALL
SELECT f.lesson_id, {_KEYS}, e.session_id, e.since, e.channel, e.disposition
FROM points e JOIN family f ON f.member = e.lesson_id)
"""  # noqa: S608
"""A row for each lesson, session, channel and disposition, since when."""

WITNESSES: Final = f"""
(WITH RECURSIVE {_FAMILY}, {_BEGUN}, source AS (
  SELECT x.*, min(x.added_at) OVER (PARTITION BY x.episode_id) AS joined
  FROM lesson_sources x WHERE {_own("x")}
), asked AS (
  SELECT lesson_id, lesson_id AS member, session_id, joined FROM source
  UNION ALL
  SELECT x.lesson_id, f.member, x.session_id, x.joined
  FROM source x JOIN family f ON f.lesson_id = x.lesson_id
), told AS (
  SELECT a.lesson_id, a.session_id, a.joined
  FROM asked a JOIN exposures e ON e.lesson_id = a.member AND e.session_id = a.session_id
  WHERE e.disposition = '{SHOWN}' AND e."at" <= a.joined
  UNION
  SELECT a.lesson_id, a.session_id, a.joined
  FROM asked a JOIN begun b ON b.session_id = a.session_id AND b.started <= a.joined
  JOIN exposures e ON e.id = b.render AND e.lesson_id = a.member
  WHERE e.disposition = '{SHOWN}'
)
SELECT v.lesson_id, v.version, list(x.episode_id) AS sources,
       list_distinct(list(x.session_id) FILTER (t.joined IS NULL)) AS sessions
FROM lesson_versions v
JOIN source x ON x.lesson_id = v.lesson_id AND x.version <= v.version
LEFT JOIN told t
  ON t.lesson_id = x.lesson_id AND t.session_id = x.session_id AND t.joined = x.joined
WHERE {_own("v")}
GROUP BY ALL)
"""  # noqa: S608
"""A row for each version of a lesson: its sources, and the sessions that bear witness of it."""
