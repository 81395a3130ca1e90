"""What the serving process holds: made once in its composition root, passed down, never global."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from serving.admit import Door
from serving.collecting import Collecting
from serving.grants import Tokens
from serving.guard import read_origins
from serving.hooks import Hooks
from serving.metrics import Counters
from serving.priming import priming_of
from serving.projects import Projects
from serving.proxy.addition import Additions
from serving.proxy.asking import Asking
from serving.proxy.behind import Behind
from serving.proxy.calls import Addition, MakeTee
from serving.proxy.chains import Chains
from serving.proxy.routes import Routes, read_routes
from serving.proxy.source import MemorySource
from serving.proxy.tee import Teeing
from serving.proxy.upstream import AiohttpUpstream, Upstream
from serving.questions import Questions
from serving.reader import Reader
from serving.sessions import Sessions
from tasks.domain.clock import local_day, utc_now
from tasks.settings import Places, Settings
from tasks.shown import Shown

_ENCODING: Final = 0.6
"""Share of the time for an answer in which a text's meaning must be had."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One serving process.

    Attributes:
        reader: the memory, read; and where this process appends.
        projects: what the projects are that requests name.
        started: when, in UTC.
        origins: of pages that are let in beside our own.
        chains: which conversations answers were of.
        client: makes the client for model servers, inside the running loop.
        behind: does what no client waits for.
        hooks: answers what agents' hooks tell.
        collecting: sees to it that what they left behind is run.
        addition: what is put into proxied requests; None adds nothing.
        tee: who reads proxied answers; None reads none.
    """

    settings: Settings
    places: Places
    routes: Routes
    door: Door
    reader: Reader
    projects: Projects
    started: datetime
    counters: Counters
    behind: Behind
    hooks: Hooks
    collecting: Collecting
    client: Callable[[], Upstream] = AiohttpUpstream
    addition: Addition | None = None
    tee: MakeTee | None = None
    origins: frozenset[bytes] = frozenset()
    chains: Chains = field(default_factory=Chains)


def serving_of(settings: Settings, places: Places, *, started: datetime) -> Serving:
    """Return what a process serves by its settings; touches no disk.

    Raises:
        SettingInvalid: when a route or an origin cannot be used.
    """
    counters, reader = Counters(), Reader(settings, places)
    projects = Projects(reader)
    door = Door(
        Tokens(places.tokens),
        settings.app,
        projects.id_of,
        settings.trust_loopback,
        counters,
    )
    routes = read_routes(settings.routes, os.environ)
    behind, chains = Behind(counters), Chains(places.chains)
    asking = Asking(chains)
    source, shown, sessions = MemorySource(reader), Shown(places.shown), Sessions()
    additions = Additions(
        source,
        shown,
        asking,
        settings.holdout,
        settings.proxy_budget * _ENCODING,
        lambda at: str(local_day(at, settings.zone)),
        utc_now,
        behind,
        sessions,
    )
    priming = priming_of(settings, reader, source, shown, sessions)
    budget = settings.hook_budget
    read = Questions(source.asked, budget * _ENCODING)
    hooks = Hooks(priming, read, budget, counters, behind, places)
    return Serving(
        settings,
        places,
        routes,
        door,
        reader,
        projects,
        started,
        counters,
        behind,
        hooks,
        Collecting(places),
        addition=additions,
        tee=Teeing(reader.relays, asking, utc_now, behind),
        origins=read_origins(settings.origins),
        chains=chains,
    )
