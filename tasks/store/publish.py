"""Publish the view: write what changed under new names, then swap one pointer.

Invariants: a folder never changes once a manifest names it; a reader sees one publication whole;
what neither of the two kept manifests names is deleted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tasks.domain.clock import iso
from tasks.domain.scope import Scope
from tasks.domain.units import TombstoneKind
from tasks.durable import FILE_MODE, make_folder, swap_file, sync_folder
from tasks.embedding.dense import build_dense
from tasks.embedding.index import build_lexical
from tasks.errors import ViewDamaged, WriteFailed
from tasks.hooks import index
from tasks.segments import read_plain
from tasks.settings import Settings
from tasks.store import catalog, journal
from tasks.store.digest import store_digest
from tasks.store.handle import Store
from tasks.store.shelves import (
    Passage,
    Unit,
    passages_of,
    talk_of,
    tombstone_digests,
    units_of,
)
from tasks.store.view import PRIME, Manifest, ScopeEntry, View, as_published, current
from tasks.waypoints import passing

_KEPT = 2
_DISTRUSTED = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication came to: its number, and how many scopes were written again."""

    number: int
    written: int
    kept: int
    digest: str


def publish(
    store: Store,
    space: str,
    *,
    at: datetime,
    step: Callable[[str], None] = lambda _: None,
) -> Published:
    """Publish the store as it stands; a store that changed nothing keeps its view.

    Args:
        store: the open store.
        space: the embedding space whose vectors are published.
        at: now, for the manifest.
        step: told the scope that is being written.

    Raises:
        WriteFailed: when the disk refuses; the view that was current stays current.
    """
    folder = make_folder(store.places.view)
    standing = current(folder)
    before = standing if standing is not None and _is_trusted(standing.manifest) else None
    number = _next_number(folder)
    entries, written = [], 0
    known = {entry.scope: entry for entry in before.manifest.scopes} if before else {}
    for scope, stamp in _stamps(store, space):
        entry = known.get(scope)
        if entry is None or entry.stamp != stamp:
            step(scope.project_id)
            entry = ScopeEntry(scope, f"{scope.folder}-{number}", stamp)
            _write_scope(store, scope, space, folder / "scopes" / entry.folder)
            written += 1
        entries.append(entry)
    manifest = Manifest(
        number,
        iso(at),
        tuple(entries),
        _offsets(store),
        store_digest(store.database),
        space,
        catalog.write(store, folder, number, before),
        _for_hooks(store.settings),
    )
    if before is None or _differs(before.manifest, manifest):
        swap_file(folder / f"{number}.json", manifest.dump())
        passing("publish.manifest")
        swap_file(folder / "current", f"{number}.json".encode())
        passing("publish.pointer")
    else:
        manifest = before.manifest
    kept = _kept(folder, manifest, standing)
    _tidy(store, folder, kept, at)  # also what a run left that was killed before it did so
    passing("publish.tidied")
    return Published(manifest.number, written, len(entries) - written, manifest.digest)


def _is_trusted(manifest: Manifest) -> bool:
    """Tell whether what is in the folders of a publication may be published again as it is."""
    return manifest.digest != _DISTRUSTED


def distrust(folder: Path) -> None:
    """Let the next publication write every scope again; until then readers keep what there is."""
    try:
        view = current(folder)
    except ViewDamaged:
        (folder / "current").unlink(missing_ok=True)
        return
    if view is not None:
        manifest = replace(view.manifest, digest=_DISTRUSTED)
        swap_file(folder / f"{manifest.number}.json", manifest.dump())


def _differs(before: Manifest, after: Manifest) -> bool:
    def content(manifest: Manifest) -> tuple[Any, ...]:
        return (
            manifest.scopes,
            dict(manifest.offsets),
            manifest.digest,
            manifest.space,
            manifest.catalog,
            dict(manifest.hooks),
        )

    return content(before) != content(after)


def _for_hooks(settings: Settings) -> dict[str, Any]:
    return {
        "owner": settings.owner,
        "app": settings.app,
        "holdout": settings.holdout,
        "zone": settings.timezone or "",
    }


def _next_number(folder: Path) -> int:
    return max(_numbers(folder), default=0) + 1


def _numbers(folder: Path) -> set[int]:
    return {int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit()}


def _stamps(store: Store, space: str) -> list[tuple[Scope, str]]:
    """Return every scope with what it was last changed by: record, vectors and space."""
    rows = store.database.rows(
        "SELECT owner_id, owner_type, app_id, project_id, tx, coalesce(stamp, '') "
        "FROM scope_changes LEFT JOIN vector_changes "
        "USING (owner_id, owner_type, app_id, project_id) ORDER BY ALL"
    )
    return [(Scope(*row[:4]), f"{row[4]} {row[5]} {space} {PRIME}") for row in rows]


