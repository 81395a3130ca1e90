"""One record of a Claude Code transcript, decoded only as far as it is read.

Invariant: every byte of a line is checked to be JSON, but only the fields named here become
objects; most of a transcript is tool output that nobody keeps. A field may hold anything: what is
of another shape than hosts write is plain data, never an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tasks.evidence.lines import LONGEST

_NOTHING: Final = msgspec.Raw(b"null")
_BLANK: Final = " \t\r\n\x00"
_BOM: Final = "\ufeff"
_MOST_GLUED: Final = 64


class Unread(msgspec.Struct, gc=False):
    """An object of which nothing is read."""


Odd = list[Any] | str | float | bool | None
"""What may stand where hosts write an object."""


class Origin(msgspec.Struct, gc=False):
    """Who made a record."""

    kind: Any = None


class Block(msgspec.Struct, gc=False):
    """One block of a message: text, a call (`id`, `name`, `input`) or what came back from one.

    Attributes:
        type: None where it is not told, which stands for text.
        input, content: as they are written; `plain` decodes them.
        is_error: three-valued; absent means success.
    """

    type: Any = None
    text: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = _NOTHING
    tool_use_id: Any = None
    content: msgspec.Raw = _NOTHING
    is_error: Any = None


class Message(msgspec.Struct, gc=False):
    """What was said, in blocks."""

    content: list[Block | Odd] | Unread | str | float | bool | None = None
    model: Any = None
    id: Any = None

    def blocks(self) -> list[Block]:
        """Return the content blocks; a bare string is one text block."""
        if isinstance(self.content, str):
            return [Block("text", self.content)]
        if not isinstance(self.content, list):
            return []
        return [block for block in self.content if type(block) is Block]


class Attachment(msgspec.Struct, gc=False, rename="camel"):
    """What the host attached, such as words typed while the agent was busy."""

    type: Any = None
    prompt: Any = None
    command_mode: Any = "prompt"
    origin: Origin | Odd = None


class Outcome(msgspec.Struct, gc=False):
    """What a form gave back; other tools' outcomes are not read."""

    answers: Any = None
    questions: Any = None
    annotations: Any = None


class Record(msgspec.Struct, gc=False, rename="camel"):
    """One line of a transcript."""

    type: Any = None
    uuid: Any = None
    timestamp: Any = None
    message: Message | Odd = None
    cwd: Any = None
    entrypoint: Any = None
    is_sidechain: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_visible_in_transcript_only: Any = None
    is_api_error_message: Any = None
    origin: Origin | Odd = None
    prompt_source: Any = None
    tool_use_result: Outcome | Odd = None
    tool_denial_kind: Any = None
    attachment: Attachment | Odd = None
    session_id: Any = None
    operation: Any = None
    content: Any = None
    subtype: Any = None
    custom_title: Any = None
    ai_title: Any = None
    summary: Any = None


_SILENT: Final = Message()
_RECORD: Final = msgspec.json.Decoder(Record)
_PLAIN: Final = msgspec.json.Decoder()


def message_of(record: Record) -> Message:
    """Return the message of a record, an empty one where there is none."""
    return record.message if type(record.message) is Message else _SILENT


def plain(raw: msgspec.Raw) -> Any:
    """Return a field that was left undecoded as plain data."""
    return _PLAIN.decode(raw)


def parsed(line: bytes) -> Record | None:
    """Return the record that a line is, where it is just that: the usual case, told fast."""
    try:
        return _RECORD.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def records_of(line: bytes) -> Iterator[tuple[int, Record | None]]:
    """Yield each record of a line and the byte at which it begins; None once for what is none.

    One line holds one record, but a host that appends to a file whose last line had no newline
    glues two together. A blank line holds none.
    """
    if not line.strip():  # NUL bytes are damage, not white space
        return
    at = 0
    for _ in range(_MOST_GLUED):
        record, end = _record_of(line[at:])
        yield at, record
        at += end
        if record is None or at >= len(line):
            return
    yield at, None


def whole_part(line: bytes) -> bytes:
    """Return the whole records that an unfinished line begins with: no part of one is one."""
    for at, record in records_of(line):
        if record is None:
            return line[:at]
    return line


def record_at(path: Path, offset: int) -> Record:
    """Return the record that begins at a byte offset; an empty one when it cannot be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            return _record_of(stream.readline(LONGEST))[0] or Record()
    except OSError:
        return Record()


def _record_of(line: bytes) -> tuple[Record | None, int]:
    """Return the record that a line begins with, and how many bytes it and blanks after it take."""
    record = parsed(line)
    return (record, len(line)) if record is not None else _patient(line)


def _patient(line: bytes) -> tuple[Record | None, int]:
    """Parse what the strict parser refuses: control characters, lone surrogates, glued records."""
    text = line.decode("utf-8", "surrogateescape")
    begin = _after_blanks(text, 1 if text.startswith(_BOM) else 0)
    try:
        found, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
        record = parsed(_encoded(found))
    except (ValueError, RecursionError):
        return None, 0
    if record is None:
        return None, 0
    return record, len(text[: _after_blanks(text, end)].encode("utf-8", "surrogateescape"))


def _after_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(_BLANK))


def _encoded(found: object) -> bytes:
    """Return what was found as JSON again, lone surrogates replaced so that it can be written."""
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
