from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tasks.cues import Cue, Cues, compiled, cues, first_in, weight_of

TABLES = [
    ("tasks.evidence.detectors", "corrections", "cue"),
    ("tasks.evidence.detectors", "corrections", "message"),
    ("tasks.evidence.detectors", "lasting", "cue"),
    ("tasks.evidence.detectors", "lasting", "veto"),
    ("tasks.evidence.detectors", "offers", "waits"),
    ("tasks.evidence.detectors", "offers", "kind"),
    ("tasks.evidence.detectors", "offers", "declines"),
    ("tasks.evidence.detectors", "offers", "approves"),
    ("tasks.evidence.detectors", "errors", "class"),
    ("tasks.evidence.detectors", "statements", "surprise"),
    ("tasks.evidence.detectors", "statements", "environment"),
    ("tasks.wording", "unsafe", "held"),
]


def cue(name: str, weight: float, pattern: str, *literals: str) -> Cue:
    return Cue(name, weight, literals, compiled(pattern))


def test_a_pattern_runs_only_where_a_literal_stands() -> None:
    assert cue("any", 1.0, r"\w+").find("words") is not None
    assert cue("some", 1.0, r"\w+", "wor").find("words") is not None
    assert cue("none", 1.0, r"\w+", "xyz").find("words") is None


def test_an_apostrophe_matches_the_typographic_one() -> None:
    assert compiled("don't").search("don’t")
    assert compiled("don't").search("don't")


def test_weights_add_up_and_the_first_name_wins() -> None:
    two = Cues.of(cue("a", 1.5, "no"), cue("b", -0.5, "not", "ot"))
    assert weight_of("not", two) == pytest.approx(1.0)
    assert first_in("not", two) == "a"
    assert first_in("yes", two) == ""


@pytest.mark.parametrize(("package", "name", "section"), TABLES)
def test_every_table_compiles_and_names_each_cue_once(
    package: str, name: str, section: str
) -> None:
    rows = cues(package, name, section)
    assert len({row.name for row in rows}) == len(rows.rows) > 0
    assert all(literal == literal.lower() for row in rows for literal in row.literals)


def test_no_pattern_nests_an_apostrophe_in_a_class() -> None:
    """An apostrophe inside brackets would become a class within a class, which matches neither."""
    root = Path(__file__).resolve().parents[1] / "tasks"
    for path in (root / "evidence" / "detectors").glob("*.toml"):
        if path.name == "pasted.toml":  # read as it stands, without the substitution
            continue
        for section in tomllib.loads(path.read_text(encoding="utf-8")).values():
            for row in section if isinstance(section, list) else ():
                assert not re.search(r"\[[^\]]*'[^\]]*\]", row["pattern"]), row["name"]
