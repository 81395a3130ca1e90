"""The hook client, run as `python -I -S …/client.py AGENT EVENT HOME [SOCKET]` by an agent's hook.

It hands its standard input to the warm process and prints the answer; with none running it loads
`alone`, beside it, which answers from what was published. It stands by itself: the standard
library, and of that only what starts fast. Invariants: all is over within `WHOLE`, which
EVEREST_HOOK_SECONDS may lengthen on a slow machine; it exits with 0 and writes nothing but an
answer; what goes wrong costs a line in `spool/failures`. With EVEREST_PROBE
set it says with both that `everest doctor` tries it out.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself loads `enum`: far too much
import _socket  # `socket` likewise
import posix
import sys
import time

WHOLE = 0.140
"""Seconds until it is over; the interpreter's own start comes before, 10 ms as a rule."""
READ = 0.55
"""Part of it in which the input must have come."""
ASKED = 0.78
"""Part at whose end the warm process must have answered."""
SOON = 0.45
"""The same where there is something to keep if it does not."""
LATER = 30.0
"""Seconds that a child may take for what must not be lost and did not get done in time."""
AGAIN = 0.01
"""Seconds until an alarm comes again that came just before a call that waits, and woke nobody."""
LONGEST = 8 * 1024 * 1024
"""Bytes of input that are looked at; tools are called with whole files."""

_ANSWER = 1024 * 1024
_FAILURES = 256 * 1024
_PIECE = 64 * 1024
_DESCRIPTORS = 256
_KEPT = ("SessionEnd", "PreCompact", "PreCompress")
"""Events that must not be lost, neither with a warm process that hangs nor where all is slow."""
_started = time.monotonic()


class Late(Exception):
    """It takes too long."""


class Unusable(Exception):
    """What came in, or what came back, is not what it must be."""


def main() -> None:
    """Answer one hook."""
    _signal.signal(_signal.SIGALRM, _too_late)
    agent, event, home, *socket = sys.argv[1:]
    if _rests(home):
        _until(READ)
        _input([])  # whoever writes it may not like to find it closed
        return
    pieces: list[bytes] = []
    if _in_time(agent, event, home, socket, pieces):
        return
    try:
        nowhere = posix.open("/dev/null", posix.O_RDWR)
        for stream in (1, 2):
            posix.dup2(nowhere, stream)  # an agent waits until nobody holds its end of them
        child = posix.fork()
    except OSError as why:
        _count(home, agent, event, why)
        return
    if child == 0:
        _finish(agent, event, home, pieces)


def _in_time(agent: str, event: str, home: str, socket: list[str], pieces: list[bytes]) -> bool:
    """Answer, or count what went wrong; return False when something is left that must be done."""
    try:
        try:
            answer = _answer(agent, event, home, socket, pieces)
            while answer:
                answer = answer[posix.write(1, answer) :]
        finally:
            _until(None)  # in here, so that an alarm that comes even now is caught below
    except BaseException as why:  # noqa: BLE001  whatever it is, an agent is not to see it
        if isinstance(why, Late) and event in _KEPT:
            return False
        _count(home, agent, event, why)
    return True


def _finish(agent: str, event: str, home: str, pieces: list[bytes]) -> None:
    """Do by itself what must be done, in a process that the agent has no part in any more."""
    posix.setsid()
    posix.closerange(3, _DESCRIPTORS)  # with them go the locks that were taken in vain
    try:
        try:
            _signal.setitimer(_signal.ITIMER_REAL, LATER, AGAIN)
            body = _input(pieces)
            if not _is_told(body):
                raise Unusable("input")
            _signal.setitimer(_signal.ITIMER_REAL, LATER, AGAIN)
            _alone(agent, event, home, body)
        finally:
            _until(None)
    except BaseException as why:  # noqa: BLE001  as above
        _count(home, agent, event, why)


def _answer(agent: str, event: str, home: str, socket: list[str], pieces: list[bytes]) -> bytes:
    _until(READ)
    body = _input(pieces)
    _until(SOON if event in _KEPT else ASKED)
    if event in _KEPT and not _is_told(body):
        raise Late  # there may be more to come
    told = None
    try:
        told = _ask(socket[0], agent, event, body) if socket else None
    except Late:
        if event not in _KEPT:
            raise
    except (OSError, Unusable) as why:
        _count(home, agent, event, why)
    if told is None:
        _until(1)
        told = _alone(agent, event, home, body)
    return told


