"""The Prefect server we start: what it must refuse, with what it must not refuse beside it."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import httpx
import pytest

from deployments.credential import prepare
from deployments.server import client, probe, refuse_openings
from tasks.errors import Unprotected
from tasks.prefect_home import PrefectHome, Watched, join, origin, read_credential, server_up
from tests.prefect_server import Server
from tests.serving.shipped import Everest

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]

STRANGER = "http://stranger.example"
ASKING = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization",
}


@pytest.mark.parametrize("headers", [{}, {"Origin": STRANGER}], ids=["no origin", "a foreign one"])
@pytest.mark.parametrize("credential", [None, ("everest", "guessed")], ids=["none", "a wrong one"])
def test_nobody_gets_in_without_the_credential(
    prefect_server: Server, headers: dict[str, str], credential: tuple[str, str] | None
) -> None:
    asked = f"{prefect_server.watched.api}/flows/filter"

    told = httpx.post(asked, json={}, headers=headers, auth=credential)

    assert told.status_code == 401
    with client(prefect_server.watched) as api:
        assert api.post("/flows/filter", json={}).status_code == 200


def test_pages_of_another_origin_are_not_let_in_and_its_own_are(prefect_server: Server) -> None:
    asked = f"{prefect_server.watched.api}/flows/filter"
    own = prefect_server.watched.origin

    foreign = httpx.options(asked, headers={"Origin": STRANGER, **ASKING})
    ours = httpx.options(asked, headers={"Origin": own, **ASKING})

    assert "access-control-allow-origin" not in foreign.headers
    assert ours.headers["access-control-allow-origin"] == own


def test_its_pages_ask_the_port_it_listens_on_and_advertise_nothing(prefect_server: Server) -> None:
    page = httpx.get(prefect_server.watched.origin, follow_redirects=True)
    told = httpx.get(f"{prefect_server.watched.origin}/ui-settings").json()

    assert page.status_code == 200
    assert "<html" in page.text.lower()
    assert told["api_url"] == prefect_server.watched.api
    assert not told.get("show_promotional_content", False)


def test_its_files_are_the_owners_alone_and_lie_in_our_home(prefect_server: Server) -> None:
    folder = prefect_server.home.folder

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (prefect_server.home.credential, prefect_server.home.profiles):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (folder / "prefect.db").exists()
    assert prefect_server.home.pages.is_dir()


def test_its_profile_is_all_that_a_client_needs(prefect_server: Server, tmp_path: Path) -> None:
    person = Everest(tmp_path)
    prefect = [sys.executable, "-m", "prefect", "flow-run", "ls"]

    told = person.run(prefect, PREFECT_HOME=str(prefect_server.home.folder))

    assert told.code == 0, told.err
    assert "flow runs" in told.out.lower()


def test_the_credential_is_in_no_log(prefect_server: Server) -> None:
    secret = prefect_server.watched.credential.partition(":")[2]

    logged = prefect_server.home.log("server").read_text()

    assert secret not in logged
    assert secret not in repr(prefect_server)
    assert prefect_server.watched.origin in logged, "the search looks where things are logged"


def test_a_server_that_lets_anyone_in_is_found_out(tmp_path: Path) -> None:
    """The positive control of the probe is the fixture's own server, which passed it."""
    open_door = httpx.MockTransport(lambda _: httpx.Response(200))

    with pytest.raises(Unprotected, match="without the credential"):
        probe(Watched(origin(1), "everest:x"), open_door)


def test_a_server_that_lets_other_pages_read_it_is_found_out(tmp_path: Path) -> None:
    allowing = {"access-control-allow-origin": "*"}
    open_door = httpx.MockTransport(lambda _: httpx.Response(401, headers=allowing))

    with pytest.raises(Unprotected, match="other origins"):
        probe(Watched(origin(1), "everest:x"), open_door)


@pytest.mark.parametrize(
    "asked",
    [
        {"PREFECT_SERVER_API_AUTH_STRING": ""},
        {"PREFECT_API_AUTH_STRING": " "},
        {"PREFECT_SERVER_API_HOST": "0.0.0.0"},
        {"PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": "*"},
        {"PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://stranger.example"},
    ],
    ids=str,
)
def test_an_environment_that_asks_for_an_open_server_is_refused(asked: dict[str, str]) -> None:
    watched = Watched(origin(4270), "everest:x")

    with pytest.raises(Unprotected, match=next(iter(asked))):
        refuse_openings(watched, asked)

    own = {"PREFECT_SERVER_API_HOST": "127.0.0.1", "PREFECT_SERVER_API_AUTH_STRING": "a:b"}
    refuse_openings(watched, own)


def test_the_credential_is_made_once_at_random(tmp_path: Path) -> None:
    one, other = PrefectHome(tmp_path / "one"), PrefectHome(tmp_path / "other")

    first, again, apart = prepare(one, 1), prepare(one, 2), prepare(other, 1)

    assert first.credential == again.credential
    assert first.credential != apart.credential
    assert again.api in one.profiles.read_text(), "the profile follows the port"


@pytest.mark.parametrize("text", ["", "\n", "everest:", "everest:short", ":" + "x" * 40])
def test_an_empty_or_guessable_credential_is_refused(tmp_path: Path, text: str) -> None:
    home = PrefectHome(tmp_path)
    prepare(home, 1)
    home.credential.write_text(text)

    with pytest.raises(Unprotected, match="run `everest up`"):
        read_credential(home.credential)


def test_a_credential_that_others_may_read_is_refused(tmp_path: Path) -> None:
    home = PrefectHome(tmp_path)
    prepare(home, 1)
    home.credential.chmod(0o640)

    with pytest.raises(Unprotected, match="chmod 600"):
        read_credential(home.credential)

    home.credential.chmod(0o600)
    assert read_credential(home.credential)


def test_our_credential_goes_to_no_other_server(tmp_path: Path) -> None:
    prepare(PrefectHome(tmp_path), 1)
    environ = {"PREFECT_API_URL": "http://127.0.0.1:1/api"}

    join(tmp_path, environ)

    assert environ["PREFECT_API_AUTH_STRING"] == ""
    assert server_up(PrefectHome(tmp_path)) is None
