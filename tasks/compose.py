"""The composition root of every run: reads settings and the clock once, and passes them down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tasks.domain.clock import utc_now
from tasks.embedding.choose import Chosen, choose
from tasks.evidence.roots import claude_roots
from tasks.night import Progress, Run, opened_run
from tasks.settings import Places, Settings


@dataclass(frozen=True, slots=True)
class Setting:
    """What a process works with: settings, places, and where transcripts come from.

    Attributes:
        roots: folders of transcripts.
        host_root: the host's own root among them; None for a folder that was named.
    """

    settings: Settings
    places: Places
    roots: tuple[Path, ...]
    host_root: Path | None

    def space(self) -> Chosen:
        """Return the embedding space in use; no model is loaded by that."""
        return choose(self.settings.embed, self.settings.embed_model, self.places.model)


def setting(transcripts: Path | None = None) -> Setting:
    """Return what the environment says; creates nothing on disk.

    Args:
        transcripts: a folder to read instead of every host's root; nothing is written under it.

    Raises:
        SettingInvalid: when a setting cannot be used.
    """
    settings = Settings.load()
    places = Places(settings.home)
    if transcripts is not None:
        return Setting(settings, places, (transcripts.expanduser().absolute(),), None)
    roots = tuple(claude_roots(os.environ, Path.home()))
    return Setting(settings, places, roots, roots[0] if roots else None)


@contextmanager
def opened(
    where: Setting, *, at: datetime | None = None, progress: Progress | None = None
) -> Iterator[Run]:
    """Hold the store for one run of a flow; it reads the clock once.

    Raises:
        StoreError: when the store cannot be opened.
    """
    with opened_run(
        where.places,
        where.settings,
        where.space(),
        at=at or utc_now(),
        roots=where.roots,
        host_root=where.host_root,
        progress=progress,
    ) as run:
        yield run
