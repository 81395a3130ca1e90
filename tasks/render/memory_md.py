"""Our section of a host's `MEMORY.md`: built, found again, put in, taken out. Bytes in, bytes out.

Invariant: what stands outside our markers comes back to the byte, however the markers were broken;
a line inside them that is not ours is moved out before the section, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from tasks.domain.clock import local_day
from tasks.domain.ids import shown
from tasks.domain.markers import FILE_PREFIX, SECTION_BEGIN, SECTION_END
from tasks.domain.strength import value_at
from tasks.domain.units import EpisodeKind, Lesson, Trust
from tasks.render.lesson_file import file_name, rule_of

MOST_LINES: Final = 80
MOST_BYTES: Final = 8_000
"""What our section may hold, markers included."""
HOST_LINES: Final = 200
HOST_BYTES: Final = 25_000
"""What a host loads of a `MEMORY.md`; the rest is dropped without a word."""

TITLE: Final = "## What earlier sessions taught (kept by Everest)"
_BOM: Final = b"\xef\xbb\xbf"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_BEGIN: Final = SECTION_BEGIN.encode()
_END: Final = SECTION_END.encode()
_ENTRY: Final = re.compile(
    rf"- (?P<text>.*) \(\[(?P<id>[0-9a-f]{{16}})\]\({FILE_PREFIX}(?P=id)\.md\)[^()]*\)\Z"
)
_LINK: Final = re.compile(rf"{FILE_PREFIX}(?P<id>[0-9a-f]{{16}})\.md")
_PARENTHESIS: Final = re.compile(rf"\s*\(?\[?[^\[\](]*\]?\(?{FILE_PREFIX}[0-9a-f]{{16}}\.md.*\Z")
_MORE: Final = re.compile(rb"- \d+ more in the `everest-\*\.md` files of this folder")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of our section: the lesson's short id, its rule as written, the whole line."""

    lesson: str
    text: str
    line: str


@dataclass(frozen=True, slots=True)
class Index:
    """A `MEMORY.md` taken apart.

    Attributes:
        before, after: the bytes of others around our section, exactly.
        separator: the line ending between `before` and our section; it goes when the section goes.
        entries: our lines as they stand; `strangers`: other lines found between the markers.
        found: there was a section, whole or broken.
    """

    before: bytes
    after: bytes
    newline: bytes
    separator: bytes = b""
    entries: tuple[Entry, ...] = ()
    strangers: tuple[bytes, ...] = ()
    found: bool = False


@dataclass(frozen=True, slots=True)
class OverLimit:
    """How far a `MEMORY.md` exceeds what its host loads, and which lessons' lines fall off."""

    lines: int
    size: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    whole: bool


class NotUtf8Error(ValueError):
    """The file is in an encoding that our section cannot be written into."""


def best_first(lessons: Iterable[Lesson], at: datetime) -> list[Lesson]:
    """Return lessons in the order of their lines.

    Verified ones first, then what the person said before what only failed; then by how often seen,
    by strength, by id.
    """
    return sorted(
        lessons,
        key=lambda x: (
            x.trust is not Trust.VERIFIED,
            x.kind is not EpisodeKind.CORRECTION,
            -x.seen,
            -value_at(x.strength, at, pinned=x.pinned),
            x.id,
        ),
    )


def entry_of(lesson: Lesson, zone: tzinfo, *, text: str | None = None) -> Entry:
    """Return a lesson's line; `text` stands instead of its rule when a person wrote one there."""
    short, rule = shown(lesson.id), text or rule_of(lesson)
    day = local_day(lesson.valid_from, zone).isoformat()
    checked = ", verified" if lesson.trust is Trust.VERIFIED else ""
    link = f"[{short}]({file_name(lesson.id)})"
    return Entry(short, rule, f"- {rule} ({link}, {day}, seen {lesson.seen}x{checked})")


def fitting(entries: Sequence[Entry]) -> int:
    """Return how many of the entries, from the first, fit into our share of the file."""
    room = MOST_BYTES - len("\r\n".join(_frame(["", _more(9999)])).encode()) - 2
    for n, entry in enumerate(entries):
        room -= len(entry.line.encode()) + 2
        if room < 0 or n >= MOST_LINES - len(_frame([])) - 1:
            return n
    return len(entries)


def section_of(entries: Sequence[Entry], *, omitted: int) -> list[str]:
    """Return our section's lines, markers included; `omitted` lessons have only their file."""
    lines = [entry.line for entry in entries]
    return _frame([*lines, _more(omitted)] if omitted else lines)


def parse(data: bytes) -> Index:
    """Find our section, also one whose markers are broken, doubled or alone.

    Raises:
        NotUtf8Error: when the file is UTF-16.
    """
    if data.startswith(_WIDE):
        raise NotUtf8Error("it is UTF-16; save it as UTF-8")
    newline = b"\r\n" if b"\r\n" in data[: data.find(b"\n") + 1] else b"\n"
    bom = _BOM if data.startswith(_BOM) else b""
    lines = [line for line in re.split(rb"(?<=\n)", data[len(bom) :]) if line]
    spans = _spans(lines)
    if not spans:
        return Index(data, b"", newline, separator=newline if data[len(bom) :] else b"")
    return _taken_apart(bom, lines, spans, newline)


