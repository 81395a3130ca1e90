"""The one reader: four keys in every statement, parameters only, and the right answer in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.domain.proposals import Expose, PutProject
from tasks.domain.scope import Scope
from tasks.domain.units import EpisodeKind, Lifecycle, Project, Trust
from tasks.errors import ScopeMissing
from tasks.sleep.material import episodes_of
from tasks.store import gateway, reads
from tasks.store.apply import put_rows
from tasks.store.handle import Store
from tasks.store.reads import (
    AllVersions,
    BelievedAt,
    Ids,
    InSpace,
    Query,
    Subject,
    Unarchived,
    ValidAt,
)
from tasks.store.rows import scope_columns
from tasks.store.schema import KEYS
from tasks.store.told import FILE_READER
from tests.store.build import (
    DAY,
    EARLIER,
    ELSEWHERE,
    EVERYWHERE,
    NOW,
    SCOPE,
    Home,
    bury,
    episode,
    home_in,
    lesson,
    prediction,
    put,
    reworded,
    session,
    stone,
)

AGENT = Scope("me", "agent", "default", SCOPE.project_id)
OTHER_OWNER = Scope("you", "user", "default", SCOPE.project_id)
OTHER_APP = Scope("me", "user", "another", SCOPE.project_id)
SCOPES = (SCOPE, ELSEWHERE, EVERYWHERE, AGENT, OTHER_OWNER, OTHER_APP)
VECTOR = np.ones((1, 4), np.float32)
HOSTILE = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        [
            "' OR 1=1 --",
            '"',
            "%",
            "_",
            "\\",
            "\0",
            "a\0b",
            "$owner_id",
            "?",
            ";DROP TABLE episodes",
            "日本",
            "\u202e",
        ]
    ),
)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give a store that holds one of each subject in each of six scopes."""
    with home_in(tmp_path_factory.mktemp("reads") / "home").opened() as store:
        for number, scope in enumerate(SCOPES):
            a = episode("a", scope=scope)
            made = lesson(a)
            gateway.commit(
                store,
                [
                    put(
                        PutProject(Project(scope.project_id, "p", "/p", (f"/p{number}",), NOW)),
                        scope=scope,
                    ),
                    put(session(f"a{number}", scope=scope)),
                    put(a),
                    put(made),
                    put(lesson(episode("absent", scope=scope))),
                    put(prediction(made)),
                    put(Expose(f"e{number}", NOW, "s", "prompt", (made.id,), ()), scope=scope),
                    bury(stone(made, store.key)),
                ],
                at=NOW,
            )
            gateway.put_vectors(store, scope, "x", [a.id], VECTOR, at=NOW)
            alias = {"old_id": f"o{number}", "new_id": "n", "at": None, "created": None}
            put_rows(store.database, Subject.ALIASES.table, [{**alias, **scope_columns(scope)}])
        yield store


@pytest.mark.parametrize("subject", Subject)
def test_each_scope_sees_its_own_and_nothing_else(everything: Store, subject: Subject) -> None:
    met: dict[str, Scope] = {}
    for scope in SCOPES:
        found = reads.rows(everything.database, Query(subject, scope))
        assert found, f"the positive control of {subject} in {scope}"
        for row in found:
            assert tuple(row[key] for key in KEYS) == scope.keys()
            name = "/".join(str(row[key]) for key in subject.table.key)
            assert met.setdefault(name, scope) == scope


@pytest.mark.parametrize("subject", Subject)
def test_a_scope_that_differs_in_any_one_key_sees_nothing(
    everything: Store, subject: Subject
) -> None:
    for changed in (
        replace(SCOPE, owner_id="nobody"),
        replace(SCOPE, app_id="none"),
        replace(SCOPE, project_id="shop"),
        replace(SCOPE, project_id=SCOPE.project_id.upper()),
        replace(SCOPE, project_id="%"),
    ):
        assert reads.rows(everything.database, Query(subject, changed)) == []


def test_what_agents_own_is_filtered_alike(everything: Store) -> None:
    (mine,) = reads.episodes(everything.database, SCOPE)
    (theirs,) = reads.episodes(everything.database, AGENT)
    assert mine.scope.owner_type == "user"
    assert theirs.scope.owner_type == "agent"
    assert mine.id != theirs.id
    assert reads.episodes(everything.database, AGENT, Ids((mine.id,))) == []
    assert reads.vectors(everything.database, AGENT, "x").keys() == {theirs.id}


def test_a_blank_key_is_an_error_and_never_everything() -> None:
    for keys in (("", "user", "a", "p"), ("o", "user", " ", "p"), ("o", "user", "a", "\t")):
        with pytest.raises(ScopeMissing):
            Scope(*keys)


