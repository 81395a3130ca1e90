"""Commands about the memory itself: project, status and paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Any

import typer

from serving.cli.context import writing_project
from serving.cli.output import AsJson, at_terminal, put, say
from tasks.compose import Setting, setting
from tasks.domain.clock import instant, iso, utc_now
from tasks.domain.proposals import Actor
from tasks.domain.ran import Outcome, completed_nights
from tasks.domain.units import Project
from tasks.errors import EverestError
from tasks.hooks.failures import lately
from tasks.listening import is_listening
from tasks.memory import Memory
from tasks.paused import paused
from tasks.render.phrases import hours_ago
from tasks.runs import known_runs
from tasks.said import arrange
from tasks.store.lock import writer_at_work
from tasks.store.rows import session_from

Named = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's id, name or folder.")]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    projects = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    projects.command("list")(list_)
    projects.command()(rename)
    projects.command()(ignore)
    projects.command()(watch)
    app.add_typer(
        projects,
        name="project",
        help="List, rename, ignore and watch projects.\n\nExample: everest project list",
    )
    app.command()(status)
    app.command()(paths)


def list_(as_json: AsJson = False) -> None:
    """List the projects that the memory knows.

    Example: everest project list
    """
    memory = Memory(setting().places)
    if as_json:
        put(
            [
                {
                    "id": one.project_id,
                    "name": one.name,
                    "path": one.path,
                    "folders": list(one.cwds),
                    "ignored": one.ignored,
                }
                for one in memory.projects
            ]
        )
        return
    if not memory.projects:
        say("No projects yet: run `everest night` first.")
    for one in memory.projects:
        say(f"{one.project_id}  {one.name}  {one.path}{'  (ignored)' if one.ignored else ''}")


def rename(
    project: Named,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a project another name; its id stays.

    Example: everest project rename my-app-1a2b3c4d "My app"
    """
    _arrange("rename", project, name, as_json=as_json)


def ignore(project: Named, as_json: AsJson = False) -> None:
    """Read a project's transcripts no more, write it no files.

    Example: everest project ignore ~/code/secret
    """
    _arrange("ignore", project, "", as_json=as_json)


def watch(project: Named, as_json: AsJson = False) -> None:
    """Read an ignored project again.

    Example: everest project watch ~/code/secret
    """
    _arrange("watch", project, "", as_json=as_json)


