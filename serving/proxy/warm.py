"""Does once, at the start, what costs more the first time: tables are read, patterns compiled."""

from __future__ import annotations

from typing import Final

from serving.proxy.families import Body, of_person
from serving.proxy.kinds import kind_of
from tasks.deploys import deploy_in
from tasks.domain.clock import utc_now
from tasks.domain.redaction import redact
from tasks.domain.session import Channel, PersonTurn
from tasks.evidence.detectors import Exchange, read

_WORDS: Final = "No, always use a title for the summary, and make sure to git push it."


def warm() -> None:
    """Use everything that reading a request and its answer uses."""
    kind_of([], "m", Body("m", [of_person([_WORDS], None)], system=_WORDS))
    read(Exchange(PersonTurn("", utc_now(), _WORDS, Channel.PROMPT)))
    deploy_in("git push")
    redact(_WORDS)
