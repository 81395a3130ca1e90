"""The address of the proxy, with the token that lets an agent in, and which agents have it."""

from __future__ import annotations

from typing import Final

from deployments.wiring.data import Path
from deployments.wiring.record import Record
from deployments.wiring.wishes import marked
from tasks.compose import Setting
from tasks.errors import SettingInvalid
from tasks.prefect_home import origin

PLACES: Final[tuple[Path, ...]] = (
    ("env", "ANTHROPIC_BASE_URL"),
    ("model_provider",),
    ("model_providers", "everest"),
    ("GOOGLE_GEMINI_BASE_URL",),
)
"""Where in agents' files the proxy is named: what `--undo --proxy` takes out, and nothing else."""
NOT_MADE_YET: Final = "everest_" + 43 * "0"
"""Stands for the token until there is one: planning makes none."""


def door(where: Setting) -> str:
    """Return the base address that agents are given.

    Raises:
        SettingInvalid: when the proxy takes a free port anew at each start.
    """
    port = where.settings.proxy_port
    if not port:
        raise SettingInvalid("EVEREST_PROXY_PORT", "agents need a port that stays: set another")
    try:
        token = where.places.door_token.read_text("utf-8").strip()
    except FileNotFoundError:
        token = NOT_MADE_YET
    return f"{origin(port)}/t/{token}"


def proxied(record: Record) -> set[str]:
    """Return the names of the agents that were pointed at the proxy."""
    return {
        note.agent
        for note in record.files
        for put in note.put
        if tuple(put.path) in PLACES and marked(put.value)
    }
