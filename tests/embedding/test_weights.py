from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from tasks.embedding.weights import MINILM_SHA256, WEIGHTS, Model, Unusable, local, sha256_of


def _of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_shipped_weights_are_the_known_ones_and_lend_the_space_its_name(model: Model) -> None:
    assert _of((model.folder / WEIGHTS).read_bytes()) == MINILM_SHA256
    assert model.name == "all-MiniLM-L6-v2:53aa5117"


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    file, seals = tmp_path / "weights", tmp_path / "home" / "weights.json"
    file.write_bytes(b"one")
    assert sha256_of(file, seals) == _of(b"one")
    kept = json.loads(seals.read_text())
    kept[str(file)]["sha256"] = "remembered"
    seals.write_text(json.dumps(kept))
    assert sha256_of(file, seals) == "remembered"
    times = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert sha256_of(file, seals) == _of(b"two")


def test_a_memory_of_hashes_that_cannot_be_read_or_written_only_costs_time(tmp_path: Path) -> None:
    file, seals = tmp_path / "weights", tmp_path / "weights.json"
    file.write_bytes(b"one")
    for junk in (b"\xff", b"[1]", json.dumps({str(file): 3}).encode()):
        seals.write_bytes(junk)
        assert sha256_of(file, seals) == _of(b"one")
    assert sha256_of(file, file / "no" / "folder.json") == _of(b"one")


def test_a_folder_without_weights_is_unusable_and_one_with_them_is_named_by_them(
    tmp_path: Path,
) -> None:
    folder, seals = tmp_path / "mine", tmp_path / "weights.json"
    folder.mkdir()
    found = local(folder, seals)
    assert isinstance(found, Unusable)
    assert WEIGHTS in found.why
    (folder / WEIGHTS).write_bytes(b"w")
    assert local(folder, seals) == Model(folder, "mine", _of(b"w"))
