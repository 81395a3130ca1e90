import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.durable import append_line, make_file, swap_file, swap_file_if_still, sweep_parts
from tasks.errors import WriteFailed


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write a file beyond `size` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_swapped_file_is_new_whole_and_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    swap_file(path, b"one")
    swap_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["file"]  # noqa: PTH208  names alone are meant


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    swap_file(path, b"old")
    with largest_file(10), pytest.raises(WriteFailed, match=str(path)):
        swap_file(path, b"n" * 100)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_another_program_wrote_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    assert not swap_file_if_still(path, b"ours", seen=b"what we read")
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]
    assert swap_file_if_still(path, b"ours", seen=b"theirs")
    assert path.read_bytes() == b"ours"


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    assert not swap_file_if_still(path, b"ours", seen=None)
    path.unlink()
    assert swap_file_if_still(path, b"ours", seen=None)


def test_only_the_parts_of_the_files_named_are_swept(tmp_path: Path) -> None:
    left, other = tmp_path / ".a.md.0a1b2c3d.part", tmp_path / ".b.txt.0a1b2c3d.part"
    mine = tmp_path / "a.md"
    for path in (left, other, mine):
        path.write_bytes(b"x")
    sweep_parts(tmp_path, "*.md")
    assert not left.exists()
    assert other.exists()
    assert mine.exists()
    sweep_parts(tmp_path / "absent", "*")


def test_lines_are_appended_and_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_line(path, b"one\n")
    append_line(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(WriteFailed, match="log"):
        append_line(tmp_path / "absent" / "log", b"x\n")


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127])
def test_a_name_of_the_greatest_length_can_be_swapped(tmp_path: Path, name: str) -> None:
    swap_file(tmp_path / name, b"one")
    assert (tmp_path / name).read_bytes() == b"one"
    assert make_file(tmp_path / name, b"two") is False


def test_a_name_that_is_too_long_is_told_as_a_failed_write(tmp_path: Path) -> None:
    with pytest.raises(WriteFailed, match="too long"):
        swap_file(tmp_path / ("x" * 256), b"one")
    assert list(tmp_path.iterdir()) == []
