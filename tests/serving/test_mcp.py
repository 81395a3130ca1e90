"""MCP as agents have it: the shipped `everest serve` and `everest proxy`, and the real client."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from tests.serving.running import RunningProxy, body_of, request, running_proxy, status_of
from tests.serving.shipped import COMMAND, Everest
from tests.serving.talking import (
    LEGACY,
    MODERN,
    modern,
    over_http,
    over_stdio,
    serving,
)

NAMES = ["relay", "recall", "remember", "lessons"]
ERAS = ["legacy", "auto"]
HEAVY = {"prefect", "sklearn", "torch", "sentence_transformers", "duckdb", "scipy", "polars"}
POST = ("Content-Type: application/json", "Accept: application/json, text/event-stream")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with running_proxy(Everest(tmp_path_factory.mktemp("proxied"))) as running:
        yield running


async def _tour(client: Client) -> dict[str, Any]:
    """List the tools, remember a note and recall it, and make two mistakes."""
    tools = (await client.list_tools()).tools
    kept = await client.call_tool("remember", {"text": "The staging port is 9090."})
    found = await client.call_tool("recall", {"query": "which port has staging"})
    wrong = await client.call_tool("recall", {"query": "x", "project": "other"})
    return {
        "version": client.protocol_version,
        "says": client.instructions,
        "tools": tools,
        "kept": kept,
        "found": found,
        "wrong": wrong,
    }


def _is_right(told: dict[str, Any], era: str) -> None:
    assert told["version"] == (LEGACY[-1] if era == "legacy" else MODERN)
    assert "recall" in told["says"]
    assert [tool.name for tool in told["tools"]] == NAMES
    assert [t.annotations.read_only_hint for t in told["tools"]] == [True, True, False, True]
    assert {t.annotations.open_world_hint for t in told["tools"]} == {False}
    assert {t.annotations.destructive_hint for t in told["tools"]} == {False}
    assert all(tool.output_schema and tool.input_schema for tool in told["tools"])
    assert told["kept"].structured_content["accepted"] is True
    found = told["found"]
    assert not found.is_error
    assert json.loads(found.content[0].text) == found.structured_content
    assert "The staging port is 9090." in found.structured_content["memory"]
    assert told["wrong"].is_error
    assert "project" in told["wrong"].content[0].text


@pytest.mark.parametrize("era", ERAS)
def test_the_real_client_gets_all_of_it_over_stdio(newcomer: Everest, era: str) -> None:
    _is_right(over_stdio(newcomer, era, _tour), era)


def test_the_real_client_gets_all_of_it_over_http_and_over_stdio_through_the_warm_process(
    proxy: RunningProxy,
) -> None:
    person = proxy.person
    for era in ERAS:
        told = over_http(
            proxy,
            era,
            _tour,
            **{"authorization": f"Bearer {proxy.token}", "x-everest-project": str(person.cwd)},
        )
        _is_right(told, era)
        _is_right(over_stdio(person, era, _tour), era)


def test_every_revision_is_negotiated(newcomer: Everest) -> None:
    with serving(newcomer) as lines:
        for version in LEGACY:
            told = lines.begin(version)
            assert told["protocolVersion"] == version
            listed = lines.ask("tools/list")["result"]["tools"]
            assert [tool["name"] for tool in listed] == NAMES
        assert lines.begin("1999-01-01")["protocolVersion"] == LEGACY[-1]
        lines.send(modern("server/discover"))
        assert MODERN in lines.read()["result"]["supportedVersions"]
        future = modern("tools/list")
        future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
        lines.send(future)
        assert lines.read()["error"]["data"]["supported"] == [MODERN]


def test_a_server_outlives_every_line_and_ends_with_its_input(newcomer: Everest) -> None:
    with serving(newcomer) as lines:
        for line, code in (
            (b"junk", -32700),
            (b"\xff\xfe", -32700),
            (b"\x00", -32700),
            (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
            (b'{"jsonrpc": "2.0", "id": 1}', -32600),
            (b'{"x": "' + b"y" * 2_000_000 + b'"}', -32600),
        ):
            lines.send(line)
            assert lines.read()["error"]["code"] == code
        assert lines.ask("no/such")["error"]["code"] == -32601
        lines.begin()
        assert lines.ask("no/such")["error"]["code"] == -32601
        assert lines.ask("resources/list")["error"]["code"] == -32601
        assert lines.ask("tools/call", {"name": "forget"})["error"]["code"] == -32602
        assert lines.ask("tools/call", {"name": 7})["error"]["code"] == -32602
        for method in ("no/such", "prompts/list"):
            lines.send(modern(method))
            assert lines.read()["error"]["code"] == -32601
        lines.send({"jsonrpc": "1.0", "id": 3, "method": "ping"})
        assert lines.read()["error"]["code"] in (-32600, -32602)
        lines.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
        assert lines.ask("ping", id_="still here")["result"] == {}
        assert not lines.call("recall", query="anything")["isError"]
        code, out, err = lines.end()
    assert (code, out, err) == (0, b"", b"")


def test_an_empty_home_is_served_and_not_made(newcomer: Everest) -> None:
    with serving(newcomer) as lines:
        lines.begin()
        for name in ("recall", "lessons", "relay"):
            told = lines.call(name, **({"query": "tests"} if name == "recall" else {}))
            assert told["isError"] is False
            assert told["structuredContent"]["memory"] == ""
            assert told["structuredContent"]["note"]
    assert not newcomer.home.exists()


def test_each_server_serves_the_project_it_was_started_in_and_no_other(newcomer: Everest) -> None:
    with serving(newcomer) as here:
        newcomer.cwd = newcomer.user / "another"
        newcomer.cwd.mkdir()
        with serving(newcomer) as there:
            here.begin()
            there.begin()
            here.call("remember", text="The staging port is 9090.")
            mine = here.call("recall", query="which port has staging")["structuredContent"]
            theirs = there.call("recall", query="which port has staging")["structuredContent"]
            assert "9090" in mine["memory"]
            assert theirs["found"] == []
            assert "9090" not in json.dumps(theirs)
            there.call("remember", text="The staging port is 7070.")
            theirs = there.call("recall", query="which port has staging")["structuredContent"]
            assert "7070" in theirs["memory"]
            assert "9090" not in theirs["memory"]


def test_what_one_door_is_told_the_next_request_at_any_door_knows(proxy: RunningProxy) -> None:
    person, place = proxy.person, f"/t/{proxy.token}/p/{proxy.person.cwd.name}/mcp"
    told = person("remember", "The first fact is alder.", "--json")
    assert told.code == 0
    with serving(person) as lines:
        lines.begin()
        lines.call("remember", text="The second fact is birch.")
        _http(proxy, place, "remember", text="The third fact is cedar.")
        for words in (
            json.dumps(lines.call("recall", query="fact", k=20)),
            json.dumps(_http(proxy, place, "recall", query="fact", k=20)),
            person("call", "recall", '{"query": "fact", "k": 20}').out,
            person("recall", "fact", "-k", "20").out,
        ):
            assert all(tree in words for tree in ("alder", "birch", "cedar")), words


def _http(proxy: RunningProxy, path: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool by one raw stateless request; return its result."""
    asked = json.dumps(modern("tools/call", name=name, arguments=arguments)).encode()
    names = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {name}")
    answer = proxy.raw(request(path, POST[1], *names, body=asked))
    assert status_of(answer) == 200, answer
    result: dict[str, Any] = json.loads(body_of(answer))["result"]
    return result


