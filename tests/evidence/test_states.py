from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tasks.evidence.states import FileChange, FileState, how_changed, state_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(b'{"n":%d}\n' % number for number in range(3000)))
    return path


def _whole(path: Path) -> FileState:
    return state_of(path, path.stat().st_size, 3000)


def test_a_state_survives_json(file: Path) -> None:
    state = _whole(file)
    assert FileState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_a_file_left_alone_or_only_touched_is_unchanged(file: Path) -> None:
    state = _whole(file)
    assert how_changed(file, state) is FileChange.UNCHANGED
    os.utime(file, ns=(1, 1))
    assert how_changed(file, state) is FileChange.UNCHANGED


def test_a_copy_with_the_same_bytes_is_unchanged(file: Path) -> None:
    state = _whole(file)
    data = file.read_bytes()
    file.rename(file.with_name("old"))
    file.write_bytes(data)
    assert how_changed(file, state) is FileChange.UNCHANGED


@pytest.mark.parametrize("left", [0, 5])
def test_a_longer_file_with_the_same_beginning_was_appended_to(file: Path, left: int) -> None:
    state = state_of(file, file.stat().st_size - left, 2999)
    with file.open("ab") as stream:
        stream.write(b"{}\n")
    assert how_changed(file, state) is FileChange.APPENDED


@pytest.mark.parametrize("where", [0, 100, -1, -4000])
def test_a_byte_changed_at_either_end_makes_it_rewritten(file: Path, where: int) -> None:
    state = _whole(file)
    data = bytearray(file.read_bytes())
    data[where] ^= 1
    file.write_bytes(bytes(data) + b"more\n")
    assert how_changed(file, state) is FileChange.REWRITTEN
    file.write_bytes(bytes(data))
    os.utime(file, ns=(1, 1))
    assert how_changed(file, state) is FileChange.REWRITTEN


def test_a_shorter_file_is_rewritten(file: Path) -> None:
    state = _whole(file)
    os.truncate(file, 100)
    assert how_changed(file, state) is FileChange.REWRITTEN


def test_a_file_that_shrank_while_it_was_read_is_read_again(file: Path) -> None:
    read = file.stat().st_size
    os.truncate(file, 100)
    assert how_changed(file, state_of(file, read, 3000)) is FileChange.REWRITTEN
    assert how_changed(file, state_of(file, 100, 1)) is FileChange.UNCHANGED


def test_an_unread_rest_that_changes_is_no_rewriting(file: Path) -> None:
    state = state_of(file, file.stat().st_size - 9, 2999)
    os.truncate(file, file.stat().st_size - 3)
    assert how_changed(file, state) is FileChange.APPENDED


def test_a_compressed_file_that_grew_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))
    state = state_of(path, path.stat().st_size, 1)
    assert how_changed(path, state) is FileChange.UNCHANGED
    with path.open("ab") as stream:
        stream.write(gzip.compress(b"{}\n"))
    assert how_changed(path, state) is FileChange.REWRITTEN
