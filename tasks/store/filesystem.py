"""Refuse a home on a network file system, where locks and durable renames cannot be relied on."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import UnsupportedFilesystem

_REMOTE = {
    "nfs": "NFS",
    "nfs4": "NFS",
    "cifs": "SMB",
    "smb3": "SMB",
    "smbfs": "SMB",
    "fuse.sshfs": "sshfs",
    "9p": "9P",
}


def require_local(home: Path, *, mounts: Path = Path("/proc/self/mounts")) -> None:
    """Return quietly when `home` is on a local file system, or where that cannot be found out.

    Raises:
        UnsupportedFilesystem: with the kind of file system.
    """
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    kind = _kind_at(home.expanduser().absolute().resolve(), lines)
    if kind in _REMOTE:
        raise UnsupportedFilesystem(home, _REMOTE[kind])


def _kind_at(path: Path, lines: list[str]) -> str:
    best, kind = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:  # not a mount line
            continue
        point = Path(fields[1].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind
