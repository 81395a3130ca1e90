from __future__ import annotations

import pytest

from tasks.domain.session import ResultState, ToolCall
from tasks.evidence.detectors import command_of, detect, telling
from tasks.evidence.detectors.commands import ways_of
from tasks.evidence.detectors.failures import error_class
from tests.evidence.detectors.build import call, reply, said, session

HARNESS, ERROR = ResultState.HARNESS, ResultState.ERROR


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("Edit", "File has not been read yet. Read it first", "not_read"),
        ("Edit", "String to replace not found in file.", "string_not_found"),
        ("Edit", "Found 3 matches of the string to replace, but replace_all", "string_not_unique"),
        ("Read", "File does not exist.", "file_missing"),
        ("Read", "EISDIR: illegal operation on a directory", "is_directory"),
        ("Bash", "Exit code 127\nbash: jqq: command not found", "command_missing"),
        ("Bash", "Exit code 127\nbash: ./run.sh: No such file or directory", "file_missing"),
        ("Bash", "Exit code 1\n/usr/bin/python: No module named pytest", "module_missing"),
        ("Bash", "Exit code 1\ncat: /root/x: Permission denied", "permission"),
        ("Bash", "Exit code 1\n--- FAIL: TestLoad (0.00s)\nFAIL", "test_failed"),
        ("Bash", "Exit code 1\n3 failed, 9 passed in 1.2s", "test_failed"),
        ("Bash", "Exit code 2\nFAIL shop/load [build failed]", "build_failed"),
        ("Bash", "Exit code 2\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.", "type_error"),
        ("Bash", "Exit code 1\n[lint] $ golangci-lint run", "lint"),
        ("Bash", "Exit code 143\nCommand timed out after 2m 0s", "timeout"),
        ("Bash", "Exit code 1\nCONFLICT (content): Merge conflict in a.py", "conflict"),
        ("Bash", "Exit code 1\n ! [rejected] main -> main (fetch first)", "push_rejected"),
        ("Bash", 'Exit code 1\n  File "x", line 1\nSyntaxError: invalid syntax', "syntax"),
        ("Bash", "Exit code 3", "exit_nonzero"),
        ("mcp__x__y", "something odd", "other"),
    ],
)
def test_the_text_tells_the_class(tool: str, text: str, expected: str) -> None:
    assert error_class(call(tool, state=ERROR, text=text)) == expected


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("npm test -- --watch", "npm"),
        ("cd /code/shop && go test ./...", "go"),
        ("CI=1 env FOO=2 pytest -q", "pytest"),
        ("/usr/bin/git status", "git"),
        ("sed -i s/a/b/ x.go && go build ./...", "go"),
        ("cat notes.txt | head", "cat"),
        ("sleep 30; npx -y eslint .", "eslint"),
        ("git commit -m 'open", "git"),
        ("sed -i 's/a/b/; s/load(x)/save/' y.go && go vet ./...", "go"),
        ("", ""),
    ],
)
def test_the_command_is_the_first_word_of_what_ran(line: str, command: str) -> None:
    assert command_of(call("Bash", line)) == command


def test_only_shells_have_a_command() -> None:
    assert command_of(call("Read", "/a/b.py")) == ""


@pytest.mark.parametrize(
    ("line", "ways"),
    [
        ("cd /code/shop && go test ./... -run X", ("go test",)),
        ("mise run fmt && mise run lint 2>&1 | tail -5", ("mise run fmt", "mise run lint")),
        ("uv run pytest tests/a.py", ("uv run pytest",)),
        ("python3 -m pytest -q", ("python3 -m pytest",)),
        ("pytest -q tests", ()),
        ("git commit -m 'open", ("git commit",)),
        ("npm --silent test", ()),
    ],
)
def test_the_way_of_running_is_the_program_and_what_names_its_work(
    line: str, ways: tuple[str, ...]
) -> None:
    assert ways_of(call("Bash", line)) == ways


