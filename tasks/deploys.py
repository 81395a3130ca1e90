"""Deploys, recognised from what was run: which step of a command line put work before others.

Pure; the commands lie in `deploys.toml`. Invariant: only the begin of a step counts, so that a
command which is quoted, printed or written into a file is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tasks.cues import cues, first_in

_QUOTED: Final = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_HERE: Final = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE
)
_STEP: Final = re.compile(r"&&|\|\|?|;|\n|&(?!>)")
_INSIDE: Final = re.compile(
    r"\s*(?:\S*/)?(?:ba|z|da)?sh\s+(?:-\w+\s+)*-\w*c\s+(?:'([^']*)'|\"((?:\\.|[^\"\\])*)\")\s*\Z",
    re.DOTALL,
)
_WRAPPERS: Final = re.compile(
    r"(?:[\s({]+|\w+=\S*\s+|(?:sudo|doas|time|nohup|env|command|exec|then|do|npx|bunx|pnpm\s+dlx"
    r"|pnpm\s+exec|yarn\s+dlx|uvx|uv\s+run|poetry\s+run|bundle\s+exec|timeout\s+\S+)\s+(?:-{1,2}\S+\s+)*)*"
)
_LONGEST: Final = 20_000


def deploy_in(command: str) -> str:
    """Return the first step of a command line that deploys, as it stands there; "" for none."""
    told = _INSIDE.match(command[:_LONGEST])
    line = (told[1] or told[2] or "") if told else command[:_LONGEST]
    bare = _HERE.sub(_blank, line)
    masked = _QUOTED.sub(_blank, bare)
    for start, end in _steps(masked):
        step = masked[start:end].lower()
        at = _begin(step)
        if _deploys(step[at:]):
            return " ".join(line[start + at : end].split())
    return ""


def _deploys(step: str) -> bool:
    if first_in(f"{step} ", cues(__package__, "deploys", "tried")):
        return False
    return any(
        found is not None and found.start() == 0
        for cue in cues(__package__, "deploys", "step").standing(step)
        if (found := cue.find(step)) is not None
    )


def _begin(step: str) -> int:
    found = _WRAPPERS.match(step)
    return found.end() if found else 0


def _steps(masked: str) -> Iterator[tuple[int, int]]:
    start = 0
    for mark in _STEP.finditer(masked):
        yield start, mark.start()
        start = mark.end()
    yield start, len(masked)


def _blank(found: re.Match[str]) -> str:
    """Return as many characters that mean nothing, so that places stay."""
    return re.sub(r"[^\n]", "_", found[0]) if found[0].startswith("<<") else "_" * len(found[0])
