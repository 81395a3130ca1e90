"""Read a Claude Code transcript as a session: streamed, forgiving, from a mark where one is known.

Invariant: one bad record never loses a file, one bad file never stops a night, and every line is
accounted for. An incomplete last line is left for the next reading and not counted.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

from tasks.domain.session import ReadCounts
from tasks.evidence.conversation import Conversation
from tasks.evidence.facts import Facts
from tasks.evidence.lines import TooLong, is_compressed, lines_of, open_transcript
from tasks.evidence.reading import NothingRead, Reading, Resume, SessionRead
from tasks.evidence.records import parsed, records_of, whole_part
from tasks.evidence.repeats import MayRepeat
from tasks.evidence.resuming import mark_of, resumed
from tasks.evidence.turns import Turns

AGENT: Final = "claude_code"
_NEWLINE: Final = 0x0A


def read_session(path: Path, *, resume: Resume | None = None) -> Reading:
    """Read a transcript, or what was appended to it since a mark.

    Args:
        path: a `.jsonl` file, or `.jsonl.gz` (always read whole).
        resume: what an earlier reading of the same file knew, to which only was appended since.

    Returns:
        The whole session either way, earlier turns as `resume` holds them; or why there is none.
    """
    settled = resume.settled() if resume is not None else None
    if resume is not None and settled is not None and _reaches(path, resume.mark.offset):
        try:
            return _Reader(path, Resume(resume.mark, settled)).read()
        except MayRepeat:
            pass
    return _Reader(path, None).read()


class _Reader:
    """One pass over one file."""

    def __init__(self, path: Path, resume: Resume | None) -> None:
        self._path = path
        self._mark = resume.mark if resume is not None else None
        self._offset = resume.mark.offset if resume is not None else 0
        self._line = resume.mark.line if resume is not None else 0
        self._conversation = (
            resumed(path, resume, AGENT)
            if resume is not None
            else Conversation(AGENT, Facts(session_id_of(path)), Turns(), ReadCounts())
        )

    def read(self) -> Reading:
        counts = self._conversation.counts
        try:
            with open_transcript(self._path) as stream:
                cut = self._stream(stream)
        except OSError as error:
            return NothingRead(error.strerror or str(error), counts, 0)
        if not self._conversation.turns.all():
            return NothingRead(cut or _why_nothing(counts), counts, self._bytes())
        return SessionRead(
            self._conversation.session(str(self._path), self._bytes()),
            self._conversation.turns.changed(),
            None if is_compressed(self._path) else self._mark,
            self._line,
            cut,
        )

    def _stream(self, stream: BinaryIO | gzip.GzipFile) -> str:
        """Take in every line; return why reading stopped early, "" at a plain end."""
        try:
            if self._offset:
                stream.seek(self._offset)
            self._lines(lines_of(stream))
        except EOFError:
            return "the compressed file is cut off"
        except (gzip.BadGzipFile, zlib.error) as error:
            return f"the compressed file is damaged: {error}"
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _lines(self, lines: Iterable[bytes | TooLong]) -> None:
        for line in lines:
            if isinstance(line, TooLong):
                self._pass_over(line)
            elif line[-1] == _NEWLINE:
                self._take(line)
                self._line += 1
                self._set_mark()
            else:
                self._take(whole_part(line))
                self._set_mark()

    def _take(self, line: bytes) -> None:
        start, self._offset = self._offset, self._offset + len(line)
        conversation = self._conversation
        record = parsed(line)
        if record is not None:
            conversation.take(record, start)
            return
        for at, part in records_of(line):
            if part is not None:
                conversation.take(part, start + at)
            else:
                conversation.counts.read += 1
                conversation.counts.failed.append(self._line + 1)

    def _pass_over(self, line: TooLong) -> None:
        counts = self._conversation.counts
        counts.read += 1
        counts.failed.append(self._line + 1)
        self._offset += line.length
        self._line += 1

    def _set_mark(self) -> None:
        """Let the mark follow to where the person spoke last, as soon as nothing is open there."""
        last = self._conversation.turns.last_person
        if last is None or (self._mark is not None and self._mark.last == last.uuid):
            return
        if self._conversation.is_settled():
            self._mark = mark_of(self._conversation, last, offset=self._offset, line=self._line)

    def _bytes(self) -> int:
        """Return how far reading got: bytes of the file itself where that can be said."""
        if not is_compressed(self._path):
            return self._offset
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


def session_id_of(path: Path) -> str:
    """Return a transcript's session id: its name, since copies keep their parent's id inside."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _reaches(path: Path, offset: int) -> bool:
    try:
        return not is_compressed(path) and path.stat().st_size >= offset
    except OSError:
        return False


def _why_nothing(counts: ReadCounts) -> str:
    if not counts.read:
        return "the file is empty"
    return "no record could be read" if len(counts.failed) == counts.read else "nobody speaks in it"
