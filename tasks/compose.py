"""The composition root of every process: reads the settings once and passes them down."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import SettingInvalid
from tasks.evidence.roots import claude_roots
from tasks.homes import require_own
from tasks.settings import Places, Settings, absolute

if TYPE_CHECKING:  # what only those need who compare meanings or have a model write
    from tasks.embedding.choose import Chosen
    from tasks.llm.wording import Wordsmith


@dataclass(frozen=True, slots=True)
class Setting:
    """What a process works with: settings, places, and where transcripts come from.

    Attributes:
        roots: folders of transcripts.
        host_root: the host's own root among them; None for a folder that was named.
        attended: whoever asked for what is done waits for it and sees its errors.
    """

    settings: Settings
    places: Places
    roots: tuple[Path, ...]
    host_root: Path | None
    attended: bool = False

    def space(self) -> Chosen:
        """Return the embedding space in use; no model is loaded by that."""
        return space_of(self.settings, self.places)

    def wordsmith(self) -> Wordsmith | None:
        """Return what has a model help with the wording of one run; None when none is chosen."""
        from tasks.llm.configured import client_of  # noqa: PLC0415  few processes need it
        from tasks.llm.wording import Wordsmith, remembered  # noqa: PLC0415

        client = client_of(self.settings, self.places)
        if client is None:
            return None
        return Wordsmith(client, remembered(self.places.model_asked))


def space_of(settings: Settings, places: Places) -> Chosen:
    """Return the embedding space in use; no model is loaded and no server asked by that.

    Raises:
        SettingInvalid: when what was asked for cannot be used.
    """
    from tasks.embedding.choose import choose  # noqa: PLC0415  loads numpy, which few need
    from tasks.llm.keys import key_of_choice  # noqa: PLC0415

    return choose(
        settings.embed,
        settings.embed_model,
        places.model,
        key=partial(key_of_choice, settings, places),
        timeout=settings.embed_timeout,
    )


def setting(transcripts: Path | None = None) -> Setting:
    """Return what the environment says; creates nothing on disk.

    Args:
        transcripts: a folder to read instead of every host's root; nothing is written under it.

    Raises:
        SettingInvalid: when a setting cannot be used.
        HomeTaken: when the home is a folder that is used for something else.
    """
    settings = Settings.load()
    places = Places(settings.home)
    require_own(places)
    if transcripts is not None:
        return Setting(settings, places, (absolute(transcripts),), None, attended())
    roots = tuple(claude_roots(os.environ, _home()))
    return Setting(settings, places, roots, roots[0] if roots else None, attended())


def attended() -> bool:
    """Tell whether whoever started this process waits for it; a Prefect schedule does not."""
    return "PREFECT__FLOW_RUN_ID" not in os.environ


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        why = "is not set and this account has no home folder; set it, or name --transcripts"
        raise SettingInvalid("HOME", why) from None
