from __future__ import annotations

from datetime import UTC, datetime

from tasks.domain.repeat import repeat_key
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, EpisodeKind, Grounding, Strength

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def correction(words: str, rule: str = "", kind: EpisodeKind = EpisodeKind.CORRECTION) -> Episode:
    return Episode(
        id="e",
        scope=Scope("me", "user", "default", "shop"),
        agent="claude_code",
        session_id="s",
        kind=kind,
        anchor="u",
        title="",
        gist="",
        words=words,
        at=NOW,
        recorded_at=NOW,
        grounding=Grounding.PERSON,
        strength=Strength(1.0, NOW),
        rule=rule,
        tool="Bash",
        error_class="timeout",
        command="npm",
    )


def test_the_same_correction_in_other_words_around_it_has_the_same_key() -> None:
    assert repeat_key(correction("No, please use tabs!")) == repeat_key(correction("use Tabs"))
    assert repeat_key(correction("Don’t amend commits")) == repeat_key(
        correction("stop it", rule="please don't amend a commit")
    )


def test_another_correction_has_another_key() -> None:
    assert repeat_key(correction("use tabs")) != repeat_key(correction("use spaces"))


def test_words_without_content_have_no_key() -> None:
    assert repeat_key(correction("no, not that")) == ""


def test_an_error_repeats_by_class_tool_and_command() -> None:
    assert repeat_key(correction("whatever", kind=EpisodeKind.ERROR)) == "timeout Bash npm"
