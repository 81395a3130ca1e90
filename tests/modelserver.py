"""A model server of ours that speaks Ollama's forms and OpenAI's, and misbehaves as a test says.

Its embedding model is the hashed space, turned by a seed: another seed is another model whose
vectors mean nothing to the first one's.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np

from tasks.embedding.hashed import Hashed

EMBEDDER = "nomic-embed-text"
WRITER = "qwen2.5:7b"
LAYERS = 3
LAYER = 1_000_000


@dataclass
class Model:
    digest: str
    seed: int = 0
    dim: int = 256


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Cut:
    """Close the connection after so many lines, or bytes, of an answer."""

    after: int


Answer = tuple[int, Any]
"""Status and JSON value; bytes are sent as they are."""


@dataclass
class ModelServer:
    """The server; its fields are what a test sets, before or between requests.

    Attributes:
        models: what it has, by the name that Ollama lists.
        there: what can be pulled.
        ollama: whether it has Ollama's own API.
        says: what a chat is answered with: a text, or an answer as a whole.
        embeds: instead of vectors; it is told the texts.
        pause: seconds before each answer.
        drips: paths whose answers come byte by byte and have no end.
        cuts: taken one a pull, while there are any.
        key: the only bearer token it lets in, if set.
    """

    models: dict[str, Model] = field(default_factory=dict)
    there: dict[str, Model] = field(default_factory=dict)
    ollama: bool = True
    says: Callable[[dict[str, Any]], str | Answer] = lambda _: "{}"
    embeds: Callable[[list[str]], Answer | None] = lambda _: None
    pause: float = 0.0
    drips: tuple[str, ...] = ()
    cuts: list[Cut] = field(default_factory=list)
    key: str | None = None
    asked: list[Asked] = field(default_factory=list)
    layers: dict[str, int] = field(default_factory=dict)
    port: int = 0

    def __enter__(self) -> Self:
        server = self

        class Handler(_Handler):
            scripted = server

        self._http = _Listener(("127.0.0.1", self.port), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Go away: connections are refused from here on."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def to(self, path: str) -> list[Asked]:
        """Return what was asked of a path."""
        return [one for one in self.asked if one.path == path]

    def vectors(self, model: str, texts: list[str]) -> list[list[float]]:
        """Return the vectors of a model, not brought to length one."""
        made = self.models[_tagged(model)]
        rng = np.random.default_rng(made.seed)
        order, signs = rng.permutation(256), rng.choice([-1.0, 1.0], 256)
        rows = Hashed().documents(texts, lambda _: None)[:, order] * signs * 3.0
        wide = np.pad(rows, ((0, 0), (0, max(0, made.dim - 256))))[:, : made.dim]
        return [[float(number) for number in row] for row in wide]

    def pulled(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the lines of a pull, which goes on at the layer where the last one was cut off."""
        yield {"status": "pulling manifest"}
        found = self.there.get(_tagged(name))
        if found is None:
            yield {"error": "pull model manifest: file does not exist"}
            return
        for layer in range(LAYERS):
            for done in (0, LAYER // 2, LAYER):
                if layer < self.layers.get(name, 0):
                    done = LAYER  # noqa: PLW2901  it is here already
                yield {
                    "status": f"pulling {layer}",
                    "digest": f"sha256:{name}{layer}",
                    "total": LAYER,
                    "completed": done,
                }
            self.layers[name] = max(self.layers.get(name, 0), layer + 1)
        yield {"status": "verifying sha256 digest"}
        self.models[_tagged(name)] = found
        yield {"status": "success"}


class _Listener(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that was killed."""


class _Handler(BaseHTTPRequestHandler):
    scripted: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        pass

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(json.loads(raw or b"null"))

    def _answer(self, body: Any) -> None:
        server = self.scripted
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.asked.append(Asked(self.command, self.path, headers, body))
        if server.key and headers.get("authorization") != f"Bearer {server.key}":
            self._send((401, {"error": {"message": "wrong key"}}))
            return
        time.sleep(server.pause)
        if self.path in server.drips:
            self._drip()
        elif self.path.startswith("/api/") and not server.ollama:
            self._send((404, {"error": "not found"}))
        elif self.path == "/api/pull":
            self._pull(body["model"])
        else:
            self._send(self._made(body))

    def _drip(self) -> None:
        """Send a head that never ends, until whoever asked goes away."""
        self.close_connection = True
        byte = b"HTTP/1.1 200 OK\r\nx-waits: "
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(byte)
                byte = b"x"
                time.sleep(0.02)

    def _made(self, body: Any) -> Answer:
        server = self.scripted
        match self.path:
            case "/api/version":
                return 200, {"version": "0.9.9"}
            case "/api/tags":
                return 200, {"models": [_listed(n, m) for n, m in server.models.items()]}
            case "/v1/models":
                listed = [{"id": name, "object": "model"} for name in server.models]
                return 200, {"object": "list", "data": listed}
            case "/api/embed" | "/v1/embeddings":
                return self._embedded(body)
            case "/v1/chat/completions":
                return _chatted(server.says(body))
            case _:
                return 404, {"error": "not found"}

    def _embedded(self, body: Any) -> Answer:
        server, model = self.scripted, body["model"]
        if _tagged(model) not in server.models:
            return 404, {"error": f'model "{model}" not found, try pulling it first'}
        if (made := server.embeds(body["input"])) is not None:
            return made
        rows = server.vectors(model, body["input"])
        if self.path == "/api/embed":
            return 200, {"model": model, "embeddings": rows}
        data = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
        return 200, {"object": "list", "data": data[::-1]}

    def _pull(self, name: str) -> None:
        cut = self.scripted.cuts.pop(0) if self.scripted.cuts else None
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, line in enumerate(self.scripted.pulled(name)):
            if cut and number >= cut.after:
                self.close_connection = True
                return
            data = json.dumps(line).encode() + b"\n"
            try:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            except OSError:  # whoever asked went away: what is here so far stays
                self.close_connection = True
                return
            time.sleep(self.scripted.pause)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, answer: Answer) -> None:
        status, value = answer
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def _chatted(said: str | Answer) -> Answer:
    if not isinstance(said, str):
        return said
    message = {"role": "assistant", "content": said}
    return 200, {"choices": [{"index": 0, "message": message}]}


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _listed(name: str, model: Model) -> dict[str, Any]:
    return {"name": name, "model": name, "digest": model.digest, "size": LAYERS * LAYER}


def with_models() -> ModelServer:
    """Return a server that has the models that `everest model` asks for on most machines."""
    both = {f"{EMBEDDER}:latest": Model("ab" * 32), WRITER: Model("cd" * 32, dim=8)}
    return ModelServer(models=both)
