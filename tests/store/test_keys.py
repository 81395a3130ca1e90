"""The key behind digests: made once, private, never silently another."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.errors import KeyMissing
from tasks.store.keys import digest_key

MANY = """
import sys
from pathlib import Path
from tasks.store.keys import digest_key
print(digest_key(Path(sys.argv[1]), ledger=Path(sys.argv[2])).hex())
"""


def test_it_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    keys, ledger = tmp_path / "deep" / "keys", tmp_path / "ledger"
    key = digest_key(keys, ledger=ledger)
    assert len(key) == 32
    assert digest_key(keys, ledger=ledger) == key
    assert digest_key(tmp_path / "other", ledger=ledger) != key
    assert stat.S_IMODE((keys / "digest.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert [path.name for path in keys.iterdir()] == ["digest.key"]


def test_losing_it_beside_a_ledger_is_an_error(tmp_path: Path) -> None:
    keys, ledger = tmp_path / "keys", tmp_path / "ledger"
    key = digest_key(keys, ledger=ledger)
    ledger.mkdir()
    (ledger / "000001.jsonl").write_bytes(b"")
    assert digest_key(keys, ledger=ledger) == key
    (keys / "digest.key").unlink()
    with pytest.raises(KeyMissing, match=r"digest\.key.*backup"):
        digest_key(keys, ledger=ledger)
    assert not (keys / "digest.key").exists()


@pytest.mark.parametrize("damage", ["", "00ff", "not hex at all", "ü"])
def test_a_damaged_one_is_an_error_and_not_another_key(tmp_path: Path, damage: str) -> None:
    keys, ledger = tmp_path / "keys", tmp_path / "ledger"
    digest_key(keys, ledger=ledger)
    (keys / "digest.key").write_text(damage, "utf-8")
    with pytest.raises(KeyMissing, match=r"damaged"):
        digest_key(keys, ledger=ledger)


def test_of_processes_that_come_at_once_one_makes_it(tmp_path: Path) -> None:
    made = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, str(tmp_path / "keys"), str(tmp_path / "ledger")],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": "."},
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    keys = {process.communicate()[0] for process in made}
    assert len(keys) == 1
    assert keys == {digest_key(tmp_path / "keys", ledger=tmp_path).hex().encode() + b"\n"}
