from __future__ import annotations

import threading

import pytest

from tasks.errors import SettingInvalid
from tasks.llm.failure import Failure, Wrong
from tasks.llm.server import OLLAMA, Api, Server, Tally, base_of, ollama_of, on_this_machine
from tests.modelserver import ModelServer
from tests.serving.upstream import Break, Hold, Pause, Reply, Step, Upstream


@pytest.mark.parametrize(
    ("host", "base"),
    [
        (None, OLLAMA),
        ("  ", OLLAMA),
        ("127.0.0.1", OLLAMA),
        ("0.0.0.0", OLLAMA),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("box:11434", "http://box:11434"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
        ("[::]", "http://127.0.0.1:11434"),
    ],
)
def test_ollamas_host_is_read_as_its_own_client_reads_it(host: str | None, base: str) -> None:
    assert ollama_of(host) == base


@pytest.mark.parametrize(
    "url",
    ["", "http://", "ftp://box", "http://box:port", "http://a b", "http://me:pw@box", "box?key=1"],
)
def test_what_is_no_server_is_refused_by_the_setting_that_named_it(url: str) -> None:
    with pytest.raises(SettingInvalid, match="--server") as refused:
        base_of(url, "--server")
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    ("base", "here"),
    [
        ("http://127.0.0.1:1", True),
        ("http://localhost", True),
        ("http://[::1]:1", True),
        ("http://127.8.8.8", True),
        ("http://192.168.0.2", False),
        ("https://localhost.example.org", False),
    ],
)
def test_it_is_known_whether_text_stays_on_this_machine(base: str, here: bool) -> None:  # noqa: FBT001
    assert on_this_machine(base) is here


def test_the_key_goes_into_one_header_and_into_no_words() -> None:
    with ModelServer(key="s3cret") as models:
        server = Server(models.url, Api.OLLAMA, "s3cret")
        assert server.get(f"{models.url}/api/version", timeout=5) == {"version": "0.9.9"}
        assert models.asked[0].headers["authorization"] == "Bearer s3cret"
        wrong = Server(models.url, Api.OLLAMA, "other").get(models.url, timeout=5)
    assert wrong == Failure(Wrong.REFUSED, "wrong key", 401)
    assert "s3cret" not in f"{server!r} {wrong!r} {wrong}"


def test_nothing_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with ModelServer() as models:
        server = Server(models.url, Api.OLLAMA)
        assert server.get(f"{models.url}/api/version", timeout=5) == {"version": "0.9.9"}


def _failure(reply: Reply, *, timeout: float = 5.0) -> Failure:
    with Upstream(lambda _: reply) as upstream:
        server = Server(upstream.url, Api.OPENAI)
        found = server.post(f"{upstream.url}/v1/x", {}, timeout=timeout)
    assert isinstance(found, Failure), found
    assert server.tally.asked == 1
    assert server.tally.failed.total() == 1
    return found


def test_every_way_to_fail_is_told_and_counted() -> None:
    refused = Reply([b'{"error": "out of memory"}'], status=500)
    assert _failure(refused) == Failure(Wrong.REFUSED, "out of memory", 500)
    assert _failure(Reply([b"<html>"])).wrong is Wrong.BROKEN
    assert _failure(Reply([b"[" * 100_000])).wrong is Wrong.BROKEN
    assert _failure(Reply([b"{", Break()])).wrong is Wrong.BROKEN
    moved = Reply([b"{}"], status=307, headers=[("location", "http://127.0.0.1:9/")])
    assert _failure(moved) == Failure(Wrong.REFUSED, "", 307)
    assert _failure(Reply([b"{}"], before=[Pause(5)]), timeout=0.2).wrong is Wrong.SLOW


def _drips(first: bytes) -> list[Step]:
    """Return what begins as an answer does and comes to no end while a test runs."""
    return [first, *[step for _ in range(20_000) for step in (b"x", Pause(0.02))]]


def test_a_server_that_drips_is_left_in_time_whatever_part_of_its_answer_drips() -> None:
    head = b"HTTP/1.1 200 OK\r\n"
    assert _failure(Reply(before=_drips(head[:5])), timeout=0.5).wrong is Wrong.SLOW
    assert _failure(Reply(before=_drips(head + b"x-waits: ")), timeout=0.5).wrong is Wrong.SLOW
    assert _failure(Reply(_drips(b"[")), timeout=0.5).wrong is Wrong.SLOW
    assert _failure(Reply(_drips(b"{"), status=500), timeout=0.5).wrong is Wrong.SLOW


def test_an_answer_that_drips_and_ends_in_time_is_an_answer() -> None:
    head = [
        step
        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
        for step in (bytes([byte]), Pause(0.001))
    ]
    with Upstream(lambda _: Reply(before=[*head, Hold(threading.Event())])) as upstream:
        assert Server(upstream.url, Api.OPENAI).post(upstream.url, {}, timeout=50) == {}


def test_lines_are_waited_for_as_long_as_they_come_and_no_longer() -> None:
    """Ten lines take longer than any one of them may; what drips without a line is left."""
    slowly = [step for n in range(10) for step in (Pause(0.25), b'{"n": %d}\n' % n)]
    with Upstream(lambda _: Reply(slowly)) as upstream:
        told = list(Server(upstream.url, Api.OLLAMA).lines(upstream.url, {}, silence=2))
    assert told == [{"n": n} for n in range(10)]
    with Upstream(lambda _: Reply(_drips(b'{"n": 0}\n'))) as upstream:
        first, last = Server(upstream.url, Api.OLLAMA).lines(upstream.url, {}, silence=0.5)
    assert (first, last) == ({"n": 0}, Failure(Wrong.SLOW))
    with Upstream(lambda _: Reply(before=_drips(b"HTTP"))) as upstream:
        (only,) = Server(upstream.url, Api.OLLAMA).lines(upstream.url, {}, silence=0.5)
    assert only == Failure(Wrong.SLOW)


def test_lines_are_told_as_they_come_and_one_that_never_ends_is_left() -> None:
    told = [b'{"n": 1}\n\n{"n"', b': 2}\r\n{"n": 3}']
    with Upstream(lambda _: Reply(told)) as upstream:
        server = Server(upstream.url, Api.OLLAMA)
        assert list(server.lines(upstream.url, {}, silence=5)) == [{"n": 1}, {"n": 2}, {"n": 3}]
    with Upstream(lambda _: Reply([b'{"n": 1}\n', *[b"x" * 65_536] * 40, b"\n{}\n"])) as upstream:
        server = Server(upstream.url, Api.OLLAMA)
        first, last = server.lines(upstream.url, {}, silence=5)
        assert (first, last.wrong) == ({"n": 1}, Wrong.BROKEN)


def test_no_server_is_a_failure_too() -> None:
    with ModelServer() as models:
        pass
    server = Server(models.url, Api.OLLAMA, tally=(tally := Tally()))
    assert server.get(models.url, timeout=5) == Failure(Wrong.AWAY, "ConnectError")
    assert (tally.asked, dict(tally.failed)) == (1, {"did not answer": 1})
