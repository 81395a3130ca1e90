"""Commands in a report: to be read by a person, then copied into a shell as they stand.

Invariant: a shell reads a word of ours as exactly the text it was made of, and no text ends the
code span that holds its command.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

_SPECIAL: Final = re.compile(r'[$`\\!"\x00-\x1f]')
"""What a shell reads inside double quotes."""
_BACKTICKS: Final = re.compile("`+")


def shell_word(text: str) -> str:
    """Return a text as one word for a shell; an apostrophe stays readable where that is safe."""
    if "'" in text and not _SPECIAL.search(text):
        return f'"{text}"'
    return shlex.quote(text)


def code_span(command: str) -> str:
    """Return a command as a code span of Markdown that its own backticks do not end.

    A span ends at as many backticks as began it, and loses one space at both ends.
    """
    longest = max((len(run) for run in _BACKTICKS.findall(command)), default=0)
    room = " " if command.startswith("`") or command.endswith("`") else ""
    mark = "`" * (longest + 1)
    return f"{mark}{room}{command}{room}{mark}"
