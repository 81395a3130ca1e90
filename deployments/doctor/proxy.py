"""Ask the proxy at the address that an agent was given: does it listen, does it know the token?"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from deployments.doctor.finding import Finding, well, wrong
from tasks.compose import Setting
from tasks.deadline import Deadline

_PATIENCE: Final = 10.0
_OUT: Final = "everest setup --undo --proxy"


def try_address(where: Setting, title: str, address: str) -> Finding:
    """Return whether requests of an agent that is led there will be let in."""
    try:
        parts = urlsplit(address)
        port = parts.port or 0
    except ValueError:
        return wrong(title, "it is led to what is no address", "everest setup")
    if port != where.settings.proxy_port:
        why = f"it is led to port {port}, and the proxy's is {where.settings.proxy_port}"
        return wrong(title, why, "everest setup")
    path = parts.path.removesuffix("/v1").rstrip("/") + "/memory/status"
    status = _asked(parts._replace(path=path, query="", fragment="").geturl())
    if status is None:
        why = "it is led through the proxy, which does not run: every request of its fails"
        return wrong(title, why, f"everest up   (or {_OUT})")
    if status in {401, 403}:
        return wrong(title, "the proxy does not know its token", f"{_OUT} && everest setup --proxy")
    return well(title, "it is led through the proxy, which lets it in")


def _asked(url: str) -> int | None:
    """Return the status of what a proxy answers, None when none is there or it takes too long."""
    from tasks.timed import FAULTS, answered  # noqa: PLC0415  slow to load

    try:
        with answered("GET", url, Deadline(_PATIENCE)) as answer:
            return answer.status
    except (*FAULTS, ValueError):
        return None
