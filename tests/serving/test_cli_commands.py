import re
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from serving.cli.main import app
from tests.serving.shipped import Everest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def _commands() -> list[str]:
    """Return every command, a group's as `project list`."""
    root = typer.main.get_command(app)
    found = []
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found += [f"{name} {sub}" for sub in below] if below else [name]
    return found


COMMANDS = _commands()
PASSED_ON = {"prefect", "serve", "prime", "hook"}
"""What another program answers, in its own way, or is spoken to by a program alone."""
ASKED_FOR = {
    *("night", "demo", "ingest", "sleep", "render", "measure", "morning", "recall", "lessons"),
    *("remember", "reject", "forget", "rebuild", "project", "status", "paths"),
    *("proxy", "relay", "token", "serve", "tools", "call", "context"),
    *("up", "down", "logs", "prefect", "deploy"),
    *("compact", "check", "backup", "restore"),
    *("export", "pause", "resume", "uninstall"),
    *("setup", "doctor", "model", "prime", "hook"),
}


def test_every_command_that_was_asked_for_is_there() -> None:
    assert {name.split()[0] for name in COMMANDS} == ASKED_FOR


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_short_has_an_example_and_stands_in_the_readme(
    newcomer: Everest, name: str
) -> None:
    told = newcomer(*name.split(), "--help", COLUMNS="80")
    assert told.code == 0
    assert len(told.out.splitlines()) <= 24
    example = re.search(rf"Example: (echo .{{0,90}}\| )?everest {name}\b", told.out, re.DOTALL)
    assert example is not None, told.out
    assert f"everest {name}" in README
    assert "--json" in told.out or name in PASSED_ON
    assert not re.search(r"-$", told.out, re.MULTILINE), "no word is broken"
    values = re.findall(r"^  -+[a-z-]+ (\S+)  ", told.out, re.MULTILINE)
    assert all(re.fullmatch(r"[A-Z]+|<\w+(\|\w+)+>", one) for one in values), values
    assert not newcomer.home.exists()


def test_the_overview_fits_a_terminal_and_cuts_no_sentence(newcomer: Everest) -> None:
    told = newcomer("--help", COLUMNS="80")
    assert told.code == 0
    assert "everest demo" in told.out.partition("Options:")[0], "it says where to begin"
    assert "..." not in told.out.replace("[ARGS]...", "")
    assert max(map(len, told.out.splitlines())) <= 80


def _unit(person: Everest) -> str:
    return str(person.lessons()[0]["lesson_id"])[:16]


JSON = {
    "night": ([], dict),
    "ingest": ([], dict),
    "ingest --quiet": (["ingest", "--quiet"], dict),
    "sleep": ([], list),
    "sleep --dry-run": (["sleep", "--dry-run"], list),
    "night --dry-run": (["night", "--dry-run"], list),
    "render": ([], dict),
    "measure": ([], dict),
    "morning": ([], dict),
    "recall": (["recall", "pnpm", "--project", "paperboat", "-k", "2"], list),
    "recall --explain": (["recall", "pnpm", "--project", "paperboat", "--explain"], dict),
    "lessons": ([], list),
    "remember": (["remember", "the staging port is 9090", "--project", "paperboat"], dict),
    "rebuild": ([], dict),
    "compact": ([], dict),
    "check": ([], dict),
    "backup": ([], dict),
    "restore": (["restore", "BACKUP", "--yes"], dict),
    "project list": (["project", "list"], list),
    "project rename": (["project", "rename", "paperboat", "boat"], dict),
    "project ignore": (["project", "ignore", "tidewater"], dict),
    "project watch": (["project", "watch", "tidewater"], dict),
    "status": (["status", "--digest"], dict),
    "paths": ([], dict),
    "relay": (["relay", "--project", "paperboat"], list),
    "tools": ([], list),
    "call": (["call", "lessons", "--project", "paperboat"], dict),
    "context": (["context", "--project", "paperboat"], dict),
    "token add": (["token", "add", "--project", "paperboat"], dict),
    "token list": (["token", "list"], list),
    "token remove": (["token", "remove", "TOKEN"], dict),
    "reject": (["reject", "UNIT", "--reason", "we moved"], dict),
    "forget": (["forget", "UNIT"], dict),
    "pause": (["pause", "--for", "2h"], dict),
    "setup": (["setup", "--dry-run"], dict),
    "doctor": ([], dict),
    "resume": ([], dict),
    "down": ([], dict),
    "export": ([], dict),
    "uninstall": (["uninstall", "--keep-data", "--yes"], dict),
    "logs": ([], list),
}


