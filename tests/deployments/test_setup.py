"""Set-up through the shipped command: what is shown, asked, refused, kept, and undone."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import tomllib
from pathlib import Path

import pytest

from tests.serving.shipped import COMMAND, Everest, tree_of

RICH = b"""{
\t// mine
\t"model": "opus",
\t"hooks": {
\t\t"Stop": [
\t\t\t{ "hooks": [ { "type": "command", "command": "say done" } ] }, // keep
\t\t],
\t},
}"""
STATE = b'{"numStartups": 3, "mcpServers": {}}'


@pytest.fixture
def person(tmp_path: Path) -> Everest:
    """Give a person who has Claude Code alone, and no other agent's command on the way."""
    found = Everest(tmp_path)
    found.claude.mkdir()
    (found.claude / "settings.json").write_bytes(RICH)
    (found.user / ".claude.json").write_bytes(STATE)
    return found


def test_claude_code_is_wired_and_unwired_byte_for_byte(person: Everest) -> None:
    settings, state = person.claude / "settings.json", person.user / ".claude.json"
    settings.chmod(0o640)
    before = tree_of(person.user)

    told = person("setup", "--yes")
    assert told.code == 0, told.err
    assert "2 files changed." in told.out
    assert "everest up" in told.out
    assert settings.read_bytes().startswith(RICH[: RICH.index(b"// keep") + 7])
    assert settings.stat().st_mode & 0o777 == 0o640
    server = json.loads(state.read_bytes())["mcpServers"]["everest"]
    assert server["command"] == str(COMMAND)
    assert server["args"] == ["serve"]
    assert server["env"] == {"EVEREST_HOME": str(person.home)}

    wired = tree_of(person.user)
    assert "Nothing to change." in person("setup", "--yes").out
    assert tree_of(person.user) == wired

    assert person("setup", "--undo", "--yes").code == 0
    assert tree_of(person.user) == before
    assert person("setup", "--undo", "--yes").out == "Nothing of Everest's is there.\n"


INLINE = b"""model = "gpt-5"
mcp_servers = { docs = { command = "npx" } } # one line
hooks = { Stop = [ { hooks = [ { type = "command", command = "say done" } ] } ] }
tui.theme = "dark\""""


def test_settings_of_codex_on_one_line_are_wired_on_it_and_unwired(person: Everest) -> None:
    config = person.user / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_bytes(INLINE)
    before = tree_of(person.user)
    told = person("setup", "--agent", "codex", "--yes", PATH="/usr/bin:/bin")
    assert told.code == 0, told.err
    wired = config.read_text()
    assert wired.count("\n") == INLINE.decode().count("\n"), "every table stays on its line"
    data = tomllib.loads(wired)
    assert data["mcp_servers"]["everest"]["args"] == ["serve"]
    assert data["mcp_servers"]["docs"] == {"command": "npx"}
    assert [len(groups) for groups in data["hooks"].values()] == [2, 1, 1, 1, 1, 1]
    assert person("setup", "--undo", "--yes").code == 0
    assert tree_of(person.user) == before


def test_an_agent_of_another_home_is_left_until_it_is_taken_over(person: Everest) -> None:
    before, other = tree_of(person.user), str(person.base / "other")
    alone = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin"}
    assert person("setup", "--yes", **alone).code == 0
    wired = tree_of(person.user)

    told = person("setup", "--yes", EVEREST_HOME=other, **alone)
    assert told.code == 2
    assert f"Claude Code is wired for the home {person.home} and was left so" in told.err
    assert "--take-over" in told.err
    assert tree_of(person.user) == wired
    found = person("doctor", EVEREST_HOME=other, **alone).out
    assert f"it is wired for the home {person.home}, and not for {other}" in found
    assert "everest setup --agent claude-code --take-over" in found

    assert person("setup", "--take-over", "--yes", EVEREST_HOME=other, **alone).code == 0
    taken = tree_of(person.user)
    assert other in (person.user / ".claude.json").read_text()
    assert f"it is wired for the home {other}" in person("doctor", **alone).out
    assert "is wired for the home" not in person("doctor", EVEREST_HOME=other, **alone).out
    assert person("setup", "--undo", "--yes", **alone).code == 0
    assert tree_of(person.user) == taken, "what the other home has stays"
    assert person("setup", "--undo", "--yes", EVEREST_HOME=other, **alone).code == 0
    assert tree_of(person.user) == before


def test_a_home_that_is_gone_or_moved_is_no_other_home(person: Everest) -> None:
    assert person("setup", "--yes").code == 0
    moved = person.home.rename(person.base / "moved")
    assert person("setup", "--yes", EVEREST_HOME=str(moved)).code == 0
    assert str(moved) in (person.user / ".claude.json").read_text()


