"""The one module of tasks that imports Prefect: the policy of every flow and task of ours.

Nothing is cached or persisted, since results would be a second copy of memory; parameters and logs
carry ids, counts and paths, never memory text: nor does an error that is not ours, whose words may
quote what it failed on. Prefect keeps its home under ours and sends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, TypeVar, cast

from tasks.compose import attended
from tasks.domain.clock import utc_now
from tasks.domain.ran import Outcome, RunKey
from tasks.errors import EverestError
from tasks.night import Run
from tasks.prefect_home import contain
from tasks.render.artifacts import Artifact, Page, Table, in_a_line
from tasks.runs import ended_by, new_run, note_end
from tasks.settings import Places, Settings
from tasks.steps import PLAIN, Steps, each, watched

contain()  # before Prefect is imported

from prefect import flow, tags, task  # noqa: E402  after its home is set
from prefect.artifacts import create_markdown_artifact, create_table_artifact  # noqa: E402
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.client.schemas.objects import FlowRun, State  # noqa: E402
from prefect.context import TagsContext  # noqa: E402
from prefect.flows import Flow  # noqa: E402
from prefect.logging import get_logger, get_run_logger  # noqa: E402
from prefect.runtime import flow_run  # noqa: E402
from prefect.utilities.annotations import opaque  # noqa: E402

R = TypeVar("R")


def _in_a_line(record: logging.LogRecord) -> bool:
    """Take the stack from what Prefect tells of an error of ours: its words name the way out."""
    if record.exc_info and isinstance(record.exc_info[1], EverestError):
        record.exc_info = None
    return True


def _is_news(record: logging.LogRecord) -> bool:
    """Pass over that a task completed: a line of ours tells what it came to."""
    return record.getMessage() != "Finished in state Completed()"


for _name in ("flow_runs", "task_runs"):
    get_logger(_name).addFilter(_in_a_line)
get_logger("task_runs").addFilter(_is_news)

HOUR: Final = 3_600
_NO_WORDS: Final = "its own words are left out here, since they may quote what is remembered"
TAGS: Final = ("everest",)


def as_flow(name: str) -> Callable[..., Any]:
    """Return what makes a function a flow of ours, with hooks that write to the log of runs.

    It is never retried as a whole: a run that failed goes on at the next one by itself, and one
    that found the store held has waited for it.
    """
    made = flow(
        name=name,
        flow_run_name=partial(_run_name, name),
        timeout_seconds=12 * HOUR,
        persist_result=False,
        on_failure=[_failed],
        on_crashed=[_crashed],
        on_cancellation=[_cancelled],
    )

    def told(function: Callable[..., Any]) -> Any:
        return made(_masked(function, []))

    return told


def run_as_flow(
    name: str, function: Callable[..., R], given: Sequence[Any], named: Mapping[str, Any]
) -> R:
    """Run a function as a flow, tagged as those are that a schedule runs.

    What the function came to counts, also where Prefect went away before it could be told; and the
    person at the terminal sees an error as it was raised.
    """
    came_to: list[R | Exception] = []

    @wraps(function)
    def body(*given: Any, **named: Any) -> R:
        try:
            with TagsContext(current_tags=set()):  # see as_task
                result = function(*given, **named)
        except Exception as error:
            came_to.append(error)
            raise
        came_to.append(result)
        return result

    try:
        with tags(*TAGS):
            return cast("R", as_flow(name)(body)(*given, **named))
    except Exception as error:
        match came_to:
            case [Exception() as own]:
                raise own from None
            case [result]:
                get_logger("everest").warning("Prefect was not told of the end: %s", type(error))
                return cast("R", result)
            case _:
                raise


def leave(artifacts: Iterable[Artifact]) -> int:
    """Leave artifacts in the history of this run; return how many could not be left.

    None is tried after one that could not: each waits for the API anew.
    """
    waiting = list(artifacts)
    while waiting and _left(waiting[0]):
        waiting.pop(0)
    return len(waiting)


def this_run(name: str) -> RunKey:
    """Return the key of the flow run that this process is in."""
    return RunKey(name, str(flow_run.id or new_run(name).id))


def as_task(before: list[State], name: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step as a Prefect task that follows the last one in `before`.

    It is never retried: a step goes on by itself at the next run. It has no tags, since each tag
    would ask the API for a slot, and a night is not to end because the API does. What it is given
    is not looked into: it is large, and of no concern to Prefect.
    """
    raised: list[Exception] = []
    made = task(
        name=name,
        task_run_name=name,
        cache_policy=NO_CACHE,
        persist_result=False,
        timeout_seconds=6 * HOUR,
    )(_masked(watched(name, step), raised))

    def run_step(run: Run, *rest: Any) -> Any:
        state = made(opaque(run), *map(opaque, rest), wait_for=[*before], return_state=True)
        before[:] = [state]
        if raised:
            raise raised.pop()
        came_to = state.result()
        get_run_logger().info(in_a_line(name, came_to))
        return came_to

    return run_step


def task_steps() -> Steps:
    """Return the steps as Prefect tasks, for a run inside a flow."""
    return each(PLAIN, partial(as_task, []))


def _masked(function: Callable[..., R], raised: list[Exception]) -> Callable[..., R]:
    """Return a function that Prefect is told no words by, unless they are of an error of ours.

    It keeps the words of an error in its database and its log. What is raised instead has the same
    name and shows where it happened, and the error itself goes to `raised`.
    """

    @wraps(function)
    def run(*given: Any, **named: Any) -> R:
        try:
            return function(*given, **named)
        except EverestError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, its words may be memory text
            raised.append(error)
        raise _without_words(raised[-1])  # out here, so that it does not lead to the error

    return run


def _without_words(error: Exception) -> Exception:
    name = type(error).__name__
    made: Exception = type(name, (Exception,), {"__module__": type(error).__module__})(_NO_WORDS)
    return made.with_traceback(error.__traceback__)


def _run_name(name: str) -> str:
    zone = Settings.load().zone
    return f"{name} {utc_now().astimezone(zone):%Y-%m-%d %H:%M}"


def _left(artifact: Artifact) -> bool:
    try:
        match artifact:
            case Table(key, rows, description):
                create_table_artifact([dict(row) for row in rows], key, description)
            case Page(key, text, description):
                create_markdown_artifact(text, key, description)
    except Exception:  # noqa: BLE001  whatever is wrong over there, the run's work is done
        return False
    return True


def _failed(flow: Flow[..., Any], flow_run: FlowRun, state: State) -> None:
    _note(flow.name, flow_run, Outcome.FAILED, state)


def _crashed(flow: Flow[..., Any], flow_run: FlowRun, state: State) -> None:
    _note(flow.name, flow_run, Outcome.CRASHED, state)


def _cancelled(flow: Flow[..., Any], flow_run: FlowRun, state: State) -> None:
    _note(flow.name, flow_run, Outcome.STOPPED, state)


def _note(name: str, run: FlowRun, outcome: Outcome, state: State) -> None:
    """Note how a run ended, for runs that could not do so themselves."""
    settings = Settings.load()
    data = getattr(state.data, "result", state.data)
    error = data if isinstance(data, BaseException) else None
    if outcome is Outcome.FAILED and error is not None:
        outcome = ended_by(error, attended=attended())
    key = RunKey(name, str(run.id))
    note_end(Places(settings.home).runs, key, outcome, error, at=utc_now())


__all__ = ["as_flow", "as_task", "leave", "run_as_flow", "task_steps", "this_run"]
