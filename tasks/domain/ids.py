"""Identities of units: SHA-256 over a compact JSON array, so that reading again gives the same id.

64 hex characters are stored, 16 are shown, and any prefix that names one unit is accepted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Final

from tasks.domain.scope import Scope

SHOWN: Final = 16


def digest_of(*parts: object) -> str:
    """Return the SHA-256, in hex, of the compact JSON array of `parts`."""
    return hashlib.sha256(_compact(parts)).hexdigest()


def session_episode_id(agent: str, session_id: str) -> str:
    """Return the id of the one episode that stands for a whole session."""
    return digest_of("episode", agent, session_id, "session")


def episode_id(agent: str, kind: str, anchor: str) -> str:
    """Return the id of an episode anchored at a record's uuid or a `tool_use_id`."""
    return digest_of("episode", agent, kind, anchor)


def note_id(key: bytes, scope: Scope, canon_v1: str) -> str:
    """Return a note's id: HMAC-SHA256 of its scope and the first version of its canonical text."""
    return hmac.new(
        key, _compact(("note", list(scope.keys()), canon_v1)), hashlib.sha256
    ).hexdigest()


def lesson_id(
    scope: Scope, kind: str, earliest_source: str, *, taken: frozenset[str] = frozenset()
) -> str:
    """Return a lesson's id for life; 2, 3, … are appended to the array while the id is taken."""
    parts: list[object] = ["lesson", list(scope.keys()), kind, earliest_source]
    found = digest_of(*parts)
    n = 2
    while found in taken:
        found = digest_of(*parts, n)
        n += 1
    return found


def prediction_id(lesson: str, made: str) -> str:
    """Return the id of the prediction made for a lesson at an instant (ISO 8601)."""
    return digest_of("prediction", lesson, made)


def lesson_vector_id(lesson: str, hashed: str) -> str:
    """Return the name of a lesson's vector: it changes with the text, so no stale one is found."""
    return digest_of("lesson-vector", lesson, hashed)


def lesson_hash(kind: str, canon_text: str) -> str:
    """Return a lesson's public identity between memories: SHA-256 of kind and canonical text."""
    return digest_of(kind, canon_text)


def shown(unit_id: str) -> str:
    """Return the short form of an id that people and agents see."""
    return unit_id[:SHOWN]


def _compact(parts: tuple[object, ...]) -> bytes:
    return json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False).encode()
