"""The rules that errors teach: a template of ours, names from the failed calls in its slots.

Invariant: no word of a failed call's output gets into a rule. A class teaches only from as many
sessions on as its row asks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tasks.cues import table
from tasks.domain.units import Episode
from tasks.domain.ways import replacements, runs

WORKED_INSTEAD: Final = "worked_instead"
_ENOUGH: Final = 2
_NAME: Final = re.compile(r"[\w.+-]{1,40}")
_WAY: Final = re.compile(r"[\w.+:-]{1,40}(?: [\w.+:-]{1,40}){0,2}")
_MOST_NAMES: Final = 3
_MOST_WAYS: Final = 2

_T = TypeVar("_T")


def remedy_of(episodes: Sequence[Episode]) -> tuple[str, str]:
    """Return the rule that errors alike teach and "", or "" and why they teach none."""
    taught = _taught(episodes)
    if not taught:
        return "", "errors of the kind teach no rule by themselves"
    row = _row(lesson_class(taught[0]))
    if len({episode.session_id for episode in taught}) < row.get("sessions", _ENOUGH):
        return "", "errors that any agent knows of must come back in more sessions"
    slots = _slots(taught, row)
    needed = re.findall(r"\{(\w+)\}", row["text"])
    if not all(slots[name] for name in needed):
        return "", "the failed calls have no name that may be told"
    return str(row["text"]).format(**slots), ""


def lesson_class(episode: Episode) -> str:
    """Return the class under which an error teaches: what worked instead says most."""
    return WORKED_INSTEAD if replacements(episode.topic) else episode.error_class


def stands_apart(episode: Episode) -> bool:
    """Tell whether an error of another tool or program would be another lesson."""
    row = _row(lesson_class(episode))
    return not row or bool(row.get("apart")) or not _teaches(episode, row)


def _taught(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the episodes of the commonest class that teaches."""
    known = [(lesson_class(episode), episode) for episode in episodes]
    known = [(name, episode) for name, episode in known if _teaches(episode, _row(name))]
    if not known:
        return []
    ((most, _),) = Counter(name for name, _ in known).most_common(1)
    return [episode for name, episode in known if name == most]


def _teaches(episode: Episode, row: Mapping[str, Any]) -> bool:
    reporters = table(__package__, "remedies")["reporters"]["commands"]
    reported = row.get("own") and episode.command in reporters
    vague = episode.command and not row.get("shell", True)
    return bool(row) and not reported and not vague


def _row(name: str) -> Mapping[str, Any]:
    row: Mapping[str, Any] = table(__package__, "remedies").get(name, {})
    return row if "text" in row else {}


def _slots(episodes: Sequence[Episode], row: Mapping[str, Any]) -> dict[str, str]:
    commands = [one.command for one in episodes if _NAME.fullmatch(one.command)]
    swaps = [pair for one in episodes for pair in replacements(one.topic)[:1] if _both(pair)]
    failed, worked = _commonest(swaps, 1)[0] if swaps else ("", "")
    names = [_named(one) for one in episodes]
    return {
        "tools": _listed(_commonest(filter(None, names), _MOST_NAMES)),
        "runs": _listed(f"`{way}`" for way in _ways(episodes, row.get("hint", ""))),
        "command": _commonest(commands, 1)[0] if commands else "",
        "failed": failed,
        "worked": worked,
    }


def _ways(episodes: Sequence[Episode], hint: str) -> list[str]:
    """Return the commonest ways of running, those the hint fits before all others."""
    known = [way for one in episodes for way in _ways_of(one)]
    return _commonest([way for way in known if re.search(hint, way)] or known, _MOST_WAYS)


def _ways_of(episode: Episode) -> list[str]:
    """Return how an episode's command was run, at least its program."""
    ways = [way for way in runs(episode.topic) if _WAY.fullmatch(way)]
    return ways or [episode.command] * bool(_NAME.fullmatch(episode.command))


def _named(episode: Episode) -> str:
    """Return a failed call's program in backticks, else its tool, "" when neither is a name."""
    if _NAME.fullmatch(episode.command):
        return f"`{episode.command}`"
    return episode.tool if not episode.command and _NAME.fullmatch(episode.tool) else ""


def _both(pair: tuple[str, str]) -> bool:
    return all(_WAY.fullmatch(way) for way in pair)


def _commonest(values: Iterable[_T], most: int) -> list[_T]:
    return [value for value, _ in Counter(values).most_common(most)]


def _listed(names: Iterable[str]) -> str:
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last