def test_a_missing_program_is_the_one_the_shell_names() -> None:
    text = "Exit code 127\n(eval):1: command not found: timeout"
    failed = call("Bash", "timeout 5 pnpm test", state=ERROR, text=text)
    (error,) = detect(session(said("go"), reply("", failed))).errors
    assert (error.error_class, error.command) == ("command_missing", "timeout")


def missing(ident: str) -> ToolCall:
    text = "Exit code 1\nNo module named pytest"
    return call("Bash", "python -m pytest a.py", state=ERROR, text=text, ident=ident)


def test_what_worked_in_place_of_a_failed_way_is_found() -> None:
    right = call("Bash", "uv run pytest a.py", ident="b")
    (error,) = detect(session(said("go"), reply("", missing("a"), right))).errors
    assert error.instead == ("python -m pytest", "uv run pytest")


def test_a_way_that_works_elsewhere_or_red_tests_have_no_other_way() -> None:
    right = call("Bash", "uv run pytest a.py", ident="b")
    also = call("Bash", "python -m pytest b.py", ident="c")
    red = call("Bash", "go test", state=ERROR, text="--- FAIL: TestA (0.0s)", ident="d")
    green = call("Bash", "mise run test", ident="e")
    other = call("Bash", "uv run ruff", ident="f")
    for calls in ((missing("a"), right, also), (red, green), (missing("a"), other)):
        (error,) = detect(session(said("go"), reply("", *calls))).errors
        assert error.instead is None


def test_the_telling_lines_are_those_that_show_the_class() -> None:
    text = "Exit code 1\n" + "ok shop/a\n" * 99 + "\x1b[31m--- FAIL: TestLoad (0.1s)\x1b[0m\nFAIL"
    assert telling(text, "test_failed") == "--- FAIL: TestLoad (0.1s)\nFAIL"
    assert telling("Exit code 3\nsomething odd", "exit_nonzero") == "something odd"
    assert telling("Exit code 3", "exit_nonzero") == "Exit code 3"
    assert telling("no class fits", "other") == "no class fits"


def test_the_environment_is_no_error() -> None:
    offline = call(
        "Bash", "git fetch", state=ERROR, text="Could not resolve host: example", ident="a"
    )
    broken = call(
        "Bash", "git fetch", state=ERROR, text="Exit code 1\nfatal: bad revision", ident="b"
    )
    found = detect(session(said("go"), reply("", offline, broken)))
    assert [(one.anchor, one.cause) for one in found.environment] == [("a", "network")]
    assert [one.call.id for one in found.errors] == ["b"]


@pytest.mark.parametrize("state", [ResultState.OK, ResultState.REFUSED, ResultState.CANCELLED])
def test_a_call_that_did_not_fail_is_no_error(state: ResultState) -> None:
    found = detect(
        session(said("go"), reply("", call("Bash", "ls", state=state, text="Exit code 1")))
    )
    assert found.errors == ()


def test_a_host_notice_is_environment_and_talk_of_limits_is_not() -> None:
    notice = reply("API Error: 529 overloaded_error", uuid="n")
    talk = reply("The session limit in the config is 5; an api error is retried.", uuid="t")
    found = detect(session(said("go"), notice, said("and?"), talk))
    assert [(one.anchor, one.cause) for one in found.environment] == [("n", "api_error")]


def test_a_stated_surprise_is_the_sentence_and_its_turn() -> None:
    text = "I looked at the loader. It turns out the cache is never cleared. Next I fix it."
    found = detect(session(said("go"), reply(text, uuid="x")))
    assert [(one.turn.uuid, one.sentence) for one in found.surprises] == [
        ("x", "It turns out the cache is never cleared.")
    ]


def test_agreeing_with_the_person_is_no_surprise() -> None:
    assert detect(session(said("go"), reply("You're right, I will fix it."))).surprises == ()
