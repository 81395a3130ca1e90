"""One server of models: what it is asked, by the clock, and every way it may fail to answer.

Invariants: nothing is raised for what a server does, it is told as a `Failure` in our own words;
only the server named is spoken to; the credential stands in one header and nowhere else.
"""

from __future__ import annotations

import ipaddress
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from tasks.errors import SettingInvalid
from tasks.llm.failure import Failure

OLLAMA: Final = "http://127.0.0.1:11434"
"""Where Ollama listens unless it is told otherwise."""


class Api(StrEnum):
    """What a server speaks besides chat completions: its own embeddings and pulls, or none."""

    OLLAMA = "ollama"
    OPENAI = "openai"


@dataclass(slots=True)
class Tally:
    """How often models were asked, and in which ways that failed.

    Attributes:
        seconds: spent waiting for answers.
    """

    asked: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def note(self, came_to: object, seconds: float) -> None:
        """Count one call."""
        self.asked += 1
        self.seconds += seconds
        if isinstance(came_to, Failure):
            self.failed[str(came_to)] += 1


@dataclass(frozen=True, slots=True)
class Server:
    """Where models are asked.

    Attributes:
        base: URL without a slash at the end: Ollama's root, or what an OpenAI client is given.
        key: goes into the Authorization header, if there is one.
        tally: counts every call made through this server.
    """

    base: str
    api: Api
    key: str | None = field(default=None, repr=False)
    tally: Tally = field(default_factory=Tally, compare=False)

    @property
    def chat_url(self) -> str:
        """Return the base of the chat completions API."""
        return f"{self.base}/v1" if self.api is Api.OLLAMA else self.base

    def post(self, url: str, body: dict[str, Any], *, timeout: float) -> Any | Failure:
        """Return the JSON that a POST is answered with; `timeout` is in seconds, for all of it."""
        return self._told("POST", url, body, timeout)

    def get(self, url: str, *, timeout: float) -> Any | Failure:
        """Return the JSON that a GET is answered with."""
        return self._told("GET", url, None, timeout)

    def lines(self, url: str, body: dict[str, Any], *, silence: float) -> Iterator[Any | Failure]:
        """Yield the JSON lines of an answer as they come; a failure is the last one.

        Args:
            url: where to post.
            body: the request.
            silence: seconds that may pass before the first line, and between two.
        """
        from tasks.llm import wire  # noqa: PLC0415  slow to load

        yield from wire.lines(url, body, key=self.key, silence=silence)

    def _told(self, method: str, url: str, body: dict[str, Any] | None, timeout: float) -> Any:
        from tasks.llm import wire  # noqa: PLC0415

        began = time.monotonic()
        came_to = wire.asked(method, url, body, key=self.key, timeout=timeout)
        self.tally.note(came_to, time.monotonic() - began)
        return came_to


def base_of(url: str, where: str) -> str:
    """Return a server's URL as we keep it.

    Args:
        url: as a person wrote it; `host:port` alone means HTTP, as Ollama reads it too.
        where: who named it, for the error.

    Raises:
        SettingInvalid: when it is no URL of a server, or holds a credential.
    """
    full = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        parts = urlsplit(full)
        _ = parts.port
    except ValueError:
        raise SettingInvalid(where, "this is no URL of a server") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or set(full) & set(' \t\n"'):
        raise SettingInvalid(where, "this is no URL of a server; write http://host:port")
    if parts.username or parts.password or parts.query or parts.fragment:
        why = "a URL may hold no credential and no query; the key goes into EVEREST_LLM_KEY"
        raise SettingInvalid(where, why)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def ollama_of(host: str | None) -> str:
    """Return the URL of the Ollama that OLLAMA_HOST names, as its own client reads it.

    An address to listen on everywhere is asked on this machine.

    Raises:
        SettingInvalid: when it names no server.
    """
    if not host or not host.strip():
        return OLLAMA
    named = f"127.0.0.1{host.strip()}" if host.strip().startswith(":") else host
    parts = urlsplit(base_of(named, "OLLAMA_HOST"))
    name = parts.hostname or ""
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name  # noqa: S104  replaced, not bound
    port = parts.port or {"https": 443}.get(parts.scheme, 80 if "://" in host else 11434)
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{port}{parts.path}"


def on_this_machine(base: str) -> bool:
    """Tell whether a server listens on this machine's loopback, so that no text leaves it."""
    host = urlsplit(base).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
