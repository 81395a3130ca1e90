"""What makes a folder a home, and removing one: what is ours in it by name, then the folder itself.

Invariant: nothing outside the home is touched, no link is followed, and what Everest does not know
by name stays where it is.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.errors import HomeRefused, HomeTaken, WriteFailed
from tasks.settings import SEALS, Places

_BESIDES: Final = (SEALS, "wired.lock", "service.env", "cron.log", "paused", "restoring")
_ALSO: Final = re.compile(
    r"memory\.duckdb\..+"  # its log, and damaged ones that were kept aside
    r"|replaced-.+"  # what a restore moved aside
    r"|\..+\.[0-9a-f]{8}\.part.*"  # what a killed run left
    r"|\.DS_Store"
)
_TELLING: Final = (
    *("memory.duckdb", "store.lock", "journal/.lock", "ledger/*.jsonl", "view/current"),
    *("keys/digest.key", "keys/door.token", "prefect/auth", "spool/.lock", "spool/failures"),
    *("wired.json", "wired-over", "written.json", "vetoed.json", "model-asked.json", SEALS),
)
"""What makes a folder known as a home, each alone: a folder named `keys` may be anybody's."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What was removed: how many entries of the home, and what was left in it as not ours."""

    removed: int
    left: tuple[Path, ...]


def require_own(places: Places) -> None:
    """Look whether a folder may be used as a home: it is one, or holds nothing that is not ours.

    So no file of ours comes to lie among the person's own, where a removal would have to tell them
    apart by name.

    Raises:
        HomeTaken: when it holds other things and nothing that only Everest makes.
    """
    try:
        held = [*places.home.iterdir()]
    except OSError:
        return  # it is not there, or whoever reads or writes in it says what is wrong
    names = _names(places)
    others = [entry for entry in held if not (entry.name in names or _ALSO.fullmatch(entry.name))]
    if others and not _tells(places.home):
        raise HomeTaken(places.home, min(entry.name for entry in others))


def require_home(places: Places, user_home: Path) -> None:
    """Look whether a folder may be removed as a home of Everest's; one that is not there may.

    Raises:
        HomeRefused: when it is no home, or one that holds the person's own.
    """
    home = places.home
    if not home.exists():
        return
    real, person = home.resolve(), user_home.resolve()
    if person.is_relative_to(real):
        raise HomeRefused(home, "it holds your own home folder")
    if not home.is_dir():
        raise HomeRefused(home, "it is no folder")
    if any(home.iterdir()) and not _tells(home):
        raise HomeRefused(home, "nothing in it shows that it is a home of Everest's")


def remove(places: Places, user_home: Path) -> Gone:
    """Remove all of ours in a home, and the home with it unless something else is there.

    Raises:
        HomeRefused: as `require_home`.
        WriteFailed: when the disk refuses; what was removed by then is gone.
    """
    require_home(places, user_home)
    if not places.home.exists():
        return Gone(0, ())
    names = _names(places)
    ours: list[Path] = []
    left: list[Path] = []
    for entry in sorted(places.home.iterdir()):
        (ours if entry.name in names or _ALSO.fullmatch(entry.name) else left).append(entry)
    try:
        for entry in ours:
            _remove(entry)
        if not left:
            _remove_folder(places.home)
        _remove_socket(places)
    except OSError as error:
        raise WriteFailed(Path(error.filename), error.strerror or str(error)) from error
    return Gone(len(ours), tuple(left))


def _tells(home: Path) -> bool:
    return any(any(home.glob(one)) for one in _TELLING)


def _names(places: Places) -> frozenset[str]:
    held = (value for value in vars(places).values() if isinstance(value, Path))
    inside = (path for path in held if path != places.home and path.is_relative_to(places.home))
    return frozenset((*_BESIDES, *(path.relative_to(places.home).parts[0] for path in inside)))


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _remove_folder(home: Path) -> None:
    """Remove an empty home; where a link led to it, the link as well."""
    real = home.resolve()
    real.rmdir()
    if home.is_symlink():
        home.unlink()


def _remove_socket(places: Places) -> None:
    """Remove a socket that lies elsewhere, in a folder of the account's own."""
    if not places.socket.is_relative_to(places.home):
        places.socket.unlink(missing_ok=True)
