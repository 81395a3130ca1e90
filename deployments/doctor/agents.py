"""Look at each agent: is it wired as it should be, and does what is wired work?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deployments.doctor.finding import Finding, noted, well, wrong
from deployments.doctor.hooks import try_hook
from deployments.doctor.proxy import try_address
from deployments.doctor.servers import Servers
from deployments.wiring.data import found
from deployments.wiring.door import PLACES
from deployments.wiring.peek import peek
from deployments.wiring.setup import Wiring
from deployments.wiring.wishes import Entry, Hook, hooks_of, marked
from tasks.compose import Setting


def look_at(where: Setting, wiring: Wiring, servers: Servers) -> Iterator[Finding]:
    """Yield what is to be said of one agent; a server that others have too is tried once."""
    agent = wiring.agent
    setup = f"everest setup --agent {agent.name}"
    for failure in wiring.failures:
        yield wrong(agent.title, str(failure), setup)
    if wiring.elsewhere is not None:
        told = f"it is wired for the home {wiring.elsewhere}, and not for {where.places.home}"
        yield wrong(agent.title, told, f"{setup} --take-over")
        return
    if not wiring.touched and not wiring.present:
        yield noted(agent.title, "it is here and is not wired", setup)
        return
    if not wiring.wired and not wiring.failures:
        yield wrong(agent.title, "what is wired is not what it should be", setup)
    for obstacle in agent.obstacles:
        yield wrong(agent.title, obstacle)
    for note in agent.notes:
        yield noted(agent.title, note)
    yield from _tried(where, wiring, servers)


def _tried(where: Setting, wiring: Wiring, servers: Servers) -> Iterator[Finding]:
    title = wiring.agent.title
    for target in wiring.agent.targets:
        data = peek(target.path, target.editor)
        for wish in target.wishes:
            entry = found(data, wish.path) if isinstance(wish, Entry) else None
            if isinstance(entry, dict) and "command" in entry and marked(entry):
                yield servers.tried(title, entry)
        if any(isinstance(wish, Hook) for wish in target.wishes):
            findings = [
                try_hook(title, event, line, where.places.spool) for event, line in hooks_of(data)
            ]
            yield from _summed(title, findings)
        for address in _addresses(data):
            yield try_address(where, title, address)


def _summed(title: str, findings: list[Finding]) -> Iterator[Finding]:
    """Yield the hooks that do not work, or that all do."""
    bad = [one for one in findings if one.mend]
    yield from bad
    if findings and not bad:
        yield well(title, f"its {len(findings)} hooks answer")


def _addresses(data: Any) -> Iterator[str]:
    """Yield the addresses of the proxy that a file names."""
    for path in PLACES:
        value = found(data, path)
        address = value.get("base_url") if isinstance(value, dict) else value
        if isinstance(address, str) and marked(address):
            yield address
