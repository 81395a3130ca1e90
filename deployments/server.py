"""The Prefect server that we start: our own home, a credential, its own pages and nothing else.

Invariant: it answers nobody without the credential, tells browsers of no other origin to read it,
listens on this machine alone and sends nothing out. `probe` looks, and who starts it stops it else.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from tasks.errors import PortTaken, Unprotected
from tasks.prefect_home import HOST, PrefectHome, Watched

_STRANGER: Final = "http://stranger.example"
_ASKED: Final = "/flows/filter"
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


def refuse_taken_port(port: int) -> None:
    """Look whether the port is free.

    Raises:
        PortTaken: when another program listens on it.
    """
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError:
            raise PortTaken(port) from None


def probe(watched: Watched) -> None:
    """Ask the running server for what it must not give.

    Raises:
        Unprotected: when it gives it.
    """
    import httpx  # noqa: PLC0415  costs a tenth of a second, and only this asks

    way_out = "it was stopped; please report this"
    with httpx.Client(base_url=watched.api, trust_env=False, timeout=10) as client:
        for headers in ({}, {"Origin": _STRANGER}):
            told = client.post(_ASKED, json={}, headers=headers)
            if told.status_code != httpx.codes.UNAUTHORIZED:
                raise Unprotected(f"it answered {told.status_code} without the credential", way_out)
        asking = {"Origin": _STRANGER, "Access-Control-Request-Method": "POST"}
        for told in (
            client.options(_ASKED, headers=asking),
            client.post(_ASKED, json={}, headers=asking),
        ):
            if "access-control-allow-origin" in told.headers:
                raise Unprotected("it lets pages of other origins read it", way_out)


def answers(watched: Watched) -> bool:
    """Tell whether the server is there and takes the credential."""
    import httpx  # noqa: PLC0415

    user, _, password = watched.credential.partition(":")
    try:
        with httpx.Client(trust_env=False, timeout=5, auth=(user, password)) as client:
            return client.get(f"{watched.api}/version").is_success
    except httpx.HTTPError:
        return False
