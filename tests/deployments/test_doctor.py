"""The doctor by the shipped command: what works is tried and passes, what is broken is told."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tasks.hooks.wired import MARK
from tests.modelserver import with_models
from tests.serving.client import over_socket
from tests.serving.running import body_of, request, running_proxy
from tests.serving.shipped import COMMAND, Everest, tree_of

ALONE = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin"}
"""No agent's own command is on the way, so that only the agents of the test's home are here."""


@pytest.fixture
def person(tmp_path: Path) -> Everest:
    """Give a person with Claude Code, wired."""
    found = Everest(tmp_path)
    found.claude.mkdir()
    (found.user / ".claude.json").write_text('{"numStartups": 1}')
    told = found("setup", "--agent", "claude-code", "--yes", **ALONE)
    assert told.code == 0, told.err
    return found


def _wrong(person: Everest, **env: str | None) -> list[tuple[str, str]]:
    """Return what the doctor finds wrong, and what is to mend it."""
    told = person("doctor", "--json", **{**ALONE, **env})
    found = [one for one in told.data["findings"] if one["state"] == "wrong"]
    assert told.code == (7 if found else 0), told.err
    assert told.data["ok"] == (not found)
    return [(one["what"], one["mend"]) for one in found]


def test_what_is_wired_is_run_and_leaves_no_trace(person: Everest) -> None:
    before = tree_of(person.base)
    told = person("doctor", **ALONE)
    assert told.code == 0, told.out
    assert "Claude Code: its 5 hooks answer" in told.out
    assert "its MCP server starts and has the tools relay, recall, remember, lessons" in told.out
    assert told.out.endswith("Nothing is wrong.\n")
    assert tree_of(person.base) == before


def test_agents_that_are_not_wired_are_noted_and_nothing_is_wrong(tmp_path: Path) -> None:
    newcomer = Everest(tmp_path)
    newcomer.claude.mkdir()
    told = newcomer("doctor", **ALONE)
    assert told.code == 0
    assert "it is here and is not wired" in told.out
    assert "mend it: everest setup --agent claude-code" in told.out
    assert not newcomer.home.exists()


def test_what_runs_and_whose_a_token_is_are_told_as_they_are(person: Everest) -> None:
    alone = "nothing runs the nights; hooks are answered by words alone"
    assert alone in person("doctor", **ALONE).out
    with running_proxy(person) as proxy:
        told = person("doctor", EVEREST_PROXY_PORT=str(proxy.port), **ALONE)
        running = person("status", "--json").data["running"]
    person("token", "add", "--every-project", "--app", "chat")
    listed = person("token", "list", "--json").data
    assert {one["app"]: one["by_setup"] for one in listed} == {"default": True, "chat": False}
    assert person("token", "list").out.count("made by set-up") == 1
    assert "nothing runs the nights; hooks are answered by meaning" in told.out
    assert running == {"up": None, "proxy": True}
    status = person("status").out
    assert "no proxy answers; no server and no schedules" in status
    assert "none in 7 days" in status


def test_its_hooks_count_as_probes_and_as_nothing_else(person: Everest) -> None:
    with running_proxy(person, EVEREST_HOOK_BUDGET="10") as proxy:

        def counted() -> list[str]:
            text = body_of(proxy.raw_unix(request("/metrics", method="GET"))).decode()
            return [line for line in text.splitlines() if line.startswith("everest_hooks_total{")]

        assert _wrong(person, EVEREST_PROXY_PORT=str(proxy.port)) == []
        probes = 'everest_hooks_total{agent="claude-code",outcome="probe"} 5'
        assert counted() == [probes]
        assert over_socket(proxy, "GET", "/health").data["hooks"]["asked"] == 0
        person("hook", "Stop", stdin="{}", EVEREST_HOOK_SECONDS="9")
        nameless = 'everest_hooks_total{agent="claude-code",outcome="nameless"} 1'
        assert counted() == [nameless, probes]


def test_a_hook_that_fails_when_tried_is_told_and_is_no_failure_of_a_hook(person: Everest) -> None:
    def failures() -> int:
        return int(person("status", "--json").data["hook_failures"]["count"])

    path = Path(person("paths", "--json").data["socket"])
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen(64)
        assert any("its hook for Stop fails" in what for what, _ in _wrong(person))
        assert (person.home / "spool" / "failures").read_text().count(" probe:Late") >= 1
        assert failures() == 0
        person("hook", "Stop", stdin="{}")
    assert failures() == 1, "the same of an agent's hook is one"


def _settings(person: Everest, change: Callable[[dict[str, Any]], None]) -> None:
    path = person.claude / "settings.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def _server(person: Everest, **entry: Any) -> None:
    path = person.user / ".claude.json"
    data = json.loads(path.read_text())
    data["mcpServers"]["everest"].update(entry)
    path.write_text(json.dumps(data))


def test_a_hook_whose_interpreter_is_gone_is_silent_and_found(person: Everest) -> None:
    def moves(data: dict[str, Any]) -> None:
        handler = data["hooks"]["Stop"][0]["hooks"][0]
        words = shlex.split(handler["command"])
        words[3] = "/gone/python"
        handler["command"] = shlex.join(words)

    _settings(person, moves)
    whats = dict(_wrong(person))
    assert whats["its hook for Stop does nothing: /gone/python is no program any more"]
    assert person("setup", "--yes", **ALONE).code == 0, "the command that it names"
    assert _wrong(person) == []


def test_a_hook_that_speaks_is_found(person: Everest) -> None:
    def speaks(data: dict[str, Any]) -> None:
        data["hooks"]["Stop"][0]["hooks"][0]["command"] += "; echo hello"

    _settings(person, speaks)
    assert any("its hook for Stop disturbs" in what for what, _ in _wrong(person))


@pytest.mark.parametrize(
    "command", ["sh -c 'x {mark}", "a b c /bin/sh {mark}\0", "{mark}\0", "{mark}"]
)
def test_a_hook_that_is_no_command_line_is_found(person: Everest, command: str) -> None:
    line = command.format(mark=MARK)

    def breaks(data: dict[str, Any]) -> None:
        data["hooks"]["Stop"][0]["hooks"][0]["command"] = line

    _settings(person, breaks)
    assert any("its hook for Stop does nothing" in what for what, _ in _wrong(person))


@pytest.mark.parametrize("host", ["[::1", "127.0.0.1:99999999", "127.0.0.1:door"])
def test_an_address_that_is_none_is_found(person: Everest, host: str) -> None:
    address = f"http://{host}/t/everest_0123456789abcdef"
    _settings(person, lambda data: data.update(env={"ANTHROPIC_BASE_URL": address}))
    assert ("it is led to what is no address", "everest setup") in _wrong(person)


def test_hooks_that_are_switched_off_are_found(person: Everest) -> None:
    _settings(person, lambda data: data.update(disableAllHooks=True))
    assert any("disableAllHooks is true" in what for what, _ in _wrong(person))


def test_an_entry_that_was_taken_out_is_found(person: Everest) -> None:
    _settings(person, lambda data: data["hooks"].pop("SessionEnd"))
    found = _wrong(person)
    assert ("what is wired is not what it should be", "everest setup --agent claude-code") in found


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/gone/everest", "is gone"),
        ("/\0/everest", "is gone"),
        ("/bin/true", "fails"),
        ("SCRIPT", "fails"),
    ],
)
def test_a_server_that_does_not_start_is_found(person: Everest, command: str, why: str) -> None:
    script = person.base / "bin" / "everest"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho this is no protocol\n")
    script.chmod(0o755)
    _server(person, command=str(script) if command == "SCRIPT" else command, args=["serve"])
    if command == "/bin/true":  # known as ours by its name alone
        link = person.base / "bin" / "true" / "everest"
        link.parent.mkdir()
        link.symlink_to("/bin/true")
        _server(person, command=str(link))
    assert any(f"its MCP server {why}" in what for what, _ in _wrong(person))


def test_a_home_that_others_may_read_is_found_and_mended_by_the_command(person: Everest) -> None:
    (person.home / "wired.json").chmod(0o644)
    [(what, mend)] = _wrong(person)
    assert "others may look into" in what
    assert person.run(["sh", "-c", mend]).code == 0
    assert _wrong(person) == []


def test_the_proxy_is_asked_at_the_address_that_was_wired(person: Everest) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {"EVEREST_PROXY_PORT": port}
    assert person("setup", "--proxy", "--yes", **ALONE, **env).code == 0
    [(what, mend)] = _wrong(person, **env)
    assert "the proxy, which does not run" in what
    assert "everest up" in mend
    with running_proxy(person, **env):
        assert _wrong(person, **env) == []
        listed = person("token", "list", "--json").data
        person("token", "remove", listed[0]["id"])
        assert any("does not know its token" in what for what, _ in _wrong(person, **env))
    assert any("is led to port" in what for what, _ in _wrong(person, EVEREST_PROXY_PORT="8787"))


@pytest.mark.slow
def test_what_drips_where_the_proxy_should_be_is_left_in_time(person: Everest) -> None:
    with with_models() as stranger:
        env = {"EVEREST_PROXY_PORT": str(stranger.port)}
        assert person("setup", "--proxy", "--yes", **ALONE, **env).code == 0
        address = json.loads((person.claude / "settings.json").read_text())["env"]
        path = urlsplit(address["ANTHROPIC_BASE_URL"]).path
        stranger.drips = (f"{path}/memory/status",)
        told = [what for what, _ in _wrong(person, **env)]
        assert [one.path for one in stranger.asked] == list(stranger.drips)
    assert any("the proxy, which does not run" in what for what in told)


def test_a_file_that_cannot_be_read_is_told_with_its_place(person: Everest) -> None:
    (person.claude / "settings.json").write_text("{\n oops")
    assert any("settings.json, line 2, column 2" in what for what, _ in _wrong(person))
