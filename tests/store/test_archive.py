"""The file of a backup: what is read from it is what was put there, or nothing is."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tasks.errors import BackupUnusable
from tasks.store.archive import (
    LIST,
    VERSION,
    Contents,
    Item,
    Portion,
    contents_of,
    pack,
    sealed,
    uncounted,
    unpack,
)

LINES = b'{"said":"pnpm"}\n' * 40


def packed(folder: Path) -> Path:
    """Return an archive of two files."""
    (folder / "one").write_bytes(LINES)
    (folder / "two").write_bytes(b"5f" * 32)
    portions = [
        Portion("journal/one.jsonl", folder / "one", len(LINES)),
        Portion("keys/digest.key", folder / "two", 64),
    ]
    path = folder / "backup.tar.gz"
    with path.open("wb") as out:
        contents = Contents("2026-06-01T03:00:00Z", "/home/me", "ab", 3, sealed(portions))
        pack(contents, portions, out, uncounted)
    return path


def forged(folder: Path, member: tarfile.TarInfo, data: bytes, **listed: object) -> Path:
    """Return an archive of one member whose list says what it likes, with the right sum."""
    item = {"path": member.name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    made = Contents("2026-06-01T03:00:00Z", "/home/me", "", 1, (Item(**{**item, **listed}),))  # type: ignore[arg-type]
    return written(folder, made.dump(), [(member, data)])


def written(folder: Path, listed: bytes, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    path = folder / "forged.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        first = tarfile.TarInfo(LIST)
        first.size = len(listed)
        tar.addfile(first, io.BytesIO(listed))
        for member, data in members:
            tar.addfile(member, io.BytesIO(data))
    return path


def plain(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def test_what_was_packed_is_unpacked_privately(tmp_path: Path) -> None:
    contents = unpack(packed(tmp_path), tmp_path / "out")
    assert [item.path for item in contents.files] == ["journal/one.jsonl", "keys/digest.key"]
    assert (tmp_path / "out/journal/one.jsonl").read_bytes() == LINES
    assert (tmp_path / "out/keys/digest.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out/keys").stat().st_mode & 0o777 == 0o700


def test_only_the_length_that_was_frozen_is_kept(tmp_path: Path) -> None:
    path = packed(tmp_path)
    with (tmp_path / "one").open("ab") as file:
        file.write(b"said later\n")
    portions = [Portion("journal/one.jsonl", tmp_path / "one", len(LINES))]
    with path.open("wb") as out:
        pack(Contents("", "", "", 0, sealed(portions)), portions, out, uncounted)
    unpack(path, tmp_path / "out")
    assert (tmp_path / "out/journal/one.jsonl").read_bytes() == LINES


def test_any_flipped_byte_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    """A byte of gzip's own header says nothing of the contents; every other one is noticed."""
    path = packed(tmp_path)
    good, whole = path.read_bytes(), contents_of(path)
    harmless = 0
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            assert contents_of(path) == whole
            harmless += 1
        except BackupUnusable as told:
            assert str(path) in str(told)  # noqa: PT017  most places raise, a few may not
    assert harmless <= 10


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path)
    tar = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(tar.replace(b"pnpm", b"yarn", 1)))
    with pytest.raises(BackupUnusable, match=r"journal/one\.jsonl in it is not what was put"):
        contents_of(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_a_cut_archive_is_refused(tmp_path: Path, share: float) -> None:
    path = packed(tmp_path)
    assert contents_of(path).last_tx == 3
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BackupUnusable):
        contents_of(path)


def test_what_follows_the_archive_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path)
    with path.open("ab") as file:
        file.write(gzip.compress(b"more"))
    with pytest.raises(BackupUnusable, match="more than its list"):
        contents_of(path)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside",
        "journal/../../outside",
        "journal//one",
        "journal/./one",
        "memory.duckdb",
        "store.lock",
        "prefect/profile.toml",
        "",
    ],
)
def test_a_place_outside_of_the_memory_is_refused(tmp_path: Path, name: str) -> None:
    path = forged(tmp_path, plain(name or "x", 2), b"hi", path=name)
    with pytest.raises(BackupUnusable, match="names a place it may not"):
        unpack(path, tmp_path / "deep/out")
    assert not list((tmp_path / "deep").rglob("*.*"))


