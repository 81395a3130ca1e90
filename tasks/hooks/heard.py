"""What a hook was told, as it is read by itself: the moment, and the words that lessons bear on.

The rules are those of `tasks.hooks.contract`, `tasks.hooks.moments` and `tasks.evidence.wrappers`;
the last is loaded only for text that it may have to take apart.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tasks.hooks.plain import Row

PROMPT, TOOL, STOP = "prompt", "tool call", "end of turn"
"""Moments, by the names that `tasks.prime.Moment` has for them."""
KEEP = "keep"
"""The conversation is over, or about to be summed up."""
HEADLESS = "<!-- everest:headless -->"

_COMMON = {
    "UserPromptSubmit": PROMPT,
    "PreToolUse": TOOL,
    "Stop": STOP,
    "PreCompact": KEEP,
    "SessionEnd": KEEP,
}
_MOMENTS = {
    "claude-code": _COMMON,
    "codex": _COMMON,
    "gemini": {
        "BeforeAgent": PROMPT,
        "AfterTool": TOOL,
        "AfterAgent": STOP,
        "PreCompress": KEEP,
        "SessionEnd": KEEP,
    },
}
LONGEST_NAME = 256
_HEAD, _TAIL = 400, 200
_HOSTS = ("Caveat: ", "This session is being continued", "Full transcript available at")
_HOST_WORDS = (*_HOSTS, "Continue from where you left off", "hook feedback", "UserPromptSubmit")
_TELLING = ("command", "file_path", "notebook_path", "pattern", "path", "url", "query")
_ALSO_TELLING = ("skill", "description", "prompt")


def moment_of(agent: str, event: str) -> str:
    """Return what an agent's event is to us, "" for one that nothing is done at."""
    return _MOMENTS.get(agent, {}).get(event, "")


def words_of(moment: str, told: Row) -> str:
    """Return the words that lessons must bear on, "" when nothing is to be said."""
    if text_of(told, "agent_id") or not name_of(told, "session_id") or not text_of(told, "cwd"):
        return ""
    words = _words(moment, told)
    return words if len(words) <= _HEAD + _TAIL else f"{words[:_HEAD]}\n{words[-_TAIL:]}"


def text_of(told: Row, name: str) -> str:
    """Return a text that a hook was told, "" for none."""
    value = told.get(name)
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def name_of(told: Row, name: str) -> str:
    """Return a name that a hook was told, "" for none and for one that is too long to be one."""
    text = text_of(told, name)
    return text if len(text) <= LONGEST_NAME else ""


def _words(moment: str, told: Row) -> str:
    if moment == PROMPT:
        return _typed(text_of(told, "prompt"))
    if moment == TOOL:
        return _called(told)
    if told.get("stop_hook_active") is True:
        return ""
    return _bare(text_of(told, "last_assistant_message") or text_of(told, "prompt_response"))


def _typed(prompt: str) -> str:
    """Return what the person typed; the rare prompt that may hold a host's words is looked into."""
    if HEADLESS in prompt:
        return ""
    bare = prompt.strip()
    is_odd = bare[:1] == "/" or "<" in bare or "[" in bare
    if not is_odd and not any(words in bare for words in _HOST_WORDS):
        return bare
    from tasks.evidence.wrappers import Typed, queued_words  # noqa: PLC0415  slow to load

    found = queued_words(prompt)
    return found.text if isinstance(found, Typed) else ""


def _bare(text: str) -> str:
    if "<" not in text:
        return text.strip()
    from tasks.evidence.wrappers import strip_blocks  # noqa: PLC0415  slow to load

    return strip_blocks(text)


def _called(told: Row) -> str:
    """Return a tool's name with its command, or with the first line of what tells most of it."""
    tool, given = text_of(told, "tool_name"), told.get("tool_input")
    given = given if isinstance(given, dict) else {}
    command = given.get("command")
    if isinstance(command, str):
        return f"{tool} {command}".strip()
    first = "pattern" if tool in ("Grep", "Glob") else "command"
    values = [given.get(name) for name in (first, *_TELLING, *_ALSO_TELLING)]
    lines = [_first_line(one) for one in (*values, *given.values()) if isinstance(one, str)]
    return f"{tool} {next(filter(None, lines), '')}".strip()


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].replace("\x00", "").rstrip()