def _offsets(store: Store) -> dict[str, int]:
    rows = store.database.rows("SELECT segment, bytes FROM journal_offsets ORDER BY segment")
    return {name: done for name, done in rows if (store.places.journal / name).exists()}


def _write_scope(store: Store, scope: Scope, space: str, folder: Path) -> None:
    if folder.exists():  # left by a run that was killed before its manifest
        shutil.rmtree(folder)
    make_folder(folder)
    passing("publish.made")
    try:
        talk = talk_of(store, scope)
        _save(folder, units_of(store, scope, space, talk), passages_of(talk))
        (folder / "tombstones.json").write_bytes(orjson.dumps(tombstone_digests(store, scope)))
        passing("publish.saved")
        _seal(folder)
        passing("publish.sealed")
    except OSError as error:
        raise WriteFailed(folder, error.strerror or str(error)) from error
    sync_folder(folder.parent)


def _seal(folder: Path) -> None:
    """Make a folder's files private and put them on the disk before a manifest names them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            path.chmod(FILE_MODE)
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _save(folder: Path, units: Sequence[Unit], passages: Sequence[Passage]) -> None:
    both: list[Unit | Passage] = [*units, *passages]
    _save_rows(folder, (one.row for one in both))
    lessons = [row for row, unit in enumerate(units) if unit.row["unit"] == "lesson"]
    np.save(folder / "lessons.npy", np.array(lessons, dtype=np.int64), allow_pickle=False)
    prompts = [one.row["text"] for one in passages if one.row["kind"] == "person"]
    index.save(folder, [units[row].row for row in lessons], prompts)
    _save_array(folder, "at", [one.at for one in both])
    _save_array(folder, "strength", [unit.strength for unit in units] + [0.0] * len(passages))
    _save_array(folder, "as-of", [unit.as_of for unit in units] + [0.0] * len(passages))
    dim = max((len(unit.vector) for unit in units), default=0)
    matrix = np.zeros((len(units), dim), dtype=np.float32)
    for row, unit in enumerate(units):
        matrix[row, : len(unit.vector)] = unit.vector
    build_dense(matrix).save(make_folder(folder / "vectors"))
    build_lexical([one.context for one in both]).save(make_folder(folder / "words"))


def _save_array(folder: Path, name: str, values: list[float]) -> None:
    np.save(folder / f"{name}.npy", np.array(values, dtype=np.float64), allow_pickle=False)


def _save_rows(folder: Path, rows: Iterable[dict[str, Any]]) -> None:
    starts = [0]
    with (folder / "rows.jsonl").open("wb") as file:
        for row in rows:
            starts.append(starts[-1] + file.write(orjson.dumps(row) + b"\n"))
    np.save(folder / "rows-starts.npy", np.array(starts, dtype=np.int64), allow_pickle=False)


def _last_forgotten(store: Store) -> str:
    """Return when something was last forgotten: a view from before it still holds the words."""
    stones = (stone for stone in store.stones if stone.kind is TombstoneKind.FORGOTTEN)
    return max((iso(stone.at) for stone in stones), default="")


def _kept(folder: Path, last: Manifest, standing: View | None) -> list[Manifest]:
    """Return the manifest that is current now and the one before it, which readers may still have.

    One whose run died before it swapped the pointer was never current and is not kept.
    """
    if standing is not None and standing.manifest.number != last.number:
        return [last, standing.manifest]
    older = sorted((number for number in _numbers(folder) if number < last.number), reverse=True)
    before = (_readable(folder / f"{number}.json") for number in older[: _KEPT - 1])
    return [last, *(found for found in before if found is not None)]


def _readable(path: Path) -> Manifest | None:
    """Return the manifest of a file, None when it is damaged: then nobody reads by it."""
    try:
        with as_published(path, path):
            return Manifest.parse(read_plain(path))
    except ViewDamaged:
        return None


def _tidy(store: Store, folder: Path, manifests: Iterable[Manifest], at: datetime) -> None:
    """Delete what no kept manifest names, and put away journal segments that both cover."""
    last, *before = manifests
    kept = [last, *(m for m in before if m.at >= _last_forgotten(store))]
    for number in _numbers(folder) - {manifest.number for manifest in kept}:
        (folder / f"{number}.json").unlink()
    named = {entry.folder for manifest in kept for entry in manifest.scopes}
    for path in (folder / "scopes").glob("*"):
        if path.name not in named:
            shutil.rmtree(path)
            passing("publish.dropped")
    lists = {manifest.catalog for manifest in kept}
    for path in folder.glob("catalog-*"):
        if path.name not in lists:
            shutil.rmtree(path)
    if len(kept) == _KEPT:
        both = kept[0].offsets.keys() & kept[1].offsets.keys()
        covered = {name: min(m.offsets[name] for m in kept) for name in both}
        journal.retire(store.places.journal, covered, today=iso(at)[:10])
