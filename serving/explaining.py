"""Why a hook would be answered as it would: every lesson, its relevance, and what speaks for it.

Invariant: it decides as the hook would now, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from serving.priming import Decision, Priming, priming_of
from serving.proxy.source import MemorySource
from serving.questions import Questions, cut
from serving.reader import Reader
from serving.sessions import Sessions
from tasks.domain.clock import utc_now
from tasks.domain.holdout import held_out
from tasks.domain.ids import shown
from tasks.domain.markers import one_line
from tasks.embedding.space import WORDS
from tasks.hooks.contract import Happening
from tasks.hooks.moments import Arriving, Silence, due
from tasks.listening import is_listening
from tasks.paused import paused
from tasks.prime import Candidate
from tasks.ranking import Asked
from tasks.settings import Places, Settings
from tasks.shown import Shown

BEGINNING: Final = "beginning"
"""The moment at which a session is handed over, and no lesson is chosen by its words."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A lesson, and what became of it."""

    id: str
    relevance: float
    verdict: str
    kind: str
    trust: str
    text: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A hook's answer and how it came about.

    Attributes:
        moment: at which lessons may be shown, "" for none.
        held_out: the conversation gets no lesson, to measure their effect.
        outcome: what comes of it, or why nothing does.
        text: what the model would read.
        considered: every lesson that the project reads, the most relevant first.
        by_meaning: a warm process runs, which compares meanings; else a hook goes by words alone.
    """

    project: str
    moment: str
    held_out: bool
    outcome: str
    text: str = ""
    considered: tuple[Considered, ...] = ()
    by_meaning: bool = False


def explain(settings: Settings, places: Places, one: Happening) -> Explained:
    """Return how a happening would be answered now.

    Raises:
        ViewDamaged: when the view cannot be read.
        SettingInvalid: when a warm process runs and the embedding space cannot be used.
    """
    if paused(places.home, now=utc_now()) is not None:
        return Explained("", "", held_out(one.session, settings.holdout), "paused")
    is_warm = is_listening(places.socket)
    reader = Reader(settings, places)
    if is_warm:
        reader.start()
    try:
        if is_warm:
            _ = reader.space  # waits until meaning can be compared too
        source = MemorySource(reader)
        priming = priming_of(settings, reader, source, Shown(places.shown), Sessions())
        read = Questions(source.asked, 0).at_leisure if is_warm else _words_alone
        return replace(_explained(priming, read, one), by_meaning=is_warm)
    finally:
        reader.close()


def _words_alone(words: str) -> Asked:
    return Asked(cut(words), None, WORDS)


def _explained(priming: Priming, read: Callable[[str], Asked], one: Happening) -> Explained:
    point, out = due(one), held_out(one.session, priming.holdout)
    if isinstance(point, Silence):
        return Explained("", "", out, point.why)
    where = priming.place(one)
    if isinstance(where, Silence):
        return Explained("", "", out, where.why)
    told = priming.told(one, where)
    if isinstance(told, Silence):
        return Explained(where.project_id, "", out, told.why)
    if isinstance(point, Arriving):
        made = priming.hand_over(one, priming.news(one, where), told)
        return Explained(where.project_id, BEGINNING, out, made.outcome, made.text)
    found = priming.source.candidates(read(point.words), where, point.moment)
    made = priming.prime(one, point, found, told)
    considered = tuple(
        _considered(each, _verdict(each, made, priming.prime(one, point, [each], told)))
        for each in sorted(found, key=lambda candidate: (-candidate.relevance, candidate.id))
    )
    return Explained(where.project_id, point.moment.value, out, made.outcome, made.text, considered)


def _verdict(candidate: Candidate, made: Decision, alone: Decision) -> str:
    """Return what became of a lesson; what would, were it the only one, says why."""
    if candidate.id in made.put.lessons:
        return "shown"
    if candidate.id in made.selection.held_out:
        return "held out"
    return next((why for _, why in alone.selection.near), "no room")


def _considered(candidate: Candidate, verdict: str) -> Considered:
    row = candidate.row
    return Considered(
        shown(candidate.id),
        round(candidate.relevance, 3),
        verdict,
        str(row["kind"]),
        str(row["trust"]),
        one_line(str(row["text"])),
    )
