"""Small and unwritable disks, mounted over a home in a namespace that is the caller's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_ROOM = 256 * 1024 * 1024


def shrink(home: str, free: str) -> int:
    """Put a home on a disk of its own that has so many bytes free; return them."""
    with tempfile.TemporaryDirectory() as folder:
        aside = Path(folder) / "home"
        shutil.copytree(home, aside)
        _mount("-t", "tmpfs", "-o", f"size={_ROOM},mode=700", "tmpfs", home)
        shutil.copytree(aside, home, dirs_exist_ok=True)
    found = os.statvfs(home)
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    _mount("-o", f"remount,size={used + int(free)}", home)
    return os.statvfs(home).f_bavail * found.f_frsize


def grow(home: str) -> None:
    """Give the disk room again."""
    _mount("-o", f"remount,size={_ROOM}", home)


def forbid(home: str) -> None:
    """Mount a home so that nobody can write to it, root neither."""
    _mount("--bind", home, home)
    _mount("-o", "remount,ro,bind", home)


def clear(home: str) -> None:
    """Take away what was mounted over a home last."""
    subprocess.run(["umount", home], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def texts(home: str) -> dict[str, str]:
    """Return the listings under a home, which only this namespace sees."""
    names = ("lessons.jsonl", "vetoed.json")
    return {name: (Path(home) / name).read_text() for name in names}
