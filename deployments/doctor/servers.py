"""Start an MCP server as an agent would, and list its tools with the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final

from deployments.doctor.finding import Finding, well, wrong

PATIENCE: Final = 30.0
"""Seconds; agents wait ten to thirty."""
_SETUP: Final = "everest setup"


class Servers:
    """Tries servers out, each that is wired in the same way once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...] | str] = {}

    def tried(self, title: str, entry: Mapping[str, object]) -> Finding:
        """Return whether a server that is wired so starts and has its tools.

        Args:
            title: of the agent whose it is.
            entry: as it stands in the agent's file: `command`, `args` and `env`.
        """
        command, arguments, environment = entry.get("command"), entry.get("args"), entry.get("env")
        key = json.dumps([command, arguments, environment])
        if key not in self._known:
            self._known[key] = _result(str(command), arguments, environment)
        found = self._known[key]
        if isinstance(found, str):
            return wrong(title, f"its MCP server {found}", _SETUP)
        return well(title, f"its MCP server starts and has the tools {', '.join(found)}")


def _result(command: str, arguments: object, environment: object) -> tuple[str, ...] | str:
    """Return the names of a server's tools, or what is wrong with it."""
    if "\0" in command or not os.access(command, os.X_OK):
        return f"is gone: {command} is no program"
    words = [str(one) for one in arguments] if isinstance(arguments, list) else []
    more = environment if isinstance(environment, dict) else {}
    try:
        tools = asyncio.run(_tools(command, words, {str(k): str(v) for k, v in more.items()}))
    except TimeoutError:
        return f"does not answer in {PATIENCE:.0f} s: {command}"
    except Exception as error:  # noqa: BLE001  whatever came back, it is no server of ours
        return f"fails ({type(error).__name__}): {command}"
    return tuple(tools) if "recall" in tools else f"has no tool recall: {command}"


async def _tools(command: str, words: Sequence[str], more: Mapping[str, str]) -> list[str]:
    """Return the names of a server's tools, asked from a folder in which nobody works."""
    from mcp.client import Client  # noqa: PLC0415  loaded by nothing else here
    from mcp.client.stdio import (  # noqa: PLC0415
        StdioServerParameters,
        get_default_environment,
        stdio_client,
    )

    with tempfile.TemporaryDirectory() as nowhere, tempfile.TemporaryFile("w") as said:
        started = StdioServerParameters(
            command=command,
            args=list(words),
            env={**get_default_environment(), **more},
            cwd=nowhere,
        )
        async with (
            asyncio.timeout(PATIENCE),
            Client(stdio_client(started, errlog=said)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]
