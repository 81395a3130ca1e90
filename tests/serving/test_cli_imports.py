import re
import sys

import pytest

from tests.serving.shipped import COMMAND, Everest

HEAVY = ("prefect", "sklearn", "torch", "sentence_transformers", "duckdb", "polars", "scipy")


def _loaded(person: Everest, *words: str, **env: str | None) -> set[str]:
    """Return the heavy packages that a run of the shipped script imports."""
    told = person.run([sys.executable, "-X", "importtime", str(COMMAND), *words], **env)
    assert told.code == 0, told.err[-2000:]
    names = re.findall(r"^import time:[^|]*\|[^|]*\| *(\S+)$", told.err, re.MULTILINE)
    assert "typer" in names, "the list of imports is read as it should be"
    return {name.partition(".")[0] for name in names} & set(HEAVY)


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
