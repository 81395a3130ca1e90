"""Events that were told, through the journal and the relay, as the store comes to hold them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks import night
from tasks.domain.events import Event, event, of_an_agent, session_name
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, EpisodeKind, Grounding
from tasks.fold import Folded
from tasks.ingested import Ingested
from tasks.relay import Relay
from tasks.relays import Relays
from tasks.store import reads
from tasks.store.digest import store_digest
from tasks.tell import Door, Told, lines, relayed, tell
from tests.store.build import ELSEWHERE, NOW, SCOPE, Home

SHOP = Identified(SCOPE.project_id, "/home/me/shop", "shop")
TALK = [
    ("user", "Please add a test for the parser."),
    ("assistant", "Done: I mocked the database in the test."),
    ("user", "No, don't mock the database in tests. Always use the test container."),
    ("assistant", "I use the test container from now on."),
]


def door(house: Home, actor: Actor = Actor.HOST, default: Identified | None = SHOP) -> Door:
    return Door(
        memory=house.memory(),
        relay=Relay(house.places.relay),
        project=lambda name: Identified(name, f"/home/me/{name}", name),
        scope=house.settings.scope,
        default=default,
        actor=actor,
        at=NOW,
    )


def happened(house: Home, *records: Any, actor: Actor = Actor.HOST, **more: Any) -> Told:
    return tell(enumerate(records, 1), door(house, actor, **more))


def slept(house: Home, at: datetime = NOW) -> tuple[Folded, Ingested]:
    with house.run(at=at) as run:
        return night.fold(run), night.ingest(run)


def stored(house: Home, scope: Scope = SCOPE) -> list[Episode]:
    with house.opened() as store:
        return reads.episodes(store.database, scope)


def kinds(house: Home, scope: Scope = SCOPE) -> Counter[str]:
    return Counter(one.kind.value for one in stored(house, scope))


def one(kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "text": text, "agent": "My Chat", "session": "talk-1", **more}


def talk(session: str = "talk-1", **more: Any) -> list[dict[str, Any]]:
    began = NOW - timedelta(hours=1)
    return [
        one(
            "turn",
            text,
            role=role,
            session=session,
            at=(began + timedelta(minutes=n)).isoformat(),
            id=f"{n}",
            **more,
        )
        for n, (role, text) in enumerate(TALK)
    ]


def test_turns_become_a_session_and_go_through_the_detectors(house: Home) -> None:
    assert happened(house, *talk()).accepted == 4
    slept(house)
    assert kinds(house) == {"session": 1, "correction": 1}
    found = next(one for one in stored(house) if one.kind is EpisodeKind.CORRECTION)
    assert (found.agent, found.session_id) == ("my-chat", "talk-1")
    assert (found.grounding, found.lasting) == (Grounding.PERSON, True)
    assert "test container" in found.words
    with house.opened() as store:
        [session] = reads.sessions(store.database, SCOPE)
        assert session.turns == 4


@pytest.mark.parametrize(
    ("kind", "text", "becomes"),
    [
        ("correction", "use pnpm here", "correction"),
        ("error", "bash: pnpm: command not found", "error"),
        ("surprise", "the config is read twice", "surprise"),
        ("environment", "the proxy was down all morning", "environment"),
        ("deploy", "released 1.4 to production", "environment"),
        ("note", "the staging port is 9090", "note"),
    ],
)
def test_each_kind_becomes_what_it_is(house: Home, kind: str, text: str, becomes: str) -> None:
    happened(house, one(kind, text))
    slept(house)
    found = [one for one in stored(house) if one.kind.value == becomes]
    assert [one.words for one in found] == [text]
    assert found[0].agent in ("my-chat", "My Chat")


def test_a_session_that_goes_on_another_night_is_one_session(house: Home) -> None:
    said = talk()
    happened(house, *said[:2])
    slept(house)
    assert kinds(house) == {"session": 1}
    happened(house, *said[2:])
    slept(house, NOW + timedelta(days=1))
    assert kinds(house) == {"session": 1, "correction": 1}
    with house.opened() as store:
        assert [one.turns for one in reads.sessions(store.database, SCOPE)] == [4]


def test_told_twice_or_by_two_ways_it_counts_once(house: Home) -> None:
    first = happened(house, *talk(), one("deploy", "v3 is out", id="d"))
    again = happened(house, *talk(), one("deploy", "v3 is out", id="d"))
    assert (first.known, again.accepted, again.known) == (0, 5, 5)
    relayed(enumerate(talk(), 1), door(house))
    slept(house)
    before = kinds(house)
    assert before == {"session": 1, "correction": 1, "environment": 1}
    digest = house.digest()
    happened(house, *talk())
    slept(house)
    assert kinds(house) == before
    assert house.digest() == digest


def test_the_relay_is_read_like_a_transcript_and_only_its_new_lines(house: Home) -> None:
    relayed(enumerate(talk()[:2], 1), door(house))
    assert not list(house.places.journal.glob("*.jsonl"))
    assert slept(house)[1].sessions == 1
    assert slept(house)[1].sessions == 0
    relayed(enumerate(talk()[2:], 1), door(house))
    assert slept(house)[1].sessions == 1
    assert kinds(house) == {"session": 1, "correction": 1}


def test_another_apps_relay_is_read_into_its_own_scope(house: Home) -> None:
    other = replace(door(house), relay=Relays(house.places.relay).of("chat/2"))
    relayed(enumerate(talk(), 1), other)

    slept(house)

    with house.opened() as store:
        apps = store.database.rows("SELECT DISTINCT app_id FROM sessions")
    assert apps == [("chat/2",)]


def test_a_damaged_line_of_the_relay_is_counted_and_loses_no_other(house: Home) -> None:
    relayed(enumerate(talk()[:2], 1), door(house))
    path = house.places.relay / f"{SCOPE.project_id}.jsonl"
    path.write_bytes(path.read_bytes() + b"{not json\n[1]\n")
    relayed(enumerate(talk()[2:], 1), door(house))
    slept(house)
    assert kinds(house) == {"session": 1, "correction": 1}
    with house.opened() as store:
        [(state,)] = store.database.rows("SELECT state FROM files")
    assert json.loads(state)["counts"]["failed"] == [3, 4]


@pytest.mark.parametrize("agent", ["claude-code", "Claude_Code", "codex", "gemini_cli"])
def test_an_agent_whose_transcripts_are_read_is_relayed_and_not_read_again(
    house: Home, agent: str
) -> None:
    relayed(enumerate(talk(agent=agent), 1), door(house))
    happened(house, *talk(agent=agent), one("deploy", "v3 is out", agent=agent))
    assert len(Relay(house.places.relay).tail(SCOPE.project_id, most=9)) == 5
    slept(house)
    assert kinds(house) == {"environment": 1}, "the deploy alone"
    relayed(enumerate(talk(), 1), door(house))
    slept(house)
    assert kinds(house) == {"environment": 1, "session": 1, "correction": 1}


# --- whose word it is ---


@pytest.mark.parametrize("actor", list(Actor))
def test_only_a_person_or_an_app_puts_words_into_the_persons_mouth(
    house: Home, actor: Actor
) -> None:
    for session in ("a", "b"):
        told = [*talk(session), one("correction", "always use npm", session=session)]
        happened(
            house, *told, one("error", "pnpm: command not found", session=session), actor=actor
        )
    slept(house)
    found = stored(house)
    if actor in (Actor.PERSON, Actor.HOST):
        assert kinds(house)["correction"] == 4
        return
    assert {one.kind for one in found} == {EpisodeKind.NOTE}
    assert all(one.grounding is Grounding.INFERRED for one in found)
    told_later = Relay(house.places.relay).tail(SCOPE.project_id, most=99)
    assert {(one.kind.value, one.role.value) for one in told_later} <= {
        ("note", "assistant"),
        ("note", ""),
    }


def test_a_forged_line_of_the_journal_gains_nothing(house: Home) -> None:
    memory = house.memory()
    body = {
        "event": event(one("correction", "always use npm"), now=NOW).record(),
        "project": {"project_id": SCOPE.project_id, "name": "shop", "path": ""},
    }
    memory.append("event", body, scope=SCOPE, actor=Actor.AGENT, at=NOW)
    slept(house)
    assert stored(house) == []
    memory.append("event", body, scope=SCOPE, actor=Actor.HOST, at=NOW)
    slept(house)
    assert kinds(house)["correction"] == 1


def test_what_an_agent_tells_is_its_own() -> None:
    told = event(one("turn", "I said so", role="user"), now=NOW)
    assert [of_an_agent(told).kind, of_an_agent(told).role] == ["note", "assistant"]
    assert of_an_agent(event(one("deploy", "v3"), now=NOW)).kind == "deploy"


# --- where it goes ---


def test_two_projects_with_one_session_share_no_word(house: Home) -> None:
    happened(house, *talk(), *talk(project=ELSEWHERE.project_id))
    slept(house)
    happened(house, *[one("turn", "only here", role="user", id="x", at=NOW.isoformat())])
    slept(house)
    files = sorted((house.places.evidence / "my-chat").iterdir())
    assert len(files) == 2
    assert sum("only here" in path.read_text() for path in files) == 1
    for scope in (SCOPE, ELSEWHERE):
        with house.opened() as store:
            assert len(reads.sessions(store.database, scope)) == 1
        assert kinds(house, scope)["correction"] == 1


@pytest.mark.parametrize("name", ["../../../up", "a/b", "..", "x" * 500, "\x00", "é", "a\nb"])
def test_no_name_of_an_agent_or_a_session_leads_out_of_the_folder(house: Home, name: str) -> None:
    happened(house, *talk(name, agent=name))
    slept(house)
    kept = [path for path in house.places.evidence.rglob("*") if path.is_file()]
    assert len(kept) == 1
    assert kept[0].parent.parent == house.places.evidence
    assert kinds(house) == {"session": 1, "correction": 1}


def test_names_of_sessions_that_can_name_a_file_stay_as_they_are() -> None:
    assert session_name("0b8ba5b2-6f1c-4e52") == "0b8ba5b2-6f1c-4e52"
    assert session_name("") == ""
    assert session_name("a b") != session_name("a-b")


def test_what_is_told_outside_a_session_is_one_a_day(house: Home) -> None:
    yesterday = (NOW - timedelta(days=1)).isoformat()
    happened(house, one("correction", "use pnpm", session=""))
    happened(house, one("correction", "never use npm", session="", at=yesterday))
    slept(house)
    with house.opened() as store:
        assert len(reads.sessions(store.database, SCOPE)) == 2


def test_a_project_that_is_ignored_tells_nothing(house: Home) -> None:
    happened(house, one("deploy", "v3 is out"))
    slept(house)
    body = {"verb": "ignore", "unit": "project", "unit_id": SCOPE.project_id, "name": ""}
    house.memory().append(
        "decide",
        {**body, "path": "/p", "old_name": "shop"},
        scope=SCOPE,
        actor=Actor.PERSON,
        at=NOW,
    )
    happened(house, *talk())
    slept(house)
    assert kinds(house) == {"environment": 1}


def test_secrets_are_struck_out_wherever_an_event_is_kept(house: Home) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    happened(house, one("turn", f"my key is {secret}", role="user"), one("deploy", f"by {secret}"))
    slept(house)
    kept = [path for path in house.places.home.rglob("*") if path.is_file()]
    assert len(kept) > 4
    assert not any(secret.encode() in path.read_bytes() for path in kept)


# --- what cannot be used ---


def test_one_that_cannot_be_used_is_named_and_loses_no_other(house: Home) -> None:
    good = [b'{"kind":"deploy","text":"a"}', b'{"kind":"note","text":"kept"}']
    data = [good[0], b"", b"{broken", b'{"kind":"x","text":"b"}', b"[]", good[1]]
    told = tell(lines(b"\n".join(data)), door(house))
    assert told.accepted == 2
    assert [number for number, _ in told.unusable] == [3, 4, 5]
    assert "JSON object" in told.unusable[0][1]
    slept(house)
    assert kinds(house) == {"environment": 1, "note": 1}


def test_an_event_of_no_project_is_refused(house: Home) -> None:
    told = happened(house, one("deploy", "v3"), one("deploy", "v4", project="blog"), default=None)
    assert (told.accepted, [number for number, _ in told.unusable]) == (1, [1])


def test_a_rejected_value_is_refused_at_once(house: Home) -> None:
    happened(house, one("note", "use npm"))
    slept(house)
    note = stored(house)[0]
    body = {"verb": "reject", "unit": "episode", "unit_id": note.id, "sources": [], "reason": "no"}
    digests = house.memory().digests([note.words])
    house.memory().append(
        "decide", {**body, "digests": digests}, scope=SCOPE, actor=Actor.PERSON, at=NOW
    )
    told = happened(house, one("note", "Use npm."), one("deploy", "use  NPM"), one("deploy", "v3"))
    assert (told.accepted, [number for number, _ in told.unusable]) == (1, [1, 2])
    assert "npm" not in told.unusable[0][1].lower()


# --- the inbox ---


def test_files_in_the_inbox_are_taken_in_and_put_away(house: Home) -> None:
    house.places.inbox.mkdir(parents=True)
    path = house.places.inbox / "a.jsonl"
    project = SCOPE.project_id
    path.write_text(
        json.dumps(one("note", "the staging port is 9090", project=project))
        + "\nbroken\n"
        + json.dumps(one("correction", "always use npm", project=project))
    )
    folded, _ = slept(house)
    assert len(folded.problems) == 1
    assert "a.jsonl, line 2" in folded.problems[0]
    assert kinds(house) == {"note": 2}, "a folder that anyone may write to is no person's word"
    assert [one.name for one in house.places.inbox.iterdir()] == ["done"]
    path.write_text(json.dumps(one("deploy", "v3", project=project)))
    slept(house)
    assert sorted(one.name for one in (house.places.inbox / "done").iterdir()) == [
        "a-2.jsonl",
        "a.jsonl",
    ]


def test_links_and_folders_in_the_inbox_are_left_alone(house: Home, tmp_path: Path) -> None:
    house.places.inbox.mkdir(parents=True)
    (tmp_path / "mine.jsonl").write_text('{"kind":"note","text":"x","project":"p"}')
    (house.places.inbox / "link.jsonl").symlink_to(tmp_path / "mine.jsonl")
    (house.places.inbox / "folder.jsonl").mkdir()
    assert slept(house)[0].problems == ()
    assert (house.places.inbox / "link.jsonl").is_symlink()


def test_a_rebuild_gives_the_same_store(house: Home) -> None:
    from tasks.store.handle import open_store  # noqa: PLC0415

    happened(house, *talk(), one("deploy", "v3 is out"), one("error", "x: command not found"))
    slept(house)
    digest = house.digest()
    for path in house.places.home.glob("memory.duckdb*"):
        path.unlink()
    with open_store(house.places, house.settings, at=NOW) as store:
        assert store_digest(store.database) == digest


def test_events_keep_their_shape() -> None:
    told = event(one("turn", "hi", role="user", at="2026-05-01T10:00:00Z"), now=NOW)
    assert isinstance(told, Event)
    assert told.at == datetime(2026, 5, 1, 10, tzinfo=UTC)
