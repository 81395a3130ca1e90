"""Set-up through the shipped command, on homes of every kind, compared byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serving.shipped import Everest, tree_of


@pytest.fixture
def person(tmp_path: Path) -> Everest:
    return Everest(tmp_path)


RICH = b"""{
\t// mine
\t"model": "opus",
\t"hooks": {
\t\t"Stop": [
\t\t\t{ "hooks": [ { "type": "command", "command": "say done" } ] }, // keep
\t\t],
\t},
}"""


def test_claude_code_is_wired_and_unwired_byte_for_byte(person: Everest) -> None:
    settings, state = person.claude / "settings.json", person.user / ".claude.json"
    settings.parent.mkdir()
    settings.write_bytes(RICH)
    settings.chmod(0o640)
    state.write_bytes(b'{"numStartups": 3, "mcpServers": {}}')
    before = tree_of(person.user)

    told = person("setup", "--yes")
    assert told.code == 0, told.err
    assert settings.read_bytes().startswith(RICH[: RICH.index(b"// keep") + 7])
    assert settings.stat().st_mode & 0o777 == 0o640
    server = json.loads(state.read_bytes())["mcpServers"]["everest"]
    assert server["args"] == ["serve"]
    assert server["env"] == {"EVEREST_HOME": str(person.home)}

    wired = tree_of(person.user)
    assert person("setup", "--yes").code == 0
    assert tree_of(person.user) == wired

    assert person("setup", "--undo", "--yes").code == 0
    assert tree_of(person.user) == before
