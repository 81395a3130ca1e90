"""Which credential a model server is shown: from the environment, or a file that is one's own.

Invariant: a key goes to the one server it was set for: with EVEREST_LLM_URL the one of the
environment to that server alone, and the file's always to the server of `everest model`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tasks.errors import SettingInvalid
from tasks.settings import Places, Settings

_OTHERS: Final = 0o077


def key_of_choice(settings: Settings, places: Places) -> str | None:
    """Return the key of the server that `everest model` chose, None when it needs none.

    Raises:
        SettingInvalid: when others may read the file that holds it.
    """
    if settings.llm_key is not None and settings.llm_url is None:
        return settings.llm_key.get_secret_value().strip() or None
    return _of_file(places.model_key)


def key_of_environment(settings: Settings) -> str | None:
    """Return the key of the server that EVEREST_LLM_URL names, None when it needs none."""
    key = settings.llm_key
    return None if key is None else key.get_secret_value().strip() or None


def _of_file(path: Path) -> str | None:
    try:
        if path.stat().st_mode & _OTHERS:
            raise SettingInvalid(str(path), "others may read this key; say `chmod 600` to it")
        return path.read_text("utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(str(path), f"the key cannot be read ({error})") from None
