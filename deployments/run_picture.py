"""Make the README's picture of a night in Prefect's pages: a real night on the demo's week.

Run it from the repository when a night or the pages change: `python -m deployments.run_picture`.
It runs `everest up` and a night in a home of its own and has `chromium` draw the run's page, signed
in as a person would be. Nothing of anybody's is read or written.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from deployments.server import client
from tasks.demo import write_week
from tasks.domain.clock import utc_now
from tasks.prefect_home import PrefectHome, Watched, server_up

TARGET: Final = Path(__file__).parent / "images" / "prefect-runs.png"
_SCREEN: Final = {"width": 1280, "height": 660, "deviceScaleFactor": 1, "mobile": False}
_GRAPH: Final = "document.querySelector('canvas') !== null"
_PATIENCE: Final = 180.0
_DRAWING: Final = 20.0
"""Seconds for the graph to be drawn once it is there: without a graphics card it takes some."""

T = TypeVar("T")


def main() -> None:
    """Run the night and draw its page into `TARGET`."""
    with tempfile.TemporaryDirectory(prefix="everest-picture-") as folder:
        base = Path(folder)
        write_week(base / ".claude", now=utc_now())
        environ = _environment(base)
        with _running(["everest", "up"], environ):
            watched = _until(lambda: server_up(PrefectHome(base / "everest" / "prefect")))
            _command("night", environ)
            TARGET.write_bytes(_drawn(_page_of_night(watched), watched, base / "chromium"))


def _environment(base: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mine = {"HOME": str(base), "EVEREST_HOME": str(base / "everest"), "EVEREST_EMBED": "hashed"}
    return kept | mine | {"EVEREST_PREFECT_PORT": str(port)}


@contextmanager
def _running(command: list[str], environ: Mapping[str, str]) -> Iterator[None]:
    program, *rest = command
    beside = Path(sys.executable).with_name(program)
    found = str(beside) if beside.exists() else program
    process = subprocess.Popen([found, *rest], env=dict(environ))  # noqa: S603  words fixed here
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _command(name: str, environ: Mapping[str, str]) -> None:
    everest = str(Path(sys.executable).with_name("everest"))
    subprocess.run([everest, name], env=dict(environ), check=True)  # noqa: S603  words fixed here


def _page_of_night(watched: Watched) -> str:
    with client(watched) as api:
        asked = {"flows": {"name": {"any_": ["nightly"]}}}
        (run, *_) = api.post("/flow_runs/filter", json=asked).raise_for_status().json()
    return f"{watched.origin}/v2/runs/flow-run/{run['id']}"


def _drawn(page: str, watched: Watched, profile: Path) -> bytes:
    """Return the page as a picture in PNG."""
    chromium = [
        *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--hide-scrollbars", "--remote-debugging-port=0"),
        *(f"--user-data-dir={profile}", "about:blank"),
    ]
    with _running(chromium, os.environ), connect(_until(lambda: _tab(profile))) as tab:
        secret = base64.b64encode(watched.credential.encode()).decode()
        signed_in = f"localStorage.setItem('prefect-password', {json.dumps(secret)})"
        _tell(tab, "Page.enable")
        _tell(tab, "Page.addScriptToEvaluateOnNewDocument", source=signed_in)
        _tell(tab, "Emulation.setDeviceMetricsOverride", **_SCREEN)
        _tell(tab, "Page.navigate", url=page)
        _until(lambda: _tell(tab, "Runtime.evaluate", expression=_GRAPH)["result"]["value"])
        time.sleep(_DRAWING)
        return base64.b64decode(_tell(tab, "Page.captureScreenshot")["data"])


def _tab(profile: Path) -> str:
    """Return the address at which chromium takes orders; "" while it starts."""
    try:
        port = (profile / "DevToolsActivePort").read_text("utf-8").split()[0]
        tabs = httpx.get(f"http://127.0.0.1:{port}/json/list").json()
    except (OSError, IndexError, httpx.HTTPError):
        return ""
    found = [str(tab["webSocketDebuggerUrl"]) for tab in tabs if tab["type"] == "page"]
    return found[0] if found else ""


def _tell(tab: Connection, method: str, **given: Any) -> dict[str, Any]:
    """Give chromium an order and return its answer; what it says of itself is passed over."""
    tab.send(json.dumps({"id": 1, "method": method, "params": given}))
    while True:
        said: dict[str, Any] = json.loads(tab.recv(timeout=_PATIENCE))
        if "id" in said:
            found: dict[str, Any] = said["result"]
            return found


def _until(found: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if it := found():
            return it
        time.sleep(0.5)
    raise TimeoutError(_PATIENCE)


if __name__ == "__main__":
    main()