@pytest.mark.parametrize("name", JSON)
def test_json_is_one_value_and_nothing_else(person: Everest, name: str) -> None:
    words, kind = JSON[name]
    words = [_unit(person) if word == "UNIT" else word for word in words or [name]]
    if "token" in words:
        made = person("token", "add", "--every-project", "--json").data
        words = [made["id"] if word == "TOKEN" else word for word in words]
    if "relay" in words:
        told = '{"kind": "deploy", "text": "v3 is out", "project": "paperboat"}'
        assert person("ingest", "--events", "-", stdin=told).code == 0
    if "restore" in words:
        made = person("backup", "--json").data
        words = [made["path"] if word == "BACKUP" else word for word in words]
    told = person(*words, "--json")
    assert told.code == 0, told.err
    assert isinstance(told.data, kind)
    assert told.data or "--dry-run" in words or name == "logs"
    assert told.err == ""


def test_every_command_was_asked_for_json() -> None:
    assert {name.split(" --")[0] for name in JSON} | {
        "demo",
        "proxy",
        "up",
        "deploy",
        "model",
    } | PASSED_ON == set(COMMANDS)


def test_the_demo_shows_a_report_and_how_to_ask(newcomer: Everest) -> None:
    told = newcomer("demo", "--home", str(newcomer.base / "here"))
    assert told.code == 0, told.err
    assert "## Learned" in told.out
    assert "<!--" not in told.out
    command = next(line for line in told.out.splitlines() if "everest recall" in line)
    asked = newcomer.run(["sh", "-c", command], PATH=f"{_bin()}:/usr/bin:/bin")
    assert asked.code == 0, asked.err
    assert "everest-memory" in asked.out
    assert not newcomer.home.exists()
    assert not newcomer.claude.exists()


def test_the_demo_can_be_read_by_a_program(newcomer: Everest) -> None:
    told = newcomer("demo", "--home", str(newcomer.base / "here"), "--json")
    assert told.data["report"]["first"] is True
    assert len(told.data["report"]["learned"]) >= 6
    assert list(Path(told.data["transcripts"]).rglob("everest-*.md"))


def _bin() -> Path:
    from tests.serving.shipped import COMMAND  # noqa: PLC0415

    return COMMAND.parent


def test_an_error_is_one_json_value_too(newcomer: Everest) -> None:
    told = newcomer("recall", "x", "--project", "nowhere", "--json")
    assert told.code == told.data["code"] == 2
    assert told.data["kind"] == "UnknownProject"
    misuse = newcomer("recall", "--json")
    assert misuse.code == misuse.data["code"] == 2
    assert "query" in misuse.data["error"].lower()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nigth"], "Did you mean 'night'"),
        (["recall"], "everest recall --help"),
        (["recall", "x", "-k", "0"], "-k"),
        (["recall", "x", "-k", "many"], "-k"),
        (["sleep", "--dryrun"], "--dry-run"),
        (["project"], "project list"),
        ([], "night"),
    ],
)
def test_misuse_is_told_in_words_with_exit_code_2(
    newcomer: Everest, words: list[str], said: str
) -> None:
    told = newcomer(*words)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_a_newcomer_is_told_what_to_do_first(newcomer: Everest) -> None:
    assert "everest night" in newcomer("lessons").out
    assert "everest night" in newcomer("morning").out
    assert "everest night" in newcomer("project", "list").out
    assert "everest night" in newcomer("status").out
    told = newcomer("recall", "anything")
    assert told.code == 2
    assert "everest night" in told.err
    assert not newcomer.home.exists()


