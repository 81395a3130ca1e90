"""What a model call is for: it carries a conversation on, or a client makes it for itself.

Titles, counts and summaries are told by their path, headers, bounds and wording; the wording lies
in `kinds.toml`. Invariant: a call that brings tools is never a title.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import orjson

from serving.proxy.apis import Headers, header
from serving.proxy.families import Body, Speaker
from tasks.cues import cues, first_in


class Kind(StrEnum):
    """What a call is for."""

    MAIN = "main"
    TITLE = "title"
    SUMMARY = "summary"
    COUNT = "count"
    SUBAGENT = "subagent"
    NONE = "none"


_LOOKED_AT: Final = 2000
_PROBE: Final = 8
"""Tokens in which nothing of a conversation can be answered."""
_BRIEF: Final = 512
_SMALL: Final = re.compile(r"haiku|(?<!ge)mini\b|nano\b|\blite\b|[:-]0?\.?[0-3]b\b")
_ALWAYS_WITH_TOOLS: Final = (b"claude-cli/", b"codex", b"GeminiCLI/")
_CHILD_HEADERS: Final = (
    *(b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id"),
    *(b"x-openai-subagent", b"x-codex-parent-thread-id"),
)
_CHILD: Final = "cc_is_subagent=true"


def kind_of(headers: Headers, model: str, body: Body) -> Kind:
    """Return what a call to a path that answers is for."""
    words = [one.text for one in body.messages if one.speaker is Speaker.PERSON]
    said, leads = "".join(words[-1:])[:_LOOKED_AT].lower(), body.system[:_LOOKED_AT].lower()
    if _header(headers, b"x-openai-subagent") == b"compact" or _stands("summary", leads, said):
        return Kind.SUMMARY
    if any(_header(headers, name) for name in _CHILD_HEADERS) or _CHILD in leads:
        return Kind.SUBAGENT
    if _request_kind(headers) == "subagent":
        return Kind.SUBAGENT
    if body.tools:
        return Kind.MAIN
    agent = _header(headers, b"user-agent")
    aside = any(agent.startswith(one) for one in _ALWAYS_WITH_TOOLS) or _stands(
        "title", leads, said
    )
    return Kind.TITLE if aside or _is_brief(model, body, len(words)) else Kind.MAIN


def _is_brief(model: str, body: Body, turns: int) -> bool:
    """Tell whether an answer is bound to be short: a probe's, or a small model's to one order."""
    if body.longest is None:
        return False
    ordered = turns < 2 and bool(body.system) and bool(_SMALL.search(model.lower()))
    return body.longest <= _PROBE or (ordered and body.longest <= _BRIEF)


def _stands(kind: str, leads: str, said: str) -> bool:
    return any(
        first_in(text, cues(__package__, "kinds", f"{kind}_{where}"))
        for where, text in (("system", leads), ("last", said))
    )


def _request_kind(headers: Headers) -> str:
    """Return what Codex says of its turn."""
    told = _header(headers, b"x-codex-turn-metadata")
    try:
        read = orjson.loads(told)
    except orjson.JSONDecodeError:
        return ""
    return str(read.get("request_kind", "")) if isinstance(read, dict) else ""


def _header(headers: Headers, name: bytes) -> bytes:
    return (header(headers, name) or b"").strip()
