"""Whether an agent may be pointed at the proxy: only if the proxy sends on to where it asks now.

Invariant: nobody's key is sent to a server that its owner did not choose.
"""

from __future__ import annotations

from typing import Any, Final

from deployments.wiring.machine import Ours
from deployments.wiring.wishes import marked

_PUBLIC: Final = (
    "https://api.anthropic.com",
    "https://api.openai.com",
    "https://generativelanguage.googleapis.com",
)
"""Where the proxy sends requests when EVEREST_ROUTES says nothing."""


def elsewhere(ours: Ours, address: Any, api: str) -> list[str]:
    """Return why an agent that asks a server of its own stays as it is, nothing when it need not.

    Args:
        ours: what would be wired.
        address: the base address that the agent has now, None for its maker's own.
        api: the name of the API's family, as in EVEREST_ROUTES.
    """
    if address is None or marked(address):
        return []
    plain = str(address).rstrip("/")
    if plain.startswith(_PUBLIC) or plain in ours.routes:
        return []
    why = f"it asks {plain}, and the proxy would send its requests elsewhere: left as it is"
    return [f'{why}. Set EVEREST_ROUTES="*={plain};api={api}" for the proxy and for this command']
