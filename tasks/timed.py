"""HTTP whose deadline holds for all of it, from the connection to the last byte.

httpx's own time-outs are for one read each, so a server that drips outlasts them by as much as it
likes; here the whole is cancelled. Looking a name up is left to the system, which has time-outs of
its own. Invariants: nothing is taken from the environment and no redirect followed; every wait for
the other end ends at the deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx

from tasks.deadline import Deadline

FAULTS: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError)
"""What comes of a server that is away, slow, or speaks something else."""
_SENDING: Final = "http11.send_request_headers"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    Attributes:
        status: of HTTP; that there is an answer says nothing of success.
        parts: the body as it comes; what it raises is one of `FAULTS`.
    """

    status: int
    parts: Iterator[bytes]


@contextlib.contextmanager
def answered(
    method: str,
    url: str,
    deadline: Deadline,
    *,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
) -> Iterator[Answer]:
    """Give the answer to a request; `body` is sent as JSON unless it is None.

    To be used where no event loop runs in the thread.

    Raises:
        httpx.ConnectTimeout: when the deadline is over before there is a connection.
        httpx.ReadTimeout: when it is over later, here or while the body is read.
        httpx.HTTPError: when the server cannot be reached, breaks off, or speaks no HTTP.
        httpx.InvalidURL: when the URL names no server.
    """
    is_connected = False

    async def watched(name: str, _: Mapping[str, Any]) -> None:
        nonlocal is_connected
        is_connected = is_connected or name.startswith(_SENDING)

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[httpx.Response]:
        certified = url.startswith("https:")  # reading the authorities in costs 20 ms
        async with (
            httpx.AsyncClient(timeout=None, trust_env=False, verify=certified) as client,  # noqa: S113  the deadline is over all of it
            client.stream(
                method, url, headers=headers, json=body, extensions={"trace": watched}
            ) as answer,
        ):
            yield answer

    def in_time(asked: Callable[[], Awaitable[T]]) -> T:
        try:
            return runner.run(_within(asked, deadline))
        except TimeoutError as error:
            late = httpx.ReadTimeout if is_connected else httpx.ConnectTimeout
            raise late("the deadline is over") from error

    def parts(response: httpx.Response) -> Iterator[bytes]:
        coming = response.aiter_bytes()
        while (part := in_time(lambda: anext(coming, None))) is not None:
            yield part

    with asyncio.Runner() as runner:
        opening = opened()
        response = in_time(opening.__aenter__)
        try:
            yield Answer(response.status_code, parts(response))
        finally:
            runner.run(opening.__aexit__(None, None, None))


async def _within(asked: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
    async with asyncio.timeout(deadline.left()):
        return await asked()
