"""The space of a local sentence-transformers model: MiniLM as shipped, or a folder of one's own.

Documents go through sentence-transformers, in the flow; queries through the torch-free encoder.
Both are loaded at first use. Invariant: no network and no output of the library's own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.encoder import Encoder, UnsupportedModelError
from tasks.embedding.space import Gauge, Progress
from tasks.embedding.weights import Model

OFFLINE: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_BATCH: Final = 32


class MiniLM:
    """A model's space; making one loads nothing.

    The same text gives the same vector to about 1e-6 in each number whatever its batch: padding
    and the shape of a product change the order in which floats are added. Texts that are equal
    are embedded once.
    """

    join_cut = 0.62
    verify_cut = 0.62
    gauge = Gauge(base=0.0, by_cosine=0.35, by_words=0.65)

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name

    @cached_property
    def dim(self) -> int:
        """Return the length of a vector."""
        if self._encoder is not None:
            return self._encoder.dim
        return int(self._library.get_embedding_dimension())

    def documents(self, texts: Sequence[str], progress: Progress) -> NDArray[np.float32]:
        """Return one unit row a text; 26 to 180 texts a second on two cores, by their length."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        places = _places(texts)
        progress(len(texts) - sum(map(len, places.values())))
        distinct = sorted(places, key=lambda text: (len(text), text))
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            for text, vector in zip(batch, self._encode(batch), strict=True):
                rows[places[text]] = vector
            progress(sum(len(places[text]) for text in batch))
        return rows

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query, without torch where the model allows it."""
        if not text.strip():
            return np.zeros(self.dim, dtype=np.float32)
        if self._encoder is not None:
            return self._encoder.encode(text)
        row: NDArray[np.float32] = self._encode([text])[0]
        return row

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the library's, about its own future
            rows: NDArray[np.float32] = self._library.encode(
                texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
            )
        return rows

    @cached_property
    def _encoder(self) -> Encoder | None:
        try:
            return Encoder(self._model.folder)
        except UnsupportedModelError:
            return None

    @cached_property
    def _library(self) -> Any:
        os.environ.update(OFFLINE)  # read when the library is imported, so not a moment later
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415  seconds, torch
            from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

            disable_progress_bar()  # type: ignore[no-untyped-call]  # the library is not typed
            return SentenceTransformer(str(self._model.folder), device="cpu", local_files_only=True)


def _places(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return where each distinct text that is not blank stands."""
    places: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        if text.strip():
            places.setdefault(text, []).append(row)
    return places
