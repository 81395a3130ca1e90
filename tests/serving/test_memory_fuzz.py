"""The memory API under requests nobody meant: no fault of ours, and no file where none belongs."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.serving.client import Client
from tests.serving.running import RunningProxy, request, running_proxy, status_of
from tests.serving.shipped import Everest, restore

SCHEMATHESIS = Path(sys.executable).with_name("st")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
NAMES = (
    *("../../x", "/etc", "~root", "..", ".", "a/b", "a\\b", "C:\\Users", "//host/share"),
    *("@global", "%2e%2e%2f", "relay/../../x", "x" * 1_000, "x" * 1_001, "-rf", "a b", "\u00e9"),
    *(".lock", "boat.jsonl", "boat.2026", "\u202eboat", "nul\x01", "paperboat-00000000"),
)


@pytest.fixture(scope="module")
def proxy(slept_once: tuple[Path, Path]) -> Iterator[RunningProxy]:
    base, kept = slept_once
    restore(kept, base)
    with running_proxy(Everest(base)) as running:
        yield running
    restore(kept, base)


def _fuzzed(proxy: RunningProxy, folder: Path, examples: int, *headers: str) -> None:
    given = [word for header in headers for word in ("--header", header)]
    done = subprocess.run(
        [
            *(str(SCHEMATHESIS), "run", f"{proxy.url}/openapi.json", "--no-color"),
            *("--max-examples", str(examples), "--checks", ",".join(CHECKS), *given),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1_500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    made = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert made is not None  # not "no issues": with no project named a warning tells of many 400s
    assert 0 < int(made[1]) == int(made[2])


def test_requests_made_from_the_document_find_no_fault(proxy: RunningProxy, tmp_path: Path) -> None:
    _fuzzed(proxy, tmp_path, 2, f"x-everest-token: {proxy.token}", "x-everest-project: paperboat")


@pytest.mark.fuzz
@pytest.mark.timeout(3_000)
def test_many_requests_made_from_the_document_find_no_fault(
    proxy: RunningProxy, tmp_path: Path
) -> None:
    token = f"x-everest-token: {proxy.token}"
    for headers in ([token, "x-everest-project: paperboat"], [token], []):
        _fuzzed(proxy, tmp_path, 300, *headers)
    assert Client(proxy, proxy.token, "paperboat").get("lessons").data["lessons"]


def test_no_name_of_a_project_makes_a_file_where_none_belongs(proxy: RunningProxy) -> None:
    home, rng = proxy.person.home, random.Random(11)
    made = ["".join(chr(_letter(rng)) for _ in range(9)) for _ in range(15)]
    before = _others(home)
    taken = 0
    for name in (*NAMES, *made):
        body = json.dumps({"events": [{"kind": "deploy", "text": "x", "session": name}]}).encode()
        token = f"x-everest-token: {proxy.token}"
        if not set(name) & set("\r\n\0"):
            sent = name.encode().decode("latin-1")
            raw = request("/memory/relay", token, f"x-everest-project: {sent}", body=body)
            assert status_of(proxy.raw(raw)) in (200, 400, 422), name
        path = f"/t/{proxy.token}/p/{quote(name, safe='')}/memory/relay"
        assert status_of(proxy.raw(request(path, body=body))) in (200, 400, 404, 422), name
        named = {"kind": "deploy", "text": "x", "project": name, "agent": name}
        said = Client(proxy, proxy.token).post("relay", {"events": [named]})
        assert said.status == 200, name
        taken += said.data["accepted"]
    assert taken > 20, "some names are new projects"
    assert _others(home) == before
    for path in (home / "relay").iterdir():
        assert path.suffix in (".jsonl", ".lock") or path.name == ".lock"
    assert proxy.person("night").code == 0
    kept = [path for path in (home / "evidence").rglob("*") if path.is_file()]
    assert kept
    assert {path.parent.parent for path in kept} == {home / "evidence"}


def _letter(rng: random.Random) -> int:
    return rng.choice((rng.randrange(256), ord("/"), ord(".")))


def _others(home: Path) -> set[Path]:
    """Return the files under a base that are neither the relay's nor the journal's."""
    return {
        path
        for path in home.parent.rglob("*")
        if path.is_file()
        and path.relative_to(home.parent).parts[1:2] not in (("relay",), ("journal",), ("keys",))
    }
