"""Who may: a token, or the person's own unix socket, opens some of the person's projects.

Tokens are kept as digests in `tokens.json`; the words themselves are shown once. Invariant: what a
request names may only narrow what its token opens.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tasks.durable import make_file, make_folder, swap_file
from tasks.errors import TokensDamaged, UnknownToken, UsageError

PREFIX: Final = "everest_"
"""How every token begins, so that one can be told from a model server's key."""
TOKEN: Final = re.compile(rb"everest_[A-Za-z0-9_-]{43}")
"""A token's words, wherever they stand."""
SHOWN: Final = 12
_LONGEST_APP: Final = 200


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller may read and write.

    Attributes:
        app: the app_id of every scope it opens.
        projects: the ids it opens; None opens every project of the person's.
        holder: the shown id of the token, or `socket` or `loopback`: what logs may say.
    """

    app: str
    projects: frozenset[str] | None
    holder: str

    @property
    def project(self) -> str | None:
        """Return the one project that it opens, None when it opens several."""
        if self.projects is None or len(self.projects) != 1:
            return None
        return next(iter(self.projects))

    def opens(self, project_id: str) -> bool:
        """Tell whether a project lies within it."""
        return self.projects is None or project_id in self.projects

    def narrowed(self, project_id: str) -> Grant:
        """Return the same grant for one project that it opens."""
        return replace(self, projects=frozenset({project_id}))


class Token(BaseModel):
    """One token as it is kept: a digest, and what it opens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    app: str
    projects: list[str] | None
    made: datetime

    @property
    def shown(self) -> str:
        """Return the id by which it is listed and removed."""
        return self.digest[:SHOWN]

    def grant(self) -> Grant:
        """Return what it opens."""
        opened = None if self.projects is None else frozenset(self.projects)
        return Grant(self.app, opened, self.shown)


_KEPT: Final = TypeAdapter(list[Token])


class Tokens:
    """The tokens of a home, read again when their file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._grants: dict[str, Grant] = {}

    def grant(self, token: str) -> Grant | None:
        """Return what a token opens, None when there is no such token.

        Raises:
            TokensDamaged: when the file cannot be read.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._grants = {one.digest: one.grant() for one in kept_in(self._path)}
            self._seen = seen
        return self._grants.get(digest_of(token))


def digest_of(token: str) -> str:
    """Return what is kept of a token: it is long and random, so a plain SHA-256 hides it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def kept_in(path: Path) -> list[Token]:
    """Return the tokens of a file, none when there is no file.

    Raises:
        TokensDamaged: when it cannot be read.
    """
    try:
        return _read(path, path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TokensDamaged(path, error.strerror or str(error)) from None


def add_token(
    path: Path, *, app: str, projects: Iterable[str] | None, made: datetime
) -> tuple[str, Token]:
    """Make a token and keep its digest; return its words, which are kept nowhere, and the token.

    Raises:
        UsageError: when the app_id is blank, or too long to name a folder.
        TokensDamaged: when the file cannot be read.
        WriteFailed: when the disk refuses.
    """
    if not app.strip() or len(quote(app, safe="")) > _LONGEST_APP:
        raise UsageError(f"--app {app[:40]!r}: it is blank or too long; name it in a word or two")
    words = PREFIX + secrets.token_urlsafe(32)
    opened = None if projects is None else sorted(set(projects))
    token = Token(digest=digest_of(words), app=app, projects=opened, made=made)
    _change(path, lambda kept: [*kept, token])
    return words, token


def remove_token(path: Path, prefix: str) -> Token:
    """Remove the token whose shown id begins with `prefix`; it opens nothing from then on.

    Raises:
        UnknownToken: when none does, or several do.
        TokensDamaged: when the file cannot be read.
        WriteFailed: when the disk refuses.
    """
    fits = [one for one in kept_in(path) if prefix and one.digest.startswith(prefix.lower())]
    if len(fits) != 1:
        raise UnknownToken(prefix, [one.shown for one in kept_in(path)])
    _change(path, lambda kept: [one for one in kept if one.digest != fits[0].digest])
    return fits[0]


def first_token(tokens: Path, words: Path, *, app: str, made: datetime) -> None:
    """Make the token that set-up wires into apps, if there is none yet: it opens every project.

    Its words lie in `words`, for the person alone.

    Raises:
        TokensDamaged: when the file of tokens cannot be read.
        WriteFailed: when the disk refuses.
    """
    if words.exists():
        return
    said, token = add_token(tokens, app=app, projects=None, made=made)
    if not make_file(words, said.encode()):  # another process was first
        remove_token(tokens, token.digest)


def is_first(token: Token, words: Path) -> bool:
    """Tell whether a token is the one that set-up made, whose words lie in a file."""
    try:
        return token.digest == digest_of(words.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return False


def _change(path: Path, change: Callable[[list[Token]], list[Token]]) -> None:
    with _alone(make_folder(path.parent)):
        kept = change(kept_in(path))
        swap_file(path, _KEPT.dump_json(kept, indent=1) + b"\n")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from changing tokens meanwhile; the lock goes with its holder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(path: Path, data: bytes) -> list[Token]:
    try:
        return _KEPT.validate_json(data)
    except ValidationError as error:
        raise TokensDamaged(path, error.errors()[0]["msg"]) from None
