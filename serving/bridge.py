"""MCP over stdio: each line is handed to a streamable-HTTP endpoint, and its answer is a line.

The endpoint is the warm process's, over its unix socket, while one runs, and else one in this
process; which of the two is asked anew for every line, so either may come and go. Invariants:
nothing but JSON-RPC is written, one message a line; a line that cannot be read is answered, not
fatal; the end of the input ends it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of one message."""

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INTERNAL_ERROR: Final = -32603


class Away(Exception):
    """An endpoint cannot be asked now."""


class Endpoint(Protocol):
    """What answers one message."""

    def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the JSON-RPC answer, None when there is none to give.

        Raises:
            Away: when it cannot be asked, or its answer is no JSON-RPC.
        """
        ...


def serve(lines: BinaryIO, out: BinaryIO, endpoints: Sequence[Endpoint]) -> None:
    """Answer every line until the input ends.

    Args:
        lines: the client's messages.
        out: where answers go.
        endpoints: asked in this order, the next one when one is away.
    """
    talk = _Talk(endpoints)
    for line in _lines(lines):
        answer = talk.answer(line)
        if answer is not None:
            out.write(json.dumps(answer).encode() + b"\n")
            out.flush()


class _Talk:
    """One client's talk: all it has to remember is the version that was agreed on."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        self._version = ""

    def answer(self, line: bytes | None) -> dict[str, Any] | None:
        try:
            message = _message(line)
        except _Unreadable as why:
            return _error(None, why.code, str(why))
        if message.method is None:  # an answer to a question that we never ask
            return None
        told = self._ask(message)
        if message.id is _NOTHING:
            return None
        if told is None:
            return _error(message.id, _INTERNAL_ERROR, "everest gave no answer")
        if message.method == "initialize":
            self._version = told.get("result", {}).get("protocolVersion", "")
        return {**told, "id": message.id}

    def _ask(self, message: _Message) -> dict[str, Any] | None:
        headers = message.headers(self._version)
        for endpoint in self._endpoints:
            try:
                return endpoint.ask(message.body, headers)
            except Away:
                continue
        return None


_NOTHING: Final = object()


class _Unreadable(Exception):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: its line, and what the headers of HTTP repeat of it."""

    body: bytes
    id: Any
    method: str | None
    params: Mapping[str, Any]

    def headers(self, agreed: str) -> dict[str, str]:
        """Return the headers that streamable HTTP wants, which must say what the body says."""
        meta = self.params.get("_meta")
        version = meta.get(_VERSION) if isinstance(meta, dict) else None
        if not isinstance(version, str):
            known = agreed and self.method != "initialize"
            return {"mcp-protocol-version": agreed} if known else {}
        found = {"mcp-protocol-version": version, "mcp-method": self.method or ""}
        name = self.params.get(_NAMED.get(self.method or "", ""))
        if isinstance(name, str):
            found["mcp-name"] = name
        return {key: _safe(value) for key, value in found.items()}


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines that hold anything; None stands for one that is too long."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
        yield None


def _message(line: bytes | None) -> _Message:
    if line is None:
        raise _Unreadable(_INVALID_REQUEST, f"a message holds at most {LONGEST_LINE} bytes")
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError:
        raise _Unreadable(_PARSE_ERROR, "the line is no UTF-8") from None
    except (ValueError, RecursionError):
        raise _Unreadable(_PARSE_ERROR, "the line is no JSON") from None
    if not isinstance(found, dict):
        raise _Unreadable(_INVALID_REQUEST, "a line holds one JSON-RPC object, and no batch")
    method, params = found.get("method"), found.get("params")
    if not isinstance(method, str) and not ("result" in found or "error" in found):
        raise _Unreadable(_INVALID_REQUEST, "the object is no JSON-RPC request: no method")
    return _Message(
        line,
        _id(found["id"]) if "id" in found else _NOTHING,
        method if isinstance(method, str) else None,
        params if isinstance(params, dict) else {},
    )


def _id(value: Any) -> str | int | None:
    """Return an id that can be answered to; what is none is answered to null."""
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _safe(value: str) -> str:
    """Return a value as the protocol writes it into a header: what is not plain, in base64."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not value.startswith("=?"):
        return value
    encoded = base64.b64encode(value.encode(errors="replace")).decode()
    return f"=?base64?{encoded}?="


def _error(id_: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
