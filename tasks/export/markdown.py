"""An export to be read by a person, in Markdown, a file a kind and project; words stand as said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tasks.export.gather import Row, Taken

_DAY: Final = 10


def pages(taken: Taken) -> dict[str, str]:
    """Return the files of an export in Markdown, by path."""
    found: dict[str, str] = {}
    for project, lessons in _by_project(taken.lessons).items():
        found[f"lessons/{project}.md"] = _page(f"Lessons: {project}", map(_lesson, lessons))
    for project, episodes in _by_project(taken.episodes).items():
        ordered = sorted(episodes, key=lambda row: row["at"])
        found[f"episodes/{project}.md"] = _page(f"Episodes: {project}", map(_episode, ordered))
    for name, rows in (("notes", taken.notes), ("questions", taken.questions)):
        found[f"{name}.md"] = _page(name.title(), map(_said, rows))
    found["decisions.md"] = _page("Decisions", map(_decision, taken.decisions))
    return found


def _by_project(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by the name of their project's file: no name leads out of the folder."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", row["project_id"]) or "_"
        if row["app_id"] != "default":
            name += "-" + re.sub(r"[^A-Za-z0-9_-]", "_", row["app_id"])
        found.setdefault(name, []).append(row)
    return found


def _page(title: str, parts: Iterable[Iterator[str]]) -> str:
    return "\n".join([f"# {title}", "", *(line for part in parts for line in part)]) + "\n"


def _lesson(row: Row) -> Iterator[str]:
    yield from (f"## {_line(row['text'])}", "")
    state = f"{row['trust']}, {row['lifecycle']}, since {_day(row['valid_from'])}"
    yield f"`{row['lesson_id']}`, {state}"
    yield from ("", *_quoted(row["quote"]))
    for source in row["sources"]:
        if "words" in source:
            yield f"From {_day(source['at'])}, session {source['session']}:"
            yield from ("", *_quoted(source["words"]))
    if len(row["history"]) > 1:
        yield from ("It was before:", "")
        for old in row["history"][:-1]:
            yield f"- {_day(old['recorded_at'])}: {_line(old['text'])} ({old['trust']})"
        yield ""


def _episode(row: Row) -> Iterator[str]:
    yield from (f"## {_day(row['at'])} {row['kind']}: {_line(row['title'])}", "")
    yield from (f"`{row['id']}`, {row['agent']}, session {row['session_id']}", "")
    yield from (*([row["gist"], ""] if row["gist"] else ()), *_quoted(row["words"]))


def _said(row: Row) -> Iterator[str]:
    yield f"`{row['id']}` {row['project']}" + (f", {_day(row['at'])}" if "at" in row else "")
    yield from ("", *_quoted(row.get("words") or row.get("text", "")))


def _decision(row: Row) -> Iterator[str]:
    what = row.get("verb") or row.get("kind")
    why = f": {_line(row['reason'])}" if row.get("reason") else ""
    of = f"`{row['unit_id']}` in {row['project']}, by {row['actor']}"
    yield f"- {_day(row['at'])} {what} {of}{why}"


def _quoted(text: str) -> list[str]:
    return [*(f"> {line}" for line in text.splitlines()), ""] if text else []


def _line(text: str) -> str:
    return " ".join(text.split())


def _day(at: str) -> str:
    return at[:_DAY]
