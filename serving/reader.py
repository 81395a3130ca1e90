"""The warm reader: one a process, over the newest view with the journal's tail laid over it.

Invariants: it never opens the store; each reading is one view whole, the newest that was published
before it was asked for, with everything that was acknowledged by then; an old view is let go.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serving.meanings import Meanings
from tasks.compose import space_of
from tasks.domain.events import Event
from tasks.domain.scope import GLOBAL, Scope
from tasks.embedding.choose import Chosen
from tasks.embedding.space import WORDS, Space
from tasks.errors import EverestError
from tasks.memory import Memory
from tasks.prime import Candidate, Lessons, Moment, is_settled, lessons_in
from tasks.ranking import Asked
from tasks.relays import Relays
from tasks.settings import Places, Settings
from tasks.store.keys import DIGEST_KEY
from tasks.store.owned import OwnSegment
from tasks.store.tail import Tail
from tasks.taught import untaught

_WARM: Final = "what is this about"
_log = logging.getLogger(__name__)
_LOOKED_EVERY: Final = 0.5
"""Seconds between two looks for a new view."""

_Mark = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One view, what was said since, and its lessons as prime searches them.

    Attributes:
        marks: of the pointer to the view and of the digests' key: by them it is the newest.
    """

    marks: tuple[_Mark, _Mark]
    memory: Memory
    tail: Tail
    lessons: dict[Scope, Lessons]


