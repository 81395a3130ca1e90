"""Encodes queries without torch: the forward pass of a BERT sentence model in plain numpy.

The weights are the very file that sentence-transformers reads, mapped and not copied, so an idle
process holds only the pages it used. A token is a column: a product with the weights in front, as
they lie in the file, takes three quarters of the time that it takes with them behind. Invariant: it
makes vectors of the same space (cosine to sentence-transformers at least 0.995, a test), or refuses
the model.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.weights import WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[np.float32]
_CACHED: Final = 49_152  # activations that fit the cache: halves the cost of gelu
_UNPACKED: Final = 1_000_000
"""Multiplications up to which OpenBLAS, where it has AVX-512, does not copy the weights first: the
products of a query of 20 tokens take 6 ms in such parts and 10 whole; elsewhere as long in both."""
_FEWEST: Final = 32
"""Rows of weights; in products of fewer it takes longer where they are copied all the same."""
_MODULES: Final = ("Transformer", "Pooling", "Normalize")


class UnsupportedModelError(Exception):
    """The model is of a kind whose forward pass is not written here."""


@dataclass(frozen=True, slots=True)
class _Shape:
    layers: int
    heads: int
    epsilon: float
    longest: int


class Encoder:
    """A loaded model; `encode` is safe to call from several threads.

    Args:
        folder: a sentence-transformers folder with `model.safetensors` and `tokenizer.json`.

    Raises:
        UnsupportedModelError: when it is no BERT with mean pooling, or a file is missing or odd.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._shape = _shape_of(folder)
            self._weights = _Weights(folder / WEIGHTS)
            self._tokenizer = _tokenizer(folder / "tokenizer.json")
            self._layers = [self._weights.layer(n) for n in range(self._shape.layers)]
            self.dim = int(self._weights["embeddings.word_embeddings.weight"].shape[1])
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise UnsupportedModelError(f"{folder}: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._shape.longest)

    def encode(self, text: str) -> Array:
        """Return the unit vector of `text`, shape (dim,); a longer text is cut as in training."""
        ids = np.array(self._tokenizer.encode(text).ids)
        hidden = self._embedded(ids)
        for layer in self._layers:
            hidden = _block(hidden, layer, self._shape)
        mean: Array = hidden.mean(axis=1)
        mean /= max(float(np.linalg.norm(mean)), 1e-12)
        return mean

    def _embedded(self, ids: NDArray[np.int64]) -> Array:
        weights = self._weights
        summed = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        scale = weights["embeddings.LayerNorm.weight"]
        shift = weights["embeddings.LayerNorm.bias"]
        return _normed(np.ascontiguousarray(summed.T), scale, shift, self._shape.epsilon)


class _Weights:
    """The tensors of a safetensors file by name: a header of JSON, then the bytes, mapped."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(self._bytes[:8], "little")
        self._start = 8 + length
        self._header: dict[str, Any] = json.loads(self._bytes[8 : self._start])
        self._prefix = "bert." if any(name.startswith("bert.") for name in self._header) else ""

    def __getitem__(self, name: str) -> Array:
        entry = self._header[self._prefix + name]
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, not F32")
        start, stop = entry["data_offsets"]
        flat = np.frombuffer(
            self._bytes, dtype="<f4", count=(stop - start) // 4, offset=self._start + start
        )
        return flat.reshape(entry["shape"])

    def layer(self, number: int) -> Mapping[str, Array]:
        """Return the tensors of one layer by the name they have inside it."""
        inside = f"{self._prefix}encoder.layer.{number}."
        names = [name for name in self._header if name.startswith(inside)]
        return {name[len(inside) :]: self[name[len(self._prefix) :]] for name in names}


def _block(hidden: Array, layer: Mapping[str, Array], shape: _Shape) -> Array:
    """Return one transformer layer's output, shape (dim, tokens): post-norm, as BERT has it."""
    attended = _linear(_attention(hidden, layer, shape), layer, "attention.output.dense")
    attended += hidden
    hidden = _norm(attended, layer, "attention.output.LayerNorm", shape.epsilon)
    inner = _linear(hidden, layer, "intermediate.dense")
    step = max(1, _CACHED // inner.shape[1])
    for start in range(0, len(inner), step):
        _gelu(inner[start : start + step])
    outer = _linear(inner, layer, "output.dense")
    outer += hidden
    return _norm(outer, layer, "output.LayerNorm", shape.epsilon)


def _attention(hidden: Array, layer: Mapping[str, Array], shape: _Shape) -> Array:
    query, key, value = (
        _linear(hidden, layer, f"attention.self.{part}").reshape(shape.heads, -1, hidden.shape[1])
        for part in ("query", "key", "value")
    )
    scores = query.transpose(0, 2, 1) @ key
    scores /= np.float32(np.sqrt(query.shape[1]))
    scores -= scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores, out=scores)
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed: Array = (value @ shares.transpose(0, 2, 1)).reshape(hidden.shape)
    return mixed


def _linear(columns: Array, layer: Mapping[str, Array], name: str) -> Array:
    weight = layer[f"{name}.weight"]
    parts = weight.reshape(-1, _together(weight, columns), weight.shape[1])
    out: Array = (parts @ columns).reshape(len(weight), -1)
    out += layer[f"{name}.bias"][:, np.newaxis]
    return out


def _together(weight: Array, columns: Array) -> int:
    """Return how many rows of weights are multiplied at once: a power of two, or all of them."""
    most = _UNPACKED // columns.size
    if len(weight) <= most:
        return len(weight)
    rows = len(weight) & -len(weight)
    while rows > most:
        rows //= 2
    return rows if rows >= _FEWEST else len(weight)


def _norm(columns: Array, layer: Mapping[str, Array], name: str, epsilon: float) -> Array:
    return _normed(columns, layer[f"{name}.weight"], layer[f"{name}.bias"], epsilon)


def _normed(columns: Array, scale: Array, shift: Array, epsilon: float) -> Array:
    """Return columns in place, each normed."""
    columns -= columns.mean(axis=0)
    columns /= np.sqrt((columns * columns).mean(axis=0) + np.float32(epsilon))
    columns *= scale[:, np.newaxis]
    columns += shift[:, np.newaxis]
    return columns


def _gelu(values: Array) -> None:
    """Put `x (1 + erf(x / sqrt 2)) / 2` in place of each x.

    With |x| for size that is max(x, 0) - size (1 - erf(size / sqrt 2)) / 2, of which the second
    part is to 1e-7 a polynomial of t = 1 / (1 + 0.2316419 size) and the bell curve (Abramowitz and
    Stegun 7.1.26); numpy has no erf.
    """
    size = np.abs(values)
    t = size * np.float32(0.23164189)
    t += np.float32(1.0)
    np.reciprocal(t, out=t)
    rest = t * np.float32(0.5307027145)
    for term in (-0.7265760135, 0.7107068705, -0.142248368, 0.127414796):
        rest += np.float32(term)
        rest *= t
    rest *= size
    size *= size
    size *= np.float32(-0.5)
    rest *= np.exp(size, out=size)
    np.maximum(values, 0.0, out=values)
    values -= rest


def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415  choosing a space loads no model

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise ValueError(str(error)) from error


def _shape_of(folder: Path) -> _Shape:
    config = _json(folder / "config.json")
    pooling = _json(folder / "1_Pooling" / "config.json")
    sentence = _json(folder / "sentence_bert_config.json")
    kinds = tuple(str(module["type"]).split(".")[-1] for module in _json(folder / "modules.json"))
    modes = [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on]
    expected = (
        config.get("model_type") == "bert",
        config.get("hidden_act") == "gelu",
        config.get("position_embedding_type", "absolute") == "absolute",
        modes == ["pooling_mode_mean_tokens"],
        kinds[:2] == _MODULES[:2],
        set(kinds) <= set(_MODULES),
        not sentence.get("do_lower_case"),
    )
    if not all(expected):
        raise ValueError("no BERT with exact gelu, absolute positions and mean pooling")
    return _Shape(
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        epsilon=float(config["layer_norm_eps"]),
        longest=min(int(sentence["max_seq_length"]), int(config["max_position_embeddings"])),
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())
