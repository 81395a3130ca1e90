"""Look at everything, one thing after the other."""

from __future__ import annotations

from collections.abc import Iterator

from deployments.doctor.agents import look_at
from deployments.doctor.finding import Finding, noted, wrong
from deployments.doctor.home import ABOUT, look_at_home
from deployments.doctor.servers import Servers
from deployments.wiring.setup import wirings
from tasks.compose import Setting
from tasks.errors import EverestError


def examine(where: Setting) -> Iterator[Finding]:
    """Yield what is found, as it is found: our home first, then each agent that is here."""
    yield from look_at_home(where)
    try:
        agents = wirings(where)
    except EverestError as error:
        yield wrong(ABOUT, str(error))
        return
    if not agents:
        yield noted("Agents", "none is here", "everest setup")
    servers = Servers()
    for wiring in agents:
        yield from look_at(where, wiring, servers)