class Reader:
    """The memory as the serving process has it; made without touching the disk, safe in threads.

    Attributes:
        relays: what was said lately in each project, by app.
        append: appends to the journal's segment of this process.
        damage: why the newest view cannot be read, "" while it can.
    """

    def __init__(self, settings: Settings, places: Places) -> None:
        self.relays = Relays(places.relay)
        self.append = OwnSegment(places.journal)
        self.damage = ""
        self._settings, self._places = settings, places
        self._alone, self._meanings = threading.Lock(), Meanings()
        self._closed = threading.Event()
        self._reading: _Reading | None = None
        self._chosen: Future[Chosen] = Future()

    def start(self) -> None:
        """Load the space's query encoder, and open what is published, in a thread of its own."""
        threading.Thread(target=self._stay_warm, name="everest-reader", daemon=True).start()

    def close(self) -> None:
        """Let go of the journal's segment and of the view."""
        self._closed.set()
        self.append.close()
        with self._alone:
            self._reading = None

    def memory(self) -> Memory:
        """Return the memory as it is now; hold it for one request, never longer.

        Raises:
            StoreError: when the newest view, or what was said since, cannot be read.
        """
        return self._newest().memory

    def scope(self, app: str, project_id: str) -> Scope:
        """Return the person's scope of a project within an app_id."""
        return Scope(self._settings.owner, "user", app, project_id)

    @property
    def space(self) -> Space:
        """Return the space that questions are read in; just after the start it waits for it.

        Raises:
            SettingInvalid: when the space that the settings name cannot be used.
        """
        return self._chosen.result().space

    def loaded(self) -> Chosen | Exception | None:
        """Return the chosen space, why there is none, or None while it is loaded."""
        if not self._chosen.done():
            return None
        error = self._chosen.exception()
        return error if isinstance(error, Exception) else self._chosen.result()

    def asked(self, text: str, meaning: str) -> Asked:
        """Return a text as lessons are compared with it: its words, and the vector of `meaning`.

        It waits for nothing but the encoding: until the encoder is loaded there are words alone.

        Raises:
            StoreError: when the memory cannot be read.
        """
        chosen, view = self.loaded(), self._newest().memory.view
        if not isinstance(chosen, Chosen) or view is None:
            return Asked(text, None, WORDS)
        same = view.manifest.space == chosen.space.name
        vector = self._meanings.of(chosen.space, meaning) if same else None
        return Asked(text, vector, chosen.space.gauge)

    def settled(self, text: str, scope: Scope, told: Collection[str]) -> list[Candidate] | None:
        """Return a prompt's candidates if its meaning changes nothing of what is shown, else None.

        Their relevance is the least that it can be.

        Raises:
            StoreError: when the memory cannot be read.
        """
        reading = self._newest()
        view, chosen = reading.memory.view, self.loaded()
        same = isinstance(chosen, Chosen) and view and view.manifest.space == chosen.space.name
        gauge = chosen.space.gauge if isinstance(chosen, Chosen) and same else WORDS
        bounds = [
            one
            for each in _shelves(reading, scope)
            for one in each.bounds(text, gauge)
            if not reading.memory.is_hidden(one[0].row)
        ]
        if not is_settled(bounds, told):
            return None
        return [_worded(least, reading.memory) for least, _ in bounds]

    def candidates(self, asked: Asked, scope: Scope, moment: Moment) -> list[Candidate]:
        """Return every lesson of a scope and of `@global` with its relevance at a moment.

        Raises:
            StoreError: when the memory cannot be read.
        """
        reading = self._newest()
        memory = reading.memory
        shelves = _shelves(reading, scope)
        found = [one for each in shelves for one in each.candidates(asked, moment)]
        return [_worded(one, memory) for one in found if not memory.is_hidden(one.row)]

    def stand(self, ids: Collection[str], scope: Scope) -> bool:
        """Tell whether all of these lessons may still be shown.

        Raises:
            StoreError: when the memory cannot be read.
        """
        reading = self._newest()
        hidden = reading.memory.overlay.hidden
        known = {
            row["id"]
            for each in (scope, scope.everywhere())
            for row in _lessons(reading, each).rows
            if row["id"] not in hidden
        }
        return known.issuperset(ids)

    def untaught(self, events: Iterable[Event], scope: Scope) -> list[Event]:
        """Return the events of a project's relay that tell none of the lessons of its scope.

        Raises:
            StoreError: when the memory cannot be read.
        """
        reading = self._newest()
        return untaught(events, [_lessons(reading, one) for one in (scope, scope.everywhere())])

    def _stay_warm(self) -> None:
        """Open each view soon after it is published: a first look takes longer than there is."""
        chosen_by = _mark(self._places.model)
        self._load(self._chosen)
        before = ""
        while True:
            if (mark := _mark(self._places.model)) != chosen_by:  # `everest model`, or a night
                chosen_by, again = mark, Future[Chosen]()
                self._load(again)
                self._chosen = again
            wrong = self._warmed()
            if wrong and wrong != before:
                _log.error("a fault of ours: %s in the reader's thread", wrong)
            before = wrong
            if self._closed.wait(_LOOKED_EVERY):
                return

    def _warmed(self) -> str:
        """Open what is newest; return the kind of fault of ours that prevented it, "" if none did.

        Whoever asks for the memory is told, and the next look may go well.
        """
        try:
            reading = self._newest()
            view = reading.memory.view
            for entry in view.manifest.scopes if view else ():
                _lessons(reading, entry.scope)
        except EverestError:
            return ""
        except Exception as fault:  # noqa: BLE001  one bad look may not end the thread
            return type(fault).__name__
        return ""

    def _load(self, into: Future[Chosen]) -> None:
        try:
            chosen = space_of(self._settings, self._places)
            chosen.space.query(_WARM)
        except Exception as error:  # noqa: BLE001  whoever asks for the space is told
            into.set_exception(error)
        else:
            into.set_result(chosen)

    def _newest(self) -> _Reading:
        """Return the newest reading; when it is ours, that costs a look at two files and a folder.

        Raises:
            StoreError: when the newest view, or what was said since, cannot be read.
        """
        with self._alone:
            try:
                self._reading = self._grown(self._reading)
            except EverestError as error:
                self._reading, self.damage = None, str(error)
                raise
            except Exception as fault:
                self._reading, self.damage = None, f"a fault of ours: {type(fault).__name__}"
                raise
            self.damage = ""
            return self._reading

    def _grown(self, known: _Reading | None) -> _Reading:
        marks = self._marks()
        if known is None or known.marks != marks:
            return self._opened(marks)
        if not known.tail.grow():
            return known
        memory = known.memory.under(known.tail.overlay(known.memory.key))
        return _Reading(marks, memory, known.tail, known.lessons)

    def _opened(self, marks: tuple[_Mark, _Mark]) -> _Reading:
        while True:
            memory = Memory(self._places, self.append)
            tail = Tail(self._places.journal, memory.view.manifest.offsets if memory.view else {})
            tail.grow()
            before, marks = marks, self._marks()
            if before == marks:  # else segments may have been put away meanwhile
                return _Reading(marks, memory.under(tail.overlay(memory.key)), tail, {})

    def _marks(self) -> tuple[_Mark, _Mark]:
        return _mark(self._places.view / "current"), _mark(self._places.keys / DIGEST_KEY)


def _lessons(reading: _Reading, scope: Scope) -> Lessons:
    found = reading.lessons.get(scope)
    if found is None:
        view = reading.memory.view
        found = reading.lessons[scope] = lessons_in(view.scope(scope) if view else None)
    return found


def _shelves(reading: _Reading, scope: Scope) -> list[Lessons]:
    """Return the lessons of a scope, and those of `@global` beside them."""
    scopes = [scope] if scope.project_id == GLOBAL else [scope, scope.everywhere()]
    return [_lessons(reading, each) for each in scopes]


def _worded(one: Candidate, memory: Memory) -> Candidate:
    """Return a lesson in the wording that its file was given since the view."""
    text = memory.overlay.replaced.get(one.id)
    return one if text is None else Candidate({**one.row, "text": text}, one.relevance)


def _mark(path: Path) -> _Mark:
    """Return what changes when another file takes this one's place; None when it is not there.

    What cannot be looked at is another thing: whoever opens it then is told why.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return -1, error.errno or 0
    return found.st_ino, found.st_mtime_ns
