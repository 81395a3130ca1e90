"""A home on a network file system is refused with the reason, any other is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.errors import UnsupportedFilesystem
from tasks.store.filesystem import require_local


def mounts(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mounts"
    path.write_text("\n".join(("/dev/sda1 / ext4 rw 0 0", *lines, "junk", "")), "utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "told"),
    [("nfs4", "NFS"), ("cifs", "SMB"), ("smb3", "SMB"), ("fuse.sshfs", "sshfs"), ("9p", "9P")],
)
def test_a_network_file_system_is_refused_by_name(tmp_path: Path, kind: str, told: str) -> None:
    table = mounts(tmp_path, f"server:/home {tmp_path} {kind} rw 0 0")
    with pytest.raises(UnsupportedFilesystem, match=rf"{told}.*EVEREST_HOME"):
        require_local(tmp_path / "not" / "made" / "yet", mounts=table)


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "overlay", "tmpfs", "fuse.encfs", "apfs"])
def test_a_local_one_is_not(tmp_path: Path, kind: str) -> None:
    require_local(tmp_path, mounts=mounts(tmp_path, f"disk {tmp_path} {kind} rw 0 0"))


def test_the_nearest_mount_decides(tmp_path: Path) -> None:
    table = mounts(tmp_path, f"s:/x {tmp_path} nfs4 rw 0 0", f"d {tmp_path / 'a'} ext4 rw 0 0")
    require_local(tmp_path / "a" / "home", mounts=table)
    with pytest.raises(UnsupportedFilesystem):
        require_local(tmp_path / "ab" / "home", mounts=table)


def test_a_later_mount_on_the_same_point_hides_the_earlier(tmp_path: Path) -> None:
    table = mounts(tmp_path, f"d {tmp_path} ext4 rw 0 0", f"s:/x {tmp_path} nfs rw 0 0")
    with pytest.raises(UnsupportedFilesystem):
        require_local(tmp_path, mounts=table)


def test_a_mount_point_with_a_blank_is_found(tmp_path: Path) -> None:
    home = tmp_path / "my disk"
    escaped = str(home).replace(" ", "\\040")
    with pytest.raises(UnsupportedFilesystem):
        require_local(home, mounts=mounts(tmp_path, f"s:/x {escaped} nfs rw 0 0"))


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    table = mounts(tmp_path, f"s:/x {tmp_path / 'far'} nfs rw 0 0")
    with pytest.raises(UnsupportedFilesystem):
        require_local(tmp_path / "near" / "home", mounts=table)


def test_where_mounts_cannot_be_read_nothing_is_refused(tmp_path: Path) -> None:
    require_local(tmp_path, mounts=tmp_path / "absent")
