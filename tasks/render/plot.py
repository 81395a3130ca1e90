"""The picture of a night: how often corrections were repeated, by day, and where the time went.

A small SVG of our own, since Prefect's pages draw images that stand in a text and nothing else in
both of their versions. Invariant: it holds dates, numbers and names of stages alone.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date
from html import escape
from typing import Final

from tasks.render.phrases import duration, tiny_day

_WIDE: Final = 760
_LEFT: Final = 44
_RIGHT: Final = 16
_TALL: Final = 150
"""Height of the columns of the days."""
_TOP: Final = 40
_ROW: Final = 20
_NAMES: Final = 90
_TIMES: Final = 70
_INK, _FAINT, _ALL, _PART, _BAR = "#2b2d31", "#8a8d94", "#cfd8e6", "#c2552f", "#3f72af"

Day = tuple[date, int, int]
"""A day, its repeated corrections, and all of its corrections."""


def plot(days: Sequence[Day], stages: Sequence[tuple[str, float]], *, today: date) -> str:
    """Return the picture as SVG.

    Args:
        days: local days in order, with the numerator and the denominator of the rate.
        stages: names and seconds, in order.
        today: the day of the night; a day of another year is named with it.
    """
    under = _TOP + _TALL + 44
    height = under + 24 + _ROW * len(stages) + 12
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{height}">',
            f'<rect width="{_WIDE}" height="{height}" rx="6" fill="#ffffff"/>',
            _text(_LEFT, 22, "Corrections by day, repeated ones dark", size=14),
            *_columns(days, today),
            _text(_LEFT, under + 6, "Where the night's time went", size=14),
            *_bars(stages, under + 20),
            "</svg>",
        ]
    )


def as_image(svg: str) -> str:
    """Return an SVG as an address that holds it whole."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _columns(days: Sequence[Day], today: date) -> list[str]:
    ground = _TOP + _TALL
    axis = f'<path d="M{_LEFT} {ground}H{_WIDE - _RIGHT}" stroke="{_FAINT}"/>'
    if not days:
        return [axis, _text(_LEFT, ground - 10, "No corrections yet", ink=_FAINT)]
    most = max(whole for _, _, whole in days) or 1
    step = (_WIDE - _LEFT - _RIGHT) / len(days)
    drawn = [axis, _text(_LEFT - 8, _TOP + 10, str(most), anchor="end", ink=_FAINT)]
    drawn.append(_text(_LEFT - 8, ground, "0", anchor="end", ink=_FAINT))
    for n, (day, part, whole) in enumerate(days):
        left, wide = _LEFT + n * step + step * 0.2, min(step * 0.6, 48)
        for number, ink in ((whole, _ALL), (part, _PART)):
            tall = _TALL * number / most
            drawn.append(_box(left, ground - tall, wide, tall, ink))
        middle = left + wide / 2
        drawn.append(_text(middle, ground + 15, tiny_day(day, today), anchor="middle", size=10))
        drawn.append(_text(middle, ground + 28, f"{part}/{whole}", anchor="middle", size=10))
    return drawn


def _bars(stages: Sequence[tuple[str, float]], top: float) -> list[str]:
    most = max((seconds for _, seconds in stages), default=0.0) or 1.0
    room = _WIDE - _LEFT - _NAMES - _TIMES - _RIGHT
    drawn = []
    for n, (name, seconds) in enumerate(stages):
        line = top + _ROW * n
        wide = max(room * seconds / most, 1.0)
        drawn.append(_text(_LEFT + _NAMES - 8, line + 11, name, anchor="end"))
        drawn.append(_box(_LEFT + _NAMES, line + 1, wide, _ROW - 7, _BAR))
        drawn.append(_text(_LEFT + _NAMES + wide + 6, line + 11, duration(seconds), ink=_FAINT))
    return drawn


def _box(left: float, top: float, wide: float, tall: float, ink: str) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{ink}"/>'
    )


def _text(left: float, base: float, words: str, **given: str | int) -> str:
    """Return words; of size 12, from `left` on and in ink, unless `given` says otherwise."""
    look = {"size": 12, "anchor": "start", "ink": _INK, **given}
    return (
        f'<text x="{left:.1f}" y="{base:.1f}" font-size="{look["size"]}" fill="{look["ink"]}" '
        f'text-anchor="{look["anchor"]}" font-family="sans-serif">{escape(words)}</text>'
    )
