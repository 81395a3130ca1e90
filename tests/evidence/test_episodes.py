from __future__ import annotations

from datetime import UTC, datetime

from tasks.domain.ids import episode_id, session_episode_id
from tasks.domain.markers import GAP
from tasks.domain.scope import Scope
from tasks.domain.session import ResultState, Session
from tasks.domain.units import Episode, EpisodeKind, Grounding
from tasks.evidence.detectors import detect
from tasks.evidence.episodes import episodes_of, facts_of
from tests.evidence.detectors.build import call, refused, reply, said, session

SCOPE = Scope("me", "user", "default", "shop")
LATER = datetime(2026, 4, 1, tzinfo=UTC)


def a_day() -> Session:
    missing = [
        call("Bash", "cat a.txt", state=ResultState.ERROR, text="cat: No such file", ident=f"t{n}")
        for n in (1, 2, 3)
    ]
    stopped = call("Bash", "npm run e2e", state=ResultState.REFUSED, ident="t9")
    return session(
        said("please add an export to the orders page", uuid="p1"),
        reply("Working.", *missing, call("Edit", "/code/shop/orders.py", ident="t4"), uuid="a1"),
        said("no, never write the export by hand, use the csv module", uuid="p2"),
        reply("You're right. It turns out the csv module quotes everything.", stopped, uuid="a2"),
        refused("don't run the slow suite, it is too slow", stopped, uuid="p3"),
        reply(
            "Network is down.",
            call(
                "Bash",
                "git fetch",
                state=ResultState.ERROR,
                text="Could not resolve host",
                ident="t5",
            ),
            uuid="a3",
        ),
    )


def of(kind: EpisodeKind) -> list[Episode]:
    day = a_day()
    return [one for one in episodes_of(day, detect(day), SCOPE, LATER) if one.kind is kind]


def test_a_session_has_one_episode_that_tells_what_was_asked_touched_and_met() -> None:
    (whole,) = of(EpisodeKind.SESSION)
    assert whole.id == session_episode_id("claude_code", "s1")
    assert whole.title == "please add an export to the orders page"
    assert 'Asked: "please add an export to the orders page".' in whole.gist
    assert "Changed orders.py." in whole.gist
    assert "2 corrections" in whole.gist
    assert len(whole.gist) <= 600


def test_a_correction_carries_the_persons_words_and_the_stopped_call() -> None:
    plain, stopping = of(EpisodeKind.CORRECTION)
    assert plain.id == episode_id("claude_code", "correction", "p2")
    assert plain.words == "no, never write the export by hand, use the csv module"
    assert plain.meaning == plain.words
    assert plain.grounding is Grounding.PERSON
    assert plain.strength.as_of == LATER
    assert (stopping.tool, stopping.command) == ("Bash", "npm")
    assert "npm" in stopping.topic


def test_a_rule_keeps_the_place_of_what_was_pasted_into_it_and_its_words_do_not() -> None:
    asked = said("no, never use ```tabs``` in the report, use spaces", uuid="p2")
    day = session(said("write a report", uuid="p1"), reply("Written.", uuid="a1"), asked)
    (made,) = episodes_of(day, detect(day), SCOPE, LATER)[1:]
    assert made.rule == f"never use  {GAP} in the report, use spaces"
    assert GAP not in made.title + made.gist + made.words


def test_the_same_error_in_one_session_is_one_episode_with_a_count() -> None:
    (error,) = of(EpisodeKind.ERROR)
    assert error.id == episode_id("claude_code", "error", "t1")
    assert (error.tool, error.error_class, error.command) == ("Bash", "file_missing", "cat")
    assert error.gist.startswith("3 time(s) in this session.")


def test_a_surprise_and_the_environment_are_episodes_of_their_own() -> None:
    (surprise,) = of(EpisodeKind.SURPRISE)
    (offline,) = of(EpisodeKind.ENVIRONMENT)
    assert surprise.words == "It turns out the csv module quotes everything."
    assert (offline.anchor, offline.title) == ("t5", "network")


def test_reading_the_same_session_again_gives_the_same_episodes() -> None:
    day = a_day()
    once = episodes_of(day, detect(day), SCOPE, LATER)
    assert episodes_of(a_day(), detect(a_day()), SCOPE, LATER) == once
    assert len({one.id for one in once}) == len(once)


def test_the_facts_count_and_point_without_text() -> None:
    day = a_day()
    facts = facts_of(day, detect(day), SCOPE, 123)
    assert len(facts.person_turns) == 3
    assert all(len(digest) == 16 for digest in facts.person_turns)
    assert facts.waits == len(facts.offers) == 1
    assert facts.refusals == (("run", 1),)
    assert {"Bash", "cat", "npm", "git", "Edit"} <= set(facts.topic)
    assert facts.evidence_bytes == 123


def test_a_refusal_without_a_reason_is_only_counted() -> None:
    silent = call("Write", "/a.py", state=ResultState.REFUSED)
    day = session(said("go"), reply("", silent))
    assert facts_of(day, detect(day), SCOPE, 0).refusals == (("edit", 1),)
    assert [one.kind for one in episodes_of(day, detect(day), SCOPE, LATER)] == [
        EpisodeKind.SESSION
    ]
