"""The memory API, asked over HTTP on the running proxy."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.serving.client import Client, Said, over_socket
from tests.serving.running import RunningProxy, request, running_proxy
from tests.serving.shipped import Everest, restore

NOTE = "the staging database is refreshed on Mondays"
PROBLEM = "content-type: application/problem+json"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    """Give the proxy of a person whose machine held nothing yet."""
    with running_proxy(Everest(tmp_path_factory.mktemp("new"))) as running:
        yield running


@pytest.fixture(scope="module")
def lived(slept_once: tuple[Path, Path]) -> Iterator[RunningProxy]:
    """Give the proxy of a person who slept on the demo week; each test leaves what it says."""
    base, kept = slept_once
    restore(kept, base)
    with running_proxy(Everest(base)) as running:
        yield running
    restore(kept, base)


def client(proxy: RunningProxy, project: str | None = "paperboat") -> Client:
    return Client(proxy, proxy.token, project)


def token(proxy: RunningProxy, *words: str) -> str:
    told = proxy.person("token", "add", "--json", *words)
    assert told.code == 0, told.err
    return str(told.data["token"])


# --- with no view yet ---


def test_with_no_view_yet_it_says_the_memory_is_empty(proxy: RunningProxy) -> None:
    health = client(proxy).send("GET", "/health").data
    assert (health["status"], health["view"]["published"], health["night"]["last"]) == (
        "ok", None, None,
    )  # fmt: skip
    found = client(proxy).get("recall", query="anything")
    assert (found.status, found.data["found"]) == (200, [])
    assert found.data["note"] == "the memory is empty"
    assert client(proxy).get("lessons").data == {"lessons": [], "more": 0}
    assert client(proxy).get("status").data["empty"] is True
    assert client(proxy).get("context").data["context"] == ""


# --- its own writes, at once ---


def test_a_note_is_recallable_in_the_next_request(proxy: RunningProxy) -> None:
    said = client(proxy).post("remember", {"text": NOTE})
    assert said.status == 201
    assert client(proxy).recalled("when is staging refreshed") == [NOTE]


def test_another_project_and_another_app_get_nothing(lived: RunningProxy) -> None:
    assert client(lived).post("remember", {"text": NOTE}).status == 201
    assert client(lived).recalled("staging database refreshed")[0] == NOTE
    other = Client(lived, lived.token, "tidepool")
    chat = Client(lived, token(lived, "--every-project", "--app", "chat"), "paperboat")
    for stranger in (other, chat):
        assert NOTE not in [one["text"] for one in _found(stranger)]
        assert NOTE not in json.dumps(stranger.get("context").data)


def _found(asking: Client) -> list[dict[str, Any]]:
    said = asking.get("recall", query="staging database refreshed")
    return list(said.data.get("found", ()))


def test_a_rejected_lesson_is_gone_from_the_next_request_and_its_value_refused(
    lived: RunningProxy,
) -> None:
    asking = client(lived)
    lesson = asking.get("lessons").data["lessons"][0]
    assert lesson["text"] in asking.recalled(lesson["text"])
    told = lived.person.at_terminal("reject", lesson["id"][:16], "--reason", "not so")
    assert told.code == 0, told.out
    assert lesson["id"] not in {one["id"] for one in asking.get("lessons").data["lessons"]}
    assert lesson["text"] not in asking.recalled(lesson["text"])
    refused = asking.post("remember", {"text": lesson["text"]})
    assert refused.status == 409
    assert "rejected or forgotten before" in refused.data["detail"]
    assert lesson["text"] not in json.dumps(refused.data)


def test_a_new_view_is_picked_up_without_a_restart(newcomer: Everest) -> None:
    with running_proxy(newcomer) as proxy:
        assert client(proxy, None).get("status").data["empty"] is True
        newcomer.works_a_week(datetime.now(UTC))
        assert newcomer("night").code == 0
        asked = time.monotonic()
        while client(proxy, None).get("status").data["empty"]:
            assert time.monotonic() < asked + 1, "it is picked up within a second"
        assert client(proxy, None).get("lessons").data["lessons"]


# --- who may ---


def test_without_a_token_nothing_is_told_over_tcp(lived: RunningProxy) -> None:
    for path in ("status", "lessons", "recall?query=x", "relay", "context"):
        said = Client(lived).get(path)
        assert said.status == 401, path
        assert PROBLEM in said.head
    assert client(lived).get("status").status == 200


def test_the_socket_needs_no_token(lived: RunningProxy) -> None:
    said = over_socket(lived, "GET", "/memory/status")
    assert (said.status, bool(said.data["projects"])) == (200, True)


def test_a_token_of_one_project_opens_no_other(lived: RunningProxy) -> None:
    one = Client(lived, token(lived, "--project", "paperboat"))
    assert [p["name"] for p in one.get("status").data["projects"]] == ["paperboat"]
    assert {x["project"] for x in one.get("lessons").data["lessons"]} <= {
        one.get("status").data["project"],
        "@global",
    }
    assert one.get("recall", query="tests").status == 200
    elsewhere = Client(lived, one.token, "tidepool")
    assert elsewhere.get("recall", query="tests").status == 403
    told = one.post("events", {"events": [{"kind": "deploy", "text": "x", "project": "tidepool"}]})
    assert told.data["accepted"] == 0
    assert "opens none" in told.data["unusable"][0]["why"]
    assert "tidepool" not in json.dumps(told.data)


def test_a_payload_cannot_name_a_project_or_an_actor(lived: RunningProxy) -> None:
    for more in ({"project": "tidepool"}, {"actor": "person"}, {"scope": ["me"]}):
        assert client(lived).post("remember", {"text": NOTE, **more}).status == 422
        assert client(lived).post("recall", {"query": NOTE, **more}).status == 422


def test_an_unknown_project_is_an_error_on_a_read_and_made_by_a_write(lived: RunningProxy) -> None:
    new = client(lived, "brandnew")
    assert new.get("recall", query="x").status == 404
    assert new.post("remember", {"text": NOTE}).status == 201
    assert new.recalled("staging refreshed") == [NOTE]


def test_several_projects_need_one_named(lived: RunningProxy) -> None:
    for said in (
        client(lived, None).get("recall", query="x"),
        client(lived, None).post("remember", {"text": NOTE}),
        client(lived, None).get("relay"),
    ):
        assert said.status == 400
        assert "x-everest-project" in said.data["detail"]


# --- errors ---


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("GET", "/memory/nothing", b"", 404),
        ("GET", "/memory", b"", 404),
        ("DELETE", "/memory/recall", b"", 405),
        ("GET", "/memory/recall", b"", 422),
        ("GET", "/memory/recall?query=x&k=0", b"", 422),
        ("POST", "/memory/recall", b"{", 422),
        ("POST", "/memory/recall", b"[]", 422),
        ("POST", "/memory/remember", b'{"text": ""}', 400),
        ("POST", "/memory/remember", b'{"text": "' + b"a" * 4_001 + b'"}', 422),
        ("POST", "/memory/events", b'{"events": []}', 422),
        ("POST", "/memory/events", b" " * (4 * 1024 * 1024 + 1), 413),
    ],
)
def test_every_error_is_a_problem(
    proxy: RunningProxy, method: str, target: str, body: bytes, status: int
) -> None:
    said = client(proxy).send(method, target, body)
    assert said.status == status
    assert PROBLEM in said.head
    assert said.data["status"] == status
    assert said.data["title"]
    assert said.data["detail"].startswith("everest: ")
    assert "Traceback" not in json.dumps(said.data)


def test_what_is_refused_before_the_routes_is_a_problem_too(proxy: RunningProxy) -> None:
    bad = Client(proxy, "ev_wrong", None).get("status")
    foreign = client(proxy).send("GET", "/memory/status", b"", "Origin: https://example.com")
    blank = Client(proxy, proxy.token, " ").get("status")
    assert [one.status for one in (bad, foreign, blank)] == [401, 403, 400]
    assert all(PROBLEM in one.head for one in (bad, foreign, blank))
    assert "ev_wrong" not in json.dumps(bad.data)


def test_health_and_metrics_tell_the_truth(lived: RunningProxy) -> None:
    health = Client(lived).send("GET", "/health").data
    waiting = health["journal"]["waiting"]
    assert (health["status"], health["problems"]) == ("ok", [])
    assert health["view"]["projects"] >= 2
    assert 0 < health["view"]["age_seconds"] < 3_600
    assert (health["night"]["outcome"], health["night"]["due"]) == ("completed", False)
    assert health["model"]["state"] == "loaded"
    assert health["model"]["space"].startswith("hashed")
    client(lived).post("remember", {"text": "one more line"})
    assert Client(lived).send("GET", "/health").data["journal"]["waiting"] == waiting + 1
    metrics = lived.raw(request("/metrics", method="GET")).decode()
    assert f"everest_journal_waiting_lines {waiting + 1}" in metrics
    assert "everest_memory_readable 1" in metrics
    assert "everest_model_loaded 1" in metrics


def test_a_view_that_is_damaged_is_told_and_stops_nothing_else(lived: RunningProxy) -> None:
    assert client(lived).get("status").status == 200
    view = lived.person.home / "view"
    current, manifest = view / "current", view / (view / "current").read_text()
    whole = manifest.read_bytes()
    for damage in (b"{", None):
        if damage is None:
            rows = next((view / "scopes").glob("*/rows.jsonl"))
            rows.rename(rows.with_suffix(".away"))
        else:
            manifest.write_bytes(damage)
            current.write_text(current.read_text())
            said = client(lived).get("status")
            assert said.status == 503
            assert "everest rebuild" in said.data["detail"]
        health = Client(lived).send("GET", "/health")
        assert health.status == 200
        assert health.data["status"] == "degraded"
        assert "damaged" in health.data["view"]["damage"]
        assert b"everest_memory_readable 0" in lived.raw(request("/metrics", method="GET"))
        manifest.write_bytes(whole)
        current.write_text(current.read_text())
    rows.with_suffix(".away").rename(rows)
    assert Client(lived).send("GET", "/health").data["status"] == "ok"
    assert client(lived).get("status").status == 200


def test_a_night_that_failed_is_told(lived: RunningProxy) -> None:
    log = lived.person.home / "runs.jsonl"
    kept = log.read_bytes()
    line = {"v": 1, "n": 999, "flow": "nightly", "run": "x", "at": "2030-01-01T00:00:00Z"}
    ended = {"what": "ended", "outcome": "failed", "error": "StoreLocked", "why": "it is held"}
    log.write_bytes(kept + json.dumps({**line, **ended}).encode() + b"\n")
    health = Client(lived).send("GET", "/health").data
    log.write_bytes(kept)
    assert health["status"] == "degraded"
    assert "StoreLocked" in health["problems"][0]


# --- events ---


def test_events_told_by_a_token_are_the_apps_and_without_one_an_agents(
    proxy: RunningProxy,
) -> None:
    asking = client(proxy, "kite")
    told = {"kind": "correction", "text": "always use pnpm", "agent": "chat", "session": "s"}
    answer = asking.post("events", {"events": [told, {"kind": "none"}, 7]})
    assert (answer.status, answer.data["accepted"]) == (200, 1)
    assert [one["number"] for one in answer.data["unusable"]] == [2, 3]
    assert [one["kind"] for one in asking.get("relay").data["events"]] == ["correction"]
    body = json.dumps({"events": [{**told, "text": "always use npm"}]}).encode()
    named = "x-everest-project: kite"
    assert over_socket(proxy, "POST", "/memory/events", body, named).data["accepted"] == 1
    kinds = [(one["kind"], one["text"]) for one in asking.get("relay").data["events"]]
    assert kinds == [("correction", "always use pnpm"), ("note", "always use npm")]
    assert "always use pnpm" in asking.get("context").data["context"]
    other = client(proxy, "boat")
    assert other.get("relay").data["events"] == []
    assert "pnpm" not in other.get("context").data["context"]
    chat = Client(proxy, token(proxy, "--every-project", "--app", "chat/2"), "kite")
    assert chat.get("relay").data.get("events", []) == []
    assert chat.post("events", {"events": [{**told, "text": "always use bun"}]}).status == 200
    assert [one["text"] for one in chat.get("relay").data["events"]] == ["always use bun"]
    assert "bun" not in json.dumps([asking.get("relay").data, asking.get("context").data])


def test_what_was_told_over_http_is_learned_from_by_night(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    turns = [
        ("user", "Add a test for the parser."),
        ("assistant", "Done, with a mocked database."),
        ("user", "No, don't mock the database in tests. Always use the test container."),
    ]
    with running_proxy(person) as proxy:
        for path, session in (("relay", "a"), ("events", "b")):
            events = [
                {"kind": "turn", "role": role, "text": text, "agent": "chat", "session": session}
                for role, text in turns
            ]
            assert client(proxy, "kite").post(path, {"events": events}).data["accepted"] == 3
        assert person("night").code == 0
        lessons = client(proxy, "kite").get("lessons").data["lessons"]
        assert [(one["seen"], "test container" in one["text"]) for one in lessons] == [(2, True)]
        assert client(proxy, "boat").get("lessons").status == 404
    assert [path.name for path in (person.home / "relay").glob("*.jsonl")] != []


def test_the_process_owns_its_segment_and_opens_another_after_a_restore(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    with running_proxy(person) as proxy:
        asking = client(proxy, "kite")
        assert asking.post("remember", {"text": NOTE}).status == 201
        [own] = (person.home / "journal").glob("*.jsonl")
        assert "cli" not in own.name
        kept = person("backup", "--json").data["path"]
        assert asking.post("remember", {"text": "the port is 9090"}).status == 201
        restored = person("restore", kept, "--yes")
        assert restored.code == 0, restored.err
        assert asking.recalled("staging database") == [NOTE]
        assert asking.recalled("which port") == []
        assert asking.post("remember", {"text": "said after the restore"}).status == 201
        assert asking.recalled("said after restore") == ["said after the restore"]
        assert person("night").code == 0
        assert asking.recalled("said after restore") == ["said after the restore"]


# --- the document ---


def test_the_document_tells_each_route_with_its_errors(proxy: RunningProxy) -> None:
    document: Said = client(proxy).send("GET", "/openapi.json")
    paths = document.data["paths"]
    assert set(paths) >= {
        f"/memory/{name}"
        for name in ("recall", "lessons", "remember", "events", "relay", "context", "status")
    }
    for path, ways in paths.items():
        for way in ways.values():
            assert way["summary"]
            assert way.get("description") or not path.startswith("/memory")
            if path.startswith("/memory"):
                assert way["responses"].keys() >= {"401", "403", "413", "422", "503"}
                assert "application/problem+json" in way["responses"]["401"]["content"]
    assert "ProblemShape" in document.data["components"]["schemas"]
    assert document.data["components"]["securitySchemes"]
