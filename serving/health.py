"""`/health` tells how the process does, `/metrics` what it counted. No words, no credentials.

Invariant: `ok` is said only while the memory can be read and asked by meaning, and the last night
that is known of went well.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any

from fastapi import APIRouter, Response

from serving.hooks import FAILED, LATE, PROBED
from serving.metrics import CONTENT_TYPE
from serving.state import Serving
from tasks.domain.clock import instant, iso, utc_now
from tasks.domain.ran import NIGHTLY, Ran
from tasks.embedding.choose import Chosen
from tasks.embedding.served import Served
from tasks.embedding.space import Space
from tasks.errors import EverestError
from tasks.memory import Memory
from tasks.paused import paused
from tasks.runs import due, known_runs
from tasks.store.lock import writer_at_work


def health_routes(serving: Serving) -> APIRouter:
    """Return the two routes."""
    router = APIRouter(tags=["process"])

    @router.get("/health", summary="How the process does")
    def health() -> dict[str, Any]:
        """Tell how old the view is, what waits for the night, how the last night went, and more.

        `status` is `ok`, or `degraded` with what is wrong in `problems`. It needs no token and
        holds no word of the memory.
        """
        return told(serving)

    @router.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    def metrics() -> Response:
        """Tell what was counted since the start, and how old the view is, as Prometheus' text."""
        _gauge(serving)
        return Response(serving.counters.text(), media_type=CONTENT_TYPE)

    return router


def told(serving: Serving) -> dict[str, Any]:
    """Return how a process does, as `/health` answers."""
    memory, night = _memory(serving), _last_night(serving)
    view, model = _view(serving, memory), _model(serving)
    problems = list(_problems(view, model, night))
    return {
        "status": "degraded" if problems else "ok",
        "problems": problems,
        "version": metadata.version("everest-memory"),
        "started": serving.started.isoformat(),
        "up_seconds": round((utc_now() - serving.started).total_seconds(), 3),
        "view": view,
        "journal": {
            "waiting": memory.overlay.lines if memory else None,
            "unreadable": memory.overlay.bad if memory else None,
        },
        "night": _night(serving, night),
        "paused": _paused(serving),
        "hooks": _hooks(serving),
        "model": model,
        "routes": [
            {"pattern": one.pattern, "server": one.origin + one.base, "api": one.api}
            for one in serving.routes.entries
        ],
    }


def _memory(serving: Serving) -> Memory | None:
    """Return the memory as it is now, None when it cannot be read; the reader says why."""
    try:
        memory = serving.reader.memory()
        if memory.view is not None:
            memory.view.require_whole()
    except EverestError as error:
        serving.reader.damage = str(error)
        return None
    except Exception as fault:  # noqa: BLE001  that it cannot be read is what is asked for
        serving.reader.damage = f"a fault of ours: {type(fault).__name__}"
        return None
    return memory


def _view(serving: Serving, memory: Memory | None) -> dict[str, Any]:
    found = memory.view.manifest if memory and memory.view else None
    return {
        "published": found.at if found else None,
        "age_seconds": _age(found.at) if found else None,
        "number": found.number if found else None,
        "projects": len({entry.scope for entry in found.scopes}) if found else 0,
        "damage": serving.reader.damage,
    }


def _last_night(serving: Serving) -> Ran | None:
    runs = known_runs(serving.places.runs)
    return next((run for run in reversed(runs) if run.key.flow == NIGHTLY), None)


def _night(serving: Serving, last: Ran | None) -> dict[str, Any]:
    return {
        "last": iso(last.began) if last else None,
        "ended": iso(last.ended) if last and last.ended else None,
        "outcome": last.outcome.value if last and last.outcome else None,
        "due": due(serving.places.runs, now=utc_now(), zone=serving.settings.zone),
        "writing": bool(writer_at_work(serving.places.lock)),
    }


def _paused(serving: Serving) -> dict[str, Any] | None:
    found = paused(serving.places.home, now=utc_now())
    return None if found is None else {"until": iso(found.until) if found.until else None}


def _hooks(serving: Serving) -> dict[str, Any]:
    """Return how many hooks asked since the start, and how many got no answer; no probe counts.

    `agents` has what came of every one, by agent.
    """
    counted = serving.counters.hooks
    asked = counted.total() - counted.total(PROBED)
    unanswered = counted.total(LATE) + counted.total(FAILED)
    agents: dict[str, dict[str, int]] = {}
    for (agent, outcome), number in counted.items():
        agents.setdefault(agent, {})[outcome] = int(number)
    return {"asked": int(asked), "unanswered": int(unanswered), "agents": agents}


def _model(serving: Serving) -> dict[str, Any]:
    match serving.reader.loaded():
        case None:
            return {"state": "loading", "space": None, "why": "", **_calls(None)}
        case Chosen(space, why, _):
            return {"state": "loaded", "space": space.name, "why": why, **_calls(space)}
        case error:
            return {"state": "unusable", "space": None, "why": str(error), **_calls(None)}


def _calls(space: Space | None) -> dict[str, Any]:
    """Return how often a model's server was asked since it was chosen, and failed."""
    if not isinstance(space, Served):
        return {"asked": 0, "failed": 0, "trouble": ""}
    tally = space.server.tally
    return {"asked": tally.asked, "failed": tally.failed.total(), "trouble": space.trouble}


def _problems(view: dict[str, Any], model: dict[str, Any], night: Ran | None) -> Iterator[str]:
    if view["damage"]:
        yield view["damage"]
    if model["state"] == "unusable":
        yield f"the embedding space cannot be used: {model['why']}"
    if model["trouble"]:
        yield f"questions are read by words alone, since {model['why']} {model['trouble']}"
    if night is not None and night.outcome is not None and night.went_wrong:
        yield f"the last night {night.outcome.value}: {night.error} {night.why}".rstrip(" :")


def _gauge(serving: Serving) -> None:
    """Set what is not counted but looked at."""
    counters, memory = serving.counters, _memory(serving)
    counters.view_readable.set(memory is not None)
    if memory is not None:
        counters.journal_waiting.set(memory.overlay.lines)
        if memory.view is not None:
            counters.view_age.set(_age(memory.view.manifest.at))
    counters.model_loaded.set(isinstance(serving.reader.loaded(), Chosen))


def _age(at: str) -> float:
    return round((utc_now() - instant(at)).total_seconds(), 3)
