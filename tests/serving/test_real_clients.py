"""The real command lines, Claude Code, Codex and Gemini CLI: one turn with a tool call.

Each talks to a scripted model through the proxy, with a dummy key and a home of its own, and calls
`recall` at the memory over MCP. They are taken from PATH (npm's @anthropic-ai/claude-code,
@openai/codex, @google/gemini-cli); run with `-m real_clients`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.prompting import CLOSING, Model
from tests.serving.running import RunningProxy, running_proxy
from tests.serving.shipped import COMMAND, Everest
from tests.serving.upstream import Upstream

pytestmark = [pytest.mark.real_clients, pytest.mark.timeout(300)]
ROUTES = "*={0}/v1;api=openai *={0};api=anthropic *={0};api=gemini"
PROMPT = "On which port is staging?"


def _server(person: Everest) -> dict[str, Any]:
    """Return how an agent starts our server; agents pass on little of their environment."""
    env = {"EVEREST_HOME": str(person.home), "EVEREST_EMBED": "hashed"}
    return {"command": str(COMMAND), "args": ["serve"], "env": env}


def _claude(
    proxy: RunningProxy, base: str, server: dict[str, Any]
) -> tuple[list[str], dict[str, str]]:
    config = proxy.person.base / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"everest": server}}))
    words = ["-p", PROMPT, "--model", "claude-sonnet-4-5", "--output-format", "json"]
    words += ["--mcp-config", str(config), "--strict-mcp-config"]
    words += ["--allowedTools", "mcp__everest__recall"]
    env = {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CONFIG_DIR": str(proxy.person.claude),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # the script calls a tool; it does not search for one
        "MCP_CONNECTION_NONBLOCKING": "false",
    }
    return words, env


def _claude_by_stdio(proxy: RunningProxy, base: str) -> tuple[list[str], dict[str, str]]:
    return _claude(proxy, base, _server(proxy.person))


def _claude_by_http(proxy: RunningProxy, base: str) -> tuple[list[str], dict[str, str]]:
    return _claude(proxy, base, {"type": "http", "url": f"{base}/mcp"})


def _codex(proxy: RunningProxy, base: str) -> tuple[list[str], dict[str, str]]:
    home = proxy.person.user / ".codex"
    home.mkdir()
    server = _server(proxy.person)
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
    (home / "config.toml").write_text(f"""
        model = "gpt-5"
        model_provider = "everest"
        [model_providers.everest]
        name = "everest"
        base_url = "{base}/v1"
        wire_api = "responses"
        env_key = "DUMMY_KEY"
        supports_websockets = false
        [mcp_servers.everest]
        command = "{server["command"]}"
        args = ["serve"]
        required = true
        env = {{ {env} }}
    """)
    words = ["exec", "--skip-git-repo-check", "--json", PROMPT]
    return words, {"CODEX_HOME": str(home), "DUMMY_KEY": "dummy"}


def _gemini(proxy: RunningProxy, base: str) -> tuple[list[str], dict[str, str]]:
    home = proxy.person.user / ".gemini"
    home.mkdir()
    settings = {
        "mcpServers": {"everest": {**_server(proxy.person), "trust": True}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    (home / "settings.json").write_text(json.dumps(settings))
    env = {
        "GOOGLE_GEMINI_BASE_URL": base,
        "GEMINI_API_KEY": "dummy",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return ["-p", PROMPT, "--yolo", "-m", "gemini-2.5-flash"], env


@pytest.mark.parametrize(
    ("command", "client"),
    [
        ("claude", _claude_by_stdio),
        ("claude", _claude_by_http),
        ("codex", _codex),
        ("gemini", _gemini),
    ],
)
def test_a_turn_with_a_call_of_ours_goes_through(
    tmp_path: Path,
    command: str,
    client: Callable[[RunningProxy, str], tuple[list[str], dict[str, str]]],
) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"the command {command} is not installed")
    person = Everest(tmp_path)
    assert person("remember", "The staging port is 9090.").code == 0
    model = Model()
    with (
        Upstream(model.speak) as upstream,
        running_proxy(person, EVEREST_ROUTES=ROUTES.format(upstream.url)) as proxy,
    ):
        words, env = client(proxy, f"{proxy.url}/t/{proxy.token}/p/work")
        told = subprocess.run(
            [command, *words],
            env=person.env(PATH=os.environ["PATH"], **env),
            cwd=person.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=200,
            check=False,
        )
        requests = upstream.received
    assert told.returncode == 0, told.stderr.decode()
    assert CLOSING in told.stdout.decode()
    ours = {name for name in model.tools if "everest" in name}
    assert {name.rpartition("_")[2].rpartition("/")[2] for name in ours} == {
        *("relay", "recall", "remember", "lessons"),
    }
    assert "The staging port is 9090." in model.results[0]
    assert not [one for one in requests if proxy.token in one.head.decode("latin-1")]