def status(
    digest: Annotated[
        bool, typer.Option("--digest", help="End with the store's digest as published.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the memory holds, what runs, and what came of hooks.

    Example: everest status --digest
    """
    where = setting()
    told = _status(where)
    if as_json:
        put(told)
        return
    say(f"{name:<16} {text}" for name, text in _for_a_person(told, where.settings.zone))
    if digest:
        say(str(told["digest"]))


def paths(as_json: AsJson = False) -> None:
    """Show where everything lies.

    Example: everest paths --json
    """
    where = setting()
    told = {
        name: str(value) for name, value in vars(where.places).items() if isinstance(value, Path)
    }
    if as_json:
        put({**told, "transcripts": [str(root) for root in where.roots]})
        return
    say(f"{name:<12} {value}" for name, value in told.items())
    say(f"{'transcripts':<12} {root}" for root in where.roots or ("none found",))


def _arrange(verb: str, project: str, name: str, *, as_json: bool) -> None:
    where = setting()
    memory = Memory(where.places)
    found = writing_project(memory, project)
    known = next(
        (one for one in memory.projects if one.project_id == found.project_id),
        Project(found.project_id, found.name, found.path, (), utc_now()),
    )
    actor = Actor.PERSON if at_terminal() else Actor.AGENT
    scope = where.settings.scope(known.project_id)
    accepted = arrange(memory, verb, known, name=name, scope=scope, actor=actor, at=utc_now())
    if as_json:
        put({"accepted": True, "id": accepted.unit_id, "now": accepted.now})
    else:
        say(f"accepted {accepted.unit_id}: {accepted.now}")


def _status(where: Setting) -> dict[str, Any]:
    from serving.cli import hooked  # noqa: PLC0415  only here is it needed
    from tasks.llm.use import kept_uses  # noqa: PLC0415  loads numpy, which `paths` does without

    memory = Memory(where.places)
    view = memory.view
    return {
        "home": str(where.places.home),
        "published": view.manifest.at if view else None,
        "age_hours": _age(view.manifest.at) if view else None,
        "writing": writer_at_work(where.places.lock) or None,
        "running": _running(where),
        "paused": _pause(where),
        **_runs(where),
        "hooks": hooked.as_data(where),
        "hook_failures": _hook_failures(where),
        "embedding": _embedding(where),
        "models": kept_uses(where.places.model_use),
        "projects": len(memory.projects),
        "sessions": len(view.listed("sessions")) if view else 0,
        "lessons": _lessons(memory),
        "records": _records(memory),
        "delegation": _delegation(memory, where),
        "unreadable_lines": memory.overlay.bad,
        "unfolded": memory.overlay.lines,
        "digest": view.manifest.digest if view else "",
    }


def _delegation(memory: Memory, where: Setting) -> dict[str, Any]:
    """Return where agents ask and where they are stopped: for the owner, who alone runs this."""
    from tasks.delegation import delegation  # noqa: PLC0415

    listed = memory.view.listed("sessions") if memory.view else ()
    sessions = (session_from(row) for row in listed)
    return asdict(delegation(sessions, now=utc_now(), zone=where.settings.zone))


def _runs(where: Setting) -> dict[str, Any]:
    """Return the last night that completed, and the last run that did not."""
    runs = known_runs(where.places.runs)
    if runs and runs[-1].outcome is None and writer_at_work(where.places.lock):
        runs.pop()  # it runs right now
    wrong = next((run for run in reversed(runs) if run.went_wrong), None)
    failure = wrong and {
        "flow": wrong.key.flow,
        "began": iso(wrong.began),
        "outcome": wrong.outcome or Outcome.CRASHED,
        "error": wrong.error,
        "why": wrong.why,
    }
    nights = completed_nights(runs)
    return {"last_night": iso(nights[-1]) if nights else None, "last_failure": failure}


def _running(where: Setting) -> dict[str, Any]:
    """Return who runs `everest up`, if anyone, and whether a warm process answers hooks."""
    from tasks.prefect_home import PrefectHome, holder_of  # noqa: PLC0415

    up = holder_of(PrefectHome(where.places.prefect)) or None
    return {"up": up, "proxy": is_listening(where.places.socket)}


def _hook_failures(where: Setting) -> dict[str, Any]:
    """Return how many hooks got no answer in the last days, and the last of them."""
    found = lately(where.places.spool, now=utc_now())
    return {"count": found.count, "last": found.last, "at": iso(found.at) if found.at else None}


def _pause(where: Setting) -> dict[str, str | None] | None:
    found = paused(where.places.home, now=utc_now())
    return None if found is None else {"until": iso(found.until) if found.until else None}


def _age(published: str) -> float:
    """Return the hours since the view was published."""
    return round((utc_now() - instant(published)).total_seconds() / 3600, 1)


def _for_a_person(told: dict[str, Any], zone: tzinfo) -> Iterator[tuple[str, str]]:
    """Yield what a person reads of the status, unfolded lines last."""
    from serving.cli import hooked  # noqa: PLC0415
    from tasks.llm.use import in_words, of_data, trouble_of  # noqa: PLC0415

    if told["published"]:
        published = (
            f"{_minute(told['published'], zone)}, {hours_ago(timedelta(hours=told['age_hours']))}"
        )
    else:
        published = "never: `everest night` makes the first"
    yield "home", told["home"]
    yield "last published", published
    if told["paused"]:
        until = told["paused"]["until"]
        yield "paused", f"until {_minute(until, zone)}" if until else "until `everest resume`"
    yield "running", _runs_now(told["running"])
    yield "being written by", told["writing"] or "nobody"
    yield "last night", _minute(told["last_night"], zone) if told["last_night"] else "none yet"
    if wrong := told["last_failure"]:
        why = f": {wrong['why'] or wrong['error']}" if wrong["error"] else ""
        began = _minute(wrong["began"], zone)
        yield "last failure", f"{wrong['flow']} of {began} {wrong['outcome']}{why}"
    yield from hooked.in_words(told["hooks"], zone)
    if (failed := told["hook_failures"])["count"]:
        at = _minute(failed["at"], zone)
        yield "hook failures", f"{failed['count']} in 7 days, the last {at}: {failed['last']}"
    else:
        yield "hook failures", "none in 7 days"
    yield "embedding", told["embedding"]
    for use in filter(None, map(of_data, told["models"])):
        yield f"{use.what} model", " ".join([in_words(use), *trouble_of(use)]).strip() or use.model
    yield "projects", str(told["projects"])
    yield "sessions", str(told["sessions"])
    yield "lessons", _counted(told["lessons"])
    yield "records", _counted(told["records"])
    for one in told["delegation"]["kinds"]:
        if one["told"] or one["stopped"]:
            asked = f"asked {one['asked']}, told to act or otherwise {one['told']}"
            yield f"agents: {one['kind']}", f"{asked}; acted, stopped {one['stopped']}"
    if told["unreadable_lines"]:
        yield "unreadable", f"{told['unreadable_lines']} lines of the journal"
    yield "unfolded", f"{told['unfolded']} (said since the last night)"


def _runs_now(running: dict[str, Any]) -> str:
    proxy = "the proxy answers" if running["proxy"] else "no proxy answers"
    if running["up"]:
        return f"`everest up` (server and schedules): {running['up']}; {proxy}"
    return f"{proxy}; no server and no schedules: `everest up` does not run"


def _minute(at: str, zone: tzinfo) -> str:
    return f"{instant(at).astimezone(zone):%Y-%m-%d %H:%M}"


def _embedding(where: Setting) -> str:
    try:
        return where.space().why
    except EverestError as error:
        return f"cannot be used: {error}"


def _lessons(memory: Memory) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in memory.view.listed("lessons") if memory.view else ():
        state = row["trust"] if row["lifecycle"] == "live" else row["lifecycle"]
        counts[state] = counts.get(state, 0) + 1
    return counts


def _records(memory: Memory) -> dict[str, int]:
    """Return what became of every transcript line ever read: the parts add up to `read`."""
    total = {"read": 0, "used": 0, "set aside": 0, "copies": 0, "failed": 0}
    for row in memory.view.listed("files") if memory.view else ():
        total["read"] += row["read"]
        total["used"] += row["used"]
        total["set aside"] += sum(row["set_aside"].values())
        total["copies"] += row["duplicates"]
        total["failed"] += len(row["failed"])
    return total


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