FILTERS = (
    Ids(("x",)),
    Unarchived(),
    ValidAt(NOW),
    BelievedAt(NOW),
    AllVersions(),
    InSpace("x"),
)


@given(
    keys=st.tuples(HOSTILE, HOSTILE, HOSTILE).filter(lambda k: all(x.strip() for x in k)),
    ids=st.lists(HOSTILE, max_size=3),
    space=HOSTILE,
)
@settings(max_examples=60, deadline=None)
def test_no_value_is_ever_in_the_statement(
    keys: tuple[str, str, str], ids: list[str], space: str
) -> None:
    owner, app, project = keys
    if owner == "@global":
        return
    scope = Scope(owner, "user", app, project)
    for subject in Subject:
        sql, params = reads.compile(Query(subject, scope))
        assert sql == reads.compile(Query(subject, SCOPE))[0]
        assert [params[key] for key in KEYS] == list(scope.keys())
        for key in KEYS:
            assert f"t.{key} = ${key}" in sql
    sql, params = reads.compile(Query(Subject.EPISODES, scope, (Ids(tuple(ids)), Unarchived())))
    assert sql == reads.compile(Query(Subject.EPISODES, SCOPE, (Ids(("y",)), Unarchived())))[0]
    assert params["ids"] == ids
    sql, params = reads.compile(Query(Subject.VECTORS, scope, (InSpace(space),)))
    assert sql == reads.compile(Query(Subject.VECTORS, SCOPE, (InSpace("y"),)))[0]
    assert params["space"] == space


@given(value=HOSTILE.filter(lambda text: bool(text.strip())))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_hostile_value_finds_nothing_and_breaks_nothing(everything: Store, value: str) -> None:
    scope = Scope("me", "user", "default", value)
    if scope in SCOPES:
        return
    database = everything.database
    assert reads.episodes(database, scope) == []
    assert reads.episodes(database, SCOPE, Ids((value,))) == []
    assert reads.vectors(database, SCOPE, value) == {} or value == "x"
    assert len(reads.episodes(database, SCOPE)) == 1


def test_hostile_text_comes_back_as_it_went_in(house: Home) -> None:
    words = "' OR 1=1 -- \" % _ \\ \u202e 日本 \x07 a\0b\n\ttail"
    scope = Scope("o'brien\"", "user", "a%pp", "pro;ject--")
    house.commit(put(episode("a", words, scope=scope)))
    with house.opened() as store:
        (found,) = reads.episodes(store.database, scope)
        assert found.words == words
        assert reads.scopes(store.database) == [scope]


# --- time


def changing(house: Home) -> str:
    """Store a lesson that was believed in two wordings and that stopped being true."""
    a = episode("a")
    old = lesson(a, text="Use npm.", valid_from=EARLIER, recorded_at=EARLIER)
    ended = reworded(old, "Use npm.", valid_until=EARLIER + 10 * DAY, recorded_at=EARLIER + 5 * DAY)
    new = reworded(ended, "Use pnpm.", valid_until=None, recorded_at=EARLIER + 20 * DAY)
    new = replace(new, valid_from=EARLIER + 10 * DAY)
    for number, version in enumerate((old, ended, new)):
        first = [put(a)] if number == 0 else []
        house.commit(*first, put(version), at=version.recorded_at)
    return old.id


def answers(house: Home, *filters: reads.Filter) -> list[tuple[str, bool]]:
    with house.opened() as store:
        found = reads.lessons(store.database, SCOPE, *filters)
        return [(one.text, one.valid_until is not None) for one in found]


def test_true_then_and_believed_then_are_four_questions(house: Home) -> None:
    changing(house)
    day = EARLIER + 3 * DAY
    assert answers(house) == [("Use pnpm.", False)]
    assert answers(house, ValidAt(day)) == []
    assert answers(house, BelievedAt(day)) == [("Use npm.", False)]
    assert answers(house, BelievedAt(EARLIER + 7 * DAY), ValidAt(day)) == [("Use npm.", True)]
    assert answers(house, BelievedAt(EARLIER + 7 * DAY), ValidAt(EARLIER + 12 * DAY)) == []
    assert answers(house, ValidAt(EARLIER + 12 * DAY)) == [("Use pnpm.", False)]
    assert answers(house, BelievedAt(EARLIER - DAY)) == []


def test_history_keeps_every_version_in_order(house: Home) -> None:
    changing(house)
    assert [text for text, _ in answers(house, AllVersions())] == [
        "Use npm.",
        "Use npm.",
        "Use pnpm.",
    ]


