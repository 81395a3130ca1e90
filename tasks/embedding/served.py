"""The space of a model that another process serves: Ollama, or any OpenAI-compatible server.

Invariants: the model is asked for nothing but vectors, and only when it was chosen. Every answer
holds the vector of a probe of ours too, so one of another model is known by it and not used. When
the server is away nothing is made up: documents are refused, and a query has no vector, so that it
is read by its words.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.minilm import MiniLM
from tasks.embedding.scale import Scale, reference_texts, scale_of
from tasks.embedding.space import Progress, SpaceAway
from tasks.llm.choice import Embedding
from tasks.llm.failure import Failure, Wrong
from tasks.llm.server import Api, Server

PATIENCE: Final = 60.0
"""Seconds that a batch may take: a model that is not in memory yet is loaded first."""
BATCH: Final = 32
_LONGEST: Final = 4_000
"""Characters of a text that are embedded: more than what models of this kind look at, and a server
need not cut a text by itself."""
_SAME: Final = 0.995
"""Cosine of two vectors of the probe that are of one model: batches and threads change floats."""
_LOOK: Final = 5.0
"""Seconds that a look at which models there are may take."""
_QUIET: Final = 5.0
"""Seconds for which a server that failed a query is not asked again."""

_HUGE: Final = 1e30

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Asking:
    """One model on one server."""

    server: Server
    label: str

    def vectors(self, texts: Sequence[str], timeout: float) -> NDArray[np.float32] | Failure:
        """Return a unit row a text, shape (n, dim)."""
        given = [text[:_LONGEST] for text in texts]
        body: dict[str, Any] = {"model": self.label, "input": given}
        if self.server.api is Api.OLLAMA:
            url = f"{self.server.base}/api/embed"
            answer = self.server.post(url, body | {"truncate": True}, timeout=timeout)
        else:
            body["encoding_format"] = "float"
            answer = self.server.post(f"{self.server.base}/embeddings", body, timeout=timeout)
        return answer if isinstance(answer, Failure) else _rows(answer, len(given))


class Served:
    """A served model's space; making one asks nothing.

    Args:
        server: where it is asked.
        embedding: the model as it was measured.
        timeout: seconds that a query may take.
        clock: monotonic seconds.

    Attributes:
        trouble: how the last query failed, "" when it did not.
    """

    def __init__(
        self,
        server: Server,
        embedding: Embedding,
        *,
        timeout: float,
        clock: Clock = time.monotonic,
    ) -> None:
        self.server, self.embedding, self.name = server, embedding, embedding.name
        self.dim = len(embedding.probe)
        scale = Scale(embedding.offset, embedding.slope)
        self.join_cut = scale.cut(MiniLM.join_cut)
        self.verify_cut = scale.cut(MiniLM.verify_cut)
        self.gauge = scale.gauge(MiniLM.gauge)
        self._asking = _Asking(server, embedding.label)
        self._probe = reference_texts()[0]
        self._timeout, self._clock, self._quiet_until = timeout, clock, clock()
        self.trouble = ""

    def documents(self, texts: Sequence[str], progress: Progress) -> NDArray[np.float32]:
        """Return one unit row a text.

        Raises:
            SpaceAway: when the server fails, or another model answers.
        """
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        places = [row for row, text in enumerate(texts) if text.strip()]
        progress(len(texts) - len(places))
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            found = self._probed([texts[row] for row in batch], PATIENCE)
            if isinstance(found, Failure):
                raise SpaceAway(found)
            rows[batch] = found
            progress(len(batch))
        return rows

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query; zero while the server does not answer in time."""
        nothing = np.zeros(self.dim, dtype=np.float32)
        if not text.strip() or self._clock() < self._quiet_until:
            return nothing
        found = self._probed([text], self._timeout)
        if isinstance(found, Failure):
            self._quiet_until, self.trouble = self._clock() + _QUIET, str(found)
            return nothing
        self.trouble = ""
        row: NDArray[np.float32] = found[0]
        return row

    def of(self, embedding: Embedding) -> Served:
        """Return the space of another model of the same server."""
        return Served(self.server, embedding, timeout=self._timeout, clock=self._clock)

    def answers_as_measured(self) -> bool | Failure:
        """Tell whether the model is the one that was measured."""
        rows = self._asking.vectors([self._probe], PATIENCE)
        if isinstance(rows, Failure):
            return rows
        return self._is_measured(rows[0])

    def _probed(self, texts: Sequence[str], timeout: float) -> NDArray[np.float32] | Failure:
        """Return rows that are sure to be of this very model."""
        rows = self._asking.vectors([*texts, self._probe], timeout)
        if isinstance(rows, Failure):
            return rows
        if self._is_measured(rows[-1]):
            return rows[:-1]
        failure = Failure(Wrong.OTHER)
        self.server.tally.failed[str(failure)] += 1
        return failure

    def _is_measured(self, probe: NDArray[np.float32]) -> bool:
        return len(probe) == self.dim and bool(probe @ self.embedding.vector >= _SAME)


