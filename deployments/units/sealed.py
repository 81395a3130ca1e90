"""Files of ours among other programs' own: known again by a line with a digest, or left alone.

Invariant: a file is overwritten or removed only when it is byte for byte as Everest wrote it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tasks.durable import swap_file
from tasks.errors import NotOurs, WriteFailed

_LINE: Final = re.compile(
    rb"^.*Written by Everest; sha256 of the rest: ([0-9a-f]{64}).*\n", re.MULTILINE
)
COMMENT: Final = "Written by Everest; sha256 of the rest: {}"


class State(Enum):
    """What stands where a file of ours is to be."""

    ABSENT = "absent"
    SAME = "unchanged"
    OLDER = "older"
    """Ours, as it was written, and to be written anew."""
    FOREIGN = "foreign"
    """Somebody else's, or ours and edited since."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to write: its whole bytes, the sealing line among them."""

    path: Path
    data: bytes


def sealed(head: bytes, rest: bytes, comment: str) -> bytes:
    """Return a file's bytes with the line that seals it between `head` and `rest`.

    Args:
        head: what has to stand before any comment.
        rest: everything after it.
        comment: a line of comment in the file's own syntax, `{}` where the words go.
    """
    digest = hashlib.sha256(head + rest).hexdigest()
    return head + comment.format(COMMENT.format(digest)).encode() + b"\n" + rest


def is_ours(data: bytes) -> bool:
    """Tell whether these bytes are as Everest wrote them."""
    found = _LINE.search(data)
    if found is None:
        return False
    rest = data[: found.start()] + data[found.end() :]
    return hashlib.sha256(rest).hexdigest().encode() == found[1]


def state_of(file: File) -> State:
    """Return what stands where a file is to be; what cannot be read is foreign."""
    try:
        if file.path.is_symlink():
            return State.FOREIGN
        data = file.path.read_bytes()
    except FileNotFoundError:
        return State.ABSENT
    except OSError:
        return State.FOREIGN
    if data == file.data:
        return State.SAME
    return State.OLDER if is_ours(data) else State.FOREIGN


def require_ours(files: tuple[File, ...]) -> None:
    """Look whether all files may be written.

    Raises:
        NotOurs: when one is somebody else's, or was edited.
    """
    for file in files:
        if state_of(file) is State.FOREIGN:
            raise NotOurs(file.path)


def write(files: tuple[File, ...]) -> list[Path]:
    """Write what is not there as it should be; return what was written.

    Raises:
        NotOurs: when one is somebody else's, or was edited; nothing is written then.
        WriteFailed: when the disk refuses.
    """
    require_ours(files)
    wanted = [file for file in files if state_of(file) is not State.SAME]
    for file in wanted:
        swap_file(file.path, file.data)
    return [file.path for file in wanted]


def remove(files: tuple[File, ...]) -> tuple[list[Path], list[Path]]:
    """Remove those that are as Everest wrote them; return them, and those that were left.

    Raises:
        WriteFailed: when the disk refuses.
    """
    removed, left = [], []
    for file in files:
        match state_of(file):
            case State.FOREIGN:
                left.append(file.path)
            case State.SAME | State.OLDER:
                try:
                    file.path.unlink()
                except OSError as error:
                    raise WriteFailed(file.path, error.strerror or str(error)) from error
                removed.append(file.path)
            case State.ABSENT:
                pass
    return removed, left
