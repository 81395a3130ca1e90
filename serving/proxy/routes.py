"""Which server a request goes to: the ordered list of EVEREST_ROUTES, or the public providers.

Invariant: `choose` returns a route of the request's own API or a refusal; no request reaches a
server of another API, and no server that is not in the list.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from serving.proxy.apis import Api
from tasks.errors import SettingInvalid

_SETTING: Final = "EVEREST_ROUTES"
_SEPARATOR: Final = re.compile(r"[\s,]+")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_FORM: Final = "pattern=base-url;api=openai|anthropic|gemini|ollama;key=NAME (key is optional)"

PUBLIC: Final = """
claude*=https://api.anthropic.com;api=anthropic
gemini*=https://generativelanguage.googleapis.com;api=gemini
gemma-*=https://generativelanguage.googleapis.com;api=gemini
o[1-9]*=https://api.openai.com/v1;api=openai
gpt-oss*=http://127.0.0.1:11434;api=ollama
gpt-oss*=http://127.0.0.1:11434/v1;api=openai
gpt-*=https://api.openai.com/v1;api=openai
*=https://api.openai.com/v1;api=openai
*=https://api.anthropic.com;api=anthropic
*=https://generativelanguage.googleapis.com;api=gemini
*=http://127.0.0.1:11434;api=ollama
"""
"""What stands in place of an unset EVEREST_ROUTES: by the model's name, then by the API's path."""


@dataclass(frozen=True, slots=True)
class Route:
    """One server, the models that it is asked for, and the API that it speaks.

    Attributes:
        origin: scheme and authority, `https://api.openai.com`.
        base: the path below which its API lies, "" or `/v1`, without a slash at the end.
        key: the credential that stands in for the client's own, if the entry names one; it is for
            callers with a grant alone.
    """

    pattern: str
    origin: str
    base: str
    api: Api
    key: str | None = field(default=None, repr=False)

    def url_of(self, path: str, query: str) -> str:
        """Return where a request goes, its path and query as they came.

        A base URL is what the API's own client would be given: OpenAI's ends with the version,
        so its path stands in place of `/v1`; the others' comes before the whole path.
        """
        below = path
        if self.api is Api.OPENAI and self.base and (path == "/v1" or path.startswith("/v1/")):
            below = path[len("/v1") :]
        return f"{self.origin}{self.base}{below}" + (f"?{query}" if query else "")

    def without_key(self) -> Route:
        """Return the same server for a caller who has to bring a credential."""
        return self if self.key is None else replace(self, key=None)

    def __str__(self) -> str:
        return f"{self.pattern}={self.origin}{self.base};api={self.api}"


@dataclass(frozen=True, slots=True)
class NoRoute:
    """No configured server is to get this request; the message names those there are."""

    message: str


class Routes:
    """The ordered list.

    The first entry whose pattern fits the model decides; entries with that same pattern are one
    model's doors, one an API. A request that names no model goes to its API's first entry.
    """

    def __init__(self, entries: Sequence[Route]) -> None:
        self.entries = tuple(entries)
        self._patterns = [(re.compile(fnmatch.translate(one.pattern)), one) for one in entries]
        self._first = {one.api: one for one in reversed(entries)}

    def choose(self, api: Api, model: str | None) -> Route | NoRoute:
        """Return the route of a request of `api` that asks for `model`, or why there is none."""
        if model is None:
            return self._first.get(api) or self._none(f"no route speaks the {api} API")
        fits = next((one for pattern, one in self._patterns if pattern.match(model)), None)
        if fits is None:
            return self._none(f"no route fits the model {model[:100]!r}")
        for one in self.entries:
            if one.pattern == fits.pattern and one.api is api:
                return one
        return self._none(
            f"the model {model[:100]!r} is served by the {fits.api} API, "
            f"and this request is of the {api} API"
        )

    def needs_model(self, api: Api) -> bool:
        """Tell whether the model matters for a request of `api`: not when one route takes all."""
        return not (self.entries[0].pattern == "*" and self.entries[0].api is api)

    def _none(self, why: str) -> NoRoute:
        listed = ", ".join(str(one) for one in self.entries)
        return NoRoute(f"everest: {why}; nothing was sent. Configured routes: {listed}")


def read_routes(setting: str | None, environ: Mapping[str, str]) -> Routes:
    """Return the routes that EVEREST_ROUTES lists, or the public ones when it is unset or blank.

    Entries are parted by white space or commas, which neither a model's name nor a server's URL
    holds.

    Args:
        setting: the list as it was set.
        environ: where the variables that `key=` names are looked up.

    Raises:
        SettingInvalid: when an entry cannot be used; it is named.
    """
    words = [word for word in _SEPARATOR.split(setting or "") if word] or PUBLIC.split()
    entries = [_entry(word, environ) for word in words]
    met: set[tuple[str, Api]] = set()
    for word, one in zip(words, entries, strict=True):
        if (one.pattern, one.api) in met:
            raise _unusable(word, f"the pattern {one.pattern!r} has an {one.api} route already")
        met.add((one.pattern, one.api))
    return Routes(entries)


def _entry(word: str, environ: Mapping[str, str]) -> Route:
    first, *rest = word.split(";")
    pattern, equals, url = first.partition("=")
    if not equals or not pattern or not url:
        raise _unusable(word, "it does not begin with pattern=base-url")
    options = _options(word, rest)
    if "api" not in options:
        raise _unusable(word, f"api= is missing; it is one of {_apis()}")
    if options["api"] not in tuple(Api):
        raise _unusable(word, f"api={options['api']} is none of {_apis()}")
    api = Api(options["api"])
    origin, base = _base(word, url, api)
    return Route(pattern, origin, base, api, _key(word, options.get("key"), environ))


def _options(word: str, parts: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if name not in ("api", "key") or not equals or name in options:
            raise _unusable(
                word, f"{part.partition('=')[0]!r} is neither api= nor key=, or stands twice"
            )
        options[name] = value
    return options


def _base(word: str, url: str, api: Api) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _unusable(word, f"its URL cannot be read ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _unusable(word, "its base-url is no http or https URL")
    if "@" in parts.netloc:
        raise _unusable(word, "a URL may not hold a user or password; use key=NAME")
    if parts.query or parts.fragment:
        raise _unusable(word, "its base-url has a query or a fragment")
    base = parts.path.rstrip("/")
    own = {Api.ANTHROPIC: "/v1", Api.GEMINI: "/v1beta", Api.OLLAMA: "/api"}.get(api)
    if own is not None and base.endswith(own):
        raise _unusable(word, f"clients of the {api} API add {own} themselves; leave it out")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else ""), base


def _key(word: str, name: str | None, environ: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    if not _VARIABLE.fullmatch(name):
        raise _unusable(word, "key= takes the name of an environment variable, in capitals")
    key = environ.get(name, "").strip()
    if not key:
        raise _unusable(word, f"the environment variable {name!r} that key= names is not set")
    if not key.isascii() or not key.isprintable():
        raise _unusable(word, f"the environment variable {name!r} holds what no header can carry")
    return key


def _apis() -> str:
    return ", ".join(Api)


def _unusable(word: str, why: str) -> SettingInvalid:
    return SettingInvalid(
        _SETTING,
        f"the entry {_shown(word)!r}: {why}. Entries are parted by spaces or commas, each {_FORM}",
    )


def _shown(word: str) -> str:
    """Return an entry to show, without a password or a key that was put into it by mistake."""
    word = re.sub(r"//[^/;]*@", "//…@", word)
    return re.sub(r"(?<=;key=)[^;]*", lambda m: m[0] if _VARIABLE.fullmatch(m[0]) else "…", word)
