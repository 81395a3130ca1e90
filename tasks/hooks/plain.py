"""JSON, times and appends for a hook that answers by itself, out of what starts in no time.

`json`, `os`, `datetime` and `hashlib` take longer to load than a hook takes. Invariant: what is
written is what the rest of Everest writes, byte for byte in its form.
"""

from __future__ import annotations

import _json
import fcntl
import posix
import time

try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:  # Python 3.11
    from _sha256 import sha256  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:  # by a name of ours, since `typing` takes as long to load as all of this
    from typing import Any

    Row = dict[str, Any]
    """A JSON object."""

quoted = _json.encode_basestring
"""Return a text as a JSON string."""
_PIECE = 1024 * 1024
_KIND, _PLAIN = 0o170000, 0o100000
"""The bits of a mode that tell what a file is, and those of a plain one; `stat` loads slowly."""


class _Rules:
    """What the scanner asks how to read JSON."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = _json.make_scanner(_Rules())  # type: ignore[arg-type]


def parsed(data: bytes) -> Row:
    """Return the JSON object that bytes hold; an empty one when they hold none."""
    try:
        text = data.decode("utf-8", "surrogatepass").strip(" \t\r\n")
        found, end = _scan(text, 0)
    except (ValueError, StopIteration, RecursionError, SystemError):
        return {}  # the last is Python 3.11's word for JSON cut short, where `json` is not loaded
    return found if isinstance(found, dict) and end == len(text) else {}


def dumped(value: object) -> str:
    """Return texts, numbers, and lists and objects of them as compact JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{quoted(k)}:{dumped(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([dumped(one) for one in value]) + "]"
    return repr(value)


def sha(text: str) -> bytes:
    """Return the SHA-256 of a text."""
    found: bytes = sha256(text.encode()).digest()
    return found


def digest(*parts: str) -> str:
    """Return the SHA-256, in hex, of a compact JSON array of texts."""
    return sha(dumped(parts)).hex()


def read(path: str) -> bytes:
    """Return a plain file's bytes.

    Raises:
        OSError: when it cannot be read.
    """
    file = opened(path)
    try:
        return read_from(file, 0)
    finally:
        posix.close(file)


def opened(path: str) -> int:
    """Return a plain file opened for reading; a pipe or a device would make a hook wait.

    Raises:
        OSError: when it cannot be opened, or is something else.
    """
    file = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK)
    if posix.fstat(file).st_mode & _KIND != _PLAIN:
        posix.close(file)
        raise OSError(22, "it is not a plain file")
    return file


def read_from(file: int, offset: int) -> bytes:
    """Return an open file's bytes from an offset on."""
    pieces = []
    while piece := posix.pread(file, _PIECE, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def now() -> str:
    """Return the present instant as it stands in every record of ours."""
    whole, part = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{part // 1000:06d}Z"


def append(path: str, line: str) -> None:
    """Append a line, whole or not at all; whoever else may append is held off by the caller.

    Raises:
        OSError: when the disk refuses.
    """
    flags = posix.O_RDWR | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NONBLOCK
    file = posix.open(path, flags, 0o600)
    try:
        size = posix.fstat(file).st_size
        cut = size > 0 and posix.pread(file, 1, size - 1) != b"\n"
        data = b"\n" * cut + line.encode(errors="replace") + b"\n"
        if posix.write(file, data) != len(data):
            raise OSError(28, "the disk is full")
    finally:
        posix.close(file)


def lock(path: str) -> int:
    """Return a lock file that is ours until it is closed, or until we end."""
    file = _lock_file(path)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def lock_if_free(path: str) -> int | None:
    """Return a lock file that is ours, None while it is another's."""
    file = _lock_file(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        posix.close(file)
        return None
    return file


def _lock_file(path: str) -> int:
    return posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)


def is_there(path: str) -> bool:
    """Tell whether there is anything of a name."""
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def make_folder(path: str) -> None:
    """Make a folder for the owner alone, unless it is there."""
    try:
        posix.mkdir(path, 0o700)
    except FileExistsError:
        return
