"""One proxied request, and what others may do with it: the seams of additions and of the tee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from serving.grants import Grant
from serving.proxy.apis import Api, Headers
from serving.proxy.routes import Route


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Call:
    """One request as it came, and where it goes; each is like itself alone.

    Attributes:
        path: as sent, percent signs and all, without a token's prefix.
        query: as sent.
        headers: as sent, names in small letters.
        body: as sent; None when it streams through unread.
        model: the model that it names, if any.
        grant: who asks and for what; None means that memory has no part in it.
    """

    method: str
    path: str
    query: str
    headers: Headers = field(repr=False)
    body: bytes | None = field(repr=False)
    api: Api
    model: str | None
    route: Route
    grant: Grant | None


class Addition(Protocol):
    """What may be put into a request. Fails or takes too long: the request goes as it came."""

    async def __call__(self, call: Call) -> bytes | None:
        """Return the body to send in place of the call's, None to send it as it came."""


class Tee(Protocol):
    """A reader of one answer's copy, after the client has it. What it raises is counted."""

    def feed(self, piece: bytes) -> None:
        """Take a piece that the client has been sent, still in the server's content encoding."""

    def done(self, *, whole: bool) -> None:
        """Take note of the end; `whole` is false when either side broke off."""


MakeTee = Callable[[Call, int, Headers], Tee | None]
"""Given a call, the answer's status and its headers, return a reader, None to read nothing."""
