"""MCP over stdio: each line is handed to a streamable-HTTP endpoint, and its answer is a line.

The endpoint is the warm process's, over its unix socket, while one runs, and else one in this
process; which of the two is asked anew for every line, so either may come and go. Several lines
are answered at a time, each as soon as it can be. Invariants: nothing but JSON-RPC is written, one
message a line; a line that cannot be read is answered, not fatal; the end of the input ends it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Any, BinaryIO, Final, Protocol

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of one message."""
AT_ONCE: Final = 8
"""Lines that are answered at a time; the next is read when one of them is."""

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


def serve(
    lines: BinaryIO, out: BinaryIO, endpoints: Sequence[Endpoint], *, at_once: int = AT_ONCE
) -> None:
    """Answer every line until the input ends.

    Args:
        lines: the client's messages.
        out: where answers go.
        endpoints: asked in this order, the next one when one is away; safe in threads.
        at_once: lines that are answered at a time; with 1 their order is kept.
    """
    talk, free = _Talk(endpoints, out), BoundedSemaphore(at_once)
    with ThreadPoolExecutor(at_once, thread_name_prefix="everest-bridge") as workers:
        for line in _lines(lines):
            if talk.over:
                break
            work = talk.taken(line)
            if work is not None:
                free.acquire()
                workers.submit(work).add_done_callback(lambda _: free.release())


class _Talk:
    """One client's talk: all it has to remember is the version that was agreed on.

    Attributes:
        over: the client does not read any more.
    """

    def __init__(self, endpoints: Sequence[Endpoint], out: BinaryIO) -> None:
        self.over = False
        self._endpoints, self._out = endpoints, out
        self._writing = Lock()
        self._version = ""

    def taken(self, line: bytes | None) -> Callable[[], object] | None:
        """Take a line; return what is left to be done for it, None when nothing is."""
        try:
            message = _message(line)
        except _Unreadable as why:
            self._tell(_error(None, why.code, str(why)))
            return None
        if message.method is None:  # an answer to a question that we never ask
            return None
        headers = message.headers(self._version)
        if message.method != "initialize":
            return partial(self._answer, message, headers)
        told = self._answer(message, headers)  # what follows needs the version
        self._version = (told or {}).get("result", {}).get("protocolVersion", "")
        return None

    def _answer(self, message: _Message, headers: Mapping[str, str]) -> dict[str, Any] | None:
        told = self._ask(message, headers)
        if message.id is not _NOTHING:
            if told is None:
                self._tell(_error(message.id, _INTERNAL_ERROR, "everest gave no answer"))
            else:
                self._tell({**told, "id": message.id})
        return told

    def _ask(self, message: _Message, headers: Mapping[str, str]) -> dict[str, Any] | None:
        for endpoint in self._endpoints:
            try:
                return endpoint.ask(message.body, headers)
            except Away:
                continue
        return None

    def _tell(self, answer: dict[str, Any]) -> None:
        line = json.dumps(answer).encode() + b"\n"
        try:
            with self._writing:
                self._out.write(line)
                self._out.flush()
        except OSError:
            self.over = True


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
