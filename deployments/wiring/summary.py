"""Changes of agents' files in short: what comes and goes where, and a diff with less in it.

Invariant: what stands for other words in a diff is told once, in full.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from deployments.wiring.carry import Change
from deployments.wiring.data import Path as Steps
from deployments.wiring.data import dotted
from deployments.wiring.files import text_of
from deployments.wiring.show import diff_of
from deployments.wiring.wishes import HOOKS, hooks_of
from tasks.render.phrases import count

_CONTEXT: Final = 1
_NAME: Final = "everest"
_PROGRAM: Final = 5
"""Words of a hook's command that run the client; agent and event follow, then the home."""
_TOLD: Final = 7


def in_short(changes: Sequence[Change]) -> Iterator[str]:
    """Yield each agent, and below it its files with what comes, goes and changes there."""
    agent = ""
    for change in changes:
        if change.agent != agent:
            agent = change.agent
            yield agent
        yield f"  {_shown(change.path)}{_whole(change)}"
        yield from (f"    {line}" for line in _entries(change))


def lean_diff(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the changes line by line, a name in the place of what every hook's command repeats."""
    names: dict[str, str] = {}
    for change in changes:
        spelt = [_spelt(line, names) for line in _commands(change)]
        for line in diff_of(change, context=_CONTEXT):
            for long, short in spelt:
                line = line.replace(long, short)  # noqa: PLW2901  one name after the other
            yield line
    for words, name in names.items():
        yield f"{name} stands for: {words}"


def _spelt(command: str, names: dict[str, str]) -> tuple[str, str]:
    """Return a hook's command as it stands in its file, and with names in it."""
    words = shlex.split(command)
    program, home = shlex.join(words[:_PROGRAM]), shlex.join(words[_TOLD:])
    hook = names.setdefault(program, _named("hook", names))
    place = names.setdefault(home, _named("home", names))
    short = " ".join([hook, *words[_PROGRAM:_TOLD], place])
    return json.dumps(command, ensure_ascii=False)[1:-1], short


def _named(what: str, names: dict[str, str]) -> str:
    """Return a name that none of the others has."""
    number = sum(name.startswith(f"<{what}") for name in names.values())
    return f"<{what}{f' {number + 1}' if number else ''}>"


def _commands(change: Change) -> list[str]:
    """Return the commands of our hooks in a file, before and after."""
    both = (*hooks_of(_data(change, change.seen)), *hooks_of(_data(change, change.outcome.after)))
    return list(dict.fromkeys(command for _, command in both))


def _entries(change: Change) -> Iterator[str]:
    old, new = _data(change, change.seen), _data(change, change.outcome.after)
    was, becomes = dict(hooks_of(old)), dict(hooks_of(new))
    for how, names in _turns(was, becomes):
        yield f"{how} {count(len(names), 'hook')}: {', '.join(names)}"
    for how, names in _turns(_others(old), _others(new)):
        yield f"{how} {', '.join(names)}"


def _turns(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield what becomes of names, and which: only what happens to any."""
    for how, names in (
        ("adds", [name for name in new if name not in old]),
        ("changes", [name for name in new if name in old and new[name] != old[name]]),
        ("takes out", [name for name in old if name not in new]),
    ):
        if names:
            yield how, names


def _others(data: Any) -> dict[str, list[Any]]:
    """Return all that is no hook by its name: an entry of ours as one, anything else by itself."""
    found: dict[str, list[Any]] = {}
    for path, value in _leaves(data, ()):
        if path[:1] == (HOOKS,):
            continue
        end = path.index(_NAME) + 1 if _NAME in path else len(path)
        found.setdefault(dotted(path[:end]), []).append(value)
    return found


def _leaves(data: Any, path: Steps) -> Iterator[tuple[Steps, Any]]:
    if not isinstance(data, dict):
        yield path, data
        return
    for name, value in data.items():
        yield from _leaves(value, (*path, name))


def _data(change: Change, data: bytes | None) -> Any:
    return {} if data is None else change.target.editor(text_of(change.path, data)).data or {}


def _whole(change: Change) -> str:
    if change.seen is None:
        return " (new)"
    return " (removed: it is as it was before Everest)" if change.outcome.after is None else ""


def _shown(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
