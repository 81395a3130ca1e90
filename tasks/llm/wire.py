"""Talks to a model server over HTTP; loaded by the first call alone, since httpx is slow to load.

Invariants: nothing is raised for what a server does; no proxy and no credential is taken from the
environment, and no redirect followed; an answer has a deadline as a whole and a largest size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final

import httpx

from tasks.deadline import Deadline
from tasks.llm.failure import Failure, Wrong, error_in
from tasks.timed import FAULTS, Answer, answered

_MOST_BYTES: Final = 64 * 1024 * 1024
_LONGEST_LINE: Final = 1024 * 1024


def asked(
    method: str, url: str, body: dict[str, Any] | None, *, key: str | None, timeout: float
) -> Any | Failure:
    """Return the JSON of an answer; `timeout` is in seconds, for all of it."""
    try:
        with answered(method, url, Deadline(timeout), headers=_bearer(key), body=body) as answer:
            data = _whole(answer)
    except FAULTS as error:
        return _failure(error)
    if isinstance(data, Failure):
        return data
    return _json(data) if _is_success(answer) else _refused(answer.status, data)


def lines(
    url: str, body: dict[str, Any], *, key: str | None, silence: float
) -> Iterator[Any | Failure]:
    """Yield the JSON lines of an answer as they come; a failure is the last one."""
    deadline = Deadline(silence)
    try:
        with answered("POST", url, deadline, headers=_bearer(key), body=body) as answer:
            if not _is_success(answer):
                data = _whole(answer)
                yield data if isinstance(data, Failure) else _refused(answer.status, data)
                return
            for line in filter(bytes.strip, _split(answer.parts)):
                yield _json(line)
                deadline.renew()
    except FAULTS as error:
        yield _failure(error)


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_success(answer: Answer) -> bool:
    return HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES


def _whole(answer: Answer) -> bytes | Failure:
    """Return an answer's bytes, no more of them than there is room for."""
    parts: list[bytes] = []
    size = 0
    for part in answer.parts:
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            return Failure(Wrong.BROKEN, "the answer is too long")
    return b"".join(parts)


def _split(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines as they come.

    Raises:
        ValueError: when one does not end.
    """
    line = b""
    for part in parts:
        *whole, line = (line + part).split(b"\n")
        yield from whole
        if len(line) > _LONGEST_LINE:
            raise ValueError(len(line))
    yield line


def _json(data: bytes | str) -> Any | Failure:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return Failure(Wrong.BROKEN, "the answer is no JSON")


def _failure(error: Exception) -> Failure:
    if isinstance(error, httpx.TimeoutException):
        away = isinstance(error, httpx.ConnectTimeout)
        return Failure(Wrong.AWAY if away else Wrong.SLOW)
    away = isinstance(error, httpx.ConnectError)
    return Failure(Wrong.AWAY if away else Wrong.BROKEN, type(error).__name__)


def _refused(status: int, data: bytes) -> Failure:
    return Failure(Wrong.REFUSED, error_in(_json(data)), status)
