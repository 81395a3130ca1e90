"""The Prefect server that we start: our own home, a credential, its own pages and nothing else.

Invariant: it answers nobody without the credential, tells browsers of no other origin to read it,
listens on this machine alone and sends nothing out. `probe` looks, and who starts it stops it else.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import httpx

from tasks.errors import PortTaken, Unprotected
from tasks.prefect_home import HOST, PrefectHome, Watched

_STRANGER: Final = "http://stranger.example"
_OPENING: Final = ("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING")
_HOSTS: Final = ("PREFECT_SERVER_API_HOST",)
_ORIGINS: Final = (
    "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS",
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS",
)

QUIET: Final = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
}
"""Nothing sent, nothing advertised, no second server."""

_MINUTE: Final = "60"
CALM: Final = {
    "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT1M",
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_LOOP_SECONDS": _MINUTE,
    "PREFECT_SERVER_SERVICES_CLEANUP_RECONCILER_LOOP_SECONDS": _MINUTE,
    "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": _MINUTE,
    "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": _MINUTE,
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": _MINUTE,
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "30",
    "PREFECT_SERVER_SERVICES_SCHEDULER_MIN_RUNS": "2",
    "PREFECT_SERVER_SERVICES_SCHEDULER_MAX_RUNS": "3",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_CONCURRENCY_INITIAL_DEPLOYMENT_LEASE_DURATION": _MINUTE,
    "PREFECT_SERVER_CONCURRENCY_MAXIMUM_CONCURRENCY_SLOT_WAIT_SECONDS": "10",
}
"""What keeps it idle, small and unstuck: loops that look once a minute for what happens once a day;
few runs planned ahead, since those of a week without power would all be made up for; runs older
than 90 days removed; and a slot of a killed run free after a minute, not five."""

SMALL: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""For glibc: what is freed goes back to the system. Under two runs a minute the server held 206 MB
after three minutes, and 215 MB without it; arenas for many threads are of no use to one."""


def server_environment(
    home: PrefectHome, watched: Watched, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the whole environment that the server runs in.

    The port goes by settings: given on its command line alone, its pages would ask port 4200.
    """
    port = urlsplit(watched.origin).port
    return (
        watched.environment(home.folder, environ)
        | QUIET
        | CALM
        | SMALL
        | {
            "PREFECT_SERVER_API_HOST": HOST,
            "PREFECT_SERVER_API_PORT": str(port),
            "PREFECT_SERVER_API_AUTH_STRING": watched.credential,
            "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": watched.origin,
            "PREFECT_SERVER_UI_API_URL": watched.api,
            "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home.pages),
        }
    )


def refuse_openings(watched: Watched, environ: Mapping[str, str]) -> None:
    """Refuse an environment that asks for a server without protection.

    None of it would reach the server, but whoever set it expects that it does.

    Raises:
        Unprotected: naming the variable.
    """
    for name in _OPENING:
        if name in environ and not environ[name].strip():
            raise Unprotected(f"{name} is set to nothing", f"unset {name}")
    for name in _HOSTS:
        if environ.get(name, HOST) not in (HOST, "localhost"):
            raise Unprotected(f"{name} opens it to other machines", f"unset {name}")
    for name in _ORIGINS:
        if environ.get(name, watched.origin) != watched.origin:
            raise Unprotected(f"{name} opens it to other pages", f"unset {name}")


def refuse_taken_port(port: int, setting: str) -> None:
    """Look whether the port that a setting names is free.

    Raises:
        PortTaken: when another program listens on it.
    """
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError:
            raise PortTaken(port, setting) from None


def probe(watched: Watched, transport: httpx.BaseTransport | None = None) -> None:
    """Ask the running server for what it must not give.

    Raises:
        Unprotected: when it gives it.
    """
    asked, way_out = f"{watched.api}/flows/filter", "it was stopped; please report this"
    asking = {"Origin": _STRANGER, "Access-Control-Request-Method": "POST"}
    with httpx.Client(transport=transport, trust_env=False, timeout=10) as stranger:
        bare = stranger.post(asked, json={})
        foreign = stranger.post(asked, json={}, headers={"Origin": _STRANGER})
        before = stranger.options(asked, headers=asking)
    for told in (bare, foreign):
        if told.status_code != httpx.codes.UNAUTHORIZED:
            raise Unprotected(f"it answered {told.status_code} without the credential", way_out)
    for told in (foreign, before):
        if "access-control-allow-origin" in told.headers:
            raise Unprotected("it lets pages of other origins read it", way_out)


def answers(watched: Watched) -> bool:
    """Tell whether the server is there and takes the credential."""
    try:
        with client(watched) as api:
            return api.get("/version").is_success
    except httpx.HTTPError:
        return False


def client(watched: Watched) -> httpx.Client:
    """Return a client of the server's API that shows the credential."""
    user, _, password = watched.credential.partition(":")
    return httpx.Client(
        base_url=watched.api,
        auth=(user, password),
        trust_env=False,
        verify=False,  # noqa: S501  plain HTTP on loopback: reading certificates costs 30 ms
        timeout=30,
    )
