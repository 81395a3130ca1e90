"""What stands before every route, the proxied ones too: no foreign page, no malformed request.

A browser that was led here by a foreign page names another host, another origin or another site;
each is refused before anything is read. Apps built of pages name an origin of their own, which the
person may let in. Pure ASGI, so that answers pass through as they come.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Collection
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from serving.proxy.apis import Headers, header
from tasks.errors import SettingInvalid

OWN_NAMES: Final = (b"127.0.0.1", b"localhost", b"[::1]")
_log = logging.getLogger(__name__)
_SITES: Final = (b"same-origin", b"none")
_SETTING: Final = "EVEREST_ORIGINS"
_ORIGIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?"
)


class Guard:
    """Let through what a program of this machine sent, whole and in time."""

    def __init__(self, app: ASGIApp, origins: Collection[bytes] = ()) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        why = malformed(scope) or foreign(scope["headers"], self._origins)
        if why is not None:
            await _refuse(send, *why)
            return
        try:
            await self._app(scope, receive, send)
        except Exception as fault:
            _log.error("a fault of ours: %s at %s", type(fault).__name__, _where(fault))
            raise


def malformed(scope: Scope) -> tuple[int, str] | None:
    """Return why a request cannot be taken as it was put, None when it can."""
    headers = scope["headers"]
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        return 400, "a request has a Content-Length or a Transfer-Encoding, not both"
    if names.count(b"content-length") > 1 or names.count(b"host") > 1:
        return 400, "Host and Content-Length may stand once"
    upgrade = header(headers, b"upgrade")
    if upgrade is not None and upgrade.lower() != b"websocket":
        return 400, "no such Upgrade is offered here; send the request without"
    target = scope.get("state", {}).get("target", b"/")
    if not target.startswith(b"/"):
        return 400, "the request's target is no path; this is no forward proxy"
    if _climbs(scope["path"]):
        return 400, "a path may not hold . or .. parts"
    return None


def read_origins(setting: str | None) -> frozenset[bytes]:
    """Return the origins that EVEREST_ORIGINS lists, parted by white space or commas.

    Each is whole: no entry stands for several, and `null`, which any page can make itself, is none.

    Raises:
        SettingInvalid: when an entry is no origin; it is named.
    """
    words = [word.lower() for word in re.split(r"[\s,]+", setting or "") if word]
    for word in words:
        if not _ORIGIN.fullmatch(word):
            why = "is no origin; write it as scheme://host or scheme://host:port, as the app sends "
            raise SettingInvalid(_SETTING, f"{word!r} {why}it, without a path and without *")
    return frozenset(word.encode() for word in words)


def foreign(headers: Headers, origins: Collection[bytes] = ()) -> tuple[int, str] | None:
    """Return why a request is taken for a foreign page's, None when it is not.

    Args:
        headers: the request's.
        origins: beyond our own, those that are let in.
    """
    host = header(headers, b"host")
    if host is None or not _is_own(host):
        return 403, "the Host header names another machine; use 127.0.0.1 or localhost"
    origin = header(headers, b"origin")
    if origin is not None and origin.lower() in origins:
        return None
    if origin is not None and origin != b"http://" + host:
        return 403, f"requests from pages of another origin are refused; {_SETTING} lets an app in"
    site = header(headers, b"sec-fetch-site")
    if site is not None and site not in _SITES:
        return 403, "requests from web pages of another site are refused"
    return None


def _climbs(path: str) -> bool:
    """Tell whether a path, its percent signs undone, has `.` or `..` parts by either slash."""
    if "/." not in path and "\\" not in path:
        return False
    return any(part in (".", "..") for part in path.replace("\\", "/").split("/"))


def _is_own(host: bytes) -> bool:
    name, colon, port = host.rpartition(b":") if not host.endswith(b"]") else (host, b"", b"")
    if not colon:
        name = host
    return name.lower() in OWN_NAMES and (not colon or port.isdigit())


def _where(fault: BaseException) -> str:
    """Return where an error was raised; its message may hold words of a request."""
    frames = traceback.extract_tb(fault.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "no known place"


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"title": "refused", "status": status, "detail": f"everest: {why}"}).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
