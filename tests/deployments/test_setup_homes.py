"""Set-up with several homes, and beside what a person registered: whose things go, whose stay."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.serving.shipped import COMMAND, Everest, tree_of

WORDS = {"undo": ("setup", "--undo", "--yes"), "uninstall": ("uninstall", "--yes")}
ALONE = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin"}
"""The way to programs on which no agent's command lies."""


@pytest.fixture
def person(tmp_path: Path) -> Everest:
    """Give a person with the three agents that can be led through the proxy."""
    found = Everest(tmp_path)
    for name in (".claude", ".codex", ".gemini"):
        (found.user / name).mkdir()
    (found.user / ".codex" / "config.toml").write_text('model = "gpt-5"\n')
    return found


def _addresses(person: Everest) -> list[bool]:
    """Tell of each file that names the proxy whether it names the one with this home's token."""
    token = (person.home / "keys" / "door.token").read_text().strip()
    names = (".claude/settings.json", ".codex/config.toml", ".gemini/.env")
    return [token in (person.user / name).read_text() for name in names]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_a_home_that_wired_nothing_takes_nothing_of_anothers_out(
    person: Everest, words: tuple[str, ...]
) -> None:
    before = tree_of(person.user)
    assert person("setup", "--proxy", "--yes", **ALONE).code == 0
    wired = tree_of(person.user)
    assert _addresses(person) == [True, True, True]

    told = person(*words, EVEREST_HOME=str(person.base / "empty"), **ALONE)
    assert told.code == 0, told.err
    assert "changed" not in told.out
    assert tree_of(person.user) == wired

    assert person("setup", "--undo", "--yes", **ALONE).code == 0
    assert tree_of(person.user) == before, "its own takes all of it out"


def test_taken_over_without_the_proxy_no_agent_asks_the_other_homes(person: Everest) -> None:
    before, other = tree_of(person.user), str(person.base / "other")
    assert person("setup", "--proxy", "--yes", **ALONE).code == 0
    assert _addresses(person) == [True, True, True]
    told = person("setup", "--take-over", "--yes", EVEREST_HOME=other, **ALONE)
    assert told.code == 0, told.err
    assert not (person.user / ".gemini" / ".env").exists()
    assert b"/t/everest_" not in b"".join(
        path.read_bytes() for path in person.user.rglob("*") if path.is_file()
    )

    taken = tree_of(person.user)
    assert person("setup", "--undo", "--yes", **ALONE).code == 0
    assert tree_of(person.user) == taken, "what the other home has stays"
    assert person("setup", "--undo", "--yes", EVEREST_HOME=other, **ALONE).code == 0
    assert tree_of(person.user) == before


def test_without_its_token_a_home_knows_its_addresses_by_its_record(person: Everest) -> None:
    before = tree_of(person.user)
    assert person("setup", "--proxy", "--yes", **ALONE).code == 0
    (person.home / "keys" / "door.token").unlink()
    config = person.user / ".codex" / "config.toml"
    table = "[model_providers.everest]\n"
    assert table in config.read_text()
    config.write_text(config.read_text().replace(table, f"{table}request_max_retries = 9\n"))
    assert person("setup", "--undo", "--yes", **ALONE).code == 0
    assert tree_of(person.user) == before


def test_a_server_registered_by_hand_keeps_no_setting_of_ours(person: Everest) -> None:
    """Codex's switch for hooks goes with our hooks, though the file was changed meanwhile."""
    bin_ = person.base / "bin"
    bin_.mkdir()
    program = bin_ / "codex"
    program.write_text("#!/bin/sh\necho hooks experimental false\n")
    program.chmod(0o755)
    way = {"PATH": f"{bin_}:{ALONE['PATH']}"}
    config = person.user / ".codex" / "config.toml"
    registered = '[mcp_servers.everest]\ncommand = "everest"\nargs = ["serve"]\n'
    config.write_text(registered)
    assert person("setup", "--agent", "codex", "--yes", **way).code == 0
    assert tomllib.loads(config.read_text())["features"] == {"hooks": True}

    later = "\n[later]\nadded = 1\n"
    config.write_text(config.read_text() + later)
    assert person("setup", "--undo", "--yes", **way).code == 0
    assert tomllib.loads(config.read_text()) == tomllib.loads(registered + later)