def test_copies_and_record_are_the_persons_alone(person: Everest) -> None:
    person("setup", "--yes")
    copies = sorted((person.home / "wired-over").iterdir())
    assert sorted(one.read_bytes() for one in copies) == sorted([RICH, STATE])
    for path in [*copies, person.home / "wired.json"]:
        assert path.stat().st_mode & 0o077 == 0


def test_a_dry_run_leaves_nothing_in_the_folder_of_codex(person: Everest) -> None:
    codex, bin_ = person.user / ".codex", person.base / "bin"
    codex.mkdir()
    bin_.mkdir()
    program = bin_ / "codex"
    program.write_text(
        '#!/bin/sh\nmkdir "${CODEX_HOME:-$HOME/.codex}/tmp"\necho hooks experimental false\n'
    )
    program.chmod(0o755)
    before = tree_of(person.user)
    told = person("setup", "--agent", "codex", "--dry-run", PATH=f"{bin_}:/usr/bin:/bin")
    assert told.code == 0, told.err
    assert "hooks = true" in told.out, "it was asked"
    assert tree_of(person.user) == before
    assert list(codex.iterdir()) == []


def test_a_dry_run_shows_the_change_and_makes_none(person: Everest) -> None:
    before = tree_of(person.user)
    told = person("setup", "--dry-run")
    assert told.code == 0
    assert '+    "everest": {' in told.out.replace("\t", "    ") or '"everest":' in told.out
    assert "2 files would change; none was." in told.out
    assert tree_of(person.user) == before
    assert not person.home.exists()


def test_what_would_change_is_told_in_short(person: Everest) -> None:
    told = person("setup", "--dry-run").out
    short = told.partition("\nIn short:\n")[2]
    assert short.splitlines()[:5] == [
        "Claude Code",
        "  ~/.claude/settings.json",
        "    adds 5 hooks: Stop, UserPromptSubmit, PreToolUse, SessionStart, SessionEnd",
        "  ~/.claude.json",
        "    adds mcpServers.everest",
    ]
    assert person("setup", "--yes").code == 0
    back = person("setup", "--undo", "--dry-run").out.partition("\nIn short:\n")[2]
    assert "    takes out 5 hooks: Stop, UserPromptSubmit, PreToolUse, SessionStart" in back
    assert "    takes out mcpServers.everest" in back
    settings = person.claude / "settings.json"
    settings.write_bytes(settings.read_bytes().replace(b"exec ", b"exec  ", 1))
    assert "    changes 1 hook: Stop\n" in person("setup", "--dry-run").out


def test_every_line_that_would_change_is_shown_and_long_ones_once(person: Everest) -> None:
    files = person("setup", "--dry-run", "--json").data["files"]
    exact = [line for one in files for line in one["diff"] if line.startswith(("+", "-"))]
    told = person("setup", "--dry-run").out
    assert sum('test -x \\"$0\\"' in line for line in exact) == 5
    assert told.count("test -x") == 1
    names = dict(re.findall(r"^(<\w+>) stands for: (.*)$", told, re.MULTILINE))
    assert names.keys() == {"<hook>", "<home>"}
    diff = told.partition("<hook> stands for")[0]
    lines = [line for line in diff.splitlines() if line.startswith(("+", "-"))]
    for name, words in names.items():
        spelt = json.dumps(words)[1:-1]
        lines = [line.replace(name, spelt) for line in lines]
    assert lines == [line.expandtabs() for line in exact]


def test_with_nobody_to_ask_nothing_is_changed(person: Everest) -> None:
    before = tree_of(person.user)
    told = person("setup")
    assert told.code == 2
    assert "--yes" in told.err
    assert tree_of(person.user) == before
    assert not person.home.exists()


@pytest.mark.parametrize(("typed", "changed"), [("y\n", True), ("\n", True), ("n\n", False)])
def test_at_a_terminal_the_person_is_asked(person: Everest, typed: str, changed: bool) -> None:  # noqa: FBT001
    before = tree_of(person.user)
    told = person.at_terminal("setup", typed=typed)
    assert "Change 2 files? [Y/n]" in told.out
    assert told.code == (0 if changed else 130)
    assert (tree_of(person.user) != before) == changed


def test_with_no_agent_here_it_says_what_was_looked_for(tmp_path: Path) -> None:
    nobody = Everest(tmp_path)
    told = nobody("setup", "--yes", PATH=f"{COMMAND.parent}:/usr/bin:/bin")
    assert told.code == 0
    assert "No agent was found" in told.out
    for place in (".claude", ".codex", ".gemini", ".cursor", "windsurf", "Code/User", "Claude"):
        assert place in told.out
    assert tree_of(nobody.user) == {"work": tree_of(nobody.user)["work"]}


