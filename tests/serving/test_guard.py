"""The guard alone, whatever HTTP server stands before it."""

from __future__ import annotations

from typing import Any

import pytest

from serving.guard import foreign, malformed, read_origins
from tasks.errors import SettingInvalid

HOST = (b"host", b"localhost:8787")


def _scope(*headers: tuple[bytes, bytes], path: str = "/v1/x", target: bytes = b"/v1/x") -> Any:
    return {"headers": [HOST, *headers], "path": path, "state": {"target": target}}


def test_a_plain_request_is_neither_malformed_nor_foreign() -> None:
    scope = _scope((b"content-length", b"1"), (b"upgrade", b"WebSocket"))
    assert malformed(scope) is None
    assert foreign(scope["headers"]) is None
    assert malformed({"headers": [HOST], "path": "/a/.well-known/..x"}) is None


@pytest.mark.parametrize(
    "scope",
    [
        _scope((b"transfer-encoding", b"chunked"), (b"content-length", b"1")),
        _scope((b"content-length", b"1"), (b"content-length", b"1")),
        _scope(HOST),
        _scope((b"upgrade", b"h2c")),
        _scope(target=b"http://localhost/v1/x"),
        _scope(target=b"*"),
        _scope(path="/v1/../x"),
        _scope(path="/v1/."),
        _scope(path="/v1\\..\\x"),
    ],
)
def test_what_servers_may_read_in_two_ways_is_malformed(scope: Any) -> None:
    told = malformed(scope)
    assert told is not None
    assert told[0] == 400


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"evil.example")],
        [HOST, (b"origin", b"null")],
        [HOST, (b"origin", b"https://localhost:8787")],
        [HOST, (b"sec-fetch-site", b"cross-site")],
    ],
)
def test_what_a_foreign_page_sends_is_foreign(headers: list[tuple[bytes, bytes]]) -> None:
    told = foreign(headers)
    assert told is not None
    assert told[0] == 403


def test_an_app_that_is_listed_is_let_in_with_its_own_origin_alone() -> None:
    listed = read_origins(
        "app://obsidian.md, vscode-webview://0abc\ntauri://localhost http://localhost:3000"
    )
    for origin in (b"app://obsidian.md", b"vscode-webview://0ABC", b"http://localhost:3000"):
        sent = [HOST, (b"origin", origin), (b"sec-fetch-site", b"cross-site")]
        assert foreign(sent, listed) is None
        assert foreign(sent) is not None
    for origin in (b"app://obsidian.md.evil", b"app://", b"null", b"http://localhost:3001"):
        assert foreign([HOST, (b"origin", origin)], listed) is not None
    elsewhere = [(b"host", b"evil.example"), (b"origin", b"app://obsidian.md")]
    assert foreign(elsewhere, listed) is not None
    assert foreign([HOST, (b"sec-fetch-site", b"cross-site")], listed) is not None


@pytest.mark.parametrize(
    "setting",
    ["*", "app://*", "https://*.example", "null", "app://", "file://", "app", "http://a/b",
     "http://a/", "http://a:x", "http://u@a", "app://a?b", "//a", "http://[::1", "http://a:123456"],
)  # fmt: skip
def test_what_is_no_whole_origin_is_named_and_refused(setting: str) -> None:
    with pytest.raises(SettingInvalid, match="EVEREST_ORIGINS") as told:
        read_origins(f"tauri://localhost {setting}")
    assert setting in str(told.value)


def test_no_origin_is_let_in_unless_one_is_listed() -> None:
    assert read_origins(None) == read_origins(" , ") == frozenset()