def _link(member: tarfile.TarInfo) -> None:
    member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0


def _hard(member: tarfile.TarInfo) -> None:
    member.type, member.linkname, member.size = tarfile.LNKTYPE, "/etc/passwd", 0


def _device(member: tarfile.TarInfo) -> None:
    member.type, member.devmajor, member.devminor, member.size = tarfile.CHRTYPE, 1, 3, 0


def _pipe(member: tarfile.TarInfo) -> None:
    member.type, member.size = tarfile.FIFOTYPE, 0


@pytest.mark.parametrize("make", [_link, _hard, _device, _pipe])
def test_only_plain_files_are_unpacked(
    tmp_path: Path, make: Callable[[tarfile.TarInfo], None]
) -> None:
    member = plain("journal/one.jsonl", 0)
    assert unpack(forged(tmp_path, member, b""), tmp_path / "plain").files
    make(member)
    with pytest.raises(BackupUnusable):
        unpack(forged(tmp_path, member, b""), tmp_path / "out")
    assert not (tmp_path / "out/journal").exists()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    size = 64 * 1024 * 1024
    path = forged(tmp_path, plain("journal/one.jsonl", size), b"\0" * size)
    assert path.stat().st_size < size / 300
    with pytest.raises(BackupUnusable, match="claims to unpack"):
        unpack(path, tmp_path / "out")
    assert not (tmp_path / "out/journal").exists()


def test_a_file_longer_than_listed_is_refused(tmp_path: Path) -> None:
    path = forged(tmp_path, plain("journal/one.jsonl", 4), b"four", size=2)
    with pytest.raises(BackupUnusable, match="where its list says"):
        unpack(path, tmp_path / "out")


def test_a_file_that_no_list_names_is_refused(tmp_path: Path) -> None:
    listed = Contents("", "", "", 0, ()).dump()
    path = written(tmp_path, listed, [(plain("journal/one.jsonl", 2), b"hi")])
    with pytest.raises(BackupUnusable, match="more than its list"):
        unpack(path, tmp_path / "out")


def test_one_place_named_twice_is_refused(tmp_path: Path) -> None:
    item = Item("journal/one.jsonl", 2, hashlib.sha256(b"hi").hexdigest())
    member = plain(item.path, 2)
    for items in ((item, item), (item, replace(item, path="journal/one.jsonl/two"))):
        listed = Contents("", "", "", 0, items).dump()
        path = written(tmp_path, listed, [(member, b"hi"), (member, b"hi")])
        with pytest.raises(BackupUnusable, match=r"twice|as a folder"):
            unpack(path, tmp_path / "out")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path)
    tar = gzip.decompress(path.read_bytes())
    newer = tar.replace(f'"v": {VERSION}'.encode(), f'"v": {VERSION + 1}'.encode())
    path.write_bytes(gzip.compress(newer))
    with pytest.raises(BackupUnusable, match="made by a newer Everest"):
        contents_of(path)


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no tar" * 400, mtime=0)],
    ids=["empty", "no gzip", "no tar"],
)
def test_another_file_is_no_backup(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    with pytest.raises(BackupUnusable, match="no backup of Everest's"):
        contents_of(path)


def test_a_list_of_another_shape_is_refused(tmp_path: Path) -> None:
    for listed in (b"[]", b"{}", b"nul", orjson.dumps({"v": 1, "files": [{}]})):
        with pytest.raises(BackupUnusable):
            contents_of(written(tmp_path, listed, []))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupUnusable, match="it is not there"):
        contents_of(tmp_path / "gone.tar.gz")


def test_a_cut_archive_is_told_from_a_foreign_file(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    whole = archive.read_bytes()
    for length in (9, 40, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        archive.write_bytes(whole[:length])
        with pytest.raises(BackupUnusable, match="it is cut off"):
            contents_of(archive)
    archive.write_bytes(b"")
    with pytest.raises(BackupUnusable, match="empty file"):
        contents_of(archive)
    archive.write_bytes(b"a letter to a friend, no archive at all")
    with pytest.raises(BackupUnusable, match="it is no backup of Everest's"):
        contents_of(archive)
