"""One lesson as a Markdown file: our frontmatter, the rule, the words behind it, how to reject it.

The person's words stand as a dated quotation: evidence, never instruction, and inert as Markdown.
Pure text: nothing here touches the disk.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from tasks.domain.clock import local_day
from tasks.domain.ids import shown
from tasks.domain.markers import FILE_PREFIX, defuse, one_line
from tasks.domain.units import EpisodeKind, Lesson
from tasks.render.phrases import long_date

SYSTEM_FIELDS: Final = ("name", "description", "type", "everest", "trust", "since", "sessions")
"""The frontmatter fields that are ours: an edit to one is reverted, never obeyed."""

_FRONT: Final = re.compile(
    r"\A\ufeff?---[ \t]*\n(?P<front>.*?)^---[ \t]*\n(?P<body>.*)\Z", re.DOTALL | re.MULTILINE
)
_NOT_RULE: Final = re.compile(r"#{1,6}(\s|\Z)|>")
_QUOTE_LONGEST: Final = 600
_NAME_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Parts:
    """A lesson file taken apart: our fields, others' lines among them, the body, the rule in it."""

    fields: dict[str, str]
    extras: tuple[str, ...]
    body: str
    rule: str


def file_name(lesson_id: str) -> str:
    """Return the name of a lesson's file."""
    return f"{FILE_PREFIX}{shown(lesson_id)}.md"


def rule_of(lesson: Lesson) -> str:
    """Return the lesson's rule as it is written everywhere: one line, inert as Markdown."""
    return one_line(lesson.text)


def lesson_file(lesson: Lesson, zone: tzinfo, *, extras: tuple[str, ...] = ()) -> str:
    """Return the whole file; `extras` are frontmatter lines that others added and we keep."""
    return _front(lesson, zone, extras) + lesson_body(lesson, zone)


def lesson_body(lesson: Lesson, zone: tzinfo) -> str:
    """Return the file from the rule on."""
    short = shown(lesson.id)
    return (
        f"\n{rule_of(lesson)}\n\n## Why\n\n{_origin(lesson, zone)}\n\n{quotation(lesson.quote)}\n\n"
        f"## If this is wrong\n\nCorrect the rule above, or run "
        f'`everest reject {short} --reason "…"`. It then stays rejected.\n'
    )


def quotation(words: str) -> str:
    """Return words as a Markdown block quote, cut to a readable length, inert."""
    cut = words.strip()
    if len(cut) > _QUOTE_LONGEST:
        cut = cut[: _QUOTE_LONGEST - 1].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in defuse(cut).split("\n"))


def parse(text: str) -> Parts:
    """Take a lesson file apart, however it was edited; without frontmatter all of it is body."""
    plain = text.replace("\r\n", "\n")
    match = _FRONT.match(plain)
    front, body = (match["front"], match["body"]) if match else ("", plain)
    fields: dict[str, str] = {}
    extras: list[str] = []
    for line in front.splitlines():
        name, colon, value = line.partition(":")
        if colon and name in SYSTEM_FIELDS:
            fields[name] = value.strip()
        else:
            extras.append(line)
    return Parts(fields, tuple(extras), body, _rule_in(body))


def fields_of(lesson: Lesson, zone: tzinfo) -> dict[str, str]:
    """Return our frontmatter fields of a lesson, values as they stand in the file."""
    rule = rule_of(lesson)
    return {
        "name": _scalar(_title(rule)),
        "description": _scalar(rule),
        "type": "feedback",
        "everest": shown(lesson.id),
        "trust": lesson.trust.value,
        "since": local_day(lesson.valid_from, zone).isoformat(),
        "sessions": str(lesson.seen),
    }


def front_digest(fields: Mapping[str, str]) -> str:
    """Return SHA-256 of our frontmatter fields, by which an edit to one of them is noticed."""
    return text_digest("\n".join(f"{name}: {fields.get(name, '')}" for name in SYSTEM_FIELDS))


def text_digest(text: str) -> str:
    """Return SHA-256 of a text, the same for either kind of line ending."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def _front(lesson: Lesson, zone: tzinfo, extras: tuple[str, ...]) -> str:
    ours = [f"{name}: {value}" for name, value in fields_of(lesson, zone).items()]
    return "\n".join(["---", *ours, *extras, "---", ""])


def _origin(lesson: Lesson, zone: tzinfo) -> str:
    day = long_date(local_day(lesson.valid_from, zone))
    often = "one session" if lesson.seen == 1 else f"{lesson.seen} sessions"
    match lesson.kind:
        case EpisodeKind.ERROR:
            said = f"This error came back in {often}; first on {day}"
        case EpisodeKind.SURPRISE:
            said = f"The agent was surprised by this in {often}; first on {day}"
        case _:
            said = f"The person said this to an agent on {day} ({often})"
    return f"{said}. Quoted as evidence; the quotation itself asks for nothing."


def _title(rule: str) -> str:
    if len(rule) <= _NAME_LONGEST:
        return rule.rstrip(".")
    return rule[: _NAME_LONGEST - 1].rsplit(" ", 1)[0].rstrip(" .,;:") + "…"


def _scalar(text: str) -> str:
    # A JSON string is a YAML scalar, whatever the text holds.
    return json.dumps(text, ensure_ascii=False)


def _rule_in(body: str) -> str:
    lines: list[str] = []
    for line in body.strip("\n").split("\n"):
        if _NOT_RULE.match(line):
            break
        lines.append(line.strip())
    return " ".join(" ".join(lines).split())
