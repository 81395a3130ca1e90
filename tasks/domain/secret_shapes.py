"""Secrets that give themselves away by their own shape: prefixes, headers, key blocks, URLs, cards.

Each shape has a literal, and its pattern is tried only where that stands. Finders yield
(start, end, kind) over the bytes of a text; `low` is the text in lower case with digits as 0.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

Span = tuple[int, int, str]
Finder = Callable[[bytes, bytes, int], Iterator[Span]]
"""From a text, the same lowered, and where the finder's literal stands, to what it finds there."""

_RUN: Final = b"a" * 20
"""Every prefixed token holds this many word characters in a row."""
_CLASSES: Final = bytes(
    ord("a") if chr(i).isascii() and (chr(i).isalnum() or chr(i) in "_-") else ord(" ")
    for i in range(256)
)

_LEAD: Final = re.compile(rb"(?<=\\)[nrt]|(?<=\[)[0-9]{1,2}m")
"""What may be glued to a token's front: an escape in quoted text, the end of a colour code."""
_KEY: Final = rb"(?=[\w-]*[0-9])(?=[\w-]*[A-Za-z0-9]{16})[\w-]{20,}"
"""A random key, told from a hyphenated name by a digit and a long unbroken stretch."""

_TOKENS: Final = (
    ("aws-key", rb"A(?:KIA|SIA|BIA|CCA)", rb"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("google-key", rb"AIza", rb"[\w-]{35}"),
    ("google-key", rb"GOCSPX-", rb"[\w-]{28}"),
    ("github-token", rb"gh[pousr]_", rb"[A-Za-z0-9]{30,}"),
    ("github-token", rb"github_pat_", rb"\w{30,}"),
    ("gitlab-token", rb"gl(?:pat|ptt|rt|dt|cbt|ft|soat|imt|agent|oas)-", rb"[\w-]{20,}"),
    ("slack-token", rb"xox[abceoprs]-", rb"[\w-]{10,}"),
    ("slack-token", rb"xapp-", rb"\d-[\w-]{20,}"),
    ("stripe-key", rb"[srp]k_(?:live|test)_", rb"[A-Za-z0-9]{16,}"),
    ("stripe-key", rb"whsec_", rb"[A-Za-z0-9+/]{24,}={0,2}"),
    ("anthropic-key", rb"sk-ant-", _KEY),
    ("openai-key", rb"sk-", _KEY),
    ("npm-token", rb"npm_", rb"[A-Za-z0-9]{36}"),
    ("pypi-token", rb"pypi-A", rb"[\w-]{40,}"),
    ("huggingface-token", rb"hf_", rb"[A-Za-z0-9]{30,}"),
    ("jwt", rb"eyJ", rb"[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    ("shopify-token", rb"shp(?:at|ca|pa|ss)_", rb"[a-fA-F0-9]{32}"),
    ("digitalocean-token", rb"do[opr]_v1_", rb"[a-f0-9]{64}"),
    ("docker-token", rb"dckr_pat_", rb"[\w-]{20,}"),
    ("grafana-token", rb"glsa_", rb"[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    ("atlassian-token", rb"ATATT3x", rb"[\w=-]{50,}"),
    ("databricks-token", rb"dapi", rb"[a-f0-9]{32}"),
    ("age-key", rb"AGE-SECRET-KEY-1", rb"[A-Z0-9]{58}"),
    ("groq-key", rb"gsk_", _KEY),
    ("xai-key", rb"xai-", _KEY),
    ("replicate-token", rb"r8_", _KEY),
    ("perplexity-key", rb"pplx-", _KEY),
    ("tavily-key", rb"tvly-", _KEY),
    ("linear-key", rb"lin_api_", _KEY),
    ("rubygems-key", rb"rubygems_", _KEY),
    ("figma-token", rb"figd_", _KEY),
    ("nvidia-key", rb"nvapi-", _KEY),
    ("sentry-token", rb"sntrys_", _KEY),
)
"""(kind, prefix, rest): the services whose tokens carry a prefix of their own."""
_BEHIND: Final = (
    ("google-key", b"ya29.", rb"[\w-]{30,}"),
    ("sendgrid-key", b"SG.", rb"[\w-]{20,24}\.[\w-]{39,50}"),
    ("vault-token", b"hvs.", rb"[\w-]{24,}"),
    ("telegram-token", b":", rb"(?<=[0-9]{8}:)AA[\w-]{33}(?![\w-])"),
)
"""(kind, what stands before the run, the run): tokens whose prefix ends in a mark."""

_PREFIX: Final = re.compile(b"|".join(prefix for _, prefix, _ in _TOKENS))
_WHOLE: Final = tuple((kind, re.compile(prefix + rest)) for kind, prefix, rest in _TOKENS)
_BEHIND_RUN: Final = tuple((kind, before, re.compile(run)) for kind, before, run in _BEHIND)
_DISCORD: Final = re.compile(rb"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}")

_BETWEEN: Final = rb"(?>\\[nrt]|[\s>|+\"',]|[0-9]{1,6}(?:\xe2\x86\x92|:|\t))"
"""What stands between the lines of a key: breaks, also escaped, and the marks of quoting."""
_LINE: Final = rb"[A-Za-z0-9+/=]{16,}"
_LAST_LINE: Final = rb"[A-Za-z0-9+/=]{1,15}"
_KEY_BLOCK: Final = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:%(between)b++(?:[A-Za-z-]{3,20}:\ [^\n\\]{1,80}|%(line)b))++"
    rb"(?:(?:%(between)b++%(last)b)?%(between)b*+"
    rb"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
    % {b"between": _BETWEEN, b"line": _LINE, b"last": _LAST_LINE}
)
_KEY_REST: Final = re.compile(
    rb"(?:%(line)b%(between)b+)+(?:%(last)b%(between)b+)?\Z"
    % {b"between": _BETWEEN, b"line": _LINE, b"last": _LAST_LINE}
)
_REST_REACH: Final = 4096

_AUTHORIZATION: Final = re.compile(
    rb"authorization\\{0,3}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,3}[\"'`]?"
    rb"(?:(?P<scheme>bearer|basic|token|digest|apikey|bot|negotiate|key)\s{1,3})?"
    rb"(?P<value>[\w.~+/=:-]{8,})",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(rb"bearer\s{1,3}(?P<value>[\w.~+/=-]{16,})", re.IGNORECASE)
_BASIC: Final = re.compile(rb"basic\s{1,3}(?P<value>[A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)
_COOKIE: Final = re.compile(
    rb"cookie\\{0,3}[\"'`]?\s{0,3}:\s{0,3}\\{0,3}[\"'`]?"
    rb"(?P<value>[\w.%$-]{1,80}=[^\s;\"'`\\,]{6,}(?:;\s?[\w.%$-]{1,80}=[^\s;\"'`\\,]*)*)",
    re.IGNORECASE,
)
_URL: Final = re.compile(
    rb"://(?:[^\s/?#:@\"'<>`]{0,100}:(?P<password>[^\s/?#@\"'<>`]{1,200})"
    rb"|(?P<user>[\w-]{20,200}))@(?=[\w\[])"
)
_SIGNATURE: Final = re.compile(rb"sig=(?P<value>[A-Za-z0-9%+/]{30,}={0,2})")
_AZURE: Final = re.compile(rb"(?<![\w.~-])[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}(?![\w.~-])")
_SLACK_HOOK: Final = re.compile(rb"/services/(?P<value>T\w+/B\w+/\w{16,})")
_DISCORD_HOOK: Final = re.compile(rb"/api/webhooks/\d{15,}/(?P<value>[\w-]{40,})")
_DIGITS: Final = b"0123456789"
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_CARD_REACH: Final = 24
_MARKS: Final = (b".", b":")
_GLUE: Final = (b"\\", b"[")
_CARD: Final = re.compile(
    rb"(?<![\w.-])(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|5\d\d|4[4-9]\d)|35[2-8]\d)(?P<gap>[ -]?)"
    rb"\d{4}(?P=gap)\d{4}(?P=gap)\d{4}(?![\w-]|\.\d)"
    rb"|(?<![\w.-])3[47]\d\d(?P<amex>[ -]?)\d{6}(?P=amex)\d{5}(?![\w-]|\.\d)"
)

_MASKS: Final = re.compile(
    rb"[$<{%\[]|\*\*|\.\.\.|(?:your|my|the)?[_-]?(?:password|passwd|pass|pwd|secret|token|key|x+)$",
    re.IGNORECASE,
)
"""What stands where a secret would: variables, templates, stars, and the word itself."""


def random_looking(value: bytes) -> bool:
    """Tell whether `value` has a digit and a letter: a word of prose has no digit."""
    return any(b in _DIGITS for b in value) and any(b in _LETTERS for b in value)


def masked(value: bytes) -> bool:
    """Tell whether `value` only stands where a secret would."""
    return _MASKS.match(value) is not None


def tokens(raw: bytes) -> Iterator[Span]:
    """Yield the tokens that begin a run of word characters, which one scan finds."""
    classes = raw.translate(_CLASSES)
    start = classes.find(_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(raw) if end < 0 else end
        before = raw[start - 1 : start]
        if before in _GLUE and (lead := _LEAD.match(raw, start)):
            start = lead.end()
        if _PREFIX.match(raw, start):
            yield from _prefixed(raw, start)
        elif before in _MARKS:
            yield from _behind_a_mark(raw, start)
        if raw[end : end + 1] == raw[end + 7 : end + 8] == b"." and (
            m := _DISCORD.match(raw, start)
        ):
            yield (*m.span(), "discord-token")
        start = classes.find(_RUN, end)


def _prefixed(raw: bytes, start: int) -> Iterator[Span]:
    """Yield the token that a run of word characters begins with; some go on behind a dot."""
    for kind, whole in _WHOLE:
        if m := whole.match(raw, start):
            yield (*m.span(), kind)
            return


def _behind_a_mark(raw: bytes, start: int) -> Iterator[Span]:
    for kind, before, run in _BEHIND_RUN:
        if raw.endswith(before, 0, start) and (m := run.match(raw, start)):
            yield (*m.span(), kind)


def _key_block(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    """Yield a private key between its marks, or the half that a cut left over."""
    begin, end = (raw.rfind(mark, max(0, at - 40), at) for mark in (b"-----BEGIN", b"-----END"))
    block = _KEY_BLOCK.match(raw, begin) if begin >= 0 else None
    rest = _KEY_REST.search(raw, max(0, end - _REST_REACH), end) if end >= 0 else None
    if m := block or rest:
        yield (*m.span(), "private-key")


def _authorization(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    m = _AUTHORIZATION.match(raw, at)
    if m is None or masked(m["value"]):
        return
    basic = (m["scheme"] or b"").lower() == b"basic"
    if basic or random_looking(m["value"]):
        yield (*m.span("value"), "basic-auth" if basic else "bearer-token")


def _bearer(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    if (m := _BEARER.match(raw, at)) and random_looking(m["value"]):
        yield (*m.span("value"), "bearer-token")


def _basic(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    if (m := _BASIC.match(raw, at)) and _names_a_user(m["value"]):
        yield (*m.span("value"), "basic-auth")


def _names_a_user(value: bytes) -> bool:
    """Tell whether base64 text decodes to `user:password`: prose after "basic" does not."""
    try:
        return b":" in base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False


def _cookie(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    if (m := _COOKIE.match(raw, at)) and not masked(m["value"].partition(b"=")[2]):
        yield (*m.span("value"), "cookie")


def _url(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    """Yield the password in a URL, or a token that stands for its user."""
    if m := _URL.match(raw, at):
        group = "password" if m["password"] else "user"
        if not masked(m[group]) and (group == "password" or random_looking(m[group])):
            yield (*m.span(group), "url-password")


def _azure_secret(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
    if m := _AZURE.match(raw, max(at - 3, 0)):
        yield (*m.span(), "azure-secret")


def _card(raw: bytes, low: bytes, at: int) -> Iterator[Span]:
    if low[max(at - 1, 0) : at] == b"0":
        return  # inside a longer number
    for m in _CARD.finditer(raw, max(at - 1, 0), at + _CARD_REACH):
        if _luhn(m[0]):
            yield (*m.span(), "card-number")


def _value_of(pattern: re.Pattern[bytes], kind: str) -> Finder:
    """Return the finder of what a pattern calls its value."""

    def find(raw: bytes, _low: bytes, at: int) -> Iterator[Span]:
        if m := pattern.match(raw, at):
            yield (*m.span("value"), kind)

    return find


def _luhn(number: bytes) -> bool:
    """Tell whether the digits pass the check of payment cards (ISO/IEC 7812, mod 10)."""
    digits = [b - 48 for b in reversed(number) if b in _DIGITS]
    doubled = (2 * d - 9 if d > 4 else 2 * d for d in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


SHAPES: Final[tuple[tuple[bytes, Finder], ...]] = (
    (b"private key", _key_block),
    (b"authorization", _authorization),
    (b"bearer", _bearer),
    (b"basic ", _basic),
    (b"cookie", _cookie),
    (b"://", _url),
    (b"/services/t", _value_of(_SLACK_HOOK, "webhook")),
    (b"/api/webhooks/", _value_of(_DISCORD_HOOK, "webhook")),
    (b"sig=", _value_of(_SIGNATURE, "azure-signature")),
    (b"0q~", _azure_secret),
    (b"0000 0000", _card),
    (b"0000-0000", _card),
    (b"00000000000000", _card),
)
"""(literal in the lowered text, what to try where it stands)."""
