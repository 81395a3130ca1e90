"""Read a tool's result: how the call ended, and what the person said with it, if anything.

Invariant: only the person's own words come out as words; the host's sentences around a refusal and
the labels of a form do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from tasks.domain.session import Channel, ResultState
from tasks.evidence.blocks import text_of
from tasks.evidence.records import Block, Odd, Outcome, Record, plain
from tasks.evidence.wrappers import strip_blocks


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended.

    Attributes:
        text: what the tool or the host said, for what is not `ok`; "" for a refusal.
        words: what the person typed with it, else "".
        channel: REFUSAL or ANSWER, for `words`.
    """

    state: ResultState
    text: str = ""
    words: str = ""
    channel: Channel = Channel.REFUSAL


_OK: Final = Verdict(ResultState.OK)
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "User rejected tool use",
)
_SAID = re.compile(r"the user said:\n")
_NOTE = re.compile(r"\n+Note: The user's next message may contain a correction or preference\.")
_CLARIFY: Final = "The user wants to clarify these questions."
_GIVEN = re.compile(r"(?m)^\s*Answer: (.+)$")
_CANCELLED = re.compile(
    r"(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call)"
    r"|\[Request interrupted by user|Command was aborted before completion"
)
_HARNESS: Final = "<tool_use_error>"
_HARNESS_TAG = re.compile(r"</?tool_use_error>")
_DENIED = re.compile(
    r"(?:Pre|Post)ToolUse(?::\S+)? (?:hook|\[)|PermissionRequest(?::\S+)? hook"
    r"|Permission to use \S+ (?:with command .{0,400} )?has been (?:auto-)?denied"
    r"|Permission for this (?:action|tool use) (?:has been|was) denied"
    r"|Claude requested permissions? to |This command requires approval",
    re.DOTALL,
)


def verdict(block: Block, record: Record) -> Verdict:
    """Return how a call ended, from its `tool_result` block and the record around it."""
    if block.is_error is not True:
        return _succeeded(record.tool_use_result)
    said = strip_blocks(text_of(plain(block.content)))
    kind = record.tool_denial_kind
    if kind == "user-rejected" or said.startswith(_REFUSED):
        return _refused(said)
    if isinstance(kind, str) or _DENIED.match(said):
        return Verdict(ResultState.DENIED, said)
    if _CANCELLED.match(said):
        return Verdict(ResultState.CANCELLED, _HARNESS_TAG.sub("", said))
    if said.startswith(_HARNESS):
        return Verdict(ResultState.HARNESS, _HARNESS_TAG.sub("", said))
    return Verdict(ResultState.ERROR, said)


def _refused(said: str) -> Verdict:
    typed = _SAID.split(said, maxsplit=1)[1:]
    reason = _NOTE.split(typed[0], maxsplit=1)[0].strip() if typed else ""
    if not reason.startswith(_CLARIFY):
        return Verdict(ResultState.REFUSED, words=reason)
    answers = "\n".join(_GIVEN.findall(reason))
    return Verdict(ResultState.REFUSED, words=answers, channel=Channel.ANSWER)


def _succeeded(outcome: Outcome | Odd) -> Verdict:
    """Return success, with what the person typed into a form instead of picking from it."""
    if not isinstance(outcome, Outcome) or not isinstance(outcome.answers, dict):
        return _OK
    labels = _labels(outcome.questions)
    typed = [
        answer.strip()
        for answer in [*outcome.answers.values(), *_notes(outcome.annotations)]
        if isinstance(answer, str) and _is_typed(answer.strip(), labels)
    ]
    words = "\n".join(dict.fromkeys(typed))
    return Verdict(ResultState.OK, words=words, channel=Channel.ANSWER)


def _labels(questions: object) -> frozenset[str]:
    return frozenset(
        str(option.get("label"))
        for question in _dicts(questions)
        for option in _dicts(question.get("options"))
    )


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _notes(annotations: object) -> list[object]:
    if not isinstance(annotations, dict):
        return []
    return [note.get("notes") for note in annotations.values() if isinstance(note, dict)]


def _is_typed(answer: str, labels: frozenset[str]) -> bool:
    """Tell whether an answer is more than one label or several labels with commas between them."""
    left = answer
    for label in sorted(labels, key=len, reverse=True):
        left = left.replace(label, "")
    return bool(left.strip(" ,\n"))
