"""Look at our own home: who may read it, how old the view is, how the last night went."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from deployments.cron import is_scheduled
from deployments.doctor.finding import Finding, noted, well, wrong
from tasks.compose import Setting
from tasks.domain.clock import instant, utc_now
from tasks.errors import EverestError
from tasks.listening import is_listening
from tasks.memory import Memory
from tasks.paused import paused
from tasks.prefect_home import PrefectHome, holder_of
from tasks.render.phrases import hours_ago
from tasks.runs import known_runs

ABOUT: Final = "Everest"
_OLD: Final = timedelta(hours=48)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def look_at_home(where: Setting) -> Iterator[Finding]:
    """Yield what is to be said of the home."""
    places = where.places
    if not places.home.is_dir():
        yield noted(ABOUT, f"{places.home} is not there: nothing was learned yet", "everest night")
        return
    yield from _permissions(places.home)
    if (pause := paused(places.home, now=utc_now())) is not None:
        yield noted(ABOUT, f"it is {pause.in_words(where.settings.zone)}", "everest resume")
    yield from _view(where)
    yield from _model(where)
    yield _running(where)


def _permissions(home: Path) -> Iterator[Finding]:
    """Yield whether anyone else may read what is the person's alone."""
    for path in (home, home / "keys", home / "tokens.json", home / "wired.json"):
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & _OTHERS:
            yield wrong(ABOUT, f"others may look into {path}", f"chmod -R go= {home}")
            return
    yield well(ABOUT, f"{home} is yours alone")


def _view(where: Setting) -> Iterator[Finding]:
    try:
        view = Memory(where.places).view
        if view is not None:
            view.require_whole()
    except EverestError as error:
        yield wrong(ABOUT, str(error), "everest rebuild")
        return
    runs = known_runs(where.places.runs)
    if runs and runs[-1].outcome is not None and runs[-1].went_wrong:
        why = runs[-1].why or runs[-1].error
        yield wrong(ABOUT, f"the last run, {runs[-1].key.flow}, went wrong: {why}", "everest night")
    if view is None:
        yield noted(ABOUT, "no night has run yet: nothing is recalled", "everest night")
        return
    age = utc_now() - instant(view.manifest.at)
    told = f"what is read was published {hours_ago(age)}"
    yield wrong(ABOUT, told, "everest night") if age > _OLD else well(ABOUT, told)


def _model(where: Setting) -> Iterator[Finding]:
    try:
        yield well(ABOUT, f"meanings are compared by {where.space().why}")
    except EverestError as error:
        yield wrong(ABOUT, f"meanings cannot be compared: {error}")


def _running(where: Setting) -> Finding:
    if holder := holder_of(PrefectHome(where.places.prefect)):
        return well(ABOUT, f"`everest up` runs: {holder}")
    is_warm = is_listening(where.places.socket)
    hooks = "by meaning: `everest proxy` runs" if is_warm else "by words alone"
    try:
        if is_scheduled(where):
            return well(ABOUT, f"your crontab runs the nights; hooks are answered {hooks}")
    except EverestError as error:
        return noted(ABOUT, str(error))
    return noted(ABOUT, f"nothing runs the nights; hooks are answered {hooks}", "everest up")
