"""Where agents ask and where they are stopped: counted for the owner, told to no agent."""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from pathlib import Path

from tasks.delegation import DAYS, delegation
from tasks.domain.clock import utc_now
from tasks.domain.proposals import STOPPED, PutProject, PutSession
from tasks.domain.report import Delegated, Delegation
from tasks.domain.units import Project
from tasks.render.rates import delegation_section
from tasks.store import gateway
from tasks.store.publish import publish
from tests.serving.client import Client
from tests.serving.running import running_proxy
from tests.serving.shipped import Everest
from tests.store.build import NOW, SCOPE, episode, home_in, lesson, put, session

KIND = "zeppelin"
"""No action of any agent's; where it is read, the counts are."""


def test_corrected_offers_and_refused_calls_are_counted_apart_by_kind() -> None:
    offers = (("push", "corrected"), ("push", "approved"), ("edit", STOPPED))
    found = delegation(
        [session("a", started=NOW, offers=offers, refusals=(("edit", 2),))], now=NOW, zone=UTC
    )
    assert found == Delegation((Delegated("edit", 0, 0, 2), Delegated("push", 2, 1, 0)), 1, 1)


def test_the_last_days_of_people_s_sessions_count() -> None:
    old = session("old", started=NOW - timedelta(days=DAYS))
    robot = session("robot", started=NOW, by_person=False)
    late = session("late", started=NOW - timedelta(days=DAYS - 1))

    assert delegation([old, robot], now=NOW, zone=UTC) == Delegation()
    assert delegation([old, robot, late], now=NOW, zone=UTC).sessions == 1


def test_refusals_that_were_counted_by_tool_are_of_its_kind() -> None:
    older = session("a", started=NOW, offers=(), refusals=(("Bash", 1), ("Edit", 1)))
    kinds = delegation([older], now=NOW, zone=UTC).kinds
    assert {one.kind: one.stopped for one in kinds} == {"run": 1, "edit": 1}


def test_the_morning_report_has_a_row_a_kind_that_tells_something() -> None:
    found = Delegation((Delegated("push", 5, 2, 1), Delegated("run", 3, 0, 0)), 4, 2)

    lines = delegation_section(found)

    assert "| push | 5 | 2 | 1 |" in lines
    assert not any("run" in line for line in lines)
    assert delegation_section(Delegation((Delegated("run", 3, 0, 0),), 4, 2)) == []


def test_the_owner_is_told_and_no_agent_is(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    of = episode("a", "Use pnpm in this repository.")
    with home_in(person.home).run(tmp_path / "none") as run:
        offers, refusals = ((KIND, "corrected"),), ((KIND, 1),)
        facts = session("a", started=utc_now(), offers=offers, refusals=refusals)
        shop = Project(SCOPE.project_id, "shop", "/home/me/shop", ("/home/me/shop",), NOW)
        said = [put(PutProject(shop)), put(PutSession(facts)), put(of), put(lesson(of))]
        gateway.commit(run.store, said, at=run.at)
        publish(run.store, "hashed", at=run.at)

    status = person("status", "--json").data
    assert [one["kind"] for one in status["delegation"]["kinds"]] == [KIND]
    assert KIND in person("status").out

    scopes = [path for path in (person.home / "view" / "scopes").rglob("*") if path.is_file()]
    assert scopes
    assert not [path for path in scopes if KIND.encode() in path.read_bytes()]
    with running_proxy(person) as proxy:
        agent = Client(proxy, proxy.token, "shop")
        paths = _read_paths(agent)
        answers = {path: agent.get(path, query="pnpm").data for path in paths}
    assert "pnpm" in str(answers["recall"])
    assert not [path for path, told in answers.items() if KIND in str(told)]


def _read_paths(agent: Client) -> list[str]:
    """Return what of memory an agent may ask for, by the door's own description."""
    told = agent.send("GET", "/openapi.json").data["paths"]
    plain = re.compile(r"/memory/([a-z-]+)")
    found = [m[1] for path, how in told.items() if "get" in how and (m := plain.fullmatch(path))]
    assert "recall" in found
    return found
