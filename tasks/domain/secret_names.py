"""Secrets that give themselves away by the name before them: `password=…`, `"api_key": "…"`.

Forms read: env files, YAML, JSON (also quoted inside another text), code with a literal, flags and
XML. What is read from elsewhere (a call, a variable, a template) is no secret and stays. A name
that often stands before harmless values (`token`, `key`, `auth`) needs a value that looks random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tasks.domain.secret_shapes import Finder, Span, masked, random_looking


class _Name(NamedTuple):
    """A family of names: what to look for, how the name ends, how short a value may be."""

    literal: bytes
    ending: re.Pattern[bytes]
    kind: str
    least: int


def _name(literal: bytes, ending: bytes, kind: str, least: int) -> _Name:
    return _Name(literal, re.compile(ending, re.IGNORECASE), kind, least)


_NAMES: Final = (
    _name(b"pass", rb"pass(?:w(?:or)?d\d?|phrase)?", "password", 4),
    _name(b"pwd", rb"pwd", "password", 4),
    _name(b"secret", rb"secret(?:[_-]?(?:access)?[_-]?key)?", "secret", 8),
    _name(b"key", rb"key", "api-key", 12),
    _name(b"token", rb"token", "token", 16),
    _name(b"credential", rb"credentials?", "credential", 16),
    _name(b"auth", rb"auth", "credential", 16),
)
_KEYS_OF: Final = (
    b"api", b"access", b"secret", b"private", b"encryption", b"signing", b"master", b"account",
    b"service", b"license", b"shared", b"subscription", b"webhook", b"auth", b"app", b"client",
)  # fmt: skip
"""What a key belongs to when it is a secret; a primary, public or cache key is none."""
_PASSES_OF: Final = (
    b"db", b"database", b"user", b"smtp", b"mysql", b"pg", b"postgres", b"redis", b"mongo",
    b"admin", b"root", b"ftp", b"mail", b"email", b"ssh", b"http", b"proxy", b"basic", b"auth",
)  # fmt: skip
"""Whose pass is a password; `first_pass` and a test's PASS are none."""

_BARE: Final = rb"(?P<bare>(?:[^\s\"'`,;&]|&(?![\w.-]+=)){1,400})"
_VALUE: Final = re.compile(
    rb"(?:\\{0,3}[\"'`])?\s{0,3}"
    rb"(?::\s?(?:&?str|[sS]tring|SecretStr)(?:\s?\|\s?\w+)?\s{0,3}=|:=|=>|={1,3}|:(?![-+?]))\s{0,3}"
    rb"(?:[fbru]{0,2}(?P<open>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=open))[^\r\n]){1,400}?)(?:(?P=open)|(?=[\r\n])|\Z)"
    rb"|" + _BARE + rb")"
)
_FLAG: Final = re.compile(rb"\s(?P<bare>[^\s\"'`,;-][^\s\"'`,;]{0,399})")
_ELEMENT: Final = re.compile(rb">(?P<bare>[^\s<>]{1,400})</")
_SPOKEN: Final = re.compile(rb"\s(?:is|was)\s:?\s?" + _BARE, re.IGNORECASE)

_WORD_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_PLACE: Final = re.compile(rb"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]*://")
_CODE: Final = re.compile(
    rb"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$|.*[()\[\]{}<>|\\]", re.DOTALL
)
"""A path of names, or anything with the brackets of a call, an index, a type, a template."""
_EXAMPLE: Final = re.compile(
    rb"your[_-]|change[_-]?(?:me|this)|placeholder|redacted|dummy|xxx|\*\*|\.\.\.|\$\{|\{\{|<",
    re.IGNORECASE,
)
_HASHED: Final = re.compile(rb"\$(?:2[abxy]|argon2\w*|[156])\$")
_WORDS: Final = re.compile(rb"[A-Za-z_-]+$")
_NAMED_SO: Final = re.compile(rb"pass|secret|token|key|auth|cred", re.IGNORECASE)
_HARMLESS: Final = frozenset(
    b"string number boolean object undefined required optional hidden invalid missing input field "
    b"label error errors null none true false text type name value default empty unknown basic "
    b"bearer oauth enabled disabled always never plain encrypted hashed sensitive".split()
)
_TOKEN: Final = re.compile(rb"[\w+/=.~:-]+$")
_UUID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_STRETCH: Final = re.compile(rb"[A-Za-z0-9]{12,}")


