"""A change of an agent's file as a person reads it before it is made: lines out, lines in.

Invariant: no secret is in it, neither a token of ours nor what stands beside it in the file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from deployments.wiring.carry import Change
from tasks.domain.redaction import redact

_TOKEN: Final = re.compile(r"everest_[\w-]{20,}")


def diff_of(change: Change, *, context: int = 3) -> Iterator[str]:
    """Yield a unified diff, line by line, without line ends."""
    old, new = (_lines(one) for one in (change.seen, change.outcome.after))
    named = str(change.path)
    before = named if change.seen is not None else "/dev/null"
    after = named if change.outcome.after is not None else "/dev/null"
    for line in difflib.unified_diff(old, new, before, after, n=context, lineterm=""):
        yield redact(_TOKEN.sub("everest_…", line))


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode(errors="replace").removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
