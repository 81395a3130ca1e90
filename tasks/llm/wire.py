"""Talks to a model server over HTTP; loaded by the first call alone, since httpx is slow to load.

Invariants: nothing is raised for what a server does; no proxy and no credential is taken from the
environment, and no redirect followed; an answer has a deadline as a whole and a largest size.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import httpx

from tasks.llm.server import Failure, Wrong, error_in

_MOST_BYTES: Final = 64 * 1024 * 1024
_LONGEST_LINE: Final = 1024 * 1024
_FAULTS: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError, ValueError)


def asked(
    method: str, url: str, body: dict[str, Any] | None, *, key: str | None, timeout: float
) -> Any | Failure:
    """Return the JSON of an answer; `timeout` is in seconds, for all of it."""
    until = time.monotonic() + timeout
    try:
        with _client(url, key, timeout) as client, client.stream(method, url, json=body) as answer:
            data = _within(answer, until)
    except _FAULTS as error:
        return _failure(error)
    if isinstance(data, Failure):
        return data
    return _json(data) if answer.is_success else _refused(answer.status_code, data)


def lines(
    url: str, body: dict[str, Any], *, key: str | None, silence: float
) -> Iterator[Any | Failure]:
    """Yield the JSON lines of an answer as they come; a failure is the last one."""
    try:
        with _client(url, key, silence) as client, client.stream("POST", url, json=body) as answer:
            if not answer.is_success:
                yield _refused(answer.status_code, answer.read())
                return
            yield from map(_json, filter(bytes.strip, _split(answer.iter_bytes())))
    except _FAULTS as error:
        yield _failure(error)


def _client(url: str, key: str | None, timeout: float) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    certified = url.startswith("https:")  # reading the authorities in costs 20 ms
    return httpx.Client(headers=headers, timeout=timeout, trust_env=False, verify=certified)


def _within(answer: httpx.Response, until: float) -> bytes | Failure:
    """Return an answer's bytes: all before the deadline and no more than there is room for."""
    parts: list[bytes] = []
    size = 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            return Failure(Wrong.BROKEN, "the answer is too long")
        if time.monotonic() > until:
            return Failure(Wrong.SLOW)
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