def test_what_is_believed_of_a_lesson_is_its_trust_and_sources_of_then(house: Home) -> None:
    a, b = episode("a"), episode("b")
    made = lesson(a, trust=Trust.CANDIDATE)
    joined = lesson(a, b, id=made.id, recorded_at=NOW)
    house.commit(put(a), put(b), put(made), at=EARLIER)
    house.commit(put(joined))
    with house.opened() as store:
        (then,) = reads.lessons(store.database, SCOPE, BelievedAt(EARLIER + DAY))
        (now,) = reads.lessons(store.database, SCOPE)
    assert (then.trust, then.sources, then.seen) == (Trust.CANDIDATE, (a.id,), 1)
    assert (now.trust, now.sources, now.seen) == (Trust.CORROBORATED, joined.sources, 2)


# --- the typed readers


def test_units_come_back_as_they_were_put(house: Home) -> None:
    a = episode(
        "a",
        kind=EpisodeKind.ERROR,
        tool="Bash",
        error_class="exit",
        command="pytest",
        archived_at=NOW,
        standing=True,
        recalls=3,
    )
    told = session("a")
    made = lesson(a, valid_until=NOW, pinned=True, origin="me@other", lifecycle=Lifecycle.ARCHIVED)
    bet = prediction(made, by_episode="e", resolved=NOW)
    with house.opened() as store:
        gateway.commit(store, [put(told), put(a), put(made), put(bet)], at=NOW)
        assert reads.episodes(store.database, SCOPE) == [a]
        assert reads.episodes(store.database, SCOPE, Unarchived()) == []
        assert reads.lessons(store.database, SCOPE) == [made]
        assert reads.predictions(store.database, SCOPE) == [bet]
        assert reads.sessions(store.database, SCOPE) == [
            replace(told, person_turns=(), turn_ids=())
        ]
        assert reads.person_turns(store.database, SCOPE, since=told.ended) == 1
        assert reads.person_turns(store.database, SCOPE, since=told.ended + DAY) == 0
        assert reads.person_turns(store.database, ELSEWHERE, since=told.ended) == 0
        assert episodes_of(reads.episode_frame(store.database, SCOPE), SCOPE) == [a]


def test_episodes_come_in_order_of_time(house: Home) -> None:
    made = [episode(name, at=EARLIER + n * DAY) for n, name in enumerate("dacb")]
    house.commit(*(put(one) for one in reversed(made)))
    with house.opened() as store:
        assert reads.episodes(store.database, SCOPE) == made


def test_vectors_of_another_space_are_not_read(everything: Store) -> None:
    assert len(reads.vectors(everything.database, SCOPE, "x")) == 1
    assert reads.vectors(everything.database, SCOPE, "another") == {}
    assert set(reads.vector_spaces(everything.database, SCOPE).values()) == {"x"}


# --- who was shown what


def shown_in(house: Home, began: datetime, *exposures: Expose) -> dict[str, frozenset[str]]:
    told = session("z", agent=FILE_READER, started=began, ended=began + timedelta(hours=1))
    with house.opened() as store:
        gateway.commit(store, [put(told), *(put(one) for one in exposures)], at=NOW)
        return reads.shown(store.database, SCOPE)


def test_a_lesson_shown_in_a_session_counts_for_that_session(house: Home) -> None:
    found = shown_in(
        house,
        NOW,
        Expose("e1", NOW, "s1", "prompt", ("l1", "l2"), ("l3",)),
        Expose("e2", NOW, "s2", "turn", ("l1",), ()),
    )
    assert found == {"l1": frozenset({"s1", "s2"}), "l2": frozenset({"s1"})}


@pytest.mark.parametrize(
    ("began", "lessons"),
    [
        (EARLIER - DAY, set()),
        (EARLIER, {"l1"}),
        (EARLIER + DAY, {"l1"}),
        (EARLIER + 3 * DAY, {"l2"}),
        (EARLIER + 5 * DAY, set()),
    ],
)
def test_a_sessions_file_exposure_is_the_last_render_before_it(
    house: Home, began: datetime, lessons: set[str]
) -> None:
    found = shown_in(
        house,
        began,
        Expose("r1", EARLIER, "", "file", ("l1",), ("l2",)),
        Expose("r2", EARLIER + 2 * DAY, "", "file", ("l2",), ("l1",)),
        Expose("r3", EARLIER + 4 * DAY, "", "file", (), ("l1", "l2")),
    )
    assert found.keys() == lessons
    assert all(sessions == {"session-z"} for sessions in found.values())


def test_exposures_of_another_project_count_nothing_here(house: Home, tmp_path: Path) -> None:
    with house.opened() as store:
        there = put(Expose("e1", NOW, "s1", "prompt", ("l1",), ()), scope=ELSEWHERE)
        gateway.commit(store, [there, put(session("a"))], at=NOW)
        assert reads.shown(store.database, SCOPE) == {}
        assert reads.shown(store.database, ELSEWHERE) == {"l1": frozenset({"s1"})}
