"""Which other home an agent is wired for: it has room for one, and the last set-up has it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from deployments.wiring.data import found
from deployments.wiring.machine import Agent
from deployments.wiring.owner import default_home, home_of
from deployments.wiring.peek import peek
from deployments.wiring.record import read_record
from deployments.wiring.wishes import Entry, Target, hooks_of, marked
from tasks.errors import WiredDamaged
from tasks.hooks.wired import MARK
from tasks.settings import Places


def other_homes(agent: Agent, home: Path) -> list[Path]:
    """Return the homes, other than the one given, that an agent's files are wired for.

    One that is gone is none: whoever moved a home wires it again.
    """
    named = {one for target in agent.targets for one in _homes(target)}
    return sorted(one for one in named if one != home and one.is_dir())


def _homes(target: Target) -> Iterator[Path]:
    data = peek(target.path, target.editor)
    for _, line in hooks_of(data):
        yield from _home_of_hook(line)
    for wish in target.wishes:
        entry = found(data, wish.path) if isinstance(wish, Entry) else None
        if isinstance(entry, dict) and "command" in entry and marked(entry):
            named = home_of(entry)
            if named is not None:
                yield Path(named)
            elif _is_of_default(target.path):
                yield default_home()


def _is_of_default(path: Path) -> bool:
    """Tell whether the default home wired a file: an entry in it may be registered by hand."""
    try:
        return read_record(Places(default_home()).wired).of(path) is not None
    except WiredDamaged:
        return False


def _home_of_hook(line: str) -> Iterator[Path]:
    """Yield the home in a hook's command: it stands behind the client, agent and event."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    clients = [at for at, word in enumerate(words) if word.endswith(MARK)]
    if clients and len(words) > clients[-1] + 3:
        yield Path(words[clients[-1] + 3])
