"""Whether this process reports to a Prefect API, found out without importing Prefect.

Importing it costs more than a second, so a run that nobody watches does without: its flows are then
plain functions and its steps too. The bodies are the same either way.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.domain.ran import RunKey
from tasks.errors import EverestError, SettingInvalid
from tasks.prefect_home import join
from tasks.render.artifacts import Artifact
from tasks.render.phrases import count
from tasks.runs import new_run, note_remark
from tasks.settings import Places, Settings
from tasks.steps import Steps, plain_steps

F = TypeVar("F", bound=Callable[..., Any])

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PATIENCE: Final = 3.0


def flow(name: str) -> Callable[[F], F]:
    """Make a function a Prefect flow where Prefect is in use; else leave it as it is.

    Where Prefect itself loads the file it is one at once; otherwise that is decided when it is
    called, so that importing a flow neither asks an API nor fails.
    """

    def made(function: F) -> F:
        if "prefect" in sys.modules:
            return _as_flow(name, function)

        @functools.wraps(function)
        def run(*given: Any, **named: Any) -> Any:
            if not reported():
                return function(*given, **named)
            from tasks import orchestration  # noqa: PLC0415  imports Prefect

            return orchestration.run_as_flow(name, function, given, named)

        return cast("F", run)  # it is called alike

    return made


def steps_in_use() -> Steps:
    """Return the steps of a flow: Prefect tasks where Prefect is in use, else plain functions."""
    if not reported():
        return plain_steps()
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    return orchestration.task_steps()


def this_run(name: str) -> RunKey:
    """Return the key of the run that a flow is in: Prefect's own, so that its hooks know it."""
    if not reported():
        return new_run(name)
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    return orchestration.this_run(name)


def leave(where: Setting, key: RunKey, artifacts: Iterable[Artifact]) -> None:
    """Leave artifacts of a run in Prefect's pages, where it reports to them.

    What cannot be left fails no run: it is counted, and told in the next morning report.
    """
    if not reported():
        return
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    lost = orchestration.leave(artifacts)
    if lost:
        what = count(lost, "table or picture", "tables or pictures")
        remark = f"{what} of it did not reach Prefect"
        note_remark(where.places.runs, key, remark, at=utc_now())


@functools.cache
def reported() -> bool:
    """Tell whether runs of this process are reported to Prefect; say so where it does not answer.

    Raises:
        SettingInvalid: as `api`.
    """
    if "prefect" in sys.modules:
        return True
    join(Places(Settings.load().home).prefect, os.environ)
    url = api()
    if url and not answers(url):
        logging.getLogger("everest").warning(
            "Prefect does not answer at %s; this runs without it.", url
        )
        return False
    return bool(url)


def run_as_file(entry: Callable[[], object]) -> None:
    """Run a flow whose file was started, and exit with its code; our errors are told in a line."""
    os.umask(0o077)  # whatever we write is the person's alone
    try:
        entry()
    except EverestError as failure:
        sys.stderr.write(f"everest: {failure}\n")
        sys.exit(failure.exit_code)


def api() -> str:
    """Return the Prefect API that this process is to report to; "" when none is configured.

    Raises:
        SettingInvalid: when it is on another machine and that was not allowed: run parameters and
            paths would leave this one.
    """
    url = os.environ.get("PREFECT_API_URL", "").strip()
    host = (urlsplit(url).hostname or "").lower()
    if url and host not in _LOOPBACK and os.environ.get("EVEREST_PREFECT_REMOTE") != "yes":
        why = f"{host} is another machine; set EVEREST_PREFECT_REMOTE=yes to report runs to it"
        raise SettingInvalid("PREFECT_API_URL", why)
    return url


def answers(url: str) -> bool:
    """Tell whether a Prefect API is there."""
    import httpx  # noqa: PLC0415  only asked where an API is configured

    try:
        return httpx.get(f"{url.rstrip('/')}/health", timeout=_PATIENCE).is_success
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _as_flow(name: str, function: F) -> F:
    api()  # Prefect's own processes are to stay on this machine too
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    return cast("F", orchestration.as_flow(name)(function))  # it is called alike
