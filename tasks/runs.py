"""The log of runs: which flows ran and how they ended, for the next morning report and `status`.

Invariant: a run begins its entry while it holds the store's lock, so whoever holds that lock next
and finds an entry without an end knows its run to be dead. Lines hold names, times and our own
words about errors, never memory text. The log stays small: old lines go when it has grown.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final

from tasks.domain.clock import Clock, instant, iso, utc_now
from tasks.domain.due import night_due
from tasks.domain.ran import (
    NIGHTLY,
    Begun,
    Ended,
    Line,
    Outcome,
    Ran,
    Remarked,
    RunKey,
    completed_nights,
    runs_of,
)
from tasks.durable import FILE_MODE, swap_file, sync
from tasks.errors import EverestError, Refused, UsageError, WriteFailed

MOST_BYTES: Final = 256 * 1024
_WORDS: Final = 500
_KEPT: Final = 1_000
"""Lines that stay when old ones go: about three weeks of an hourly flow."""


def new_run(flow: str) -> RunKey:
    """Return the key of a run that begins now."""
    return RunKey(flow, secrets.token_hex(8))


@contextmanager
def recorded(
    log: Path, key: RunKey, *, at: datetime, clock: Clock = utc_now, attended: bool = False
) -> Iterator[None]:
    """Note that a run begins, and how it ends; the caller holds the store's lock.

    Args:
        log: the log of runs.
        key: which run.
        at: now.
        clock: gives the time at its end.
        attended: whoever asked for the run waits for it and sees its errors.

    Raises:
        WriteFailed: when the log cannot be written.
    """
    _append(log, {"what": "begun", **_of(key), "at": iso(at)})
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(WriteFailed):  # the first error is the one to tell
            note_end(log, key, ended_by(error, attended=attended), error, at=clock())
        raise
    note_end(log, key, Outcome.COMPLETED, at=clock())


def ended_by(error: BaseException, *, attended: bool) -> Outcome:
    """Return how an error ends a run; what is none, an interrupt or a signal, stops it.

    A request that cannot be carried out is no failure where whoever made it has seen why.
    """
    if attended and isinstance(error, UsageError | Refused):
        return Outcome.REFUSED
    return Outcome.FAILED if isinstance(error, Exception) else Outcome.STOPPED


def note_end(
    log: Path,
    key: RunKey,
    outcome: Outcome,
    error: BaseException | None = None,
    *,
    at: datetime,
) -> None:
    """Note that a run is over, also one that never came to hold the store.

    Of an error its name is written, and its words where they are ours.

    Raises:
        WriteFailed: when the log cannot be written.
    """
    name = "" if error is None else type(error).__name__
    why = str(error)[:_WORDS] if isinstance(error, EverestError) else ""
    told = {"outcome": outcome.value, "error": name, "why": why}
    _append(log, {"what": "ended", **_of(key), "at": iso(at), **told})


def note_remark(log: Path, key: RunKey, remark: str, *, at: datetime) -> None:
    """Note something about a run that the next morning report should tell.

    Raises:
        WriteFailed: when the log cannot be written.
    """
    _append(log, {"what": "remarked", **_of(key), "at": iso(at), "remark": remark})


def known_runs(log: Path) -> list[Ran]:
    """Return the runs that the log knows; lines that cannot be read are passed over."""
    try:
        data = log.read_bytes()
    except OSError:
        return []
    return runs_of(_parsed(data))


def runs_before(log: Path, key: RunKey) -> list[Ran]:
    """Return the runs that came before the caller's own, which holds the store: they are over."""
    runs = known_runs(log)
    own = next((run.n for run in runs if run.key == key), None)
    return [run for run in runs if own is None or run.n < own]


def due(log: Path, *, now: datetime, zone: tzinfo) -> bool:
    """Tell whether no night has completed since the last time one was due."""
    return night_due(now, zone, completed_nights(known_runs(log)))


def _of(key: RunKey) -> dict[str, str]:
    return {"flow": key.flow, "run": key.id}


def _append(log: Path, line: dict[str, Any]) -> int:
    """Append a line under the next number, durably; return the number."""
    try:
        with _held(log) as descriptor:
            data = _bytes(descriptor)
            number = max((known.n for known in _parsed(data)), default=0) + 1
            whole = b"" if not data or data.endswith(b"\n") else b"\n"
            line = {"v": 1, "n": number, **line}
            written = whole + json.dumps(line, ensure_ascii=False).encode() + b"\n"
            os.write(descriptor, written)
            sync(descriptor)
            if len(data) > MOST_BYTES:
                swap_file(log, _shortened(data + written))
    except OSError as error:
        raise WriteFailed(log, error.strerror or str(error)) from error
    return number


@contextmanager
def _held(log: Path) -> Iterator[int]:
    """Hold the log open under a lock of its own: who cannot have the store writes here too."""
    while True:
        descriptor = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is(descriptor, log):  # else it was shortened while we waited
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is(descriptor: int, log: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), log.stat())
    except FileNotFoundError:
        return False


def _bytes(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _parsed(data: bytes) -> list[Line]:
    found = (_line(raw) for raw in data.splitlines())
    return [line for line in found if line is not None]


def _line(raw: bytes) -> Line | None:
    """Return a line of the log, or None where it is cut or not ours."""
    try:
        told = json.loads(raw)
        key = RunKey(_text(told["flow"]), _text(told["run"]))
        n, at = int(told["n"]), instant(told["at"])
        if told["what"] == "begun":
            return Begun(key, n, at)
        if told["what"] == "remarked":
            return Remarked(key, n, at, _text(told["remark"]))
        outcome = Outcome(told["outcome"])
        return Ended(key, n, at, outcome, _text(told["error"]), _text(told["why"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(found)
    return found


def _shortened(data: bytes) -> bytes:
    """Return the newest lines, and those of the last completed night wherever they stand."""
    lines = data.splitlines(keepends=True)
    old, new = lines[:-_KEPT], lines[-_KEPT:]
    return b"".join([*_last_night(old), *new])


def _last_night(lines: Sequence[bytes]) -> list[bytes]:
    runs = runs_of(_parsed(b"".join(lines)))
    nights = [run for run in runs if run.key.flow == NIGHTLY and run.outcome is Outcome.COMPLETED]
    if not nights:
        return []
    kept = nights[-1].key
    return [raw for raw in lines if (line := _line(raw)) is not None and line.key == kept]
