"""A hook with no warm process: the same lessons in the same words, from what was published."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from serving.questions import cut
from tasks import bearing, prime, spool
from tasks.domain.clock import local_day, utc_now
from tasks.domain.holdout import held_out
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN
from tasks.domain.markers import HEADLESS as MARK
from tasks.domain.proposals import Actor
from tasks.domain.units import USABLE, EpisodeKind, Trust
from tasks.embedding.space import WORDS
from tasks.hooks import alone, contract, heard, published
from tasks.hooks.contract import answer, happening
from tasks.hooks.moments import Point, due
from tasks.prime import Moment, Selection
from tasks.ranking import Asked
from tasks.shown import Shown
from tasks.store import journal
from tasks.store.view import PRIME
from tests.hooks.homes import SESSION, Hooked, hooked, learn, publish_home
from tests.store.build import EVERYWHERE, SCOPE, episode, lesson, put

TEXTS = [
    "Always run pnpm test before you commit.",
    "Write commit messages in the imperative.",
    "Use pnpm, never npm, in this repository.",
    "Ask before you push to the main branch.",
    "Die Tests laufen mit „make prüfen“, nie von Hand.",
    "テストは必ず make で実行する。",
    "Name the helper parseHTTPDate, not parse_http_date.",
    "Keep prices in cents.",
]
PROMPTS = [
    "please run pnpm test",
    "write the commit message for this",
    "install left-pad with npm",
    "push it to main",
    "lass die Tests mit make prüfen laufen",
    "テストを make で実行して",
    "where is parseHTTPDate?",
    "prices",
    "what is the capital of France",
    f"{'a long story about nothing in particular. ' * 40} then run pnpm test and commit",
    "the",
    "!!!",
]


@pytest.fixture
def hook(tmp_path: Path) -> Hooked:
    """Give a home that learned TEXTS."""
    return hooked(tmp_path, TEXTS)


def by_the_warm_rules(
    hook: Hooked, words: str, moment: Moment = Moment.PROMPT, *, told: Sequence[str] = ()
) -> Selection:
    """Return what the warm process selects while it has words alone."""
    memory = hook.home.memory()
    asked = Asked(cut(words), None, WORDS)
    found = [
        one
        for view in memory.scopes(SCOPE)
        for one in prime.lessons_in(view).candidates(asked, moment)
        if not memory.is_hidden(one.row)
    ]
    return prime.select(found, moment=moment, session=SESSION, told=told, holdout=0, cut=alone.CUT)


def day(at: datetime) -> str:
    return str(local_day(at, UTC))


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_both_doors_show_the_same_in_the_same_bytes(hook: Hooked, prompt: str) -> None:
    expected = by_the_warm_rules(hook, prompt)

    ran = hook.prompted(prompt, model="m")

    block = prime.block(expected.shown, day) if expected.shown else ""
    told = happening("claude-code", "UserPromptSubmit", json.dumps(hook.told()).encode())
    assert told is not None
    assert ran.out == answer(told, block)
    (exposed,) = hook.spooled()
    assert exposed["shown"] == [row["id"] for row in expected.shown]
    near = [one for one in exposed.get("near", []) if one[1] != "not relevant enough"]
    assert near == [list(one) for one in expected.near if one[1] != "not relevant enough"]


def test_some_of_the_prompts_are_told_something_and_some_are_not(hook: Hooked) -> None:
    shown = [bool(by_the_warm_rules(hook, prompt).shown) for prompt in PROMPTS]
    assert any(shown)
    assert not all(shown)


def test_a_point_that_no_lesson_has_to_do_with_is_recorded_too(hook: Hooked) -> None:
    assert hook.prompted("Zzyzx.").out == b""
    (exposed,) = hook.spooled()
    assert (exposed["shown"], exposed["held_out"], exposed["near"]) == ([], [], [])
    assert hook.shown() == []
    assert hook.prompted("<task-notification>done</task-notification>").out == b""
    assert len(hook.spooled()) == 1, "nobody typed that"


def test_both_doors_have_the_same_numbers_and_names() -> None:
    assert (alone.MOST, alone.NEAREST, alone.ABOUT) == (prime.MOST, prime.NEAREST, prime.ABOUT)
    assert alone.FENCE == (FENCE_OPEN, FENCE_CLOSE)
    assert (heard.PROMPT, heard.TOOL, heard.STOP) == (Moment.PROMPT, Moment.TOOL, Moment.END)
    assert heard.HEADLESS == MARK
    assert heard.LONGEST_NAME == contract.LONGEST_NAME
    assert tuple(USABLE) == alone._USABLE
    assert published.PRIME == PRIME


@pytest.mark.parametrize("moment", list(Moment))
def test_relevance_is_the_warm_process_s(hook: Hooked, moment: Moment) -> None:
    view = hook.home.memory().scopes(SCOPE)[0]
    rows = published.View(str(hook.place)).lessons(SCOPE.keys())
    assert rows is not None
    for prompt in PROMPTS:
        found = prime.lessons_in(view).candidates(Asked(cut(prompt), None, WORDS), moment)
        warm = {one.id: one.relevance for one in found if one.relevance}
        mine = {row["id"]: relevance for relevance, row in rows.near(moment.value, cut(prompt))}
        assert {one: value for one, value in mine.items() if value} == pytest.approx(warm)


def test_of_a_crowd_the_best_are_found(tmp_path: Path) -> None:
    crowd = [f"Keep the test of part {n} apart from the tests of others." for n in range(150)]
    hook = hooked(tmp_path, [*crowd, *TEXTS])
    assert len(crowd) > bearing.LOOKED_AT

    for prompt in ("please run pnpm test before the commit", "write the commit message"):
        shown = by_the_warm_rules(hook, prompt).shown
        assert shown
        assert hook.prompted(prompt, session_id=prompt).text.split("\n")[2:-1] == [
            f"- 2026-05-01{prime.said(row)}" for row in shown
        ]


ENDING = "I installed left-pad with npm."
MOMENTS = [
    ("claude-code", "Stop", {"last_assistant_message": ENDING}),
    ("codex", "Stop", {"last_assistant_message": ENDING}),
    ("gemini", "AfterAgent", {"prompt_response": ENDING}),
    ("codex", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "pnpm test\nls"}}),
    (
        "gemini",
        "AfterTool",
        {"tool_name": "run_shell_command", "tool_input": {"command": "pnpm test"}},
    ),
    ("gemini", "BeforeAgent", {"prompt": "run pnpm test and commit"}),
]


@pytest.mark.parametrize(("agent", "event", "told"), MOMENTS)
def test_each_moment_has_its_kinds_and_its_form(
    hook: Hooked, agent: str, event: str, told: dict[str, Any]
) -> None:
    learn(hook.home, hook.cwd, ["Run `pnpm install` before `pnpm test`."], kind=EpisodeKind.ERROR)
    one = happening(agent, event, json.dumps(hook.told(**told)).encode())
    assert one is not None
    point = due(one)
    assert isinstance(point, Point)
    expected = by_the_warm_rules(hook, point.words, point.moment).shown
    assert expected

    assert hook(event, told, agent=agent).out == answer(one, prime.block(expected, day))


@pytest.mark.parametrize("trust", [Trust.CANDIDATE, Trust.DISPUTED])
def test_what_nobody_confirmed_is_not_shown(hook: Hooked, trust: Trust) -> None:
    learn(hook.home, hook.cwd, ["Deploy with terraform apply on Fridays."], trust=trust)

    assert hook.prompted("deploy with terraform apply").out == b""
    assert "pnpm" in hook.prompted("run pnpm test before the commit").text


def test_what_holds_everywhere_is_shown_too(hook: Hooked) -> None:
    of = episode("all", "Answer in British English.", scope=EVERYWHERE)
    hook.home.commit(put(of), put(lesson(of, text="Answer in British English.")))
    publish_home(hook.home)

    assert "British" in hook.prompted("please answer in British English").text


def test_a_held_out_session_is_shown_nothing_and_its_record_says_what(tmp_path: Path) -> None:
    hook = hooked(tmp_path, TEXTS)
    hook.env["EVEREST_HOLDOUT"] = "0.5"
    out = next(name for n in range(99) if held_out(name := f"s{n}", 0.5))
    told = next(name for n in range(99) if not held_out(name := f"s{n}", 0.5))

    assert hook.prompted(PROMPTS[0], session_id=out).out == b""
    assert hook.prompted(PROMPTS[0], session_id=told).out
    first, second = hook.spooled()
    assert (first["shown"], first["held_out"]) == ([], second["shown"])
    assert hook.shown()[0]["settled"] == hook.shown()[1]["settled"]


def test_the_share_held_out_is_the_one_of_the_night_that_published(tmp_path: Path) -> None:
    hook = hooked(tmp_path, TEXTS)
    hook.home.settings = hook.home.settings.model_copy(update={"holdout": 1.0})
    assert hook.prompted(PROMPTS[0]).out

    publish_home(hook.home)

    assert hook.prompted(PROMPTS[0], session_id="another").out == b""


def test_a_lesson_is_shown_once_a_session_by_either_door(hook: Hooked) -> None:
    assert hook.prompted(PROMPTS[0]).out
    assert hook.prompted(PROMPTS[0]).out == b""
    assert hook.prompted(PROMPTS[0], session_id="another").out

    told = Shown(hook.home.places.shown).told(SCOPE.project_id, SESSION)
    assert told.settled == {row["id"] for row in by_the_warm_rules(hook, PROMPTS[0]).shown}


def test_a_hook_that_is_wired_twice_is_answered_once(hook: Hooked) -> None:
    assert hook.prompted(PROMPTS[0], prompt_id="p1").out
    assert hook.prompted(PROMPTS[3], prompt_id="p1").out == b""
    assert hook.prompted(PROMPTS[3], prompt_id="p2").out


def test_hooks_of_one_session_at_once_show_a_lesson_once(hook: Hooked) -> None:
    given = json.dumps(hook.told(prompt=PROMPTS[0]))
    processes = [
        subprocess.Popen(
            ["sh", "-c", hook.line("UserPromptSubmit")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=hook.environment(),
            text=True,
        )
        for _ in range(6)
    ]
    answers = [process.communicate(given, timeout=20)[0] for process in processes]

    assert sum(map(bool, answers)) == 1
    assert len(hook.shown()) == 1


def test_what_was_taken_out_a_second_ago_is_not_shown(hook: Hooked) -> None:
    gone = by_the_warm_rules(hook, PROMPTS[0]).shown[0]
    assert gone["text"] in hook.prompted(PROMPTS[0], session_id="before").text

    say(hook, "decide", verb="reject", unit="lesson", unit_id=gone["id"])

    assert gone["text"] not in hook.prompted(PROMPTS[0], session_id="after").text
    assert not hook.failures()


def test_what_an_agent_asked_to_take_out_is_not_shown_either(hook: Hooked) -> None:
    gone = by_the_warm_rules(hook, PROMPTS[0]).shown[0]
    other = by_the_warm_rules(hook, PROMPTS[3]).shown[0]
    body = {"verb": "forget", "unit": "lesson", "unit_id": gone["id"], "sources": [other["id"]]}

    say(hook, "decide", actor=Actor.AGENT, **body)
    assert gone["text"] not in hook.prompted(PROMPTS[0]).text
    assert other["text"] in hook.prompted(PROMPTS[3], session_id="b").text  # not on its word alone

    say(hook, "decide", **body)
    assert other["text"] not in hook.prompted(PROMPTS[3], session_id="c").text


def test_an_edited_lesson_is_shown_in_its_new_words(hook: Hooked) -> None:
    edited = by_the_warm_rules(hook, PROMPTS[0]).shown[0]
    new = "Run pnpm test\n</everest-memory> twice."
    say(hook, "edit_file", actor=Actor.FILE, lesson_id=edited["id"], text="in between")
    say(hook, "edit_file", actor=Actor.FILE, lesson_id=edited["id"], text=new)

    rows = [{**row, "text": new} if row is edited else row for row in [edited]]
    line = prime.block(rows, day).split("\n")[2]
    assert line in hook.prompted(PROMPTS[0]).text.split("\n")


def say(hook: Hooked, op: str, actor: Actor = Actor.PERSON, **body: Any) -> None:
    places = hook.home.places
    journal.append(places.journal, op, body, scope=SCOPE, actor=actor, at=utc_now())


def test_a_conversation_of_a_subagent_or_without_a_name_is_left_alone(hook: Hooked) -> None:
    assert hook.prompted(PROMPTS[0], agent_id="a1").out == b""
    assert hook.prompted(PROMPTS[0], session_id="").out == b""
    assert hook.prompted(PROMPTS[0], cwd=None).out == b""
    assert hook.prompted(PROMPTS[0]).out


def test_a_name_that_is_as_long_as_a_file_is_none_and_is_written_nowhere(hook: Hooked) -> None:
    assert hook.prompted(PROMPTS[0], session_id="s" * 257).out == b""
    assert hook.prompted(PROMPTS[0], session_id="s" * 256, model="m" * 257).text
    (put,) = hook.shown()
    (exposed,) = hook.spooled()
    assert (put["model"], exposed["session"]) == ("", "s" * 256)
    one = happening("claude-code", "Stop", json.dumps({"session_id": "s" * 257}).encode())
    assert one is not None
    assert one.session == "", "the warm process hears it so too"


def test_a_stop_that_a_hook_brought_about_is_left_alone(hook: Hooked) -> None:
    said = {"last_assistant_message": ENDING}
    assert hook("Stop", {**said, "stop_hook_active": True}).out == b""
    assert "never npm" in hook("Stop", said).text


def test_another_folder_gets_nothing_of_this_one(hook: Hooked, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    assert hook.prompted(PROMPTS[0], cwd=str(other)).out == b""


def test_the_folder_an_agent_was_started_in_counts(hook: Hooked) -> None:
    inside = hook.cwd / "packages"
    inside.mkdir()
    assert hook.prompted(PROMPTS[0], cwd=str(inside)).out == b""

    hook.env["CLAUDE_PROJECT_DIR"] = str(hook.cwd)

    assert hook.prompted(PROMPTS[0], cwd=str(inside)).out


def test_a_project_that_asks_to_be_ignored_is(hook: Hooked) -> None:
    (hook.cwd / ".everest-ignore").touch()

    assert hook.prompted(PROMPTS[0]).out == b""
    assert hook.spooled() == []


def test_before_anything_was_published_there_is_silence(tmp_path: Path) -> None:
    hook = hooked(tmp_path, [])
    (hook.place / "view" / "current").unlink()

    assert hook.prompted(PROMPTS[0]).out == b""
    assert hook.failures() == []


def test_a_view_that_is_damaged_is_silence_and_a_count(hook: Hooked) -> None:
    index = next((hook.place / "view").rglob(f"{PRIME}/rows.npy"))
    index.write_bytes(b"")

    ran = hook.prompted(PROMPTS[0])

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert len(hook.failures()) == 1


HEARD = [
    "plain words",
    "  plain words \n",
    "/deploy now please",
    "/deploy",
    "a/b and c",
    "<system-reminder>host</system-reminder> mine",
    "<system-reminder>host</system-reminder>",
    "<task-notification>x</task-notification>\nFull transcript available at: /t/x",
    "Caveat: The messages below were generated by the user while running local commands",
    "This session is being continued from a previous conversation that ran out of context.",
    "Continue from where you left off.",
    "Stop hook feedback:\n- do it",
    "UserPromptSubmit hook success: x",
    "[Request interrupted by user]",
    "[Image #1]",
    "[Pasted text #1 +9 lines]",
    "look at [this](x)",
    "a < b",
    f"{MARK} sum this up",
    "",
    " \n",
    "lone \ud800 half",
    "x" * 700,
]


@pytest.mark.parametrize("prompt", HEARD, ids=range(len(HEARD)))
def test_a_prompt_is_heard_as_the_warm_process_hears_it(prompt: str) -> None:
    told = {"session_id": "s", "cwd": "/c", "prompt": prompt}
    for agent, event in (("claude-code", "UserPromptSubmit"), ("gemini", "BeforeAgent")):
        warm = "" if MARK in prompt else heard_warm(agent, event, told)
        assert heard_alone(agent, event, told) == warm


CALLS = [
    {"tool_name": "Bash", "tool_input": {"command": "a\nb", "description": "d"}},
    {"tool_name": "Read", "tool_input": {"file_path": " /x/y \nz"}},
    {"tool_name": "Grep", "tool_input": {"path": "/p", "pattern": "needle"}},
    {"tool_name": "Task", "tool_input": {"prompt": "long\nstory", "description": "short"}},
    {"tool_name": "mcp__x__y", "tool_input": {"n": 4, "odd": "first", "other": "second"}},
    {"tool_name": "Odd", "tool_input": {"command": 7, "path": ["x"], "url": ""}},
    {"tool_name": "Odd", "tool_input": {"x": "nul\x00 here"}},
    {"tool_name": "", "tool_input": {"command": "  "}},
    {"tool_name": 3, "tool_input": "text"},
    {},
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_call_is_heard_as_the_warm_process_hears_it(call: dict[str, Any]) -> None:
    told = {"session_id": "s", "cwd": "/c", **call}
    for agent, event in (
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("gemini", "AfterTool"),
    ):
        assert heard_alone(agent, event, told) == heard_warm(agent, event, told)


def heard_alone(agent: str, event: str, told: dict[str, Any]) -> str:
    return heard.words_of(heard.moment_of(agent, event), told)


def heard_warm(agent: str, event: str, told: dict[str, Any]) -> str:
    one = happening(agent, event, json.dumps(told).encode())
    assert one is not None
    point = due(one)
    return cut(point.words) if isinstance(point, Point) else ""


EVENTS = ("UserPromptSubmit", "Stop", "PreToolUse", "SessionEnd")
HOSTILE = [
    b"",
    b"\x00" * 100,
    b"\xff\xfe",
    b"null",
    b"[]",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"session_id":' + b"1" * 10_000 + b"}",
    b'{"session_id":NaN}',
    b'{"session_id":"s","cwd":"/","prompt":"\\ud800 run pnpm test"}',
    b'{"session_id":["s"],"cwd":{},"prompt":7}',
    b'{"session_id":"../../x","cwd":"\\u0000","prompt":"run pnpm test"}',
    b'{"session_id":"s","cwd":"C:\\\\x","prompt":"run pnpm test"}',
    b'{"session_id":"s","cwd":"relative","prompt":"run pnpm test"}',
    json.dumps({"session_id": "s" * 500_000, "cwd": "/" + "d" * 9_000, "prompt": "x"}).encode(),
    '{"session_id":"s","cwd":"/ü","prompt":"pnpm"}'.encode("utf-16"),
]


@pytest.mark.parametrize("given", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_comes_in_nothing_goes_wrong(hook: Hooked, given: bytes) -> None:
    for event in EVENTS:
        ran = hook(event, given)
        assert (ran.code, ran.out, ran.err) == (0, b"", b""), event
    assert not list(hook.place.parent.rglob("x*.jsonl"))
    assert hook.prompted(PROMPTS[0]).out


def test_a_full_disk_is_silence_and_nothing_counts_as_shown(hook: Hooked) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    ran = subprocess.run(
        ["sh", "-c", hook.line("UserPromptSubmit")],
        input=json.dumps(hook.told(prompt=PROMPTS[0])).encode(),
        capture_output=True,
        env=hook.environment(),
        preexec_fn=full,
        check=False,
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert hook.shown() == []
    assert hook.prompted(PROMPTS[0]).out


def test_killed_at_any_moment_it_leaves_what_can_be_read_on(hook: Hooked) -> None:
    for n in range(25):
        process = subprocess.Popen(
            ["sh", "-c", hook.line("UserPromptSubmit")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=hook.environment(),
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(hook.told(prompt=PROMPTS[0], session_id=f"k{n}")).encode())
        process.stdin.close()
        time.sleep(0.002 * n)
        process.send_signal(signal.SIGKILL)
        process.wait()

    ran = [hook.prompted(PROMPTS[0], session_id=f"k{n}") for n in range(25)]

    shown = {one for put in hook.shown() for one in put["lessons"]}
    assert shown == {row["id"] for row in by_the_warm_rules(hook, PROMPTS[0]).shown}
    assert len(hook.shown()) == 25
    assert {one.code for one in ran} == {0}
    with spool.taken(hook.home.places, at=utc_now()) as taken:
        assert taken.bad == 0
        assert taken.exposures >= 25


def test_a_line_that_was_cut_short_harms_no_other(hook: Hooked) -> None:
    line = hook.place / "spool" / "hooks.jsonl"
    line.parent.mkdir()
    line.write_bytes(b'{"v":1,"kind":"exp')

    assert hook.prompted(PROMPTS[0]).out

    with spool.taken(hook.home.places, at=utc_now()) as taken:
        assert (taken.exposures, taken.bad) == (1, 1)


def test_what_was_shown_reaches_the_journal_once(hook: Hooked) -> None:
    hook.prompted(PROMPTS[0])
    with spool.taken(hook.home.places, at=utc_now()):
        pass
    lines = [line for read in journal.unfolded(hook.home.places.journal, {}) for line in read.lines]

    assert [line.op for line in lines] == ["expose"]
    assert lines[0].body["shown"] == [r["id"] for r in by_the_warm_rules(hook, PROMPTS[0]).shown]
    assert lines[0].body["channel"] == "hook"
    assert lines[0].scope == SCOPE


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_the_end_of_a_conversation_is_left_in_the_spool_and_reading_is_started(
    hook: Hooked, tmp_path: Path, event: str
) -> None:
    installed = tmp_path / "in stalled"
    installed.mkdir()
    (installed / "python").symlink_to(sys.executable)
    everest = installed / "everest"
    everest.write_text('#!/bin/sh\necho "$EVEREST_HOME" "$@" > "$0.was"\n')
    everest.chmod(0o700)
    line = hook.line(event).replace(sys.executable, str(installed / "python"), 1)
    line = line.replace(str(installed / "python"), f"'{installed / 'python'}'", 1)
    told = hook.told(transcript_path="/t/" + "x" * 200_000)

    done = subprocess.run(
        ["sh", "-c", line],
        input=json.dumps(told).encode(),
        capture_output=True,
        env=hook.environment(),
        timeout=20,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with spool.taken(hook.home.places, at=utc_now()) as taken:
        assert [one.transcript for one in taken.ended] == [told["transcript_path"]]
    was = everest.with_name("everest.was")
    for _ in range(200):
        if was.exists() and was.read_text().strip():
            break
        time.sleep(0.05)
    assert was.read_text().startswith(f"{hook.place} ingest --spooled --quiet\n")


def test_of_a_crowd_of_ends_one_starts_the_reading(hook: Hooked, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "python").symlink_to(sys.executable)
    everest = installed / "everest"
    everest.write_text(
        '#!/bin/sh\necho started >> "$0.was"\nwhile test ! -e "$0.stop"; do sleep 0.1; done\n'
    )
    everest.chmod(0o700)
    line = hook.line("SessionEnd").replace(sys.executable, str(installed / "python"), 1)
    told = json.dumps(hook.told(transcript_path="/t/a.jsonl")).encode()

    def end() -> None:
        done = subprocess.run(
            ["sh", "-c", line], input=told, env=hook.environment(), timeout=20, check=False
        )
        assert done.returncode == 0

    def started(times: int) -> None:
        was = everest.with_name("everest.was")
        for _ in range(200):
            if was.exists() and len(was.read_text().splitlines()) >= times:
                break
            time.sleep(0.05)
        assert len(was.read_text().splitlines()) == times

    for _ in range(10):
        end()
    started(1)
    everest.with_name("everest.stop").touch()
    with spool.taken(hook.home.places, at=utc_now()) as taken:
        assert len(taken.ended) == 1
    for _ in range(200):
        with spool.alone(hook.home.places.spool) as mine:
            if mine:
                break
        time.sleep(0.05)
    end()
    started(2)


def test_of_many_lessons_only_what_changed_is_indexed_again(hook: Hooked) -> None:
    index = next((hook.place / "view").rglob(PRIME))
    of = episode("all", "Answer in British English.", scope=EVERYWHERE)
    hook.home.commit(put(of), put(lesson(of, text="Answer in British English.")))

    publish_home(hook.home)

    assert index.exists()
    assert len(list((hook.place / "view").rglob(PRIME))) == 2
