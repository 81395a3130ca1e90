"""The part of the morning report that answers: do you have to repeat yourself less?

Every rate stands with its numerator and denominator; a share alone is never shown. Lines, bars and
table are of the same days.
"""

from __future__ import annotations

from datetime import date
from typing import Final

from tasks.domain.ids import shown
from tasks.domain.report import DayShare, Delegation, Measures, Rate, Reach, Reached
from tasks.render.phrases import count, long_date, short_day

ENOUGH: Final = 10
"""Sessions on either side from which on a comparison is worth a look."""
_FEW: Final = f": too few to compare yet, which takes {ENOUGH} on either side"
_CELL: Final = 60
_BARS: Final = "▁▂▃▄▅▆▇█"
_NONE: Final = "·"


def measures_section(measures: Measures, today: date) -> list[str]:
    """Return the section's lines, none when nothing was measured.

    Args:
        measures: the rates over one window of days.
        today: days of another year are named with it.
    """
    mine, errors = measures.repeat_yourself, measures.repeated_error
    if not (mine.whole or errors.whole):
        return []
    lines = ["## Do you have to repeat yourself?", "", _window(mine, today), ""]
    if mine.whole:
        per = _per_hundred(mine.whole, measures.person_turns)
        lines.append(
            f"- {_share(mine)} of your corrections had been made before{per}.{_spark(mine)}"
        )
    if errors.whole:
        lines.append(f"- {_share(errors)} of the errors had happened before.{_spark(errors)}")
    lines += reach_lines(measures.reached)
    return [*lines, "", *_by_day(mine, errors, today)]


def reach_lines(found: Reached) -> list[str]:
    """Return the line on who was told something; none with no session."""
    whole = found.whole
    if not whole.sessions or found.since is None:
        return []
    few = "" if min(whole.told, whole.sessions - whole.told) >= ENOUGH else _FEW
    line = (
        f"- Of {count(whole.sessions, 'conversation')} since {long_date(found.since)}, "
        f"{whole.told} were told a lesson, {whole.held_out} were held out to compare with, "
        f"and in {whole.nowhere} none was in any channel{few}."
    )
    return [line]


def reach_table(found: Reached) -> list[str]:
    """Return who was told what, by lesson and in sum; nothing with no session."""
    if not found.whole.sessions:
        return []
    return [
        "## Who was told what",
        "",
        *reach_lines(found),
        "",
        "| lesson | sessions | by a hook | by the proxy | by the file | held out | in no channel |",
        "|:--|--:|--:|--:|--:|--:|--:|",
        *(_reach_row(f"{shown(one.lesson)} {_cut(one.text)}", one) for one in found.lessons),
        _reach_row("any of them", found.whole),
    ]


def _reach_row(name: str, one: Reach) -> str:
    told = f"{one.hook} | {one.proxy} | {one.file}"
    return f"| {name} | {one.sessions} | {told} | {one.held_out} | {one.nowhere} |"


def _cut(text: str) -> str:
    """Return the beginning of a lesson as a cell of a table takes it."""
    short = text if len(text) <= _CELL else text[: _CELL - 1] + "…"
    return short.replace("|", "\\|")


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


def _window(rate: Rate, today: date) -> str:
    """Say what is counted, for other figures count more days or the standing rules too."""
    many, first = len(rate.days), short_day(rate.days[0].day, today)
    days = f"the last {many} days that had" if many > 1 else "the last day that had"
    since = f"since {first}" if many > 1 else first
    return (
        f"Counted over {days} a correction or an error, {since}; "
        "without standing rules (“always …”)."
    )


def _by_day(mine: Rate, errors: Rate, today: date) -> list[str]:
    lines = ["| day | corrections | made before | errors | happened before |"]
    lines.append("|:--|--:|--:|--:|--:|")
    for a, b in zip(mine.days, errors.days, strict=True):
        day = short_day(a.day, today)
        lines.append(f"| {day} | {a.whole} | {a.part} | {b.whole} | {b.part} |")
    return lines


def _share(rate: Rate) -> str:
    return f"{rate.part} of {rate.whole} ({100 * rate.part / rate.whole:.0f} %)"


def _per_hundred(corrections: int, turns: int) -> str:
    return f"; you corrected {100 * corrections / turns:.1f} times in 100 messages" if turns else ""


def _spark(rate: Rate) -> str:
    """Draw the share of each day of the table, oldest first; one day draws nothing."""
    if len(rate.days) < 2:
        return ""
    none = "" if all(day.whole for day in rate.days) else f" ({_NONE} none that day)"
    return f" Share by day: {''.join(map(_bar, rate.days))}{none}"


def _bar(day: DayShare) -> str:
    return _BARS[round(day.part / day.whole * (len(_BARS) - 1))] if day.whole else _NONE