def test_a_rejected_lesson_is_gone_from_the_next_answer_and_cannot_be_told_again(
    person: Everest,
) -> None:
    with serving(person, "--project", "paperboat") as cold, running_proxy(person) as proxy:
        cold.begin()
        place = f"/t/{proxy.token}/p/paperboat/mcp"

        def lessons() -> list[list[str]]:
            answers = [cold.call("lessons", most=100), _http(proxy, place, "lessons", most=100)]
            return [[x["id"] for x in told["structuredContent"]["lessons"]] for told in answers]

        before, same = lessons()
        assert before == same
        assert before
        text = next(x["text"] for x in person.lessons() if x["lesson_id"] == before[0])
        person.at_terminal("reject", before[0][:16], "--reason", "no longer so")
        assert lessons() == [before[1:], before[1:]]
        for told in (
            cold.call("remember", text=text),
            _http(proxy, place, "remember", text=text),
        ):
            assert told["isError"] is True
            assert "rejected or forgotten before" in told["content"][0]["text"]
            assert "structuredContent" not in told


def test_the_bridge_goes_on_when_the_warm_process_ends_and_when_one_starts(
    newcomer: Everest,
) -> None:
    with serving(newcomer) as lines:
        with running_proxy(newcomer) as warm:
            lines.begin()
            lines.call("remember", text="The staging port is 9090.")
        assert warm.process.returncode == 0
        assert "9090" in lines.call("recall", query="staging port")["structuredContent"]["memory"]
        with running_proxy(newcomer) as again:
            assert "9090" in str(lines.call("recall", query="staging port"))
            again.process.kill()
            again.process.wait(10)
            assert "9090" in str(lines.call("recall", query="staging port"))


