"""Whether this process reports to a Prefect API, found out without importing Prefect.

Importing it costs more than a second, so a run that nobody watches does without: its flows are then
plain functions and its steps too. The bodies are the same either way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from tasks.errors import SettingInvalid
from tasks.steps import Steps, plain_steps

F = TypeVar("F", bound=Callable[..., Any])

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PATIENCE: Final = 3.0


def flow(name: str) -> Callable[[F], F]:
    """Make a function a Prefect flow where Prefect is in use; else leave it as it is."""
    if not _in_use():
        return lambda function: function
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    return cast("Callable[[F], F]", orchestration.flow(name=name))  # a flow is called alike


def steps_in_use() -> Steps:
    """Return the steps of a flow: Prefect tasks where Prefect is in use, else plain functions."""
    if not _in_use():
        return plain_steps()
    from tasks import orchestration  # noqa: PLC0415  imports Prefect

    return orchestration.task_steps()


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


def _in_use() -> bool:
    """Tell whether an API is configured, or Prefect itself is loading this file."""
    return bool(api()) or "prefect" in sys.modules
