"""Why recall answers as it does, in words: what was sought, how each fits, what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tasks.compose import Setting
from tasks.domain.clock import instant
from tasks.domain.holdout import held_out, line_id
from tasks.domain.units import USABLE
from tasks.render.phrases import count, listing
from tasks.settings import Settings

if TYPE_CHECKING:
    from tasks.explain import Explained, Weighed

_MOMENTS: Final = {"prompt": "prompts", "end of turn": "ends of turns", "tool call": "tool calls"}


def preface(told: Explained, project_id: str) -> Iterator[str]:
    """Yield what was looked for, where and how."""
    from tasks.ranking import BESIDE_BEST, SPEAK  # noqa: PLC0415  the search waits for who asks

    how = "by words and by meaning" if told.by_meaning else "by words alone"
    sought = ", ".join(told.sought) or "no word"
    yield f"Looked for {sought} in {project_id} and in what holds everywhere, {how}."
    yield f"Fit goes from 0 to 1. Listed is what fits by {SPEAK:.2f} or more, and at least by"
    yield f"{BESIDE_BEST:.0%} of the best; which comes first follows from fit, age and strength."


def of_listed(told: Explained, one: Weighed, where: Setting, now: datetime) -> Iterator[str]:
    """Yield why one stands where it does, and whether agents are told of it unasked."""
    from tasks.ranking import RECENCY, RELEVANCE, STRENGTH  # noqa: PLC0415

    hit, age = one.one.hit, now - instant(one.one.row["at"])
    yield _fit(told, one)
    old = count(max(age // timedelta(days=1), 0), "day")
    yield (
        f"place {hit.score:.2f} = {RELEVANCE} x fit {hit.relevance:.2f} + {RECENCY} x recency "
        f"{hit.recency:.2f} ({old} old) + {STRENGTH} x strength {hit.strength_part:.2f}"
    )
    yield f"unasked: {_unasked(one.one.row, where.settings, now)}"


def of_left_out(told: Explained, one: Weighed) -> Iterator[str]:
    """Yield how one fits that is not listed, and what it lacks."""
    yield _fit(told, one)
    yield f"left out: {one.lack}"


def afterword(told: Explained, kept_back: int) -> Iterator[str]:
    """Yield what recall did not look at or tell, and how to ask about a moment."""
    if not told.listed and not told.left_out:
        yield "Nothing that is held shares a word with it."
    if told.echoes:
        more = count(told.echoes, "more record", "more records")
        yield f"Not told of: {more}, echoes of these or what they rest on."
    if kept_back:
        lessons = count(kept_back, "lesson is", "lessons are")
        yield f"{lessons} rejected, disputed or retired and never recalled:"
        yield "`everest lessons --rejected` shows them."
    if any(one.one.row["unit"] == "lesson" for one in told.listed):
        yield "Whether one prompt would be told a lesson, and why, says `everest prime --dry-run`."


def _fit(told: Explained, one: Weighed) -> str:
    hit = one.one.hit
    if one.words:
        words = f"it holds {', '.join(one.words)} (words {hit.lexical:.2f})"
    elif hit.lexical:
        words = f"the words stand only in what was said around it (words {hit.lexical:.2f})"
    else:
        words = "it holds none of the words"
    alike = told.by_meaning and hit.cosine is not None
    meaning = f", meaning {hit.cosine:.2f}" if alike else ""
    return f"fit {hit.relevance:.2f}, {one.needed:.2f} needed: {words}{meaning}"


def _unasked(row: dict[str, Any], settings: Settings, now: datetime) -> str:
    from tasks.prime import moments_of  # noqa: PLC0415

    if row["unit"] != "lesson":
        return "never; agents are told lessons alone"
    if row["trust"] not in USABLE:
        return "not yet; it is unconfirmed until a second session teaches it too"
    moments = listing(_MOMENTS[moment] for moment in moments_of(row["kind"]))
    told = f"at {moments} it bears on, once a session"
    if not settings.holdout:
        return told
    told += f"; not in sessions held out ({settings.holdout:.0%})"
    if held_out(line_id(row["id"], now, settings.zone), settings.holdout):
        told += ", nor this week in MEMORY.md"
    return told


def as_data(told: Explained, entry: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return an explained answer for `--json`."""

    def weighed(one: Weighed) -> dict[str, Any]:
        lack = one.lack and one.lack.value
        return {**entry(one.one), "words": one.words, "needed": one.needed, "lacks": lack}

    return {
        "sought": told.sought,
        "by_meaning": told.by_meaning,
        "found": [weighed(one) for one in told.listed],
        "left_out": [weighed(one) for one in told.left_out],
        "echoes": told.echoes,
    }
