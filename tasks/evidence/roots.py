"""Find Claude Code's transcripts: where its roots are, and which files under a folder are sessions.

Invariant: only what cannot be read at the place a person named is an error; anything below is a
transcript, no transcript, or set aside with its reason. Nothing is written or followed in circles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tasks.errors import NoTranscripts

_SUFFIXES: Final = (".jsonl", ".jsonl.gz")
_SUBAGENT: Final = "agent-"
_NO_SESSIONS: Final = frozenset({"journal.jsonl", "journal.jsonl.gz", "history.jsonl"})
_NO_PROJECTS: Final = frozenset({"subagents", "memory", "tool-results"})
_PROJECTS: Final = "projects"
_DEEPEST: Final = 5


@dataclass(frozen=True, slots=True)
class SetAside:
    """A path that looked like a transcript or a project and could not be used."""

    path: Path
    why: str

    def told(self) -> str:
        """Return it as one line that any terminal and file can take."""
        return f"{in_words(self.path)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Found:
    """The transcripts under a folder, and what was set aside there; both sorted by path."""

    transcripts: tuple[Path, ...]
    set_aside: tuple[SetAside, ...] = ()


def in_words(path: Path) -> str:
    """Return a path as one line of text, whatever bytes its name has."""
    return "".join(c if c.isprintable() else f"\\x{ord(c) & 0xFF:02x}" for c in str(path))


def claude_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the roots of Claude Code that exist, in order of preference, each once.

    Args:
        environ: for CLAUDE_CONFIG_DIR (one folder or several with commas) and XDG_CONFIG_HOME.
        home: the person's home folder.
    """
    named = [part.strip() for part in environ.get("CLAUDE_CONFIG_DIR", "").split(",")]
    config = environ.get("XDG_CONFIG_HOME", "").strip()
    candidates = [
        *(_expanded(part, home) for part in named if part),
        (Path(config) if config else home / ".config") / "claude",
        home / ".claude",
    ]
    kept: dict[Path, Path] = {}
    for path in candidates:
        if _is_folder(path):
            kept.setdefault(path.resolve(), path)
    return list(kept.values())


def find_transcripts(root: Path) -> Found:
    """Return the session transcripts of a folder, whichever kind of folder it is.

    Args:
        root: a root with `projects/` in it, a projects folder, one project, loose transcripts, a
            folder that holds such folders, or one transcript.

    Raises:
        NoTranscripts: when `root` itself is not there or cannot be read.
    """
    if root.name.endswith(_SUFFIXES) and not _unusable(root):
        return Found((root,))
    try:
        entries = sorted(root.iterdir())
    except OSError as error:
        raise NoTranscripts(root, error.strerror or str(error)) from error
    search = _Search()
    search.visit(root, entries, _DEEPEST)
    return Found(
        tuple(sorted(search.transcripts)),
        tuple(sorted(search.set_aside, key=lambda one: one.path)),
    )


@dataclass(slots=True)
class _Search:
    """One walk; a folder is entered once, however many links lead to it."""

    transcripts: list[Path] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    met: set[Path] = field(default_factory=set)

    def visit(self, folder: Path, entries: list[Path], deeper: int) -> None:
        """Take a folder's transcripts, or go into its folders when it holds none itself.

        Below a folder `projects` no deeper than the projects: what lies under those is no session.
        """
        if _is_folder(folder / _PROJECTS):
            self._enter(folder / _PROJECTS, deeper)
            return
        before = len(self.transcripts)
        self.transcripts.extend(_sessions(entries, self.set_aside))
        below = 1 if folder.name == _PROJECTS else deeper
        if below and (folder.name == _PROJECTS or len(self.transcripts) == before):
            for entry in entries:
                self._enter(entry, below)

    def _enter(self, folder: Path, deeper: int) -> None:
        named = folder.name
        if named in _NO_PROJECTS or named.endswith(_SUFFIXES) or not _is_folder(folder):
            return
        real = folder.resolve()
        if real in self.met:
            return
        self.met.add(real)
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            self.set_aside.append(SetAside(folder, error.strerror or str(error)))
            return
        self.visit(folder, entries, deeper - 1)


def _sessions(entries: list[Path], aside: list[SetAside]) -> Iterator[Path]:
    for entry in entries:
        name = entry.name
        if not name.endswith(_SUFFIXES) or name.startswith(_SUBAGENT) or name in _NO_SESSIONS:
            continue
        why = _unusable(entry)
        if why:
            aside.append(SetAside(entry, why))
        else:
            yield entry


def _unusable(path: Path) -> str:
    """Return why a path named like a transcript is none, "" when it is one."""
    if not _is_text(path):
        return "its name is no UTF-8 text; give it another name"
    try:
        if path.is_dir():
            return "a folder, named like a transcript"
        return "" if path.is_file() else "not a file"
    except OSError as error:
        return error.strerror or str(error)


def _is_text(path: Path) -> bool:
    """Tell whether a path can be written down: what is no UTF-8 reaches Python as surrogates."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _expanded(written: str, home: Path) -> Path:
    return home / written[2:] if written.startswith("~/") else Path(written)
