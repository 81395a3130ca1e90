"""The README inside an export: what each file is and what its fields mean, to any program."""

from __future__ import annotations

from datetime import datetime
from importlib import metadata
from typing import Final

from tasks.domain.clock import iso

ABOUT: Final = {
    "projects": "the projects that were worked in",
    "lessons": "what was learned: `text` is the rule, `quote` the words it came from; `trust` and "
    "`lifecycle` say whether it is in use; `sources` the episodes behind it; `history` every "
    "version, true in the world from `valid_from` to `valid_until` and believed from "
    "`recorded_at` to `withdrawn_at`",
    "episodes": "what happened, one by one: `kind` is session, correction, error, surprise or "
    "environment; `words` are the person's own, or the quoted evidence; `gist` says what went on",
    "notes": "what was noted by `everest remember` or by an agent, in `words`",
    "sessions": "the sessions that were read, and the transcript each came from",
    "questions": "what waited for an answer when this was written",
    "decisions": "what was rejected, forgotten, or asked to be: `verb` or `kind`, of which unit",
    "refused": "what was kept out later because of that; the words themselves are not kept",
    "predictions": "what was expected to come up again, and how that ended",
    "exposures": "which lesson was shown where, or held out for comparison (`disposition`)",
    "relay": "what was said and done lately by any model, one file a project (events)",
    "evidence": "the conversations behind the episodes, one file a session, secrets struck out",
}

_HEAD: Final = """\
# A memory, taken out of Everest

Written {at} by Everest {version}, of {home}. It is all in open formats: {form}.
Times are UTC, ISO 8601. A scope is named by `owner_id`, `owner_type`, `app_id` and `project_id`;
`project` is the project's name. Everest does not read this back: to move a memory to another
machine, use `everest backup` and `everest restore`.

It holds your words: keep it as private as the memory.

| what | how many | what it is |
|:--|--:|:--|
"""


def readme(files: dict[str, tuple[str, int]], *, form: str, home: str, at: datetime) -> str:
    """Return the README of an export.

    Args:
        files: of each kind, the file or folder that it is in, and how many there are.
        form: the format, in words.
        home: where it was taken from.
        at: now.
    """
    rows = (
        f"| `{files[kind][0]}` | {files[kind][1]} | {about} |\n"
        for kind, about in ABOUT.items()
        if kind in files
    )
    version = metadata.version("everest-memory")
    return _HEAD.format(at=iso(at), version=version, home=home, form=form) + "".join(rows)
