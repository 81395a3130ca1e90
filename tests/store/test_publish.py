"""The view: immutable folders, one pointer, two publications kept, nothing that was taken out."""

from __future__ import annotations

import hashlib
import os
import resource
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tasks.domain.ids import episode_id, session_episode_id
from tasks.domain.proposals import Action, Actor, Ask, Proposal, PutSession
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, Channel, PersonTurn
from tasks.domain.units import EpisodeKind, TombstoneKind, Trust
from tasks.embedding.hashed import Hashed
from tasks.errors import ViewDamaged, ViewGone, WriteFailed
from tasks.evidence.words import append_evidence, evidence_path
from tasks.memory import Memory
from tasks.prime import lessons_in
from tasks.recall import Recalled, recall
from tasks.sleep import run as sleeping
from tasks.store import gateway, journal
from tasks.store.digest import store_digest
from tasks.store.handle import Store
from tasks.store.publish import Published, publish
from tasks.store.view import current
from tests.store.build import (
    DAY,
    EARLIER,
    ELSEWHERE,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    bury,
    episode,
    lesson,
    put,
    session,
    stone,
)

SPACE = Hashed()
AGENT = "claude-code"


def published(store: Store, *, space: str = SPACE.name, days: int = 0) -> Published:
    sleeping.embed(store, SPACE, at=NOW)
    return publish(store, space, at=NOW + days * DAY)


def recalled(memory: Memory, query: str, scope: Scope = SCOPE) -> list[Recalled]:
    return recall(memory, query, scope=scope, space=SPACE, k=20, now=NOW)