def put(index: Index, section: Sequence[str]) -> bytes:
    """Return the file with our section set: in its old place, or after the person's text."""
    before, separator = index.before, index.separator
    if index.strangers:
        moved = [line.rstrip(b"\r\n") + index.newline for line in index.strangers]
        before, separator = before + separator + b"".join(moved), index.newline
    ours = b"".join(line.encode() + index.newline for line in section)
    return before + separator + ours + index.after


def take_out(index: Index) -> bytes:
    """Return the file without our section, all else to the byte."""
    before, after = index.before, b"".join(index.strangers) + index.after
    joined = before and after and not before.endswith(b"\n")
    return before + (index.newline if joined else b"") + after


def over_limit(data: bytes) -> OverLimit | None:
    """Return what a host does not load of a `MEMORY.md`; None when it loads all of it."""
    lines = data.split(b"\n")
    count = len(lines) - (not lines[-1])
    if count <= HOST_LINES and len(data) <= HOST_BYTES:
        return None
    loaded = b"\n".join(lines[:HOST_LINES])[:HOST_BYTES]
    kept = {entry.lesson for entry in parse(loaded).entries}
    lost = [entry.lesson for entry in parse(data).entries if entry.lesson not in kept]
    return OverLimit(count, len(data), tuple(lost))


def _frame(lines: Sequence[str]) -> list[str]:
    return [SECTION_BEGIN, TITLE, *lines, SECTION_END]


def _more(count: int) -> str:
    return f"- {count} more in the `{FILE_PREFIX}*.md` files of this folder"


def _spans(lines: Sequence[bytes]) -> list[_Span]:
    """Return the stretches of lines that are ours, in order, none overlapping."""
    marks = [(n, _bare(line)) for n, line in enumerate(lines) if _bare(line) in (_BEGIN, _END)]
    spans: list[_Span] = []
    closed = -1
    for at, (n, mark) in enumerate(marks):
        following = marks[at + 1] if at + 1 < len(marks) else (len(lines), b"")
        if mark == _BEGIN and following[1] == _END:
            spans.append(_Span(n, following[0] + 1, whole=True))
        elif mark == _BEGIN:
            spans.append(_Span(n, _while_ours(lines, n + 1, 1), whole=False))
        elif n >= closed:
            spans.append(_Span(_while_ours(lines, n - 1, -1, floor=closed) + 1, n + 1, whole=False))
        closed = spans[-1].end
    return spans


def _while_ours(lines: Sequence[bytes], n: int, step: int, *, floor: int = -1) -> int:
    while max(floor, 0) <= n < len(lines) and _is_ours(lines[n]):
        n += step
    return n


def _taken_apart(
    bom: bytes, lines: Sequence[bytes], spans: Sequence[_Span], newline: bytes
) -> Index:
    home = next((span for span in spans if span.whole), spans[0])
    inside = {n for span in spans for n in range(span.start, span.end)}
    outside = [n for n in range(len(lines)) if n not in inside or _is_stranger(lines[n])]
    before = b"".join(lines[n] for n in outside if n < home.start)
    # The separator has the ending of the marker after it: a lone \r before it is the person's.
    ending = b"\r\n" if lines[home.start].endswith(b"\r\n") else b"\n"
    separator = ending if before.endswith(ending) else b""
    return Index(
        before=bom + before[: len(before) - len(separator)],
        after=b"".join(lines[n] for n in outside if n >= home.end),
        newline=newline,
        separator=separator,
        entries=_entries(lines[n] for n in sorted(inside)),
        strangers=tuple(lines[n] for n in outside if home.start <= n < home.end),
        found=True,
    )


def _entries(lines: Iterable[bytes]) -> tuple[Entry, ...]:
    found: dict[str, Entry] = {}
    for line in lines:
        entry = _entry(line)
        if entry is not None:
            found.setdefault(entry.lesson, entry)
    return tuple(found.values())


def _entry(line: bytes) -> Entry | None:
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        return None
    if match := _ENTRY.match(text):
        return Entry(match["id"], match["text"], text)
    if match := _LINK.search(text):
        return Entry(match["id"], _PARENTHESIS.sub("", text).removeprefix("- ").strip(), text)
    return None


def _bare(line: bytes) -> bytes:
    return line.strip()


def _is_ours(line: bytes) -> bool:
    bare = _bare(line)
    return bare == TITLE.encode() or _MORE.fullmatch(bare) is not None or _entry(line) is not None


def _is_stranger(line: bytes) -> bool:
    return bool(_bare(line)) and _bare(line) not in (_BEGIN, _END) and not _is_ours(line)