def measured(server: Server, label: str, digest: str | None) -> Embedding | Failure:
    """Ask a model for our reference texts, and return what is to be known of it.

    Args:
        server: where it is.
        label: what it is called there.
        digest: by which the server knows it, None when it has no such thing.
    """
    rows = _Asking(server, label).vectors(reference_texts(), PATIENCE)
    if isinstance(rows, Failure):
        return rows
    scale = scale_of(rows)
    if scale is None:
        return Failure(Wrong.BROKEN, "its vectors do not tell what texts have in common")
    probe = tuple(round(float(number), 7) for number in rows[0])
    known = digest or hashlib.sha256(np.round(rows[0], 2).tobytes()).hexdigest()
    return Embedding(label, known, probe, scale.offset, scale.slope)


def remeasured(space: Served) -> Embedding:
    """Return what is to be known of the model that answers now: the same object if it is the same.

    A model of Ollama's is the same while its digest is, any other while its probe has its vector.
    """
    known, server = space.embedding, space.server
    if server.api is Api.OLLAMA:
        digest = digest_of(server, known.label)
        if digest is None or isinstance(digest, Failure) or digest == known.digest:
            return known
    else:
        digest = None
        if space.answers_as_measured() is not False:
            return known
    found = measured(server, known.label, digest)
    return known if isinstance(found, Failure) else found


def digest_of(server: Server, label: str) -> str | Failure | None:
    """Return the digest under which Ollama has a model, None when it has none of that name."""
    answer = server.get(f"{server.base}/api/tags", timeout=_LOOK)
    if isinstance(answer, Failure):
        return answer
    models = answer.get("models") if isinstance(answer, dict) else None
    wanted = label if ":" in label.rpartition("/")[2] else f"{label}:latest"
    for one in models if isinstance(models, list) else ():
        if isinstance(one, dict) and wanted in (one.get("name"), one.get("model")):
            digest = str(one.get("digest", "")).removeprefix("sha256:")
            return digest or None
    return None


def _rows(answer: object, count: int) -> NDArray[np.float32] | Failure:
    """Return the vectors of an answer in either form, brought to length one."""
    found = _listed(answer)
    try:
        rows = np.array(found, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return Failure(Wrong.BROKEN, "its vectors are no numbers")
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
        return Failure(Wrong.BROKEN, "its vectors are not one a text, of one length")
    if not (np.abs(rows) < _HUGE).all():
        return Failure(Wrong.BROKEN, "its vectors hold what is no number of a vector")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        return Failure(Wrong.BROKEN, "its vectors have no direction")
    unit: NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit


def _listed(answer: object) -> object:
    if not isinstance(answer, dict):
        return None
    if "embeddings" in answer:
        return answer["embeddings"]
    data = answer.get("data")
    try:
        ordered = sorted(data or (), key=lambda one: one["index"])
        return [one["embedding"] for one in ordered]
    except (TypeError, KeyError):
        return None
