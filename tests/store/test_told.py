"""Who bears witness of a lesson: sessions that were not told it before they said it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import pytest

from flows import nightly as flow
from tasks.domain.proposals import Actor, Expose, MergeLessons
from tasks.domain.units import Episode, Lesson, Lifecycle, Trust
from tasks.embedding.hashed import Hashed
from tasks.evidence.claude_code import AGENT
from tasks.sleep import run as sleeping
from tasks.steps import plain_steps
from tasks.store import gateway, journal, publish, reads
from tasks.store.reads import BelievedAt
from tasks.store.told import CHANNELS, FILE, FILE_READER, HOOK, PROXY
from tests.store.build import DAY, EARLIER, NOW, SCOPE, Home, episode, lesson, put, session

A, B, C = (episode(name, at=EARLIER + n * DAY) for n, name in enumerate("abc"))
LATER = NOW + DAY
RENDERED = EARLIER - DAY


def test_the_files_are_read_by_the_agent_that_transcripts_are_of() -> None:
    assert FILE_READER == AGENT
    assert CHANNELS == (HOOK, PROXY, FILE)


def founded(house: Home, *sessions: str) -> Lesson:
    """Store three episodes, their sessions, and a lesson that the first of them founds."""
    made = lesson(A)
    told = [put(session(name, agent=AGENT)) for name in "abc"]
    house.commit(put(A), put(B), put(C), *told, put(made), at=NOW)
    return made


def join(house: Home, at: datetime = LATER) -> Lesson:
    """Let two more episodes join the lesson, as a pass does that counts them all."""
    made = lesson(A, B, C)
    house.commit(put(made), at=at)
    return made


def shows(of: Lesson, *, at: datetime, where: str = "session-b", channel: str = HOOK) -> Expose:
    return Expose(f"{channel}-{at}-{where}", at, where, channel, (of.id,), ())


def witnesses(house: Home, unit: str, *filters: reads.Filter) -> tuple[str, ...]:
    with house.opened() as store:
        (found,) = (x for x in reads.lessons(store.database, SCOPE, *filters) if x.id == unit)
        return found.sessions


@pytest.mark.parametrize("channel", [HOOK, PROXY])
def test_a_session_that_was_told_is_a_source_and_no_witness(house: Home, channel: str) -> None:
    made = founded(house)
    house.commit(put(shows(made, at=NOW + DAY / 2, channel=channel)), at=LATER)
    joined = join(house)
    assert witnesses(house, made.id) == ("session-a", "session-c")
    with house.opened() as store:
        (found,) = reads.lessons(store.database, SCOPE)
        assert (found.sources, found.seen) == (joined.sources, 2)


def test_a_session_that_was_held_out_is_a_witness(house: Home) -> None:
    made = founded(house)
    house.commit(put(Expose("e", NOW, "session-b", HOOK, (), (made.id,))), at=LATER)
    join(house)
    assert witnesses(house, made.id) == ("session-a", "session-b", "session-c")


def test_lines_of_a_file_are_told_to_its_own_agents_sessions_alone(house: Home) -> None:
    made = founded(house)
    began = [("b", AGENT, NOW + DAY), ("c", "codex", NOW + DAY)]
    for name, agent, at in began:
        house.commit(put(session(name, agent=agent, started=at, ended=at)), at=NOW)
    house.commit(put(Expose("r", NOW, "", FILE, (made.id,), ())), at=NOW)
    join(house, at=NOW + 2 * DAY)
    assert witnesses(house, made.id) == ("session-a", "session-c")


def test_what_a_session_is_told_after_it_joined_changes_nothing(house: Home) -> None:
    made = founded(house)
    join(house)
    told = [shows(made, at=LATER + DAY, where=f"session-{name}") for name in "abc"]
    house.commit(*map(put, told), at=LATER + DAY)
    assert witnesses(house, made.id) == ("session-a", "session-b", "session-c")


def test_an_exposure_that_is_folded_after_the_join_counts_at_rebuild_too(house: Home) -> None:
    made = founded(house)
    join(house)
    assert len(witnesses(house, made.id)) == 3
    house.commit(put(shows(made, at=NOW + DAY / 2)), at=LATER + DAY)
    assert witnesses(house, made.id) == ("session-a", "session-c")
    house.places.store.unlink()
    assert witnesses(house, made.id) == ("session-a", "session-c")


def test_readers_see_that_a_witness_is_gone(house: Home) -> None:
    made = founded(house)
    join(house)
    for expected in (3, 2):
        with house.opened() as store:
            publish.publish(store, "none", at=LATER)
        memory = house.memory()
        assert memory.view is not None
        (row,) = memory.view.listed("lessons")
        assert len(row["sessions"]) == expected
        house.commit(put(shows(made, at=NOW + DAY / 2)), at=LATER + DAY)


def test_the_scope_of_a_session_told_before_changes_and_that_of_another_does_not(
    house: Home,
) -> None:
    made = founded(house)
    join(house)

    def changed(where: str) -> bool:
        with house.opened() as store:
            sql = "SELECT tx FROM scope_changes"
            before = store.database.rows(sql)
            gateway.commit(store, [put(shows(made, at=NOW + DAY / 2, where=where))], at=LATER)
            return bool(before != store.database.rows(sql))

    assert changed("session-b")
    assert not changed("session-z")


def test_believed_then_has_the_witnesses_of_then(house: Home) -> None:
    made = founded(house)
    house.commit(put(shows(made, at=NOW + DAY / 2)), at=LATER)
    house.commit(put(lesson(A, B, C, recorded_at=LATER)), at=LATER)
    assert witnesses(house, made.id, BelievedAt(NOW)) == ("session-a",)
    assert witnesses(house, made.id, BelievedAt(LATER)) == ("session-a", "session-c")


def merged(house: Home, *exposures: Expose) -> tuple[Lesson, Lesson]:
    """Store two lessons, what was shown, and then the theme that one of them lives on in."""
    theme, other = lesson(A), lesson(B, text="Annotate types.")
    told = [put(session(name, agent=AGENT)) for name in "abc"]
    house.commit(put(A), put(B), put(C), *told, put(theme), put(other), at=NOW)
    house.commit(*map(put, exposures), at=LATER)
    both = lesson(A, B, id=theme.id, version=2)
    gone = lesson(B, text="Annotate types.", lifecycle=Lifecycle.SUPERSEDED)
    house.commit(put(MergeLessons(both, (gone,))), at=LATER)
    return both, gone


def test_a_theme_has_the_witnesses_of_what_lives_on_in_it(house: Home) -> None:
    theme, _ = merged(house)
    assert witnesses(house, theme.id) == ("session-a", "session-b")


def test_what_a_founder_was_told_after_it_founded_leaves_it_a_witness_of_the_theme(
    house: Home,
) -> None:
    theme, gone = lesson(A), lesson(B, text="Annotate types.")
    afterwards = NOW + DAY / 2
    merged(house, *(shows(one, at=afterwards, channel=one.id) for one in (theme, gone)))
    assert witnesses(house, theme.id) == ("session-a", "session-b")


def test_who_was_told_what_lives_on_is_no_witness_of_the_theme(house: Home) -> None:
    _, gone = lesson(A), lesson(B, text="Annotate types.")
    theme, _ = merged(house, shows(gone, at=NOW + DAY / 2, where="session-c"))
    house.commit(put(lesson(A, B, C, id=theme.id)), at=LATER + DAY)
    assert witnesses(house, theme.id) == ("session-a", "session-b")
    with house.opened() as store:
        assert reads.shown(store.database, SCOPE)[theme.id] == {"session-c"}


@pytest.mark.parametrize(("channel", "trust"), [("", "corroborated"), (HOOK, "candidate")])
def test_a_later_join_raises_no_trust_on_a_session_that_was_told(
    house: Home, channel: str, trust: str
) -> None:
    """One night joins a session that was told; the next one another that was told."""
    a, b, c = (replace(one, lasting=False, rule="") for one in (A, B, C))
    made = lesson(a, trust=Trust.CANDIDATE)
    house.commit(put(a), put(made), at=NOW)
    for number, one in enumerate((b, c), start=1):
        told = [shows(made, at=NOW, where=one.session_id, channel=channel)] if channel else []
        night(house, (one, *told), at=NOW + number * DAY)
    with house.opened() as store:
        (found,) = reads.lessons(store.database, SCOPE)
    assert len(found.sources) == 3
    assert found.trust.value == trust
    assert found.seen == (1 if channel else 3)
    assert round(found.strength.value) == found.seen


@pytest.mark.parametrize("late", [False, True])
def test_news_of_what_a_session_was_told_counts_the_same_whenever_it_comes(
    house: Home,
    late: bool,  # noqa: FBT001
) -> None:
    """The session is read in one night; that it was told is folded before it, or a night later."""
    a, b, c = (replace(one, lasting=False, rule="") for one in (A, B, C))
    made = lesson(a, trust=Trust.CANDIDATE)
    house.commit(put(a), put(made), at=NOW)
    told = {"channel": HOOK, "session": b.session_id, "shown": [made.id], "held_out": []}

    def whole_night(days: int, *said: Episode, news: bool) -> tuple[str, int]:
        at = NOW + days * DAY
        house.commit(*map(put, said), at=at)
        if news:
            journal.append(
                house.places.journal, "expose", told, scope=SCOPE, actor=Actor.HOST, at=NOW
            )
        with house.run(at=at) as run:
            flow.night(plain_steps(), run)
        memory = house.memory()
        assert memory.view is not None
        (row,) = memory.view.listed("lessons")
        return row["trust"], len(row["sessions"])

    first = whole_night(1, b, news=not late)
    assert first == (("corroborated", 2) if late else ("candidate", 1))
    assert whole_night(2, news=late) == ("candidate", 1)
    assert whole_night(3, news=False) == ("candidate", 1)
    assert whole_night(4, c, news=False) == ("corroborated", 2)
    digest = house.digest()
    house.places.store.unlink()
    assert house.digest() == digest


@pytest.mark.parametrize(
    ("lasting", "trust", "after"),
    [
        (True, Trust.CORROBORATED, Trust.CORROBORATED),
        (False, Trust.CORROBORATED, Trust.CANDIDATE),
        (False, Trust.DISPUTED, Trust.DISPUTED),
        (False, Trust.REJECTED, Trust.REJECTED),
    ],
)
def test_late_news_takes_back_what_sessions_gave_and_nothing_else(
    house: Home,
    lasting: bool,  # noqa: FBT001
    trust: Trust,
    after: Trust,
) -> None:
    a, b = (replace(one, lasting=lasting) for one in (A, B))
    made = lesson(a, b)
    house.commit(put(a), put(b), put(made), at=NOW)
    actor = {"actor": Actor.PERSON}
    house.commit(put(replace(made, version=2, trust=trust), **actor), at=NOW)
    night(house, (shows(made, at=NOW - DAY),), at=LATER)
    with house.opened() as store:
        (found,) = reads.lessons(store.database, SCOPE)
    assert (found.trust, found.seen) == (after, 1)


def night(house: Home, said: Iterable[object], *, at: datetime) -> None:
    with house.opened(at) as store:
        gateway.commit(store, [put(one) for one in said], at=at)  # type: ignore[arg-type]
        sleeping.embed(store, Hashed(), at=at)
        for name in ("lessons", "merge"):
            sleeping.run_pass(store, name, Hashed(), at=at)