def _loaded(person: Everest, stdin: str) -> set[str]:
    told = person.run([sys.executable, "-X", "importtime", str(COMMAND), "serve"], stdin=stdin)
    assert told.code == 0, told.err[-2000:]
    assert json.loads(told.out.splitlines()[-1])["result"]["content"]
    names = re.findall(r"^import time:[^|]*\|[^|]*\| *(\S+)$", told.err, re.MULTILINE)
    return {name.partition(".")[0] for name in names}


def test_serving_loads_no_model_and_while_a_warm_process_runs_no_sdk(newcomer: Everest) -> None:
    asked = "".join(
        json.dumps(modern("tools/call", name=name, arguments=arguments)) + "\n"
        for name, arguments in (
            ("remember", {"text": "The staging port is 9090."}),
            ("recall", {"query": "staging port"}),
        )
    )
    cold = _loaded(newcomer, asked)
    assert HEAVY.isdisjoint(cold)
    assert "mcp" in cold
    with running_proxy(newcomer):
        warm = _loaded(newcomer, asked)
    assert not (HEAVY | {"mcp", "uvicorn", "fastapi", "starlette"}) & warm


def test_no_server_outlives_the_agent_that_started_it(newcomer: Everest, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    agent = (
        "import subprocess, sys, os, pathlib, time\n"
        f"one = subprocess.Popen([{str(COMMAND)!r}, 'serve'], stdin=subprocess.PIPE)\n"
        "pathlib.Path(sys.argv[1]).write_text(str(one.pid))\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", agent, str(told)], env=newcomer.env(), cwd=newcomer.cwd
    )
    while not told.exists() or not told.read_text():
        time.sleep(0.05)
    server = int(told.read_text())
    os.kill(server, 0)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{server}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(server)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_over_http_nobody_is_let_in_who_is_not_meant(proxy: RunningProxy) -> None:
    person = proxy.person
    made = person("token", "add", "--project", str(person.cwd), "--json").data
    asked = json.dumps(modern("tools/list")).encode()
    names = (*POST[1:], f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/list")

    def status(*headers: str, path: str = "/mcp", method: str = "POST") -> int:
        body = asked if method == "POST" else b""
        return status_of(proxy.raw(request(path, *names, *headers, body=body, method=method)))

    mine = f"x-everest-token: {made['token']}"
    assert status() == 403
    assert status("x-everest-token: everest_wrong") == 401
    assert status(mine) == 200
    assert status(mine, "Origin: http://127.0.0.1:8787") == 200
    assert status(mine, "Origin: http://evil.example") == 403
    assert status(mine, "Sec-Fetch-Site: cross-site") == 403
    assert status(mine, "x-everest-project: another") == 403
    assert status(path=f"/t/{made['token']}/mcp") == 200
    assert status(path=f"/t/{made['token']}/p/another/mcp") == 403
    for method in ("GET", "DELETE", "PUT"):
        assert status(mine, method=method) == 405
    assert status(path=f"/.well-known/oauth-protected-resource/t/{made['token']}/mcp") == 404


def test_a_token_of_several_projects_must_say_which(proxy: RunningProxy) -> None:
    told = _http(proxy, f"/t/{proxy.token}/mcp", "recall", query="tests")
    assert told["isError"] is True
    assert "x-everest-project" in told["content"][0]["text"]
    told = _http(proxy, f"/t/{proxy.token}/p/{proxy.person.cwd.name}/mcp", "recall", query="tests")
    assert told["isError"] is False


def test_over_http_what_cannot_be_read_is_refused(proxy: RunningProxy) -> None:
    mine = f"x-everest-token: {proxy.token}"
    for version in (LEGACY[-1], MODERN):
        for body, status in (
            (b"junk", 400),
            (b"[]", 400),
            (b"\xff", 400),
            (b"[" * 5000, 400),
            (b'{"x": "' + b"y" * 1_100_000 + b'"}', 413),
        ):
            heads = (mine, POST[1], f"MCP-Protocol-Version: {version}")
            told = proxy.raw(request("/mcp", *heads, body=body))
            assert status_of(told) == status, told
