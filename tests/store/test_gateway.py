"""The only writer: the order of its checks, what it writes with a unit, what never comes back."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.proposals import (
    Action,
    Actor,
    Archive,
    Ask,
    Expose,
    MergeLessons,
    NoOp,
    Proposal,
    PutProject,
    Refusal,
    SetStrength,
    Stored,
)
from tasks.domain.tombstones import EXACT, LINEAGE
from tasks.domain.units import (
    EpisodeKind,
    Grounding,
    Lifecycle,
    Outcome,
    Project,
    Strength,
    TombstoneKind,
    Trust,
)
from tasks.store import audit, gateway, reads
from tasks.store.handle import Store
from tests.store.build import (
    DAY,
    EARLIER,
    ELSEWHERE,
    EVERYWHERE,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    bury,
    episode,
    lesson,
    prediction,
    put,
    reworded,
    session,
    stone,
)

ROOT = Path(__file__).parents[2]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
CANARY = "canary-7f3e"


def decided(store: Store, *proposals: Proposal) -> list[Any]:
    return list(gateway.commit(store, proposals, at=NOW).decisions)


def one(store: Store, proposal: Proposal) -> Any:
    return decided(store, proposal)[0]


def count(store: Store, table: str) -> int:
    return int(store.database.rows(f"SELECT count(*) FROM {table}")[0][0])


# --- only one writer


def _modules() -> list[Path]:
    return [
        path
        for top in ("tasks", "flows", "serving", "deployments")
        for path in ROOT.glob(f"{top}/**/*.py")
    ]


def test_nothing_outside_the_store_imports_duckdb() -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(a.name for a in node.names)]
        if name.split(".")[0] == "duckdb"
    }
    assert importing == {"tasks/store/database.py"}


_WRITES = re.compile(
    r"\s*(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|TRUNCATE|COPY|ATTACH|MERGE)\s+"
    r"(OR|INTO|FROM|TABLE|\w+ (AS|SET)|DATABASE)\b"
)


def test_no_statement_writes_outside_the_writers_modules() -> None:
    def texts(tree: ast.AST) -> list[str]:
        return [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]

    writing = {
        path.relative_to(ROOT).as_posix()
        for path in _modules()
        if any(_WRITES.match(text) for text in texts(ast.parse(path.read_text("utf-8"))))
    }
    assert writing == {
        f"tasks/store/{name}.py" for name in ("apply", "database", "gateway", "schema")
    }


# --- what passes is written whole


def test_a_unit_is_written_with_version_sources_and_audit_in_one_record(house: Home) -> None:
    a, b = episode("a"), episode("b")
    with house.opened() as store:
        receipt = gateway.commit(store, [put(a), put(b), put(lesson(a, b))], at=NOW)
        assert receipt.tx == 1
        assert receipt.decisions == (Stored(Action.CREATE),) * 3
        assert reads.episodes(store.database, SCOPE) == sorted([a, b], key=lambda e: e.id)
        assert reads.lessons(store.database, SCOPE) == [replace(lesson(a, b), version=1)]
        rows = store.database.rows("SELECT tx, unit, action, actor, via FROM audit ORDER BY seq")
        assert rows == [
            (1, "episode", "create", "sleep", "test"),
            (1, "episode", "create", "sleep", "test"),
            (1, "lesson", "create", "sleep", "test"),
        ]
        assert count(store, "lesson_sources") == 2
        assert store.database.rows("SELECT tx, version FROM lesson_versions") == [(1, 1)]
    assert len((house.places.ledger / "000001.jsonl").read_bytes().splitlines()) == 1


def test_a_change_makes_a_version_and_closes_the_one_before(house: Home) -> None:
    a, b = episode("a"), episode("b")
    made = lesson(a, trust=Trust.CANDIDATE)
    house.commit(put(a), put(b), put(made), at=EARLIER)
    joined = lesson(a, b, id=made.id, recorded_at=NOW, strength=Strength(2.0, NOW))
    house.commit(put(joined, action=Action.CORROBORATE))
    with house.opened() as store:
        rows = store.database.rows(
            "SELECT version, trust, withdrawn_at, action FROM lesson_versions ORDER BY version"
        )
        assert rows == [(1, "candidate", NOW, "create"), (2, "corroborated", None, "corroborate")]
        assert reads.lessons(store.database, SCOPE) == [replace(joined, version=2)]


def test_everything_that_is_proposed_is_stored(house: Home) -> None:
    """The positive control of every refusal below."""
    a, b = episode("a"), episode("b", OTHER_RULE)
    with house.opened() as store:
        first, second = lesson(a), lesson(b, text=OTHER_RULE)
        project = Project(SCOPE.project_id, "shop", "/home/me/shop", ("/home/me/shop",), EARLIER)
        decisions = decided(
            store,
            put(PutProject(project)),
            put(session("a")),
            put(a),
            put(b),
            put(first),
            put(second),
            put(prediction(first)),
            put(SetStrength("lesson", first.id, Strength(1.1, NOW), 1)),
            put(Archive("episode", a.id, NOW)),
            put(Expose("e1", NOW, "s9", "prompt", (first.id,), (second.id,))),
            put(MergeLessons(replace(first, sources=(*first.sources, b.id)), (second,))),
            put(Ask("reject", b.id)),
            bury(stone(first, store.key)),
        )
        assert all(isinstance(decision, Stored) for decision in decisions)
        assert count(store, "refusals") == 0


def test_the_same_again_is_no_change_and_writes_no_record(house: Home) -> None:
    a, b = episode("a"), episode("b", OTHER_RULE)
    made, absorbed = lesson(a), lesson(b, text=OTHER_RULE)
    project = Project(SCOPE.project_id, "shop", "/home/me/shop", ("/home/me/shop",), EARLIER)
    again = [
        put(PutProject(project)),
        put(session("a")),
        put(a),
        put(b),
        put(made),
        put(prediction(made)),
        put(Archive("episode", b.id, NOW)),
    ]
    with house.opened() as store:
        gateway.commit(store, again, at=NOW)
        ledger = (house.places.ledger / "000001.jsonl").read_bytes()
        receipt = gateway.commit(store, again, at=NOW + DAY)
        assert receipt.tx is None
        assert all(isinstance(decision, NoOp) for decision in receipt.decisions)
        gateway.commit(store, [put(absorbed)], at=NOW)
        found = stone(made, store.key)
        gateway.commit(store, [bury(found)], at=NOW)
        assert gateway.commit(store, [bury(found)], at=NOW + DAY).tx is None
    assert (house.places.ledger / "000001.jsonl").read_bytes().startswith(ledger)


def test_a_second_reading_does_not_reset_what_time_and_touches_did(house: Home) -> None:
    a = episode("a")
    house.commit(put(a), put(SetStrength("episode", a.id, Strength(1.4, NOW), 4)))
    house.commit(put(Archive("episode", a.id, NOW)))
    changed = replace(a, gist="another gist", recorded_at=NOW + DAY)
    house.commit(put(changed), at=NOW + DAY)
    with house.opened() as store:
        (found,) = reads.episodes(store.database, SCOPE)
        assert found.gist == "another gist"
        assert (found.strength, found.recalls) == (Strength(1.4, NOW), 4)
        assert (found.recorded_at, found.archived_at) == (EARLIER, NOW)


def test_a_later_proposal_of_a_batch_sees_an_earlier_one(house: Home) -> None:
    a = episode("a")
    with house.opened() as store:
        assert isinstance(one(store, put(lesson(a))), Refusal)
        assert isinstance(decided(store, put(a), put(lesson(a)))[1], Stored)


# --- refusals, each with its reason


def _foreign_sources(_: Store) -> Proposal:
    return put(lesson(episode("a"), episode("e", scope=ELSEWHERE)))


REFUSED: dict[str, tuple[Callable[[Store], Proposal], str]] = {
    "a unit of another scope": (
        lambda _: put(episode("x", scope=ELSEWHERE), scope=SCOPE),
        "scope: the unit belongs to another project than it is written to",
    ),
    "a project under another's id": (
        lambda _: put(PutProject(Project(ELSEWHERE.project_id, "b", "/b", (), EARLIER))),
        "scope: the unit belongs to another project than it is written to",
    ),
    "a lesson on a source of another scope": (_foreign_sources, "sources: a source is not in"),
    "a lesson on nothing": (
        lambda _: put(replace(lesson(episode("a")), sources=(), sessions=())),
        "sources: a lesson must rest on something",
    ),
    "a lesson on a source that is not there": (
        lambda _: put(lesson(episode("absent"))),
        "sources: a source is not in the store",
    ),
    "a lesson that starts verified": (
        lambda _: put(lesson(episode("a"), trust=Trust.VERIFIED), actor=Actor.PERSON),
        "trust: a lesson does not start as verified",
    ),
    "a move of trust that sleep may not make": (
        lambda _: put(lesson(episode("k"), text=OTHER_RULE, trust=Trust.REJECTED)),
        "trust: sleep may not move corroborated to rejected",
    ),
    "a lesson that says nothing": (
        lambda _: put(lesson(episode("a"), text=" \u200b.!")),
        "empty: nothing is left of the text",
    ),
    "an episode that says nothing": (
        lambda _: put(episode("y", "\u200b", title="…"[:0])),
        "empty: nothing is left of the text",
    ),
}


@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_may_not_be_written_is_refused_with_its_reason(
    house: Home, make: Callable[[Store], Proposal], reason: str
) -> None:
    with house.opened() as store:
        k = episode("k", OTHER_RULE)
        gateway.commit(store, [put(episode("a")), put(k), put(lesson(k, text=OTHER_RULE))], at=NOW)
        gateway.commit(store, [put(episode("e", scope=ELSEWHERE))], at=NOW)
        before = count(store, "episodes"), count(store, "lesson_versions")
        refusal = one(store, make(store))
        assert isinstance(refusal, Refusal)
        assert reason in refusal.reason
        assert (count(store, "episodes"), count(store, "lesson_versions")) == before
        assert count(store, "refusals") == 1


def test_a_refusal_is_kept_once_however_often_it_is_tried(house: Home) -> None:
    wrong = put(lesson(episode("absent")))
    with house.opened() as store:
        assert gateway.commit(store, [wrong, wrong], at=NOW).tx == 1
        assert gateway.commit(store, [wrong], at=NOW + DAY).tx is None
        assert count(store, "refusals") == 1


def test_the_scope_is_asked_before_the_text_and_the_text_before_the_tombstones(house: Home) -> None:
    a = episode("a")
    with house.opened() as store:
        gateway.commit(store, [put(a), put(lesson(a)), bury(stone(lesson(a), store.key))], at=NOW)
        everything_wrong = put(lesson(a, text="."), scope=ELSEWHERE)
        assert one(store, everything_wrong).reason.startswith("scope")
        nothing_and_buried = put(lesson(a, id="f" * 64, text="."))
        assert one(store, nothing_and_buried).reason.startswith("empty")
        assert one(store, put(lesson(a, id="f" * 64))).reason == EXACT


def test_a_secret_that_an_appender_missed_is_redacted_and_counted(house: Home) -> None:
    leaking = episode("a", f"use {SECRET} to push", gist=f"it had {SECRET}")
    with house.opened() as store:
        receipt = gateway.commit(store, [put(leaking), put(episode("b"))], at=NOW)
        assert receipt.redacted == 1
        made = lesson(leaking, text=f"Push with {SECRET}.")
        assert gateway.commit(store, [put(made)], at=NOW).redacted == 1
        assert gateway.commit(store, [put(session("a", title=SECRET))], at=NOW).redacted == 1
    files = [path for path in house.places.home.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


# --- tombstones


def test_a_rejected_wording_is_refused_in_other_clothes(house: Home) -> None:
    a, b, c = (episode(name) for name in "abc")
    made = lesson(a)
    with house.opened() as store:
        gateway.commit(store, [put(e) for e in (a, b, c)], at=NOW)
        gateway.commit(store, [put(made), bury(stone(made, store.key))], at=NOW)
        disguised = lesson(b, text="ＡＬＷＡＹＳ  annotate\u200b types in tests!!")
        assert one(store, put(disguised)) == Refusal(EXACT, stone(made, store.key).id)
        assert isinstance(one(store, put(lesson(c, text=OTHER_RULE))), Stored)


def test_a_rewording_of_the_same_sources_is_refused_by_lineage(house: Home) -> None:
    a, b, c, d = (episode(name) for name in "abcd")
    with house.opened() as store:
        gateway.commit(store, [put(e) for e in (a, b, c, d)], at=NOW)
        gateway.commit(store, [put(lesson(a)), bury(stone(lesson(a), store.key))], at=NOW)
        half = lesson(a, b, id="e" * 64, text="Put types on every test.")
        assert one(store, put(half)).reason == LINEAGE
        less_than_half = lesson(b, c, a, d, id="d" * 64, text="Put types on all tests, please.")
        assert isinstance(one(store, put(replace(less_than_half))), Stored)


def test_a_rejection_binds_no_other_project(house: Home) -> None:
    a, there = episode("a"), episode("a", scope=ELSEWHERE)
    with house.opened() as store:
        gateway.commit(store, [put(a), put(lesson(a)), bury(stone(lesson(a), store.key))], at=NOW)
        gateway.commit(store, [put(there)], at=NOW)
        assert isinstance(one(store, put(lesson(there))), Stored)
        assert isinstance(one(store, put(lesson(a, id="f" * 64))), Refusal)


def test_a_rejection_for_everywhere_binds_every_project(house: Home) -> None:
    anywhere, there = episode("a", scope=EVERYWHERE), episode("b", scope=ELSEWHERE)
    made = lesson(anywhere)
    with house.opened() as store:
        gateway.commit(store, [put(anywhere), put(made), bury(stone(made, store.key))], at=NOW)
        gateway.commit(store, [put(there)], at=NOW)
        assert one(store, put(lesson(there))).reason == EXACT


def test_a_rejected_lesson_leaves_use_and_its_bet_is_off(house: Home) -> None:
    a = episode("a")
    made = lesson(a)
    house.commit(put(a), put(made), put(prediction(made)))
    with house.opened() as store:
        gateway.commit(store, [bury(stone(made, store.key))], at=NOW + DAY)
        (found,) = reads.lessons(store.database, SCOPE)
        assert (found.trust, found.version) == (Trust.REJECTED, 2)
        (bet,) = reads.predictions(store.database, SCOPE)
        assert (bet.outcome, bet.resolved) == (Outcome.VOID, NOW + DAY)
        assert reads.episodes(store.database, SCOPE) == [a]


def test_only_one_who_may_rejects(house: Home) -> None:
    a = episode("a")
    house.commit(put(a), put(lesson(a)))
    with house.opened() as store:
        by_agent = put(lesson(a, trust=Trust.REJECTED, recorded_at=NOW), actor=Actor.AGENT)
        assert one(store, by_agent).reason.startswith("trust")
        by_person = put(lesson(a, trust=Trust.REJECTED, recorded_at=NOW), actor=Actor.PERSON)
        assert isinstance(one(store, by_person), Stored)


def test_merging_leaves_aliases_and_a_rejected_set_does_not_come_back(house: Home) -> None:
    a, b = episode("a"), episode("b", OTHER_RULE)
    first, second = lesson(a), lesson(b, text=OTHER_RULE)
    house.commit(put(a), put(b), put(first), put(second), put(prediction(second)), at=EARLIER)
    theme = replace(first, sources=tuple(sorted((a.id, b.id))), recorded_at=NOW)
    theme = replace(theme, sessions=tuple(sorted((a.session_id, b.session_id))))
    house.commit(put(MergeLessons(theme, (second,)), action=Action.MERGE))
    with house.opened() as store:
        aliases = store.database.rows("SELECT old_id, new_id, created FROM aliases")
        assert aliases == [(second.id, first.id, EARLIER)]
        found = {x.id: x for x in reads.lessons(store.database, SCOPE)}
        assert found[second.id].lifecycle is Lifecycle.SUPERSEDED
        assert found[first.id].sources == theme.sources
        assert reads.predictions(store.database, SCOPE)[0].outcome is Outcome.VOID
        gateway.commit(store, [bury(stone(found[first.id], store.key))], at=NOW + DAY)
        assert one(store, put(lesson(b, id="f" * 64, text="Imperative, please."))).reason == LINEAGE


def test_forgetting_erases_the_unit_its_sources_and_what_rests_on_them(house: Home) -> None:
    a, b, c = episode("a"), episode("b"), episode("c", OTHER_RULE)
    made, other, neighbour = lesson(a, b), lesson(a, id="9" * 64), lesson(c, text=OTHER_RULE)
    house.commit(*(put(unit) for unit in (a, b, c, made, other, neighbour, prediction(made))))
    with house.opened() as store:
        forgotten = stone(made, store.key, TombstoneKind.FORGOTTEN)
        assert isinstance(one(store, bury(forgotten, Action.FORGET)), Stored)
        assert reads.episodes(store.database, SCOPE) == [c]
        assert [x.id for x in reads.lessons(store.database, SCOPE)] == [neighbour.id]
        for table in ("lesson_versions", "lesson_sources", "lesson_strengths"):
            assert count(store, table) == 1
        assert count(store, "predictions") == 0
        assert count(store, "tombstones") == 1


def test_a_forgotten_lesson_leaves_no_vector(house: Home) -> None:
    import numpy as np  # noqa: PLC0415  one test's need

    from tasks.domain.ids import lesson_vector_id  # noqa: PLC0415

    a, b = episode("a"), episode("b", OTHER_RULE)
    made = lesson(a)
    house.commit(put(a), put(b), put(made))
    with house.opened() as store:
        ids = [a.id, b.id, lesson_vector_id(made.id, made.hash)]
        gateway.put_vectors(store, SCOPE, "x", ids, np.eye(3, dtype=np.float32), at=NOW)
        gateway.commit(
            store, [bury(stone(made, store.key, TombstoneKind.FORGOTTEN), Action.FORGET)], at=NOW
        )
        assert store.database.rows("SELECT unit_id FROM embeddings") == [(b.id,)]


def test_a_forgotten_episode_cannot_be_read_in_again_and_a_neighbour_can(house: Home) -> None:
    a, b = episode("a", CANARY), episode("b")
    house.commit(put(a), put(b))
    with house.opened() as store:
        gateway.commit(store, [bury(stone(a, store.key, TombstoneKind.FORGOTTEN))], at=NOW)
        assert one(store, put(a)).reason == EXACT
        assert one(store, put(replace(a, words="said another way"))).reason == EXACT
        same_words = replace(episode("z", CANARY.upper() + "."))
        assert one(store, put(same_words)).reason == EXACT
        assert isinstance(one(store, put(episode("n", "something else"))), Stored)
        assert isinstance(one(store, put(episode("z", CANARY, scope=ELSEWHERE))), Stored)


def test_a_rejected_value_refuses_a_note_and_no_evidence(house: Home) -> None:
    a = episode("a")
    with house.opened() as store:
        gateway.commit(store, [put(a), put(lesson(a)), bury(stone(lesson(a), store.key))], at=NOW)
        note = episode("n", kind=EpisodeKind.NOTE)
        assert one(store, put(note)).reason == EXACT
        assert isinstance(one(store, put(episode("m"))), Stored)


def test_a_rejection_survives_a_rebuild(house: Home) -> None:
    a, b = episode("a"), episode("b")
    with house.opened() as store:
        gateway.commit(
            store, [put(a), put(b), put(lesson(a)), bury(stone(lesson(a), store.key))], at=NOW
        )
    before = house.digest()
    house.places.store.unlink()
    assert house.digest() == before
    with house.opened() as store:
        assert one(store, put(lesson(b))).reason == EXACT


def test_a_note_that_faded_and_is_said_again_is_fresh(house: Home) -> None:
    faint = Strength(0.1, EARLIER)
    note = episode("n", kind=EpisodeKind.NOTE, grounding=Grounding.PERSON, strength=faint)
    house.commit(put(note), put(Archive("episode", note.id, NOW)))
    house.commit(put(replace(note, strength=Strength(1.0, NOW + DAY))), at=NOW + DAY)
    with house.opened() as store:
        (found,) = reads.episodes(store.database, SCOPE)
        assert (found.archived_at, found.strength) == (None, Strength(1.0, NOW + DAY))


# --- audit


def _audited(house: Home) -> list[dict[str, Any]]:
    lines = (house.places.ledger / "000001.jsonl").read_bytes().splitlines()
    return [row for line in lines for row in json.loads(line)["audit"]]


def _broken_at(rows: list[dict[str, Any]]) -> int | None:
    """Return the number of the first row whose hash or link does not hold."""
    before = ""
    for row in rows:
        if row["prev"] != before or audit.hash_of(row) != row["hash"]:
            return int(row["seq"])
        before = row["hash"]
    return None


def test_audit_rows_are_one_chain_over_all_records(house: Home) -> None:
    for name in "abc":
        house.commit(put(episode(name)), put(lesson(episode(name), text=f"Rule {name}.")))
    rows = _audited(house)
    assert [row["seq"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert _broken_at(rows) is None
    with house.opened() as store:
        stored = store.database.rows("SELECT seq, prev, hash FROM audit ORDER BY seq")
    assert stored == [(row["seq"], row["prev"], row["hash"]) for row in rows]


@pytest.mark.parametrize("field", ["actor", "unit_id", "after", "at", "reason", "prev", "seq"])
def test_a_tampered_audit_row_is_found(house: Home, field: str) -> None:
    house.commit(*(put(episode(name)) for name in "abcd"))
    rows = _audited(house)
    rows[2][field] = 99 if field == "seq" else "tampered"
    assert _broken_at(rows) in (3, 99)


def test_a_missing_or_moved_audit_row_is_found(house: Home) -> None:
    house.commit(*(put(episode(name)) for name in "abcd"))
    rows = _audited(house)
    assert _broken_at(rows[:1] + rows[2:]) == 3
    assert _broken_at([rows[1], rows[0], *rows[2:]]) == 2


def test_the_audit_holds_no_text(house: Home) -> None:
    said = episode("a", f"never say {CANARY}")
    made = lesson(said, text=f"Never say {CANARY}.")
    house.commit(put(said), put(made), put(reworded(made, f"Do not say {CANARY}.")))
    assert CANARY in (house.places.ledger / "000001.jsonl").read_text()
    assert CANARY not in json.dumps(_audited(house))
    with house.opened() as store:
        gateway.commit(store, [bury(stone(made, store.key))], at=NOW)
        assert CANARY not in str(store.database.rows("SELECT * FROM audit"))
        assert CANARY not in str(store.database.rows("SELECT * FROM tombstones"))
        assert CANARY not in str(store.database.rows("SELECT * FROM refusals"))
        assert RULE not in str(store.database.rows("SELECT * FROM audit"))
