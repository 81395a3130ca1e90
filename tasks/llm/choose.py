"""Chooses models for this machine, has a server fetch them, and keeps the choice.

Invariants: no model is run here and only the one server is spoken to; the choice is written last,
in one step, so a pull that was cut off or stopped leaves what stood before, and goes on where it
was when it is asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tasks.cues import table
from tasks.embedding.choose import SERVED
from tasks.embedding.served import digest_of, measured
from tasks.errors import ModelUnavailable
from tasks.llm.choice import Choice, Embedding
from tasks.llm.failure import Failure, Wrong, error_in
from tasks.llm.server import Api, Server

Pulled = Callable[[str, int, int], None]
"""Told a model, and how many of its bytes are here of how many, as far as the server knows."""

_LOOK: Final = 5.0
_SILENCE: Final = 300.0
"""Seconds without a line: a server is silent while it checks the digest of many gigabytes."""
_TRIES: Final = 5
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
_INSTALL: Final = (
    "install it from https://ollama.com/download and start it with `ollama serve`, "
    "or name a server of yours with `everest model --server URL --name MODEL`"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Models by the names that their server has for them; None for none."""

    writer: str | None
    embedding: str | None


def memory_of_machine() -> int:
    """Return the memory that this machine, or the container we are in, has; in bytes."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # Linux and macOS have both
    try:
        return min(whole, int(_CGROUP.read_text("ascii")))
    except (OSError, ValueError):  # no such limit
        return whole


def picked(memory: int) -> Wanted:
    """Return the best models for a machine with so many bytes of memory."""
    models = table(__package__, "models")

    def best(kind: str) -> str | None:
        return next((one["name"] for one in models[kind] if one["memory"] <= memory), None)

    return Wanted(best("writer"), best("embedding"))


def size_of(model: str) -> float | None:
    """Return how much there is to download of a model, in bytes, where that is known here."""
    models = table(__package__, "models")
    rows = (*models["writer"], *models["embedding"])
    return next((float(one["size"]) for one in rows if one["name"] == model), None)


def ollama_at(base: str) -> Server:
    """Return the Ollama that answers at a URL.

    Raises:
        ModelUnavailable: when none does.
    """
    server = Server(base, Api.OLLAMA)
    if not _is_ollama(server):
        raise ModelUnavailable(f"no Ollama answers at {base}", _INSTALL)
    return server


def server_at(base: str, key: str | None) -> Server:
    """Return the server at a URL: an Ollama where one answers, else any other.

    An OpenAI-compatible server is asked below `/v1`, unless its URL names another path.

    Raises:
        ModelUnavailable: when nothing answers there.
    """
    root = base.removesuffix("/v1")
    ollama = Server(root, Api.OLLAMA, key)
    if _is_ollama(ollama):
        return ollama
    plain = base if base.count("/") > 2 else f"{base}/v1"
    server = Server(plain, Api.OPENAI, key)
    answer = server.get(f"{plain}/models", timeout=_LOOK)
    if isinstance(answer, Failure) and answer.wrong in (Wrong.AWAY, Wrong.SLOW):
        raise ModelUnavailable(f"the server at {base} {answer}", "look whether it runs")
    if isinstance(answer, Failure) and answer.status in (401, 403):
        way_out = "set EVEREST_LLM_KEY, or put the key into keys/model.key of Everest's home"
        raise ModelUnavailable(f"the server at {base} wants another key ({answer})", way_out)
    return server


def standing(server: Server, choice: Choice) -> dict[str, str]:
    """Return how each chosen model stands on its server now, by what it is for."""
    listed = _listed(server)
    named = {"writing": choice.writer, "embedding": choice.embedding and choice.embedding.label}
    return {what: _stands(model, listed) for what, model in named.items() if model}


def _stands(model: str, listed: list[str] | Failure) -> str:
    if isinstance(listed, Failure):
        return f"the server {listed}"
    return "there" if not listed or {model, f"{model}:latest"} & {*listed} else "not there any more"


def _listed(server: Server) -> list[str] | Failure:
    """Return the models that a server lists; some list none."""
    ollamas = server.api is Api.OLLAMA
    path, many, name = ("api/tags", "models", "name") if ollamas else ("models", "data", "id")
    answer = server.get(f"{server.base}/{path}", timeout=_LOOK)
    if isinstance(answer, Failure):
        return answer
    rows = answer.get(many) if isinstance(answer, dict) else None
    return [str(one.get(name)) for one in rows or () if isinstance(one, dict)]


def chosen(server: Server, wanted: Wanted, shown: Pulled) -> Choice:
    """Have the server fetch what it lacks, measure the embedding model, and return the choice.

    Raises:
        ModelUnavailable: when a model cannot be had, or does not embed as it should.
    """
    if server.api is Api.OLLAMA:
        for model in filter(None, (wanted.embedding, wanted.writer)):
            pull(server, model, shown)
    else:
        _require_listed(server, wanted)
    embedding = wanted.embedding and _measured(server, wanted.embedding)
    embed = SERVED if embedding else None
    return Choice(server.base, server.api, wanted.writer, embedding or None, embed)


def pull(server: Server, model: str, shown: Pulled) -> None:
    """Have Ollama fetch a model, unless it has it; a stream that breaks is taken up again.

    Raises:
        ModelUnavailable: when Ollama refuses, or the model is not there in the end.
    """
    way_out = "look at its name, and whether Ollama reaches the network and has room"
    if isinstance(digest_of(server, model), str):
        return
    done = 0
    for _ in range(_TRIES):
        fetching = _Fetching()
        end = _pulled(server, model, fetching, shown)
        if end is None:
            break
        if end.wrong is Wrong.REFUSED or end.detail == _NO_MODEL or fetching.done <= done:
            told = f": {end.detail}" if end.detail else ""
            raise ModelUnavailable(f"Ollama could not fetch {model}, it {end}{told}", way_out)
        done = fetching.done
    if not isinstance(digest_of(server, model), str):
        why = f"Ollama says that it fetched {model}, and does not have it"
        raise ModelUnavailable(why, way_out)


_NO_MODEL: Final = "the model could not be fetched"


@dataclass(slots=True)
class _Fetching:
    """How far the layers of a model are, by digest."""

    layers: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(done for done, _ in self.layers.values())

    @property
    def total(self) -> int:
        return sum(total for _, total in self.layers.values())

    def note(self, line: dict[str, Any]) -> None:
        digest, total, done = line.get("digest"), line.get("total"), line.get("completed", 0)
        if isinstance(digest, str) and isinstance(total, int) and isinstance(done, int):
            self.layers[digest] = (min(done, total), total)


def _pulled(server: Server, model: str, fetching: _Fetching, shown: Pulled) -> Failure | None:
    """Follow one stream of a pull to its end; return what was wrong with it."""
    body = {"model": model, "stream": True}
    for line in server.lines(f"{server.base}/api/pull", body, silence=_SILENCE):
        if isinstance(line, Failure):
            return line
        if not isinstance(line, dict):
            return Failure(Wrong.BROKEN, "a line of its answer is no object")
        if "error" in line:
            return Failure(Wrong.REFUSED, error_in(line) or _NO_MODEL)
        fetching.note(line)
        shown(model, fetching.done, fetching.total)
        if line.get("status") == "success":
            return None
    return Failure(Wrong.BROKEN, "the stream ended before the model was there")


def _measured(server: Server, model: str) -> Embedding:
    digest = digest_of(server, model) if server.api is Api.OLLAMA else None
    found = measured(server, model, digest if isinstance(digest, str) else None)
    if isinstance(found, Failure):
        told = f": {found.detail}" if found.detail else ""
        way_out = "name another one with --embedding, or none with `--embedding none`"
        raise ModelUnavailable(
            f"{model} cannot be used to embed, {server.base} {found}{told}", way_out
        )
    return found


def _require_listed(server: Server, wanted: Wanted) -> None:
    """Refuse a model that a server's own list does not hold; some servers have no list."""
    known = _listed(server)
    if isinstance(known, Failure):
        return
    for model in filter(None, (wanted.writer, wanted.embedding)):
        if known and model not in known:
            shown = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
            raise ModelUnavailable(f"{server.base} has no model {model!r}", f"it has: {shown}")


def _is_ollama(server: Server) -> bool:
    answer = server.get(f"{server.base}/api/version", timeout=_LOOK)
    return isinstance(answer, dict) and isinstance(answer.get("version"), str)
