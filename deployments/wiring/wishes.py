"""What is wanted in an agent's file, put there and taken out again, whatever the file's format.

Invariants: what is there of another's is never replaced or reordered; what is ours is known by its
mark and brought up to date in place, so that wiring twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, Self

from deployments.wiring.data import Path as Steps
from deployments.wiring.data import Unwirable, dotted, found
from deployments.wiring.owner import NAMED_BY
from tasks.hooks.wired import MARK

HOOKS: Final = "hooks"
_TOKEN: Final = "/t/everest_"  # noqa: S105  what stands before a token in an address of ours


class Editor(Protocol):
    """A text whose places can be changed one by one; each change gives a new one."""

    @property
    def text(self) -> str:
        """Return the text."""
        ...

    @property
    def data(self) -> Any:
        """Return what it holds."""
        ...

    def get(self, path: Steps) -> Any:
        """Return what stands at a path, None when nothing does."""
        ...

    def put(self, path: Steps, value: Any) -> Self:
        """Return the text with a value at a path."""
        ...

    def append(self, path: Steps, value: Any) -> Self:
        """Return the text with one more item in an array."""
        ...

    def drop(self, path: Steps) -> Self:
        """Return the text without what stands at a path."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """An object of ours under a name; keys that a person added to it stay."""

    path: Steps
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hook:
    """One handler of ours for an event, in a group of its own."""

    event: str
    handler: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of the agent's own that takes another value as long as we are wired."""

    path: Steps
    value: Any


Wish = Entry | Hook | Option


@dataclass(frozen=True, slots=True)
class Target:
    """A file and what is wanted in it.

    Attributes:
        editor: reads the file's format.
        locked: the agent writes the file as well, under a lock of its own.
    """

    path: Path
    editor: Callable[[str], Editor]
    wishes: tuple[Wish, ...]
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What has to be known to take our things out again.

    Attributes:
        made: containers that were not there before.
        put: what we put where something else may have stood.
        old: what stood there; a path that had nothing is not in it.
    """

    made: tuple[Steps, ...] = ()
    put: dict[Steps, Any] = field(default_factory=dict)
    old: dict[Steps, Any] = field(default_factory=dict)

    def without(self, paths: Sequence[Steps]) -> Kept:
        """Return it without what was put at some places."""
        return Kept(
            self.made,
            {path: value for path, value in self.put.items() if path not in paths},
            {path: value for path, value in self.old.items() if path not in paths},
        )


@dataclass(slots=True)
class _Notebook:
    """What is learned on the way of a wiring."""

    made: list[Steps]
    put: dict[Steps, Any]
    old: dict[Steps, Any]

    def making(self, editor: Editor, path: Steps) -> None:
        """Note which containers on a path will be made."""
        for depth in range(1, len(path)):
            if editor.get(path[:depth]) is None and path[:depth] not in self.made:
                self.made.append(path[:depth])

    def putting(self, path: Steps, value: Any, before: Any) -> None:
        """Note what takes whose place; what was ours already has its own note, or none."""
        if path not in self.put and before is not None:
            self.old[path] = before
        self.put[path] = value


def fulfil(editor: Editor, wishes: Sequence[Wish], kept: Kept) -> tuple[Editor, Kept]:
    """Return a text with everything wanted in it, and what has to be known to undo it.

    Raises:
        Unwirable: when something of another's stands in the way.
    """
    notes = _Notebook(list(kept.made), dict(kept.put), dict(kept.old))
    for wish in wishes:
        match wish:
            case Entry(path, value):
                editor = _entry(editor, path, value, notes)
            case Hook(event, handler):
                editor = _hook(editor, event, handler, notes)
            case Option(path, value):
                editor = _option(editor, path, value, notes)
    events = {wish.event for wish in wishes if isinstance(wish, Hook)}
    return _no_others(editor, events), Kept(tuple(notes.made), notes.put, notes.old)


def present(editor: Editor, wishes: Sequence[Wish]) -> bool:
    """Tell whether everything wanted is there as it should be."""
    try:
        return bool(fulfil(editor, wishes, Kept())[0].data == editor.data)
    except Unwirable:
        return False


def hooks_of(data: Any) -> Iterator[tuple[str, str]]:
    """Yield event and command of each handler of ours in a file's data."""
    hooks = found(data, (HOOKS,))
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = found(group, (HOOKS,))
            for handler in handlers if isinstance(handlers, list) else ():
                line = found(handler, ("command",))
                if isinstance(line, str) and MARK in line:
                    yield event, line


