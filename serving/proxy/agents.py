"""Which program sent a request, by its headers: what the provenance of its words is. Pure."""

from __future__ import annotations

import re
from typing import Final

from serving.proxy.apis import Headers, header
from tasks.evidence.claude_code import AGENT as CLAUDE_CODE

CODEX: Final = "codex"
GEMINI_CLI: Final = "gemini_cli"

_KNOWN: Final = (
    (re.compile(r"(?i)claude-(?:cli|code)\b"), CLAUDE_CODE),
    (re.compile(r"(?i)codex"), CODEX),
    (re.compile(r"GeminiCLI|(?i:gemini-cli)"), GEMINI_CLI),
)
_SDK: Final = re.compile(r"([A-Za-z][\w.-]{0,40})(?:/([A-Za-z][\w-]{0,20}))?")


def agent_of(headers: Headers) -> str:
    """Return an agent's name as transcripts give it, else its client library's, "" for none."""
    if header(headers, b"x-claude-code-session-id"):
        return CLAUDE_CODE
    told = b"%b %b" % (header(headers, b"originator") or b"", header(headers, b"user-agent") or b"")
    text = told.decode("latin-1").strip()
    for pattern, name in _KNOWN:
        if pattern.search(text):
            return name
    found = _SDK.match(text)
    return "-".join(part.lower() for part in found.groups() if part) if found else ""
