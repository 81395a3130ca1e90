"""Every agent wired on homes of every kind: what is added, what stays, and what an undo leaves."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.wiring.dotenv import EnvText
from deployments.wiring.jsonc import parse
from tests.deployments.wiring.homes import BOM, DOOR, HOMES, MISSING, RICH, House
from tests.serving.shipped import tree_of

SERVERS = {
    ".claude.json": ("mcpServers",),
    ".codex/config.toml": ("mcp_servers",),
    ".gemini/settings.json": ("mcpServers",),
    ".cursor/mcp.json": ("mcpServers",),
    ".codeium/windsurf/mcp_config.json": ("mcpServers",),
    ".config/Code/User/mcp.json": ("servers",),
    ".config/Claude/claude_desktop_config.json": ("mcpServers",),
}
TIMEOUTS = {"claude-code": 5 * [5], "codex": [3, *5 * [5]], "gemini": 5 * [5000]}
"""Seconds, seconds and milliseconds; Codex cuts what it gives a session's end down to three."""


@pytest.fixture(params=HOMES)
def any_house(request: pytest.FixtureRequest, tmp_path: Path) -> House:
    return House(tmp_path, HOMES[request.param])


@pytest.fixture(params=["rich", "odd", "inline", "dotted", "missing"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> House:
    return House(tmp_path, HOMES[request.param])


def _data(house: House, name: str) -> dict:
    text = house.text(name).removeprefix(BOM)
    if name.endswith(".toml"):
        return tomllib.loads(text)
    if name.endswith(".env"):
        return EnvText(text).data
    root = parse(text)
    return {} if root is None else root.value


def _handlers(data: dict) -> list[dict]:
    return [
        handler
        for groups in data.get("hooks", {}).values()
        for group in groups
        for handler in group["hooks"]
        if "tasks/hooks/client.py" in handler["command"]
    ]


def _files(house: House) -> dict[str, bytes]:
    return {
        str(path.relative_to(house.user)): path.read_bytes()
        for path in house.user.rglob("*")
        if path.is_file()
    }


def test_wired_then_undone_every_byte_is_as_it_was(any_house: House) -> None:
    house = any_house
    before = tree_of(house.user)
    assert house.wire(DOOR) == []
    assert tree_of(house.user) != before
    assert house.undo() == []
    assert tree_of(house.user) == before
    assert not house.places.wired.exists()


def test_every_server_and_hook_is_there_and_nothing_else_is_touched(any_house: House) -> None:
    house = any_house
    before = _files(house)
    assert house.wire() == []
    for name, path in SERVERS.items():
        entry = _data(house, name)[path[0]]["everest"]
        assert entry["command"] == "/venv/bin/everest"
        assert entry["args"] == ["serve"]
        assert entry["env"] == {"EVEREST_HOME": str(house.places.home)}
    seen = [
        *_handlers(_data(house, ".claude/settings.json")),
        *_handlers(_data(house, ".gemini/settings.json")),
        *_handlers(_data(house, ".codex/config.toml")),
        *(_handlers(_data(house, ".codex/hooks.json")) if _has_hooks_file(house) else []),
    ]
    for agent, timeouts in TIMEOUTS.items():
        ours = [one for one in seen if f" {agent} " in one["command"]]
        assert sorted(one["timeout"] for one in ours) == timeouts
    for name, old in before.items():
        new = house.path(name).read_bytes()
        rest = iter(new)
        if b"everest" not in old:
            assert all(byte in rest for byte in old), f"{name}: bytes were taken out"


def _has_hooks_file(house: House) -> bool:
    return house.path(".codex/hooks.json").exists()


def test_wiring_twice_changes_nothing(house: House) -> None:
    house.wire(DOOR)
    before = tree_of(house.user), house.places.wired.read_bytes()
    copies = sorted(house.places.wired_over.glob("*"))
    assert house.wire(DOOR) == []
    assert (tree_of(house.user), house.places.wired.read_bytes()) == before
    assert sorted(house.places.wired_over.glob("*")) == copies


def test_a_moved_environment_is_brought_up_to_date_in_place(house: House) -> None:
    before = tree_of(house.user)
    house.wire(DOOR)
    old = _files(house)
    assert house.wire(DOOR, interpreter=Path("/moved here/bin/python")) == []
    new = _files(house)
    assert new.keys() == old.keys()
    for name, data in new.items():
        assert b"/venv/bin" not in data
        assert data.count(b"\n") == old[name].count(b"\n"), name
    assert house.undo() == []
    assert tree_of(house.user) == before


def _grown(name: str, text: str) -> str:
    """Return a file's text as an agent leaves it that keeps one more setting."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if name.endswith(".toml"):
        return f'{text}{newline}[added]{newline}later = "x"{newline}'
    if name.endswith(".env"):
        return f"{text}LATER=1{newline}"
    at = text.index("{") + 1
    return text[:at] + ' "later": {"a": 1},' + text[at:]


@pytest.mark.parametrize("kind", ["rich", "inline", "marked", "windows"])
def test_what_an_agent_wrote_afterwards_survives_an_undo(tmp_path: Path, kind: str) -> None:
    house = House(tmp_path, HOMES[kind])
    house.wire(DOOR)
    for name in HOMES[kind]:
        house.write(name, _grown(name, house.text(name)))
    assert house.undo() == []
    for name, text in HOMES[kind].items():
        assert house.text(name) == _grown(name, text), name
    assert not house.places.wired.exists()


def test_a_file_of_ours_that_an_agent_wrote_into_keeps_that_alone(tmp_path: Path) -> None:
    house = House(tmp_path, MISSING)
    house.wire()
    house.write(".claude.json", _grown(".claude.json", house.text(".claude.json")))
    assert house.undo() == []
    assert _data(house, ".claude.json") == {"later": {"a": 1}}


def test_led_through_the_proxy_and_out_again_hooks_stay(house: House) -> None:
    house.wire()
    wired = _files(house)
    house.wire(DOOR)
    settings = _data(house, ".claude/settings.json")
    assert settings["env"]["ANTHROPIC_BASE_URL"] == DOOR
    codex = _data(house, ".codex/config.toml")
    assert codex["model_provider"] == "everest"
    assert codex["model_providers"]["everest"]["base_url"] == f"{DOOR}/v1"
    assert codex["model_providers"]["everest"]["supports_websockets"] is False
    env = ".env" if house.path(".env").exists() else ".gemini/.env"
    assert _data(house, env)["GOOGLE_GEMINI_BASE_URL"] == DOOR
    assert house.leave() == []
    assert {k: v for k, v in _files(house).items() if v} == {k: v for k, v in wired.items() if v}
    assert house.undo() == []


def test_a_lost_record_leaves_the_marks_to_go_by(tmp_path: Path) -> None:
    house = House(tmp_path, RICH)
    house.places.door_token.parent.mkdir(parents=True)
    house.places.door_token.write_text(DOOR.rpartition("/")[2])
    house.wire(DOOR)
    house.places.wired.unlink()
    assert house.undo() == []
    for name, data in _files(house).items():
        assert b"verest" not in data, name
        assert _data(house, name) is not None


def test_another_homes_entries_are_taken_over_and_not_taken_out(tmp_path: Path) -> None:
    first = House(tmp_path, MISSING)
    second = House(tmp_path, {})
    second.places = type(second.places)(tmp_path / "other")
    first.wire()
    second.wire()
    wired = _files(first)
    assert b"/other" in wired[".claude/settings.json"]
    assert str(first.places.home).encode() not in wired[".claude/settings.json"]
    first.undo()
    assert _files(first) == wired


@pytest.mark.parametrize("kind", ["rich", "odd", "inline", "missing"])
def test_an_undo_leaves_what_the_home_has_that_took_over_and_its_own_leaves_nothing(
    tmp_path: Path, kind: str
) -> None:
    """Both lead agents through a proxy of their own."""
    first, second = House(tmp_path, HOMES[kind]), House(tmp_path, {})
    second.places = type(second.places)(tmp_path / "other")
    before = tree_of(first.user)
    doors = {}
    for house, letter in ((first, "a"), (second, "b")):
        token = f"everest_{43 * letter}"
        house.places.door_token.parent.mkdir(parents=True)
        house.places.door_token.write_text(token)
        doors[letter] = f"http://127.0.0.1:8787/t/{token}"
    assert first.wire(doors["a"]) == []
    assert second.wire(doors["b"]) == []
    wired = _files(first)
    assert not any(str(first.places.home).encode() in data for data in wired.values())
    assert not any(b"everest_aaa" in data for data in wired.values())
    assert first.undo() == []
    assert _files(first) == wired
    assert second.undo() == []
    assert tree_of(first.user) == before


def test_entries_a_person_added_to_keep_what_was_added(tmp_path: Path) -> None:
    house = House(tmp_path, MISSING)
    house.wire()
    text = house.text(".cursor/mcp.json")
    house.write(".cursor/mcp.json", text.replace('"env": {', '"disabled": true, "env": {"A": "b",'))
    house.wire(environment={})
    entry = _data(house, ".cursor/mcp.json")["mcpServers"]["everest"]
    assert entry["disabled"] is True
    assert entry["env"] == {"A": "b"}


@pytest.mark.parametrize("spoil", [Path.unlink, lambda copy: copy.write_bytes(b"{")])
def test_without_its_copy_an_undo_goes_by_the_marks(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    house = House(tmp_path, RICH)
    before = _files(house)
    house.wire()
    for copy in house.places.wired_over.iterdir():
        spoil(copy)
    assert house.wire(DOOR) == []
    assert house.undo() == []
    assert _files(house) == before