def snapshot(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def folders(house: Home) -> dict[str, str]:
    view = current(house.places.view)
    assert view is not None
    return {entry.scope.project_id: entry.folder for entry in view.manifest.scopes}


@pytest.fixture
def store(house: Home) -> Iterator[Store]:
    """Give an open store with a lesson in one project and an episode in another."""
    with house.opened() as opened:
        a = episode("a")
        proposals = [put(a), put(lesson(a)), put(episode("b", OTHER_RULE, scope=ELSEWHERE))]
        gateway.commit(opened, proposals, at=NOW)
        yield opened


def test_before_the_first_publication_there_is_no_view(house: Home) -> None:
    assert current(house.places.view) is None
    assert house.memory().projects == []
    assert recalled(house.memory(), RULE) == []


def test_what_is_published_can_be_found(house: Home, store: Store) -> None:
    done = published(store)
    assert (done.number, done.written, done.kept) == (1, 2, 0)
    found = recalled(house.memory(), "annotate types")
    assert [one.row["unit"] for one in found] == ["lesson"]
    assert recalled(house.memory(), "imperative commit messages", ELSEWHERE)
    view = current(house.places.view)
    assert view is not None
    assert view.manifest.digest == done.digest == store_digest(store.database)
    assert [row["text"] for row in view.listed("lessons")] == [RULE]


def test_publishing_again_changes_nothing(house: Home, store: Store) -> None:
    first = published(store)
    before = snapshot(house.places.view)
    again = published(store, days=1)
    assert (again.number, again.written, again.kept) == (first.number, 0, 2)
    assert snapshot(house.places.view) == before


def test_only_the_scope_that_changed_is_written_again(house: Home, store: Store) -> None:
    published(store)
    before = folders(house)
    gateway.commit(store, [put(episode("c"))], at=NOW)
    done = published(store)
    after = folders(house)
    assert (done.written, done.kept) == (1, 1)
    assert after[ELSEWHERE.project_id] == before[ELSEWHERE.project_id]
    assert after[SCOPE.project_id] != before[SCOPE.project_id]


def test_a_published_folder_never_changes(house: Home, store: Store) -> None:
    published(store)
    scopes = house.places.view / "scopes"
    before = {name: snapshot(scopes / name) for name in folders(house).values()}
    gateway.commit(store, [put(episode("c"))], at=NOW)
    published(store)
    for name, contents in before.items():
        assert snapshot(scopes / name) == contents


def test_two_publications_are_kept_and_older_ones_go(house: Home, store: Store) -> None:
    names = []
    for number in range(4):
        gateway.commit(store, [put(episode(f"n{number}"))], at=NOW)
        published(store)
        names.append(folders(house)[SCOPE.project_id])
    view = house.places.view
    assert sorted(path.name for path in view.glob("*.json")) == ["3.json", "4.json"]
    left = {path.name for path in (view / "scopes").iterdir()}
    assert left == {*names[2:], folders(house)[ELSEWHERE.project_id]}
    assert (view / "current").read_text() == "4.json"


@pytest.mark.parametrize("kind", [TombstoneKind.FORGOTTEN, TombstoneKind.REJECTED])
def test_a_view_that_still_holds_what_was_forgotten_is_not_kept(
    house: Home, store: Store, kind: TombstoneKind
) -> None:
    said = episode("gone", "The harbour password is swordfish.")
    gateway.commit(store, [put(said)], at=NOW)
    published(store)
    later = NOW + DAY
    buried = stone(said, store.key, kind, at=later)
    action = Action.FORGET if kind is TombstoneKind.FORGOTTEN else Action.REJECT
    gateway.commit(store, [bury(buried, action)], at=later)
    published(store, days=1)

    files = (path for path in house.places.view.rglob("*") if path.is_file())
    holds = any(b"swordfish" in path.read_bytes() for path in files)

    assert holds == (kind is not TombstoneKind.FORGOTTEN)


def test_a_reader_of_an_old_view_reads_on_while_two_more_are_published(
    house: Home, store: Store
) -> None:
    published(store)
    reader = house.memory()
    before = [one.row for one in recalled(reader, "annotate types")]
    assert before
    for name in ("x", "y", "z"):
        gateway.commit(store, [put(episode(name, f"Annotate types in {name}."))], at=NOW)
        published(store)
    assert [one.row for one in recalled(reader, "annotate types")] == before
    assert len(recalled(house.memory(), "annotate types")) > len(before)


def test_a_view_that_went_away_is_told_from_a_damaged_one(house: Home, store: Store) -> None:
    published(store)
    view = current(house.places.view)
    assert view is not None
    shelf = view.scope(SCOPE)
    assert shelf is not None
    (house.places.view / "scopes" / folders(house)[SCOPE.project_id] / "at.npy").unlink()
    with pytest.raises(ViewDamaged) as damaged:
        _ = shelf.at
    assert not isinstance(damaged.value, ViewGone)
    for name in ("x", "y"):
        gateway.commit(store, [put(episode(name))], at=NOW)
        published(store)
    for read in (lambda: shelf.at, lambda: shelf.words):
        with pytest.raises(ViewGone, match="ask again"):
            read()


def test_a_run_killed_between_folder_and_manifest_leaves_the_old_view(
    house: Home, store: Store
) -> None:
    published(store)
    before = current(house.places.view)
    assert before is not None
    half = house.places.view / "scopes" / f"{SCOPE.folder}-2"
    half.mkdir()
    (half / "rows.jsonl").write_bytes(b"half a li")
    orphan = house.places.view / "catalog-2-0123456789abcdef"
    orphan.mkdir()
    found = current(house.places.view)
    assert found is not None
    assert found.manifest == before.manifest
    gateway.commit(store, [put(episode("c"))], at=NOW)
    done = published(store)
    assert done.number == 2
    assert recalled(house.memory(), "annotate types")
    gateway.commit(store, [put(episode("d"))], at=NOW)
    published(store)
    assert not orphan.exists()


def test_a_run_killed_between_manifest_and_pointer_leaves_the_old_view(
    house: Home, store: Store
) -> None:
    published(store)
    gateway.commit(store, [put(episode("c"))], at=NOW)
    published(store)
    (house.places.view / "current").write_text("1.json")
    assert current(house.places.view).manifest.number == 1  # type: ignore[union-attr]
    assert published(store).number == 3
    assert current(house.places.view).manifest.number == 3  # type: ignore[union-attr]
    kept = {path.name for path in house.places.view.glob("*.json")}
    assert kept == {"1.json", "3.json"}, "who reads now has the first open, and nobody the second"


def test_what_a_killed_run_did_not_tidy_goes_though_nothing_is_new(
    house: Home, store: Store
) -> None:
    published(store)
    left = house.places.view / "scopes" / f"{SCOPE.folder}-9"
    left.mkdir()
    (left / "rows.jsonl").write_bytes(b"forgotten words")
    assert published(store).number == 1
    assert not left.exists()
    assert recalled(house.memory(), "annotate types")


def test_a_view_that_the_disk_refuses_leaves_the_old_one(house: Home, store: Store) -> None:
    published(store)
    gateway.commit(store, [put(episode(f"n{n}")) for n in range(50)], at=NOW)
    sleeping.embed(store, SPACE, at=NOW)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))
    try:
        with pytest.raises(WriteFailed):
            publish(store, SPACE.name, at=NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert current(house.places.view).manifest.number == 1  # type: ignore[union-attr]
    assert published(store).number == 2


def test_everything_under_the_home_is_the_owners_alone(house: Home) -> None:
    before = os.umask(0o022)
    try:
        with house.opened() as store:
            a = episode("a")
            gateway.commit(store, [put(a), put(lesson(a)), *talk(house)], at=NOW)
            published(store)
            body = {"text": "a note"}
            journal.append(
                house.places.journal, "remember", body, scope=SCOPE, actor=Actor.PERSON, at=NOW
            )
    finally:
        os.umask(before)
    paths = [house.places.home, *house.places.home.rglob("*")]
    assert len(paths) > 30
    for path in paths:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))


