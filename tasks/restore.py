"""Restore a backup: make its memory ready beside the home, then put it in the home's place.

Invariants: nothing of the home changes before the new memory stands whole, replayed and compared;
what was rejected, vetoed or forgotten on either side stays so, through the gateway; what was there
is moved aside, never deleted.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tasks.compose import Setting
from tasks.domain import canon, tombstones
from tasks.domain.clock import instant, iso
from tasks.domain.ids import digest_of
from tasks.domain.proposals import Action, Actor, Bury, Proposal
from tasks.domain.units import Lifecycle, Tombstone, TombstoneKind, Trust
from tasks.durable import make_folder
from tasks.errors import BackupUnusable, Refused
from tasks.fold import fold, stone_id
from tasks.progress import Progress, Quiet
from tasks.render.adopt import Move, adopted
from tasks.render.written import load, save
from tasks.settings import Places
from tasks.sleep.run import embed
from tasks.store import archive, gateway, journal, publish, reads, replacing
from tasks.store.archive import Contents
from tasks.store.decided import Decided, Withheld, decided_in, has_memory
from tasks.store.digest import store_digest
from tasks.store.filesystem import require_local
from tasks.store.handle import Store, open_store
from tasks.store.keys import kept_key
from tasks.store.lock import writer_lock
from tasks.store.reads import Ids
from tasks.store.shelves import withheld
from tasks.waypoints import passing

_ACTIONS = {
    TombstoneKind.REJECTED: Action.REJECT,
    TombstoneKind.VETO: Action.VETO,
    TombstoneKind.FORGOTTEN: Action.FORGET,
}


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore came to.

    Attributes:
        contents: the backup's list.
        digest: the store's, as published.
        carried: decisions of the memory that was here which the backup did not know.
        withheld: units that were withheld here until the person decides, and are so again.
        aside: the folder that holds what was here; None when nothing was.
        left: things said here that no night had folded; they lie in `aside` and are not taken over.
        lost: parts of what was here that could not be read for decisions.
    """

    contents: Contents
    digest: str
    carried: int
    withheld: int
    aside: Path | None
    left: int
    lost: tuple[str, ...]


