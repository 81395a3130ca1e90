"""What a killed run left half written is cleared away before anything else is done."""

from __future__ import annotations

from tests.store.build import Home, episode, put

PART = ".0.1a2b3c4d.part"


def test_parts_of_a_killed_run_go_and_whole_files_stay(house: Home) -> None:
    house.commit(put(episode("a")))
    places = house.places
    folders = (places.view, places.view / "catalog-1-0", places.evidence / "agent", places.keys)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PART).write_text("words")
        (folder / "whole.json").write_text("words")
    for name in ("morning.md", "memory.duckdb"):
        (places.home / f".{name}.1a2b3c4d.part").write_text("words")
    other = places.home / ".runs.jsonl.1a2b3c4d.part"
    other.write_text("another process may be writing this now")
    with house.opened():
        assert list(places.home.rglob("*.part")) == [other]
    assert all((folder / "whole.json").exists() for folder in folders)


def test_a_key_in_the_making_stays(house: Home) -> None:
    """Before the first record another process may be making the key."""
    house.places.keys.mkdir(parents=True)
    part = house.places.keys / PART
    part.write_text("00")
    with house.opened():
        assert part.exists()
