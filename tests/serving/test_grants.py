"""Tokens: kept hashed, shown once, removed at once; and what a request makes of them."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from serving.admit import Admitted, Denied, Door
from serving.grants import Grant, Tokens, add_token, first_token, kept_in, remove_token
from serving.metrics import Counters
from serving.proxy.heads import outgoing
from serving.proxy.routes import read_routes
from tasks.errors import AmbiguousName, TokensDamaged, UnknownToken
from tests.serving.shipped import Everest

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_token_opens_what_it_was_made_for_and_its_words_are_kept_nowhere(path: Path) -> None:
    words, token = add_token(path, app="chat", projects=["b", "a", "b"], made=NOW)
    tokens = Tokens(path)
    assert tokens.grant(words) == Grant("chat", frozenset("ab"), token.shown)
    assert tokens.grant(words + "x") is None
    assert tokens.grant("") is None
    assert words not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kept_in(path) == [token]


def test_a_removed_token_opens_nothing_and_the_others_still_do(path: Path) -> None:
    first, one = add_token(path, app="a", projects=None, made=NOW)
    second, _ = add_token(path, app="a", projects=None, made=NOW)
    tokens = Tokens(path)
    assert tokens.grant(first)
    remove_token(path, one.shown[:6].upper())
    assert tokens.grant(first) is None
    assert tokens.grant(second)
    with pytest.raises(UnknownToken, match="names no one token"):
        remove_token(path, one.shown)
    with pytest.raises(UnknownToken):
        remove_token(path, "")


@pytest.mark.parametrize("kept", [b"", b"{}", b"[", b'[{"digest":1}]', b"\xff"])
def test_a_damaged_file_is_named_and_lets_nobody_in(path: Path, kept: bytes) -> None:
    path.write_bytes(kept)
    with pytest.raises(TokensDamaged, match=r"tokens\.json"):
        Tokens(path).grant("x")
    with pytest.raises(TokensDamaged):
        add_token(path, app="a", projects=None, made=NOW)
    assert path.read_bytes() == kept


def test_tokens_made_at_once_are_all_kept(path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda _: add_token(path, app="a", projects=None, made=NOW), range(12))
        )
    assert {one.digest for one in kept_in(path)} == {token.digest for _, token in made}


def test_the_first_start_makes_one_token_and_the_next_none(path: Path, tmp_path: Path) -> None:
    words = tmp_path / "keys" / "door.token"
    first_token(path, words, app="default", made=NOW)
    first_token(path, words, app="default", made=NOW)
    assert len(kept_in(path)) == 1
    assert stat.S_IMODE(words.stat().st_mode) == 0o600
    grant = Tokens(path).grant(words.read_text())
    assert grant is not None
    assert grant.projects is None


# --- what a request makes of them ---


def _id_of(name: str) -> str:
    if name == "twins":
        raise AmbiguousName(name, ["secret-1", "secret-2"])
    return f"id-of-{name}"


@pytest.fixture
def door(path: Path) -> Door:
    return Door(Tokens(path), "default", _id_of, trusts_loopback=False, counters=Counters())


def _asked(path: str, *headers: tuple[bytes, bytes], uid: int | None = None) -> dict[str, Any]:
    return {"raw_path": path.encode(), "headers": list(headers), "state": {"uid": uid}}


def _project(name: str) -> tuple[bytes, bytes]:
    return (b"x-everest-project", name.encode())


def test_no_token_is_no_grant_and_no_project_is_looked_at(door: Door) -> None:
    assert door.admit(_asked("/v1/x", _project("twins"))) == Admitted("/v1/x", None)


def test_the_prefix_is_taken_off_and_names_token_and_project(door: Door, path: Path) -> None:
    words, token = add_token(path, app="chat", projects=None, made=NOW)
    for asked, project in [
        (f"/t/{words}/p/boat/v1/x%20y?", "id-of-boat"),
        (f"/t/{words}/p/%2Fhome%2Fme%2Fboat/v1/x%20y?", "id-of-/home/me/boat"),
    ]:
        admitted = door.admit(_asked(asked))
        grant = Grant("chat", frozenset({project}), token.shown)
        assert admitted == Admitted("/v1/x%20y?", grant)
    whole = Grant("chat", None, token.shown)
    assert door.admit(_asked(f"/t/{words}/v1/x")) == Admitted("/v1/x", whole)
    header = (b"x-everest-token", words.encode())
    assert door.admit(_asked("/v1/x", header)) == Admitted("/v1/x", whole)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        (b"authorization", b"Bearer "),
        (b"authorization", b""),
        (b"x-api-key", b""),
        (b"x-goog-api-key", b""),
    ],
)
def test_a_token_may_stand_where_an_app_puts_its_key_and_is_not_sent_on(
    door: Door, path: Path, name: bytes, before: bytes
) -> None:
    words, token = add_token(path, app="chat", projects=None, made=NOW)
    header = (name, before + words.encode())
    assert door.admit(_asked("/v1/x", header)) == Admitted(
        "/v1/x", Grant("chat", None, token.shown)
    )
    assert door.admit(_asked("/v1/x", (name, before + b"sk-x"))) == Admitted("/v1/x", None)
    route = read_routes("*=http://a;api=openai", {}).entries[0]
    sent = outgoing([header, (b"x-kept", b"1")], route, length_is_known=True)
    assert sent == [(b"x-kept", b"1")]
    wrong = door.admit(_asked("/v1/x", (name, before + b"everest_wrong")))
    assert isinstance(wrong, Denied)
    assert wrong.status == 401


def test_a_token_in_the_query_is_refused(door: Door) -> None:
    for query, kind in [(b"key=everest_x", Denied), (b"key=AIza-x", Admitted)]:
        assert isinstance(door.admit({**_asked("/v1/x"), "query_string": query}), kind)


def test_a_token_that_opens_nothing_is_refused_and_not_repeated(door: Door) -> None:
    denied = door.admit(_asked("/t/ev_stolen/p/boat/v1/x"))
    assert isinstance(denied, Denied)
    assert denied.status == 401
    assert "stolen" not in f"{denied}"


def test_a_request_only_narrows(door: Door, path: Path) -> None:
    words, token = add_token(path, app="chat", projects=["id-of-a", "id-of-b"], made=NOW)
    narrowed = door.admit(_asked(f"/t/{words}/v1/x", _project("a")))
    assert narrowed == Admitted("/v1/x", Grant("chat", frozenset({"id-of-a"}), token.shown))
    for asked in (
        _asked(f"/t/{words}/v1/x", _project("c")),
        _asked(f"/t/{words}/p/a/v1/x", _project("b")),
        _asked(f"/t/{words}/p/c/v1/x"),
    ):
        denied = door.admit(asked)
        assert isinstance(denied, Denied)
        assert denied.status == 403


def test_an_ambiguous_name_tells_a_narrow_token_no_names(door: Door, path: Path) -> None:
    narrow, _ = add_token(path, app="chat", projects=["id-of-a"], made=NOW)
    wide, _ = add_token(path, app="chat", projects=None, made=NOW)
    for words, told in [(narrow, False), (wide, True)]:
        denied = door.admit(_asked(f"/t/{words}/v1/x", _project("twins")))
        assert isinstance(denied, Denied)
        assert denied.status == 400
        assert ("secret-1" in denied.message) is told


@pytest.mark.parametrize("name", ["", "  ", "%00", "a%0Ab", "x" * 1001, "%1b[2J"])
def test_a_name_that_cannot_be_one_is_refused(door: Door, path: Path, name: str) -> None:
    words, _ = add_token(path, app="chat", projects=None, made=NOW)
    denied = door.admit(_asked(f"/t/{words}/p/{name}/v1/x"))
    assert isinstance(denied, Denied)
    assert denied.status == 400


def test_the_unix_socket_opens_every_project(door: Door) -> None:
    admitted = door.admit(_asked("/v1/x", uid=1000))
    assert admitted == Admitted("/v1/x", Grant("default", None, "socket"))


def test_loopback_opens_them_only_when_it_is_trusted(path: Path) -> None:
    trusting = Door(Tokens(path), "default", _id_of, trusts_loopback=True, counters=Counters())
    assert trusting.admit(_asked("/v1/x")) == Admitted("/v1/x", Grant("default", None, "loopback"))


def test_what_cannot_be_looked_up_opens_nothing_and_stops_nothing(door: Door, path: Path) -> None:
    """A request goes on without memory, and it is counted."""
    path.write_text("damaged")
    admitted = door.admit(_asked("/t/ev_some/p/boat/v1/x"))
    assert isinstance(admitted, Admitted)
    assert (admitted.path, admitted.grant) == ("/v1/x", None)
    assert "make tokens again" in admitted.trouble
    assert door.counters.door_failures.value("TokensDamaged") == 1

    def broken(_name: str) -> str:
        raise OSError("a path of the person's")

    door = replace(door, project_id=broken)
    assert door.admit(_asked("/v1/x", _project("boat"), uid=1)) == Admitted("/v1/x", None)
    assert door.counters.door_failures.value("OSError") == 1


# --- the commands ---


@pytest.mark.parametrize("app", [" ", "x" * 201, "ü" * 40])
def test_an_app_that_can_name_no_folder_is_refused(newcomer: Everest, app: str) -> None:
    told = newcomer("token", "add", "--every-project", "--app", app)

    assert told.code == 2
    assert "--app" in told.err
    assert newcomer("token", "list", "--json").data == []


def test_a_token_is_made_listed_and_removed(newcomer: Everest) -> None:
    made = newcomer("token", "add", "--project", str(newcomer.cwd), "--app", "chat", "--json").data
    listed = newcomer("token", "list", "--json").data
    assert [one["id"] for one in listed] == [made["id"]]
    assert listed[0]["projects"] == made["projects"]
    assert made["token"] not in newcomer("token", "list").out
    assert made["id"] in newcomer("token", "list").out
    assert newcomer("token", "remove", made["id"]).code == 0
    assert json.loads(newcomer("token", "list", "--json").out) == []
    again = newcomer("token", "remove", made["id"])
    assert (again.code, again.out) == (2, "")


def test_a_token_says_what_it_opens(newcomer: Everest) -> None:
    for words in [(), ("--project", "x", "--every-project")]:
        told = newcomer("token", "add", *words)
        assert told.code == 2
        assert "--every-project" in told.err
    assert not newcomer.home.exists()
