"""The part of the morning report that answers: do you have to repeat yourself less?

Every rate stands with its numerator and denominator; a share alone is never shown.
"""

from __future__ import annotations

from typing import Final

from tasks.domain.report import DayShare, Delegation, Measures, Rate
from tasks.render.phrases import count, short_day

MOST_DAYS: Final = 14
_BARS: Final = "▁▂▃▄▅▆▇█"


def measures_section(measures: Measures) -> list[str]:
    """Return the section's lines, none when nothing was measured."""
    mine, errors = measures.repeat_yourself, measures.repeated_error
    if not (mine.whole or errors.whole):
        return []
    lines = ["## Do you have to repeat yourself?", ""]
    if mine.whole:
        per = _per_hundred(mine.whole, measures.person_turns)
        lines.append(
            f"- {_share(mine)} of your corrections had been made before{per}.{_spark(mine)}"
        )
    if errors.whole:
        lines.append(f"- {_share(errors)} of the errors had happened before.{_spark(errors)}")
    return [*lines, "", *_by_day(mine, errors)]


def delegation_section(found: Delegation) -> list[str]:
    """Return the lines on where agents ask and where they are stopped; none without either."""
    telling = [one for one in found.kinds if one.told or one.stopped]
    if not telling:
        return []
    over = f"{count(found.sessions, 'conversation')} on {count(found.days, 'day')}"
    return [
        "## Asking and acting",
        "",
        f"For you alone, no agent reads it: over {over}.",
        "",
        "| action | asked first | told to act or otherwise | acted, stopped |",
        "|:--|--:|--:|--:|",
        *(f"| {one.kind} | {one.asked} | {one.told} | {one.stopped} |" for one in telling),
    ]


def _by_day(mine: Rate, errors: Rate) -> list[str]:
    left, right = ({x.day: x for x in rate.days if x.whole} for rate in (mine, errors))
    busy = sorted(left.keys() | right.keys())[-MOST_DAYS:]
    lines = ["| day | corrections | made before | errors | happened before |"]
    lines.append("|:--|--:|--:|--:|--:|")
    for day in busy:
        a, b = (side.get(day, DayShare(day, 0, 0)) for side in (left, right))
        lines.append(f"| {short_day(day)} | {a.whole} | {a.part} | {b.whole} | {b.part} |")
    return lines


def _share(rate: Rate) -> str:
    return f"{rate.part} of {rate.whole} ({100 * rate.part / rate.whole:.0f} %)"


def _per_hundred(corrections: int, turns: int) -> str:
    return f"; you corrected {100 * corrections / turns:.1f} times in 100 messages" if turns else ""


def _spark(rate: Rate) -> str:
    """Draw the share of each day that had any, oldest first; one day draws nothing."""
    days = [day for day in rate.days if day.whole][-MOST_DAYS:]
    if len(days) < 2:
        return ""
    bars = [_BARS[round(day.part / day.whole * (len(_BARS) - 1))] for day in days]
    return f" Share by day: {''.join(bars)}"