# --- what is in it


def talk(house: Home) -> list[Proposal]:
    """Write a conversation's evidence; return the proposals that make it known."""
    at = EARLIER
    turns = [
        PersonTurn("p1", at, "Please write the invoice parser.", Channel.PROMPT),
        AgentTurn("g1", at, "I wrote the parser with a regex.", ()),
        PersonTurn("p2", at, "No zebra regexes, use the lexer.", Channel.PROMPT),
        AgentTurn("g2", at, "It uses the lexer now.", ()),
    ]
    path = evidence_path(house.places.evidence, AGENT, "session-t")
    length = append_evidence(path, turns)
    said = episode("t", "No zebra regexes, use the lexer.", session="session-t")
    said = replace(said, id=episode_id(AGENT, "correction", "p2"), anchor="p2")
    return [put(PutSession(session("t", evidence_bytes=length))), put(said)]


def passages(found: list[Recalled]) -> set[str]:
    return {one.row["id"] for one in found if one.row["unit"] == "passage"}


def words_of(house: Home) -> str:
    """Return everything a reader of the view could get, as one text."""
    view = current(house.places.view)
    assert view is not None
    shelf = view.scope(SCOPE)
    assert shelf is not None
    return "\n".join(str(row) for row in shelf.rows)


def test_turns_become_passages_with_their_neighbours(house: Home) -> None:
    with house.opened() as store:
        gateway.commit(store, talk(house), at=NOW)
        published(store)
    assert "p1" in passages(recalled(house.memory(), "invoice parser"))
    assert "g1" in passages(recalled(house.memory(), "who wrote the parser with a regex"))


def test_what_words_tell_of_lessons_goes_by_what_the_person_asked(house: Home) -> None:
    text = "The lexer is wrote by nobody."
    of = episode("w", text)
    with house.opened() as store:
        gateway.commit(store, [*talk(house), put(of), put(lesson(of, text=text))], at=NOW)
        published(store)
    (view,) = house.memory().scopes(SCOPE)

    (told,) = view.profiles
    assert told["worn"].keys() == {"lexer"}, "not what the agent alone said"
    assert lessons_in(view).profiles == (told,)


def test_what_was_forgotten_is_no_passage_and_no_neighbours_context(house: Home) -> None:
    with house.opened() as store:
        proposals = talk(house)
        gateway.commit(store, proposals, at=NOW)
        published(store)
        assert recalled(house.memory(), "zebra")
        said = proposals[1].change.episode
        gateway.commit(
            store, [bury(stone(said, store.key, TombstoneKind.FORGOTTEN), Action.FORGET)], at=NOW
        )
        published(store)
    assert recalled(house.memory(), "zebra") == []
    assert "zebra" not in words_of(house)
    assert "p1" in passages(recalled(house.memory(), "invoice parser"))