def _named(name: _Name) -> Finder:
    """Return the finder of the values behind one family of names."""

    def find(raw: bytes, low: bytes, at: int) -> Iterator[Span]:
        if _owned(name, low, at) and (said := name.ending.match(raw, at)):
            yield from _value(raw, at, said.end(), name)

    return find


def _owned(name: _Name, low: bytes, at: int) -> bool:
    """Tell whether what stands before a short name makes it a secret's."""
    if name.literal == b"key":
        return low[max(at - 16, 0) : at].rstrip(b"_-. ").endswith(_KEYS_OF)
    if name.literal == b"pass" and low[at + 4 : at + 5] not in b"wp":
        return low[max(at - 16, 0) : at].rstrip(b"_-").endswith(_PASSES_OF)
    before = low[max(at - 1, 0) : at]
    if name.literal == b"pwd":  # alone and with a colon it is a folder
        return before.isalpha() or before == b"_" or low[at + 3 : at + 4] == b"="
    return name.literal != b"auth" or not before.isalpha()


def _value(raw: bytes, at: int, end: int, name: _Name) -> Iterator[Span]:
    """Yield the value behind the name that ends at `end`, if it is a secret's."""
    if m := _VALUE.match(raw, end) or _unassigned(raw, at, end, name):
        quoted = m.groupdict().get("quoted") is not None
        start, stop = m.span("quoted" if quoted else "bare")
        value = raw[start:stop] if quoted else _without_closers(raw[start:stop])
        in_env_file = raw[at:end].isupper() and raw[end : end + 1] == b"="
        if _secret(value, name, quoted=quoted, in_env_file=in_env_file):
            yield start, start + len(value), name.kind


def _unassigned(raw: bytes, at: int, end: int, name: _Name) -> re.Match[bytes] | None:
    """Return the value of `--password x`, of `<password>x</password>`, of "the password is x"."""
    before = raw[max(at - 40, 0) : at]
    if before[len(before.rstrip(_WORD_BYTES)) :].startswith(b"--") and (m := _FLAG.match(raw, end)):
        return m
    spoken = _SPOKEN.match(raw, end) if name.kind == "password" else None
    return spoken or _ELEMENT.match(raw, end)


def _without_closers(value: bytes) -> bytes:
    """Return an unquoted value without the brackets and the full stop of the sentence around it."""
    return value.rstrip(b")]}.")


def _secret(value: bytes, name: _Name, *, quoted: bool, in_env_file: bool) -> bool:
    if len(value) < name.least or (masked(value) and not _HASHED.match(value)):
        return False
    if _EXAMPLE.search(value) or _PLACE.match(value) or b" " in value:
        return False
    if _CODE.match(value) and not (quoted and random_looking(value)):
        return False
    if name.kind in ("token", "credential"):
        return _TOKEN.match(value) is not None and _random(value)
    if in_env_file:
        return value.lower() not in _HARMLESS
    return _password(value, quoted=quoted) if name.kind == "password" else _key(value)


def _password(value: bytes, *, quoted: bool) -> bool:
    """Tell whether a password's value is one a person would type, rather than a word about it."""
    if not _WORDS.match(value):
        symbols = value[1:-1].translate(None, _WORD_BYTES + b".:/=")
        return any(48 <= b <= 57 for b in value) or (value.isascii() and bool(symbols))
    plain = value.isalpha() and not value.istitle() and value.lower() not in _HARMLESS
    return quoted and plain and len(value) >= 6 and not _NAMED_SO.search(value)


def _key(value: bytes) -> bool:
    """Tell whether a key's value is one: random, or at least no words joined by hyphens."""
    return _random(value) or (random_looking(value) and value.isalnum())


def _random(value: bytes) -> bool:
    """Tell whether `value` is a UUID or has a long stretch of letters and digits mixed."""
    return _UUID.match(value) is not None or any(
        random_looking(stretch) for stretch in _STRETCH.findall(value)
    )


NAMED: Final = tuple((name.literal, _named(name)) for name in _NAMES)
"""(literal in the lowered text, what to try where it stands)."""
