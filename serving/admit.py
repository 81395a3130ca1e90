"""What a request may: its token, its socket and the project that it names make one grant, or none.

Invariants: what a request names only narrows; a token that opens nothing is refused, never taken
for none; with no token over TCP memory has no part, and whatever project is named is not looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from starlette.types import Scope

from serving.grants import PREFIX, TOKEN, Grant, Tokens
from serving.metrics import Counters
from serving.proxy.apis import CREDENTIALS, Headers, header
from tasks.errors import AmbiguousName, EverestError

TOKEN_HEADER: Final = b"x-everest-token"
PROJECT_HEADER: Final = b"x-everest-project"
LONGEST_NAME: Final = 1000
"""Characters of a project's name, which may be a path."""

_log = logging.getLogger(__name__)
_PREFIX: Final = PREFIX.encode()
_BEGIN: Final = "/t/"
_PROJECT: Final = "p/"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that may go on: its path without our prefix, and what it may.

    Attributes:
        trouble: why it could not be told what it may, when that is why it has no grant.
    """

    path: str
    grant: Grant | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """A request that may not; the message names no token."""

    path: str
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Door:
    """Decides who may. What it cannot look up, damaged files and all, opens nothing.

    Attributes:
        app: the app_id of the person's own grants.
        project_id: gives the id of the project that a name means.
        trusts_loopback: any process of this machine counts as the person.
    """

    tokens: Tokens
    app: str
    project_id: Callable[[str], str]
    trusts_loopback: bool
    counters: Counters

    def admit(self, scope: Scope) -> Admitted | Denied:
        """Return what a request may, or why it may not."""
        asked = _Asked.of(scope)
        try:
            grant = self._grant(asked, scope)
            for name in asked.projects:
                grant = self._narrowed(grant, name) if grant is not None else None
        except _NotOpen as why:
            return Denied(asked.path, why.status, f"everest: {why}")
        except Exception as error:  # noqa: BLE001  memory may never stop a request: it goes without
            _log.warning("who may could not be told: %s", type(error).__name__)
            self.counters.door_failures.add(type(error).__name__)
            return Admitted(asked.path, None, str(error) if isinstance(error, EverestError) else "")
        return Admitted(asked.path, grant)

    def _grant(self, asked: _Asked, scope: Scope) -> Grant | None:
        query = scope.get("query_string", b"")
        sent = "" if asked.path.startswith(_LOOKED_FOR) else asked.path
        if b"key=" + _PREFIX in query or _tells_token(sent + query.decode("latin-1")):
            raise _NotOpen(400, "a token goes into a header, or first into the path, /t/<token>/")
        if asked.token is not None:
            found = self.tokens.grant(asked.token)
            if found is None:
                raise _NotOpen(401, "no such token; `everest token add` makes one")
            return found
        if scope.get("state", {}).get("uid") is not None:
            return Grant(self.app, None, "socket")
        return Grant(self.app, None, "loopback") if self.trusts_loopback else None

    def _narrowed(self, grant: Grant, name: str) -> Grant:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise _NotOpen(400, "the project's name cannot be used")
        try:
            project = self.project_id(name)
        except AmbiguousName as error:
            mine = "; give its id" if grant.projects is not None else f": {error}"
            raise _NotOpen(400, f"the project's name fits several{mine}") from None
        if not grant.opens(project):
            raise _NotOpen(403, "the token does not open the project that was named")
        return grant.narrowed(project)


_LOOKED_FOR: Final = "/.well-known/"
"""Where MCP's clients look for OAuth, behind it their whole path; it is never sent on."""


class _NotOpen(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request says of itself: `/t/<token>/p/<project>/v1/…`, or headers, or neither.

    A token may also stand where an app puts its key; it is known by how it begins.
    """

    path: str
    token: str | None
    projects: tuple[str, ...]

    @classmethod
    def of(cls, scope: Scope) -> _Asked:
        path = scope["raw_path"].decode("ascii")
        named = header(scope["headers"], PROJECT_HEADER)
        projects = () if named is None else (_text(named),)
        if not path.startswith(_BEGIN):
            return cls(path, _token_in(scope["headers"]), projects)
        token, _, rest = path[len(_BEGIN) :].partition("/")
        if rest.startswith(_PROJECT):
            project, _, rest = rest[len(_PROJECT) :].partition("/")
            projects = (unquote(project, errors="replace"), *projects)
        return cls("/" + rest, unquote(token), projects)


def _tells_token(sent: str) -> bool:
    """Tell whether a token stands where it would be sent on to a model's server."""
    if "everest" not in sent and "%" not in sent:
        return False
    return TOKEN.search(unquote(sent).encode(errors="replace")) is not None


def _token_in(headers: Headers) -> str | None:
    for name, value in headers:
        if name == TOKEN_HEADER:
            return value.decode("latin-1")
        if name in CREDENTIALS:
            word = value.rpartition(b" ")[2]
            if word.startswith(_PREFIX):
                return word.decode("latin-1")
    return None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