def test_a_forgotten_session_leaves_no_passage(house: Home) -> None:
    with house.opened() as store:
        own = episode("s", "Please write", session="session-t", kind=EpisodeKind.SESSION)
        own = replace(own, id=session_episode_id(AGENT, "session-t"))
        gateway.commit(store, [*talk(house), put(own)], at=NOW)
        forgotten = stone(own, store.key, TombstoneKind.FORGOTTEN)
        gateway.commit(store, [bury(forgotten, Action.FORGET)], at=NOW)
        published(store)
    assert passages(recalled(house.memory(), "invoice parser")) == set()


@pytest.mark.parametrize("way", ["rejected", "vetoed", "asked"])
def test_a_unit_that_is_rejected_or_waits_for_the_person_is_not_published(
    house: Home, way: str
) -> None:
    with house.opened() as store:
        note = episode("n", "the zebra is in the attic", kind=EpisodeKind.NOTE)
        gateway.commit(store, [put(note), put(episode("m", "the attic is dry"))], at=NOW)
        published(store)
        assert len(recalled(house.memory(), "zebra attic")) == 2
        kind = TombstoneKind.REJECTED if way == "rejected" else TombstoneKind.VETO
        change = (
            put(Ask("reject", note.id)) if way == "asked" else bury(stone(note, store.key, kind))
        )
        gateway.commit(store, [change], at=NOW)
        published(store)
    assert [one.row["text"] for one in recalled(house.memory(), "zebra attic")] == [
        "the attic is dry"
    ]


@pytest.mark.parametrize(
    ("trust", "seen"),
    [
        (Trust.CANDIDATE, True),
        (Trust.CORROBORATED, True),
        (Trust.DISPUTED, False),
        (Trust.REJECTED, False),
    ],
)
def test_only_a_lesson_that_may_be_recalled_is_published(
    house: Home, trust: Trust, *, seen: bool
) -> None:
    a = episode("a", "the words behind")
    with house.opened() as store:
        gateway.commit(store, [put(a), put(lesson(a, trust=Trust.CANDIDATE))], at=NOW)
        moved = replace(lesson(a), trust=trust, recorded_at=NOW)
        gateway.commit(store, [put(moved, actor=Actor.PERSON)], at=NOW)
        published(store)
    units = [one.row["unit"] for one in recalled(house.memory(), "annotate types")]
    assert ("lesson" in units) is seen


def test_vectors_of_another_space_are_not_compared(house: Home, store: Store) -> None:
    published(store)
    assert all(one.hit.cosine is not None for one in recalled(house.memory(), "annotate types"))
    ids = [episode("a").id]
    gateway.put_vectors(store, SCOPE, "other-space", ids, np.ones((1, 7), np.float32), at=NOW)
    publish(store, "other-space", at=NOW)
    found = recalled(house.memory(), "annotate types")
    assert found
    assert all(one.hit.cosine is None for one in found)


def test_a_change_of_space_is_published_even_if_nothing_else_changed(
    house: Home, store: Store
) -> None:
    published(store)
    done = publish(store, "other-space", at=NOW)
    assert (done.number, done.written) == (2, 2)
    view = current(house.places.view)
    assert view is not None
    assert view.manifest.space == "other-space"


def test_the_tombstones_of_a_scope_are_published_as_digests(house: Home, store: Store) -> None:
    published(store)
    assert not house.memory().is_buried(RULE, SCOPE)
    gateway.commit(store, [bury(stone(lesson(episode("a")), store.key))], at=NOW)
    published(store)
    memory = house.memory()
    assert memory.is_buried(RULE.upper() + " !", SCOPE)
    assert not memory.is_buried(OTHER_RULE, SCOPE)
    assert not memory.is_buried(RULE, ELSEWHERE)
    texts = [path.read_bytes() for path in house.places.view.rglob("tombstones.json")]
    assert not [text for text in texts if b"nnotate" in text]