def test_a_named_agent_is_wired_even_if_it_was_not_found(person: Everest) -> None:
    told = person("setup", "--agent", "cursor", "--yes")
    assert told.code == 0
    assert "Cursor was not found" in told.out
    assert (person.user / ".cursor" / "mcp.json").exists()
    assert (person.claude / "settings.json").read_bytes() == RICH
    assert person("setup", "--undo", "--yes").code == 0
    assert not (person.user / ".cursor").exists()


def test_an_unknown_agent_is_refused_with_the_names(person: Everest) -> None:
    told = person("setup", "--agent", "emacs", "--json")
    assert told.code == 2
    assert "claude-code, codex, gemini" in told.data["error"]


@pytest.mark.parametrize(
    ("name", "data", "place", "why"),
    [
        (".claude/settings.json", b'{\n "a": 1\n "b": 2\n}', "line 3, column 2", "a comma"),
        (".claude/settings.json", b"\xff\xfe{\x00}\x00", "line 1, column 1", "UTF-8"),
        (".codex/config.toml", b"model = \n", "line 1, column 9", "Invalid value"),
        (".claude/settings.json", b'{"hooks": []}', "", "no object"),
        (".claude/settings.json", b'{"hooks": {"Stop": {}}}', "", "no array"),
        (".claude.json", b'{"mcpServers": {"everest": {"command": "climb"}}}', "", "Everest's"),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_the_others_are_wired(
    person: Everest, name: str, data: bytes, place: str, why: str
) -> None:
    for folder in (".codex", ".cursor"):
        (person.user / folder).mkdir()
    path = person.user / name
    path.write_bytes(data)
    told = person("setup", "--yes")
    assert told.code == 2
    assert f"{path}" in told.err
    assert place in told.err
    assert why in told.err
    assert "nothing in it was changed" in told.err
    assert path.read_bytes() == data
    assert b"everest" in (person.user / ".cursor" / "mcp.json").read_bytes()
    asked = person("setup", "--dry-run", "--json")
    assert asked.code == 2
    assert str(path) in asked.data["failed"][0]


def test_a_read_only_file_is_left_to_the_person(person: Everest) -> None:
    (person.claude / "settings.json").chmod(0o444)
    told = person("setup", "--yes")
    assert told.code == 2
    assert "it is read-only" in told.err
    assert (person.claude / "settings.json").read_bytes() == RICH
    assert b"everest" in (person.user / ".claude.json").read_bytes()


def test_links_are_followed_and_stay_links(person: Everest) -> None:
    dotfiles = person.user / "dotfiles"
    dotfiles.mkdir()
    settings = person.claude / "settings.json"
    settings.rename(dotfiles / "claude.json")
    settings.symlink_to("../dotfiles/claude.json")
    (person.user / ".cursor").symlink_to("dotfiles")
    before = tree_of(person.user)
    assert person("setup", "--yes").code == 0
    assert settings.is_symlink()
    assert b"tasks/hooks/client.py" in (dotfiles / "claude.json").read_bytes()
    assert (dotfiles / "mcp.json").is_file()
    assert person("setup", "--undo", "--yes").code == 0
    assert tree_of(person.user) == before


def test_a_link_in_circles_is_refused(person: Everest) -> None:
    settings = person.claude / "settings.json"
    settings.unlink()
    settings.symlink_to("settings.json")
    told = person("setup", "--yes")
    assert told.code == 2
    assert str(settings) in told.err


def test_claude_codes_own_lock_is_waited_for(person: Everest) -> None:
    """What is written under the lock is in the file that comes out: nothing is overwritten."""
    state, lock = person.user / ".claude.json", person.user / ".claude.json.lock"
    lock.mkdir()
    process = person.start("setup", "--yes")

    def writes() -> None:
        while not (person.home / "wired.lock").exists():
            time.sleep(0.01)
        time.sleep(0.5)
        state.write_bytes(b'{"numStartups": 4}')
        lock.rmdir()

    writer = threading.Thread(target=writes)
    writer.start()
    _, err = process.communicate(timeout=60)
    writer.join()
    assert process.returncode == 0, err
    written = json.loads(state.read_bytes())
    assert written["numStartups"] == 4
    assert "everest" in written["mcpServers"]
    assert not lock.exists()


def test_a_lock_left_behind_does_not_hold_it_up(person: Everest) -> None:
    lock = person.user / ".claude.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    assert person("setup", "--yes").code == 0
    assert b"everest" in (person.user / ".claude.json").read_bytes()
    assert not lock.exists()


def test_two_at_once_wire_once(person: Everest) -> None:
    running = [person.start("setup", "--yes") for _ in range(3)]
    for process in running:
        _, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
    settings = (person.claude / "settings.json").read_bytes()
    assert settings.count(b"claude-code UserPromptSubmit") == 1
    assert person("setup", "--undo", "--yes").code == 0
    assert (person.claude / "settings.json").read_bytes() == RICH


def test_the_folder_named_by_the_environment_is_used(person: Everest, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    told = person("setup", "--yes", CLAUDE_CONFIG_DIR=str(other), CODEX_HOME=str(other))
    assert told.code == 0
    assert sorted(one.name for one in other.iterdir()) == [
        ".claude.json",
        "config.toml",
        "hooks.json",
        "settings.json",
    ]
    assert (person.claude / "settings.json").read_bytes() == RICH
    assert person("setup", "--undo", "--yes").code == 0, "found by the record alone"
    assert list(other.iterdir()) == []


def test_led_through_the_proxy_the_token_is_in_the_files_and_nowhere_else(person: Everest) -> None:
    before = tree_of(person.user)
    shown = person("setup", "--proxy", "--dry-run")
    assert not person.home.exists()
    told = person("setup", "--proxy", "--yes")
    assert told.code == 0, told.err
    token = (person.home / "keys" / "door.token").read_text()
    settings = (person.claude / "settings.json").read_text()
    assert f'"ANTHROPIC_BASE_URL": "http://127.0.0.1:8787/t/{token}"' in settings
    for said in (shown.out, told.out, told.err, person("setup", "--json").out):
        assert token not in said
        assert "everest_0000" not in said
    assert token in (person.home / "wired.json").read_text()
    plain = person("setup", "--yes")
    assert "Nothing to change." in plain.out, "an agent that is led there stays led there"
    assert person("setup", "--undo", "--proxy", "--yes").code == 0
    assert "ANTHROPIC_BASE_URL" not in (person.claude / "settings.json").read_text()
    assert "client.py" in (person.claude / "settings.json").read_text()
    assert person("setup", "--undo", "--yes").code == 0
    assert tree_of(person.user) == before


def test_a_gateway_of_the_persons_own_is_not_bypassed(person: Everest) -> None:
    mine = '{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example/v1"}}'
    settings = person.claude / "settings.json"
    settings.write_text(mine)
    told = person("setup", "--proxy", "--yes")
    assert told.code == 0
    assert 'EVEREST_ROUTES="*=https://gateway.example/v1;api=anthropic"' in told.out
    assert "https://gateway.example/v1" in settings.read_text()
    routed = {"EVEREST_ROUTES": "*=https://gateway.example/v1;api=anthropic"}
    assert person("setup", "--proxy", "--yes", **routed).code == 0
    assert "https://gateway.example" not in settings.read_text()
    assert person("setup", "--undo", "--yes").code == 0
    assert settings.read_text() == mine


def test_a_port_that_changes_at_each_start_is_refused(person: Everest) -> None:
    told = person("setup", "--proxy", "--yes", EVEREST_PROXY_PORT="0")
    assert told.code == 2
    assert "EVEREST_PROXY_PORT" in told.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks is true"),
        (".claude/settings.json", '{"a": 1} // note', "for a comment in line 1"),
        (".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
        (".gemini/settings.json", '{"a": 1,}', "for a comma before a closing bracket in line 1"),
        (".codex/config.toml", "[features]\nhooks = false\n", "features.hooks is false"),
        (".codex/config.toml", "", "trust them"),
    ],
)
def test_what_keeps_hooks_from_running_is_told(
    person: Everest, name: str, text: str, said: str
) -> None:
    path = person.user / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    told = person("setup", "--yes")
    assert told.code == 0, told.err
    assert said in told.out


def test_a_damaged_record_is_told_with_the_way_out(person: Everest) -> None:
    person("setup", "--yes")
    record = person.home / "wired.json"
    record.write_text("{")
    for words in (("setup", "--yes"), ("setup", "--undo", "--yes")):
        told = person(*words)
        assert told.code == 2
        assert f"{record} cannot be read" in told.err
        assert "move it away" in told.err
    record.unlink()
    assert person("setup", "--undo", "--yes").code == 0
    assert b"verest" not in (person.claude / "settings.json").read_bytes()


def test_json_is_one_value_with_what_was_done(person: Everest) -> None:
    told = person("setup", "--yes", "--json")
    assert told.code == 0
    assert {one["agent"] for one in told.data["files"]} == {"claude-code"}
    assert all(one["done"] for one in told.data["files"])
    found = [one["name"] for one in told.data["agents"] if one["found"]]
    assert "claude-code" in found
    assert told.err == ""
