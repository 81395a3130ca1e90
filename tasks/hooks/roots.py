"""Which project a new folder belongs to, as a hook tells it by itself: by what the disk says.

The rules are those of `tasks.domain.project.identify` and `tasks.evidence.folders.probe`, for plain
paths of this system; whatever else is called a path is left to them.
"""

import posixpath

from tasks.hooks import plain

_WORKTREES = ("/.claude/worktrees/", "/.worktrees/")
_POINTER = "gitdir:"
_MOST = 4096


def identified(cwd: str) -> tuple[str, str]:
    """Return the id and the path of the project of a folder that was never met."""
    root = _root(cwd) if _is_plain(cwd) else ""
    if _is_plain(root):
        slug = "-".join("".join(c if c.isalnum() else " " for c in _last(root).lower()).split())
        hashed = plain.sha(root).hex()[:8]
        return f"{slug[:40].rstrip('-') or 'project'}-{hashed}", root
    from tasks.domain.project import identify  # noqa: PLC0415  it loads what takes long
    from tasks.evidence.folders import probe  # noqa: PLC0415

    found = identify(cwd, {}, probe)
    return found.project_id, found.path


def _is_plain(path: str) -> bool:
    return path.startswith("/") and path.isascii() and path.isprintable() and "\\" not in path


def _root(cwd: str) -> str:
    """Return the top of the repository that an existing folder lies in, else the folder."""
    if not posixpath.isdir(cwd):
        return _without_worktree(posixpath.normpath(cwd))
    folder = top = posixpath.realpath(cwd)
    while not (common := _common(top)):
        if top == "/":
            return folder
        top = posixpath.dirname(top)
    return posixpath.dirname(common) if _last(common) == ".git" else top


def _common(top: str) -> str:
    """Return the common directory of the repository whose worktree begins here, "" for none."""
    entry = posixpath.join(top, ".git")
    if posixpath.isdir(entry):
        return posixpath.realpath(entry) if plain.is_there(f"{entry}/HEAD") else ""
    try:
        pointer = _first_line(entry)
    except OSError:
        return ""
    if not pointer.startswith(_POINTER):
        return ""
    return _shared(_joined(top, pointer[len(_POINTER) :].strip()))


def _shared(git_dir: str) -> str:
    """Return what a worktree's git directory shares; a submodule's shares nothing: itself."""
    try:
        return _joined(git_dir, _first_line(f"{git_dir}/commondir"))
    except OSError:  # pruned, or its repository moved: the name still says
        above = posixpath.dirname(git_dir)
        return posixpath.dirname(above) if _last(above) == "worktrees" else git_dir


def _first_line(file: str) -> str:
    data = plain.read(file)[:_MOST]
    return data.decode(errors="surrogateescape").partition("\n")[0].strip()


def _joined(base: str, written: str) -> str:
    return posixpath.realpath(posixpath.join(base, written))


def _without_worktree(path: str) -> str:
    """Return a path without a worktree's part: hosts put worktrees under their repository."""
    found = [at for part in _WORKTREES if (at := path.find(part, 1)) > 0]
    return path[: min(found)] if found else path


def _last(path: str) -> str:
    return path.rpartition("/")[2]
