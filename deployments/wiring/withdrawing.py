"""What is ours in an agent's file, taken out again, whatever the file's format.

Invariant: what is another home's stays, and with it what it needs of the agent's own settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from deployments.wiring.data import Path as Steps
from deployments.wiring.owner import Owner
from deployments.wiring.wishes import (
    Editor,
    Kept,
    handlers,
    line_of,
    marked,
    wired_only,
    without_handler,
)
from tasks.hooks.wired import is_ours

_PROVIDER: Final = ("model_providers", "everest")
_CHOSEN: Final = (("model_provider",), "everest")


def withdraw(editor: Editor, kept: Kept, paths: Sequence[Steps], owner: Owner) -> Editor:
    """Return a text without anything of ours for a home, and without containers that we made.

    Args:
        editor: the text.
        kept: what is known from the wiring.
        paths: where entries and settings of ours may stand beside those.
        owner: whose entries go; those of another home stay.
    """
    for event, group, handler in reversed(list(handlers(editor))):
        if is_ours(line_of(editor, event, group, handler), Path(owner.home)):
            editor = without_handler(editor, event, group, handler)
    return withdraw_from(editor, kept, [*kept.put, *paths], owner)


def withdraw_from(editor: Editor, kept: Kept, paths: Sequence[Steps], owner: Owner) -> Editor:
    """Return a text without what is ours at some places, and without containers that we made."""
    places = [path for path in dict.fromkeys(paths) if editor.get(path) is not None]
    for path in [one for one in places if _is_ours(editor, one, kept, owner)]:
        editor = _taken_back(editor, path, kept)
    if not _has_anothers(editor, kept, paths):  # which need them too
        for path in places:
            if kept.put.get(path) == editor.get(path):
                editor = _taken_back(editor, path, kept)
    for path in sorted(kept.made, key=len, reverse=True):
        if editor.get(path) in ({}, []):
            editor = editor.drop(path)
    return editor


def _has_anothers(editor: Editor, kept: Kept, paths: Sequence[Steps]) -> bool:
    """Tell whether a text holds another home's things; what a person registered is no home's."""
    stands = {path: editor.get(path) for path in paths}
    return wired_only(editor.data) or any(
        marked(now) and now != kept.old.get(path) for path, now in stands.items()
    )


def _is_ours(editor: Editor, path: Steps, kept: Kept, owner: Owner) -> bool:
    """Tell by its mark, or by what was noted, whether what stands at a path is this home's."""
    now, noted = editor.get(path), kept.put.get(path)
    if (path, now) == _CHOSEN:
        return editor.get(_PROVIDER) is None or _is_ours(editor, _PROVIDER, kept, owner)
    if not marked(now):
        return False
    if isinstance(now, dict) and "command" in now:
        return now == noted or owner.has_entry(now)
    return _address(now) == _address(noted) or owner.has_address(_address(now))


def _address(value: Any) -> str:
    return str(value.get("base_url", "") if isinstance(value, dict) else value)


def _taken_back(editor: Editor, path: Steps, kept: Kept) -> Editor:
    """Put back what stood at a path before, or nothing."""
    return editor.put(path, kept.old[path]) if path in kept.old else editor.drop(path)
