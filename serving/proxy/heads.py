"""The headers of a proxied request and of its answer: what is not sent on, and why. Pure."""

from __future__ import annotations

import re
from typing import Final

from serving.grants import PREFIX, TOKEN
from serving.proxy.apis import CREDENTIALS, Api, Headers
from serving.proxy.routes import Route

_HOP_BY_HOP: Final = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
_NOT_SENT: Final = _HOP_BY_HOP | {b"host", b"expect"}
_BODILESS: Final = (204, 304)
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NO_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OURS: Final = b"x-everest-"
_TOKEN: Final = PREFIX.encode()
_KEPT_CODINGS: Final = (b"gzip", b"deflate", b"identity")


def outgoing(headers: Headers, route: Route, *, length_is_known: bool) -> Headers:
    """Return a request's headers for its server.

    Left out are those of one connection, our own, the length where the body's bytes tell it, the
    client's credential where the route has its own, and a token of ours wherever it stands.
    """
    left_out = _NOT_SENT | _named_by_connection(headers)
    if length_is_known:
        left_out |= {b"content-length"}
    if route.key is not None:
        left_out |= CREDENTIALS
    sent = [one for one in headers if one[0] not in left_out and not _is_ours(*one)]
    return sent if route.key is None else [*sent, _credential(route.api, route.key)]


def readable(headers: Headers) -> Headers:
    """Return a request's headers with only those content codings that a tee can undo."""
    return [
        (name, _codings(value)) if name == b"accept-encoding" else (name, value)
        for name, value in headers
    ]


def incoming(status: int, headers: Headers) -> Headers:
    """Return an answer's headers for its client: all but those of one connection.

    Left out are also the length of a body that by the answer's status never comes, and what no
    header may hold.
    """
    lowered = [(name.lower(), value) for name, value in headers]
    left_out = _HOP_BY_HOP | _named_by_connection(lowered)
    if status in _BODILESS:
        left_out |= {b"content-length"}
    return [one for one in lowered if one[0] not in left_out and _is_sendable(*one)]


def without_key(query: str) -> str:
    """Return a query without the credential that Gemini's clients may put there."""
    return "&".join(part for part in query.split("&") if not part.startswith("key="))


def _is_sendable(name: bytes, value: bytes) -> bool:
    return _NAME.fullmatch(name) is not None and _NO_VALUE.search(value) is None


def _is_ours(name: bytes, value: bytes) -> bool:
    if _TOKEN not in value:
        return name.startswith(_OURS)
    return name in CREDENTIALS or TOKEN.search(value) is not None


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    for name, value in headers:
        if name == b"connection" and value.lower() not in (b"keep-alive", b"close"):
            return frozenset(one.strip().lower() for one in value.split(b","))
    return frozenset()


def _codings(value: bytes) -> bytes:
    kept = [one for one in value.split(b",") if one.partition(b";")[0].strip() in _KEPT_CODINGS]
    return b",".join(kept).strip() or b"identity"


def _credential(api: Api, key: str) -> tuple[bytes, bytes]:
    match api:
        case Api.ANTHROPIC:
            return b"x-api-key", key.encode()
        case Api.GEMINI:
            return b"x-goog-api-key", key.encode()
        case Api.OPENAI | Api.OLLAMA:
            return b"authorization", b"Bearer " + key.encode()