def restore(
    where: Setting,
    file: Path,
    *,
    at: datetime,
    lose_decisions: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Put the memory of a backup in the place of what is here.

    Args:
        where: the home, and the space to embed in.
        file: the backup.
        at: now.
        lose_decisions: go on although decisions made here cannot be read or compared.
        progress: told how far it is.

    Raises:
        BackupUnusable: when the file is not a whole backup; nothing is changed.
        Refused: when decisions made here would be lost; nothing is changed.
        StoreLocked: when another run holds the store.
        WriteFailed: when the disk refuses; the home is as it was, or the next run completes it.
    """
    shown, places = progress or Quiet(), where.places
    require_local(places.home)
    make_folder(places.home)
    wait, waiting = where.settings.lock_wait, shown.waiting
    with writer_lock(places.lock, wait=wait, started=iso(at), waiting=waiting):
        replacing.complete(places)
        here = decided_in(places) if has_memory(places) else None
        with replacing.staged(places) as stage:
            shown.begin("unpack")
            contents = archive.unpack(file, stage.home, shown.advance)
            passing("restore.unpacked")
            if here is not None:
                _require_decisions(here, stage, lose_decisions=lose_decisions)
            digest, held_on = _made_ready(where, stage, contents, here, at=at, progress=shown)
            passing("restore.ready")
            aside = f"replaced-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
            replacing.put_in_place(
                places,
                aside=aside,
                late=f"{iso(at)[:10]}-restored-{secrets.token_hex(4)}.jsonl",
                folded=here.folded if here else {},
                carried=[line.id for line in here.lines] if here else (),
            )
    kept = places.home / aside
    return Restored(
        contents,
        digest,
        *held_on,
        kept if here else None,
        len(here.said) if here else 0,
        tuple(here.damaged) if here else (),
    )


def inspect(file: Path, progress: Progress) -> Contents:
    """Read a backup through and return its list; nothing is written.

    Raises:
        BackupUnusable: when it is not a whole backup.
    """
    progress.begin("compare")
    return archive.contents_of(file, progress.advance)


def _require_decisions(here: Decided, stage: Places, *, lose_decisions: bool) -> None:
    """Refuse to lose what was decided here, unless told to.

    Raises:
        Refused: with the way out.
    """
    if lose_decisions:
        return
    way_out = (
        "restore into another home by EVEREST_HOME, or give --lose-decisions to let what was "
        "rejected and forgotten since the backup come back"
    )
    if here.unreadable:
        reason = f"what was decided here cannot be read ({'; '.join(here.damaged)})"
        raise Refused(reason, way_out)
    many = len(here.stones) + len(here.lines)
    if many and not _is_same_home(here, stage):
        reason = (
            f"{many} decisions made here cannot be compared with the backup: it is of another "
            "memory, with another key"
        )
        raise Refused(reason, way_out)


def _is_same_home(here: Decided, stage: Places) -> bool:
    """Tell whether digests made here and in the backup are made by one key."""
    theirs = kept_key(stage.keys)
    if here.key is not None:
        return here.key == theirs
    return here.began != "" and here.began == decided_in(stage).began


def _made_ready(  # noqa: PLR0913  of what, by what, when, and who watches
    where: Setting,
    stage: Places,
    contents: Contents,
    here: Decided | None,
    *,
    at: datetime,
    progress: Progress,
) -> tuple[str, tuple[int, int]]:
    """Replay the backup's ledger, compare, bury what was decided here, fold, embed, publish."""
    space = where.space().space
    if here is not None and here.lines:
        name = f"{iso(at)[:10]}-restored.jsonl"
        journal.write_segment(stage.journal, name, here.lines)
    progress.begin("replay")
    with open_store(stage, where.settings, at=at) as store:
        digest = store_digest(store.database)
        if contents.digest not in ("", digest):
            why = f"its ledger comes to the digest {digest}, not to {contents.digest} as it says"
            raise BackupUnusable(stage.home, why)
        held_on = _decide_again(store, here, at=at)
        _adopt_files(store, where.places, contents)
        progress.begin("embed")
        embed(store, space, at=at, progress=progress.advance)
        progress.begin("publish")
        return publish.publish(store, space.name, at=at).digest, held_on


def _adopt_files(store: Store, places: Places, contents: Contents) -> None:
    """Settle which files are ours from here on; an agent's edits since the backup stay an agent's.

    Edits are looked for in transcripts since the book was last written, so it keeps its time.
    """
    stage, made = store.places, instant(contents.made).timestamp()
    lessons = [
        x for scope in reads.scopes(store.database) for x in reads.lessons(store.database, scope)
    ]
    move = Move(Places(Path(contents.home)).memory, places.memory)
    save(stage.written, adopted(load(stage.written), load(places.written), move, lessons))
    os.utime(stage.written, (made, made))


def _decide_again(store: Store, here: Decided | None, *, at: datetime) -> tuple[int, int]:
    """Decide, through the gateway, what was decided here and the backup does not know.

    Return how many decisions that were, and how many units are withheld again.

    What the backup itself had not folded is folded too, after it: a note in it may be one of those.
    """
    known = {stone.id for stone in store.stones}
    new = [stone for stone in here.stones.values() if stone.id not in known] if here else []
    gateway.commit(store, map(_proposal, sorted(new, key=lambda s: (s.at, s.id))), at=at)
    fold(store, at=at)
    waiting = _withhold_again(store, here, at=at) if here else 0
    ours = {stone.id for stone in new} | {stone_id(line) for line in (here.lines if here else ())}
    carried = [stone for stone in store.stones if stone.id in ours - known]
    gateway.commit(store, map(_proposal, list(_others(store, carried))), at=at)
    return len(carried), waiting


def _withhold_again(store: Store, here: Decided, *, at: datetime) -> int:
    """Ask again, as an agent did, for what was withheld here and is not in the backup."""
    waiting = [one for one in here.withheld.values() if _is_offered(store, one)]
    for one in waiting:
        body = {"verb": one.verb, "unit": one.unit, "unit_id": one.unit_id}
        journal.append(
            store.places.journal, "decide", body, scope=one.scope, actor=Actor.AGENT, at=at
        )
    fold(store, at=at)
    return len(waiting)


def _is_offered(store: Store, one: Withheld) -> bool:
    """Tell whether the store has a unit and gives it to readers."""
    if one.unit_id in withheld(store, one.scope):
        return False
    only = Ids((one.unit_id,))
    return bool(reads.episodes(store.database, one.scope, only)) or any(
        lesson.trust not in (Trust.REJECTED, Trust.DISPUTED)
        for lesson in reads.lessons(store.database, one.scope, only)
    )


def _others(store: Store, stones: Iterable[Tombstone]) -> Iterator[Tombstone]:
    """Yield a tombstone for each lesson that says what was decided against under another id.

    The ladder would refuse it had it come after the decision; in the backup it came before.
    """
    for stone in stones:
        for scope in reads.scopes(store.database):
            if not stone.scope.applies_to(scope):
                continue
            for lesson in reads.lessons(store.database, scope):
                if lesson.trust is Trust.REJECTED or lesson.lifecycle is not Lifecycle.LIVE:
                    continue
                digests = canon.digests(store.key, lesson.text)
                if tombstones.refused(digests, lesson.sources, scope, [stone], new_sessions={}):
                    yield replace(
                        stone,
                        id=digest_of("tombstone", stone.id, lesson.id),
                        scope=scope,
                        unit="lesson",
                        unit_id=lesson.id,
                        sources=lesson.sources,
                    )


def _proposal(stone: Tombstone) -> Proposal:
    return Proposal(Bury(stone), _ACTIONS[stone.kind], stone.scope, Actor(stone.actor), "restore")
