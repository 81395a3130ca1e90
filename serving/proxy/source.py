"""The memory as additions need it: the warm reader, and each project's relay as it grows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from datetime import datetime
from threading import Lock
from typing import Any, Final

from serving.reader import Reader
from tasks.domain.events import Event
from tasks.domain.holdout import held_out
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.prime import Candidate, Moment
from tasks.ranking import Asked
from tasks.relay import Followed

_RECENT: Final = 500
"""Events of a relay that are looked at."""
_PROJECTS: Final = 50


class MemorySource:
    """What `addition.Source` asks for; safe in threads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._alone = Lock()
        self._followed: OrderedDict[Scope, Followed] = OrderedDict()

    def scope(self, app: str, project_id: str) -> Scope:
        """Return the person's scope of a project."""
        return self._reader.scope(app, project_id)

    def asked(self, text: str, meaning: str) -> Asked:
        """Return a text with the vector of its meaning, which takes a while."""
        return self._reader.asked(text, meaning)

    def settled(self, text: str, scope: Scope, told: Collection[str]) -> list[Candidate] | None:
        """Return a prompt's candidates if its meaning changes nothing of what is shown."""
        return self._reader.settled(text, scope, told)

    def candidates(self, asked: Asked, scope: Scope, moment: Moment) -> list[Candidate]:
        """Return every lesson that the scope reads, with its relevance to what is asked."""
        return self._reader.candidates(asked, scope, moment)

    def stand(self, ids: Collection[str], scope: Scope) -> bool:
        """Tell whether all of these lessons may still be shown."""
        return self._reader.stand(ids, scope)

    def recent(self, scope: Scope, conversation: str, holdout: float) -> Sequence[Event]:
        """Return the last events of a project's relay, oldest first.

        Left out are those that tell a conversation which is held out what lessons would.
        """
        events = self._last(scope)
        return self._reader.untaught(events, scope) if held_out(conversation, holdout) else events

    def expose(self, body: dict[str, Any], scope: Scope, at: datetime) -> None:
        """Append what was shown, and what was not, to the journal."""
        self._reader.append("expose", body, scope=scope, actor=Actor.SYSTEM, at=at)

    def _last(self, scope: Scope) -> Sequence[Event]:
        with self._alone:
            found = self._followed.get(scope)
            if found is None:
                relay = self._reader.relays.of(scope.app_id)
                found = Followed(relay, scope.project_id, most=_RECENT)
                self._followed[scope] = found
            self._followed.move_to_end(scope)
            if len(self._followed) > _PROJECTS:
                self._followed.popitem(last=False)
            return found.newest()
