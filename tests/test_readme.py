"""The README is held to the code: its commands run, its tables are the code's, its files exist."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from serving.cli import main
from tasks import errors
from tasks.settings import Settings
from tests.serving.shipped import COMMAND, Everest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def settings_table() -> str:
    """Return the README's table of settings as the code has it."""
    rows = ["| variable | default | what it does |", "|:--|:--|:--|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append(f"| `EVEREST_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows)


def _commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_every_setting_stands_in_the_table_as_the_code_describes_it() -> None:
    between = re.search(r"<!-- settings:.*?-->\n(.*?)\n<!-- end of settings -->", README, re.DOTALL)
    assert between is not None
    assert between[1] == settings_table()


def test_the_exit_codes_are_those_of_the_errors() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    raised = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EverestError)
    }
    assert listed == {0, 130} | raised
    for code in listed:
        assert re.search(rf"\b{code} [a-z]", main.__doc__ or ""), code


def test_the_two_commands_to_start_with_stand_on_one_line_each() -> None:
    begin = "python3 -m venv .venv && .venv/bin/pip install -e"
    assert f"{begin} . && .venv/bin/everest night\n" in README
    assert f"{begin} . && .venv/bin/everest demo\n" in README
    assert f'{begin} ".[test]" && .venv/bin/pytest\n' in README
    pinned = re.search(r"torch==[\d.]+", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert pinned is not None
    assert f"pip install {pinned[0]} --index-url https://download.pytorch.org/whl/cpu" in README


def test_every_file_that_is_named_exists() -> None:
    top = "flows|tasks|serving|tests|deployments|LICENSE"
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    named = re.findall(rf"`((?:{top})[\w/.]*)[`:]", README)
    assert len(named) > 20
    for path in [*linked, *named]:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("named", re.findall(r"`(tests/[\w/.]+\.py::\w+)`", README))
def test_every_contract_names_a_test_that_is_there(named: str) -> None:
    file, _, name = named.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_there_are_a_dozen_contracts() -> None:
    assert len(set(re.findall(r"`(tests/[\w/.]+\.py::\w+)`", README))) >= 12


def test_every_link_within_the_page_leads_somewhere() -> None:
    titles = re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    anchors = {title.lower().replace(" ", "-") for title in titles}
    for link in re.findall(r"\]\(#([^)]+)\)", README):
        assert link in anchors


def test_the_picture_is_there_and_light() -> None:
    picture = ROOT / "deployments" / "images" / "morning.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 300_000


@pytest.mark.timeout(400)
def test_the_commands_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    ids: list[str] = []
    commands = _commands()
    assert len(commands) > 20
    for command in commands:
        if not ids and person.home.exists():
            ids = [one["lesson_id"][:16] for one in person.lessons("--project", "paperboat")]
        line = command
        for example in re.findall(r"\b[0-9a-f]{16}\b", command):
            line = line.replace(example, ids.pop())
        told = person.run(
            ["sh", "-c", line], PATH=f"{COMMAND.parent}:/usr/bin:/bin", TMPDIR=str(tmp_path)
        )
        assert told.code == 0, f"{command}\n{told.out}{told.err}"
        assert told.out or "--quiet" in command, command
