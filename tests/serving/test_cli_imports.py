import re
import sys

import pytest

from tests.serving.shipped import COMMAND, Everest

HEAVY = ("prefect", "sklearn", "torch", "sentence_transformers", "duckdb", "polars", "scipy")
NO_LIGHT_MATTER = ("numpy", "tokenizers", "httpx", "fastapi", "rich")
"""What each cost a command 25 to 100 ms."""


def _loaded(
    person: Everest, *words: str, of: tuple[str, ...] = HEAVY, **env: str | None
) -> set[str]:
    """Return which packages of these a run of the shipped script imports."""
    told = person.run([sys.executable, "-X", "importtime", str(COMMAND), *words], **env)
    assert told.code == 0, told.err[-2000:]
    names = re.findall(r"^import time:[^|]*\|[^|]*\| *(\S+)$", told.err, re.MULTILINE)
    assert "typer" in names, "the list of imports is read as it should be"
    return {name.partition(".")[0] for name in names} & set(of)


@pytest.mark.parametrize("embed", ["hashed", "sentence-transformers"])
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("recall", "pnpm", "--project", "paperboat"),
        ("lessons",),
        ("remember", "imports are light", "--project", "paperboat"),
        ("status", "--digest"),
        ("morning",),
        ("paths",),
        ("project", "list"),
        ("up", "--help"),
        ("deploy", "--help"),
        ("serve",),
        ("tools",),
        ("call", "recall", '{"query": "pnpm"}', "--project", "paperboat"),
        ("context", "--project", "paperboat"),
    ],
    ids=" ".join,
)
def test_a_command_that_answers_loads_no_engine(
    reader: Everest, words: tuple[str, ...], embed: str
) -> None:
    assert _loaded(reader, *words, EVEREST_EMBED=embed) == set()


def test_the_night_does_load_them(newcomer: Everest) -> None:
    loaded = _loaded(newcomer, "night")

    assert {"duckdb", "polars"} <= loaded
    assert "prefect" not in loaded, "nothing that it could report to runs"


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("recall", "--help"),
        ("setup", "--help"),
        ("morning", "--help"),
        ("morning",),
        ("pause", "--help"),
        ("relay", "--project", "paperboat"),
        ("project", "list"),
        ("paths",),
        ("serve",),
    ],
    ids=" ".join,
)
def test_a_command_that_compares_nothing_loads_no_arrays(
    reader: Everest, words: tuple[str, ...]
) -> None:
    assert _loaded(reader, *words, of=NO_LIGHT_MATTER) == set()


def test_what_searches_does_load_them(reader: Everest) -> None:
    asked = ("recall", "pnpm", "--project", "paperboat")
    assert "numpy" in _loaded(reader, *asked, of=NO_LIGHT_MATTER)