def test_status_names_who_writes_and_ends_with_the_digest(reader: Everest) -> None:
    lines = reader("status", "--digest").out.splitlines()
    assert re.fullmatch("[0-9a-f]{64}", lines[-1])
    assert lines[-2].startswith("unfolded")
    assert any(re.match(r"being written by +nobody$", line) for line in lines)
    assert "12" in next(line for line in lines if line.startswith("sessions"))


def test_the_records_that_were_read_add_up(reader: Everest) -> None:
    records = reader("status", "--json").data["records"]
    read = records.pop("read")
    assert read == sum(records.values()) > 100


def test_measure_gives_a_script_the_window_and_the_whole_history(person: Everest) -> None:
    told = person("measure", "--json").data
    history = told.pop("history")
    assert told.pop("zone") == person.env()["EVEREST_TIMEZONE"]
    assert told.keys() == history.keys()
    for found in (told, history):
        rates = [found["repeat_yourself"], found["repeated_error"]]
        for rate in rates:
            days = rate["days"]
            assert rate["part"] == sum(part for _, part, _ in days)
            assert rate["whole"] == sum(whole for _, _, whole in days) > 0
            window = {"since": days[0][0], "until": days[-1][0], "days": len(days)}
            assert found["window"] == window
    assert told["reached"]["since"] is not None
    assert history["reached"]["since"] is None
    assert history["reached"]["whole"]["sessions"] == 12


def test_recall_is_fenced_for_a_program_and_a_list_for_a_person(reader: Everest) -> None:
    words = ("recall", "pnpm", "--project", "paperboat", "-k", "3")
    piped, seen = reader(*words), reader.at_terminal(*words)
    assert piped.code == seen.code == 0
    assert piped.out.startswith("<everest-memory>")
    assert piped.out.endswith("</everest-memory>\n")
    assert "everest-memory" not in seen.out
    for told in (piped, seen):
        assert "pnpm" in told.out
        assert re.search(r"\d{4}-\d\d-\d\d", told.out)
        assert re.search(r"[0-9a-f]{16}", told.out)
    assert "relevance" not in seen.out
    assert "0.6 x" in reader.at_terminal(*words, "--explain").out


def test_recall_keeps_quiet_when_nothing_bears_on_the_question(reader: Everest) -> None:
    told = reader("recall", "zebra quagga okapi", "--project", "paperboat", "--json")
    assert told.code == 0
    assert told.data == []


def test_lessons_are_of_one_project_or_of_all(reader: Everest) -> None:
    every = reader.lessons()
    mine = reader.lessons("--project", "paperboat")
    assert 0 < len(mine) < len(every)
    assert {row["project_id"].rpartition("-")[0] for row in mine} == {"paperboat"}
    assert "1 sessions" not in reader("lessons").out


def test_long_work_shows_its_stages_on_a_terminal_alone(person: Everest) -> None:
    seen = person.at_terminal("ingest")
    assert "reading transcripts" in seen.out
    assert "publishing" in seen.out
    assert person("ingest").err == ""
    quiet = person("ingest", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_the_same_answer_in_an_own_folder_without_naming_the_project(person: Everest) -> None:
    person("remember", "the port of this folder is 7171")
    assert "7171" in person("recall", "port of this folder").out


def test_a_reader_that_goes_away_is_no_fault(reader: Everest) -> None:
    told = reader.run(["sh", "-c", f"{_bin()}/everest lessons | head -c 1 >/dev/null"])
    assert told.err == ""


def test_a_demo_meets_nothing_that_is_there(newcomer: Everest, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    told = newcomer("demo", "--home", str(taken))
    assert told.code == 2
    assert "is not empty" in told.err
    assert [path.name for path in taken.iterdir()] == ["mine.txt"]
    assert newcomer("demo", "--home", str(tmp_path / "new")).code == 0


def test_the_version_is_told(newcomer: Everest) -> None:
    assert newcomer("--version").out == f"everest {version('everest-memory')}\n"
