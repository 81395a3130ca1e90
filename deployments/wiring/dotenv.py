"""Change one variable of a `.env` file and leave every other byte as it is."""

from __future__ import annotations

import re
from typing import Any, Final

from deployments.wiring.data import Path
from deployments.wiring.jsonc import BOM

_LINE: Final = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>\w+)[ \t]*=[ \t]*(?P<value>[^\r\n]*)(?:\r?\n|\Z)",
    re.MULTILINE,
)


class EnvText:
    """A text of `NAME=value` lines; of a name that stands twice the last one counts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = {line["name"]: line for line in _LINE.finditer(text.removeprefix(BOM))}
        self._shift = len(text) - len(text.removeprefix(BOM))

    @property
    def data(self) -> dict[str, str]:
        """Return the variables; a value as it is written, but for its quotes."""
        return {name: _unquoted(line["value"]) for name, line in self._lines.items()}

    def get(self, path: Path) -> Any:
        """Return a variable's value, None when it is not there."""
        return self.data.get(str(path[0])) if len(path) == 1 else None

    def put(self, path: Path, value: Any) -> EnvText:
        """Return the text with a variable set, in its place or on a line of its own at the end."""
        name = str(path[0])
        line = self._lines.get(name)
        if line is not None:
            start, end = (at + self._shift for at in line.span("value"))
            return EnvText(self.text[:start] + str(value) + self.text[end:])
        newline = "\r\n" if "\r\n" in self.text else "\n"
        bare = self.text.removeprefix(BOM)
        ended = "" if not bare or bare.endswith("\n") else newline
        return EnvText(f"{self.text}{ended}{name}={value}{newline}")

    def append(self, path: Path, value: Any) -> EnvText:
        """Return the text with a variable set: there are no arrays."""
        return self.put(path, value)

    def drop(self, path: Path) -> EnvText:
        """Return the text without a variable's line; without any, the same text."""
        line = self._lines.get(str(path[0]))
        if line is None:
            return self
        start, end = (at + self._shift for at in line.span())
        return EnvText(self.text[:start] + self.text[end:])


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\"`"
    return value[1:-1] if quoted else value
