"""The memory API as a client asks it, over TCP with a token or over the unix socket without."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.serving.running import RunningProxy, body_of, request, status_of


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    status: int
    head: str
    data: Any


@dataclass(frozen=True, slots=True)
class Client:
    """A caller: its token, and the project that it names."""

    proxy: RunningProxy
    token: str | None = None
    project: str | None = None

    def get(self, path: str, **query: Any) -> Said:
        target = f"/memory/{path}" + (f"?{urlencode(query)}" if query else "")
        return self.send("GET", target)

    def post(self, path: str, body: Any) -> Said:
        return self.send("POST", f"/memory/{path}", json.dumps(body).encode())

    def send(self, method: str, target: str, body: bytes = b"", *headers: str) -> Said:
        named = [] if self.project is None else [f"x-everest-project: {self.project}"]
        token = [] if self.token is None else [f"x-everest-token: {self.token}"]
        answer = self.proxy.raw(request(target, *named, *token, *headers, body=body, method=method))
        return _said(answer)

    def recalled(self, query: str) -> list[str]:
        """Return the texts that a recall gives."""
        said = self.get("recall", query=query)
        assert said.status == 200, said.data
        return [one["text"] for one in said.data["found"]]


def over_socket(
    proxy: RunningProxy, method: str, target: str, body: bytes = b"", *more: str
) -> Said:
    """Ask over the unix socket, which needs no token."""
    return _said(proxy.raw_unix(request(target, *more, body=body, method=method)))


def _said(answer: bytes) -> Said:
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    body = body_of(answer)
    return Said(status_of(answer), head, json.loads(body) if body else None)
