"""What a shell call ran: the program of its first working step, and each step's way of running.

Invariant: every name is made of words that stand in the call's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from tasks.domain.session import ToolCall
from tasks.evidence.detectors.cues import table

_SHELLS: Final = frozenset({"Bash", "PowerShell", "shell", "exec_command", "run_shell_command"})
_ASSIGNED: Final = re.compile(r"^\w+=")
_STEP: Final = re.compile(r"&&|\|\|?|;")
_QUOTED: Final = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_BLANKS: Final = " \t\r\n"
_QUOTES: Final = re.compile(r"""['"\\]""")
_WORD: Final = re.compile(r"""(?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.)++""", re.DOTALL)
_QUOTING: Final = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*+)"|\\(.)""", re.DOTALL)
_ESCAPED: Final = re.compile(r"""\\(["\\])""")
_NAME_ROOM: Final = 40
_PLAIN: Final = re.compile(r"[a-z][a-z0-9:_-]{0,30}")
_MODULE: Final = re.compile(r"[A-Za-z_][\w.]{0,30}")


def command_of(call: ToolCall) -> str:
    """Return the first word of what a shell call ran, "" for other tools.

    Of several steps it is the first that does work; assignments, wrappers (`env`, `sudo`) and steps
    that only move or print are passed over, and file utilities count only when nothing else ran.
    """
    passed_over, plumbing = _names("passed_over"), _names("plumbing")
    ran = [words[0] for words in _steps(call) if words[0] not in passed_over]
    return next((first for first in ran if first not in plumbing), ran[0] if ran else "")


def ways_of(call: ToolCall) -> tuple[str, ...]:
    """Return how a shell call ran each working step: `go test`, `mise run lint`, `python -m venv`.

    Only steps that name more than their program are told.
    """
    idle = _idle()
    ways = (_way(words) for words in _steps(call) if words[0] not in idle)
    return tuple(dict.fromkeys(way for way in ways if " " in way))


def _way(words: tuple[str, ...]) -> str:
    """Return a step's program and what names the work it is to do."""
    program, *rest = words
    second = "".join(rest[1:2])
    if program.startswith("python") and rest[:1] == ["-m"] and _MODULE.fullmatch(second):
        return f"{program} -m {second}"
    if program not in _names("subcommands") or not _PLAIN.fullmatch("".join(rest[:1])):
        return program
    further = rest[0] in _names("through") and _PLAIN.fullmatch(second)
    return " ".join([program, *rest[: 2 if further else 1]])


def _steps(call: ToolCall) -> tuple[tuple[str, ...], ...]:
    """Return the words of each step of a shell call from its program on."""
    return _steps_of(call.line) if call.name in _SHELLS else ()


@lru_cache(maxsize=4096)  # several readers of one session ask for the same lines
def _steps_of(line: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_split(line))


def _split(line: str) -> Iterator[tuple[str, ...]]:
    prefixes = _names("prefixes")
    whole = _QUOTED.sub(lambda quoted: _STEP.sub(" ", quoted.group()), line)
    for step in _STEP.split(whole):
        words = _words(step)
        while words and (
            _ASSIGNED.match(words[0]) or words[0].startswith("-") or words[0] in prefixes
        ):
            words = words[1:]
        if words and (program := words[0].rsplit("/", 1)[-1][:_NAME_ROOM]):
            yield (program, *words[1:])


@cache
def _idle() -> frozenset[str]:
    return _names("passed_over") | _names("plumbing")


@cache
def _names(section: str) -> frozenset[str]:
    return frozenset(table("errors")["steps"][section])


def _words(step: str) -> list[str]:
    """Return the words of a step as a shell parts and unquotes them.

    `shlex` reads a character at a time, which took half of all detection.
    """
    if not _QUOTES.search(step):
        return _WORD.findall(step)
    if _WORD.sub("", step).strip(_BLANKS):  # a quote left open: the line was the first of several
        return step.split()
    return [_QUOTING.sub(_unquoted, word) for word in _WORD.findall(step)]


def _unquoted(part: re.Match[str]) -> str:
    single, double, escaped = part.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return str(single if single is not None else escaped)