def ours_in(text: str) -> bool:
    """Tell whether a text holds what only a set-up puts there."""
    return MARK in text or _TOKEN in text


def marked(value: Any) -> bool:
    """Tell whether a value is one that Everest wires, for whichever home."""
    match value:
        case dict():
            words = value.get("args")
            named = Path(str(value.get("command", ""))).name == "everest"
            serves = isinstance(words, list) and "serve" in words[:1]
            return (named and serves) or any(marked(one) for one in value.values())
        case list():
            return any(marked(one) for one in value)
    return wired_only(value)


def wired_only(value: Any) -> bool:
    """Tell whether a value holds what only a set-up puts there, for whichever home."""
    match value:
        case dict():
            return any(wired_only(one) for one in value.values())
        case list():
            return any(wired_only(one) for one in value)
        case str():
            return ours_in(value)
    return False


def _entry(editor: Editor, path: Steps, value: dict[str, Any], notes: _Notebook) -> Editor:
    before = editor.get(path)
    if before is None:
        notes.making(editor, path)
        notes.putting(path, value, None)
        return editor.put(path, value)
    if not isinstance(before, dict) or not marked(before):
        raise Unwirable(f"{dotted(path)} is there and is not Everest's; give it another name")
    notes.putting(path, value, before)
    for name, wanted in value.items():
        new = _merged(before.get(name), wanted) if name == "env" else wanted
        if before.get(name) != new:
            editor = editor.put((*path, name), new)
    if "env" not in value and isinstance(before.get("env"), dict):
        editor = _without_settings(editor, (*path, "env"))
    return editor


def _merged(before: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    others = before if isinstance(before, dict) else {}
    kept = {name: one for name, one in others.items() if name != NAMED_BY or name in wanted}
    return {**kept, **wanted}


def _without_settings(editor: Editor, path: Steps) -> Editor:
    """Take another home's name out of an environment, and what is left of that if it is bare."""
    if NAMED_BY not in editor.get(path):
        return editor
    editor = editor.drop((*path, NAMED_BY))
    return editor if editor.get(path) else editor.drop(path)


def _hook(editor: Editor, event: str, handler: dict[str, Any], notes: _Notebook) -> Editor:
    ours = [at for at in handlers(editor) if at[0] == event and MARK in line_of(editor, *at)]
    if not ours:
        notes.making(editor, (HOOKS, event, 0))
        return editor.append((HOOKS, event), {HOOKS: [handler]})
    for at in reversed(ours[1:]):
        editor = without_handler(editor, *at)
    _, group, place = ours[0]
    path: Steps = (HOOKS, event, group, HOOKS, place)
    for name, wanted in handler.items():
        if editor.get((*path, name)) != wanted:
            editor = editor.put((*path, name), wanted)
    return editor


def _option(editor: Editor, path: Steps, value: Any, notes: _Notebook) -> Editor:
    before = editor.get(path)
    if before == value:
        return editor
    notes.making(editor, path)
    notes.putting(path, value, None if marked(before) else before)
    return editor.put(path, value)


def _no_others(editor: Editor, events: set[str]) -> Editor:
    """Take out handlers of ours for events that are no longer wanted."""
    if not events:
        return editor
    for at in reversed(list(handlers(editor))):
        if at[0] not in events and MARK in line_of(editor, *at):
            editor = without_handler(editor, *at)
            if not editor.get((HOOKS, at[0])):
                editor = editor.drop((HOOKS, at[0]))
    return editor


def handlers(editor: Editor) -> Iterator[tuple[str, int, int]]:
    """Yield event, group and place of every handler there is."""
    hooks = editor.get((HOOKS,))
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group, one in enumerate(groups if isinstance(groups, list) else ()):
            inner = one.get(HOOKS) if isinstance(one, dict) else None
            for place in range(len(inner) if isinstance(inner, list) else 0):
                yield event, group, place


def line_of(editor: Editor, event: str, group: int, place: int) -> str:
    """Return a handler's command, "" when it has none."""
    return str(found(editor.data, (HOOKS, event, group, HOOKS, place, "command")) or "")


def without_handler(editor: Editor, event: str, group: int, place: int) -> Editor:
    """Take a handler out, with its group when it was alone in it."""
    path: Steps = (HOOKS, event, group)
    if len(editor.get((*path, HOOKS))) > 1:
        return editor.drop((*path, HOOKS, place))
    return editor.drop(path)
