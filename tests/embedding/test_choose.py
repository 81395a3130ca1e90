from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.embedding.choose import choose
from tasks.embedding.hashed import Hashed
from tasks.embedding.minilm import MiniLM
from tasks.embedding.weights import WEIGHTS, shipped
from tasks.errors import SettingInvalid
from tasks.settings import SEALS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model_json(tmp_path: Path) -> Path:
    return tmp_path / "model.json"


def _damage(model_json: Path) -> None:
    """Have the shipped weights remembered under another hash, as a damaged file would have."""
    shipped(model_json.with_name(SEALS))
    seals = json.loads(model_json.with_name(SEALS).read_text())
    for kept in seals.values():
        kept["sha256"] = "0" * 64
    model_json.with_name(SEALS).write_text(json.dumps(seals))


def test_minilm_is_the_default(model_json: Path) -> None:
    chosen = choose(None, None, model_json)
    assert isinstance(chosen.space, MiniLM)
    assert (chosen.space.join_cut, chosen.space.verify_cut) == (0.62, 0.62)
    assert "all-MiniLM-L6-v2:53aa5117" in chosen.why


def test_weights_of_another_hash_are_not_used_and_status_can_say_why(model_json: Path) -> None:
    _damage(model_json)
    chosen = choose(None, None, model_json)
    assert isinstance(chosen.space, Hashed)
    assert (chosen.space.join_cut, chosen.space.verify_cut) == (0.55, 0.5)
    assert chosen.instead
    assert WEIGHTS in chosen.why
    assert "SHA-256 00000000" in chosen.why


def test_a_model_asked_for_by_name_is_never_replaced(model_json: Path) -> None:
    _damage(model_json)
    with pytest.raises(SettingInvalid, match=r"EVEREST_EMBED: .*SHA-256"):
        choose("sentence-transformers", None, model_json)


def test_the_setting_wins_over_the_file_and_the_file_over_the_default(model_json: Path) -> None:
    model_json.write_text('{"embed": "hashed", "writer": "x"}')
    assert isinstance(choose(None, None, model_json).space, Hashed)
    assert "model.json" in choose(None, None, model_json).why
    assert isinstance(choose("sentence-transformers", None, model_json).space, MiniLM)
    model_json.write_text('{"writer": "x"}')
    assert isinstance(choose(None, None, model_json).space, MiniLM)
    assert "EVEREST_EMBED" in choose("hashed", None, model_json).why


def test_only_a_space_that_nobody_chose_stands_in_for_the_model(model_json: Path) -> None:
    assert not choose("hashed", None, model_json).instead
    assert not choose(None, None, model_json).instead


@pytest.mark.parametrize("value", ["", "Hashed", "ollama", "minilm"])
def test_an_unknown_space_is_refused_by_name(model_json: Path, value: str) -> None:
    with pytest.raises(SettingInvalid, match="EVEREST_EMBED"):
        choose(value, None, model_json)
    model_json.write_text(json.dumps({"embed": value}))
    with pytest.raises(SettingInvalid, match=r"model\.json"):
        choose(None, None, model_json)


def test_a_choice_that_cannot_be_read_is_refused_and_not_overruled(model_json: Path) -> None:
    model_json.write_text("{")
    with pytest.raises(SettingInvalid, match=r"model\.json"):
        choose(None, None, model_json)


def test_a_folder_of_ones_own_is_named_by_its_weights_or_refused(
    tmp_path: Path, model_json: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(SettingInvalid, match="EVEREST_EMBED_MODEL"):
        choose(None, folder, model_json)
    (folder / WEIGHTS).write_bytes(b"w")
    assert choose(None, folder, model_json).space.name.startswith("mine:")
    assert isinstance(choose("hashed", folder, model_json).space, Hashed)


HEAVY = ("torch", "sentence_transformers", "transformers", "sklearn", "prefect", "polars", "duckdb")
RECALL = """
import sys
from pathlib import Path
import numpy as np
from tasks.embedding.choose import choose
from tasks.embedding.dense import build_dense
from tasks.embedding.index import build_lexical
from tasks.ranking import Asked, Corpus, rank
space = choose(None, None, Path(sys.argv[1])).space
vector = space.query("use pnpm")
corpus = Corpus(build_lexical(["use pnpm"]), build_dense(vector[None]), np.ones(1), np.ones(1))
assert rank(Asked("use pnpm", vector, space.gauge), corpus, now=1.0, k=1)[0].cosine > 0.99
{more}
print(",".join(name for name in {heavy} if name in sys.modules))
"""


def _loaded(model_json: Path, more: str) -> str:
    code = RECALL.replace("{more}", more).replace("{heavy}", repr(HEAVY))
    run = subprocess.run(
        [sys.executable, "-c", code, str(model_json)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


def test_a_recall_loads_no_torch_and_no_store(model_json: Path) -> None:
    assert _loaded(model_json, "") == ""


def test_a_heavy_module_would_be_seen(model_json: Path) -> None:
    assert _loaded(model_json, "import polars") == "polars"