def _input(pieces: list[bytes]) -> bytes:
    """Return standard input; of one that nobody closes what has come in time, if it looks whole.

    Were the alarm to raise here, it could lose a piece that was just read and is not kept yet. It
    puts an empty file in the place of what is read, a copy: the rest can still be read later.

    Args:
        pieces: what was read of it before; what is read is added.
    """
    length = sum(map(len, pieces))
    source = posix.dup(0)
    is_late = False

    def end(*_: object) -> None:
        nonlocal is_late
        is_late = True
        posix.dup2(posix.open("/dev/null", posix.O_RDONLY), source)
        _signal.setitimer(_signal.ITIMER_REAL, 0)

    _signal.signal(_signal.SIGALRM, end)
    try:
        while piece := posix.read(source, _PIECE):
            length += len(piece)
            if length <= LONGEST:
                pieces.append(piece)
    finally:
        _signal.signal(_signal.SIGALRM, _too_late)
    if is_late and not (pieces and pieces[-1].rstrip().endswith(b"}")):
        raise Late
    if length > LONGEST:
        raise Unusable("input")
    return b"".join(pieces)


def _ask(path: str, agent: str, event: str, body: bytes) -> bytes | None:
    """Return what the warm process answers, None when there is none."""
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        door.connect(path)
    except OSError:
        return None
    if not _is_own(door):
        raise Unusable("peer")
    head = (
        f"POST /hook/{agent}/{event}{'?probe' if _is_probe() else ''} HTTP/1.1\r\n"
        "Host: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    door.sendall(head.encode() + body)
    return _body(door)


def _body(door: _socket.socket) -> bytes:
    data = b""
    while piece := door.recv(_PIECE):
        data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0].strip()
        if length.isdigit() and len(body) >= int(length):
            if head.split(b" ", 2)[1] == b"200":
                return body
            break
        if len(data) > _ANSWER:
            break
    raise Unusable("answer")


def _is_own(door: _socket.socket) -> bool:
    """Tell whether a process of this account is at the other end."""
    if hasattr(_socket, "SO_PEERCRED"):
        found = door.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        found = door.getsockopt(0, 1, 76)  # macOS: SOL_LOCAL, LOCAL_PEERCRED, a struct xucred
    return int.from_bytes(found[4:8], sys.byteorder) == posix.getuid()


def _alone(agent: str, event: str, home: str, body: bytes) -> bytes:
    _find_package()
    from tasks.hooks import alone  # noqa: PLC0415  it takes longer to load than this to run

    return alone.answer(agent, event, home, body)


def _is_told(body: bytes) -> bool:
    """Tell whether a body says anything: one that is empty, cut short or no JSON does not."""
    _find_package()
    from tasks.hooks import plain  # noqa: PLC0415  as above

    return bool(plain.parsed(body))


def _find_package() -> None:
    package = __file__.rpartition("/tasks/hooks/")[0]
    if not package.startswith("/"):  # an empty entry would mean the folder that the agent is in
        raise Unusable("place")
    if package not in sys.path:
        sys.path.append(package)


def _rests(home: str) -> bool:
    """Tell whether nothing is to be done: in a child of ours, while paused, with no home."""
    if posix.environ.get(b"EVEREST_CHILD") or posix.environ.get(b"EVEREST_PAUSED"):
        return True
    try:
        posix.stat(home)
        pause = posix.open(f"{home}/paused", posix.O_RDONLY | posix.O_NONBLOCK)
        said = posix.read(pause, 64).strip()
    except FileNotFoundError:
        return not _is_there(home)
    except OSError:
        return True
    try:
        return not time.time() >= float(said)
    except ValueError:
        return True


def _is_probe() -> bool:
    return bool(posix.environ.get(b"EVEREST_PROBE"))


def _is_there(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def _count(home: str, agent: str, event: str, why: BaseException) -> None:
    """Add a line to the failures: when, whose hook, and the kind of thing that went wrong."""
    spool = f"{home}/spool"
    if not _is_there(spool):
        posix.mkdir(spool, 0o700)
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_NONBLOCK  # a pipe blocks
    failures = posix.open(f"{spool}/failures", flags, 0o600)
    if posix.fstat(failures).st_size < _FAILURES:
        kind = f"{'probe:' if _is_probe() else ''}{type(why).__name__}"
        line = f"{int(time.time())} {agent} {event} {kind}\n"
        posix.write(failures, line.encode())


def _until(part: float | None) -> None:
    """Let `Late` be raised, once, when a part of the time is over; None calls it off."""
    given = posix.environ.get(b"EVEREST_HOOK_SECONDS", b"")
    whole = float(given) if given.isdigit() else WHOLE
    left = 0.0 if part is None else max(part * whole - time.monotonic() + _started, 0.001)
    _signal.setitimer(_signal.ITIMER_REAL, left, AGAIN)


def _too_late(*_: object) -> None:
    _signal.setitimer(_signal.ITIMER_REAL, 0)  # whoever catches the first is not to get a second
    raise Late


if __name__ == "__main__":
    try:
        main()
    finally:
        posix._exit(0)  # noqa: SLF001  there is nothing to close, and an error is nobody's business
