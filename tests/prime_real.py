"""The labelled moments of real transcripts: which of a person's lasting rules bear on them.

`tests/cases/prime_real.toml` holds places and labels, no words: those are read from a folder of
transcripts that is no part of this repository. The labels were given before anything was run.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tasks.evidence.wrappers import Typed, queued_words, strip_blocks
from tasks.prime import Moment
from tests.prime_cases import Case, Project, lesson_row

_CASES = Path(__file__).parent / "cases" / "prime_real.toml"
_FOLDER = "transcripts/claude/projects"


def real_projects(data: Path) -> list[Project]:
    """Return the projects whose moments are labelled.

    Args:
        data: the folder that holds `transcripts/` and `labels/`.
    """
    told = tomllib.loads(_CASES.read_text("utf-8"))
    files = [f"{_FOLDER}/{name}" for name in told.pop("files")]
    rules = _rules(data)
    found = []
    for name, one in told.items():
        rows = tuple(
            lesson_row(lesson, "correction", rules[files[file], line])
            for lesson, (file, line) in one["lessons"].items()
        )
        cases = tuple(_cases(data, files, one))
        found.append(Project(f"real {name}", f"real {one['half']}", rows, cases))
    return found


def _rules(data: Path) -> dict[tuple[str, int], str]:
    with (data / "labels" / "labels.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["file"], int(row["line"])): row["rule"] for row in rows}


def _cases(data: Path, files: list[str], told: dict[str, Any]) -> Iterator[Case]:
    for key, moment in (("prompts", Moment.PROMPT), ("endings", Moment.END)):
        for file, line, *names in told[key]:
            record = (data / files[file]).read_bytes().split(b"\n")[line - 1]
            bearing = frozenset(name for name in names if not name.endswith("~"))
            fine = frozenset(name.rstrip("~") for name in names)
            yield Case(moment, _words(moment, _said(record)), bearing, fine)


def _words(moment: Moment, said: str) -> str:
    if moment is not Moment.PROMPT:
        return strip_blocks(said)
    typed = queued_words(said)
    assert isinstance(typed, Typed), said
    return typed.text


def _said(record: bytes) -> str:
    content = orjson.loads(record)["message"]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")
