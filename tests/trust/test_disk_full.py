"""The disk is full at any point: it is told, nothing is lost, and the next run completes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.trust.kills import NIGHTS, UPKEEP, Bench, Scenario, wrong

_NIGHT: Final = next(one for one in NIGHTS if one.name == "second night")
_SIZES: Final = (9_000,)
_MORE_SIZES: Final = (300, 2_000, 30_000, 300_000, 600_000, 2_000_000)
_FREE: Final = (0, 16_384, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 3_145_728)
_DISKS: Final = "tests.trust.disks:"


def _tells_what_to_do(code: int, err: str) -> None:
    """A record that is in the ledger and not in the store is told so: nothing of it is lost."""
    assert code in (0, 5) or (code == 4 and "is durable in the ledger" in err), err
    assert "Traceback" not in err
    if code != 0:
        assert "cannot write" in err
        assert "free space" in err


@pytest.mark.parametrize(
    "most", [*_SIZES, *(pytest.param(size, marks=pytest.mark.slow) for size in _MORE_SIZES)]
)
def test_a_night_whose_files_cannot_grow_is_told_and_the_next_completes(
    bench: Bench, most: int
) -> None:
    bench.unkilled(_NIGHT)
    bench.put(_NIGHT.start)
    ended = bench.run("night", most_bytes=most)
    _tells_what_to_do(ended.code, ended.err)
    assert bench.run("lessons").code == 0
    assert bench.wrong_after(_NIGHT) == []


@pytest.mark.slow
def test_some_of_those_nights_fail_and_with_room_none_does(bench: Bench) -> None:
    bench.put(_NIGHT.start)
    assert bench.run("night", most_bytes=300).code == 5
    bench.put(_NIGHT.start)
    assert bench.run("night", most_bytes=1 << 30).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["rebuild", "compact", "render", "ingest"])
@pytest.mark.parametrize("most", [2_000, 300_000])
def test_no_other_command_loses_anything_either(bench: Bench, scenario: str, most: int) -> None:
    chosen = next(one for one in UPKEEP if one.name == scenario)
    bench.unkilled(chosen)
    bench.put(chosen.start)
    ended = bench.run(*chosen.act, most_bytes=most)
    _tells_what_to_do(ended.code, ended.err)
    assert bench.wrong_after(chosen) == []


@pytest.fixture
def disk(small: Bench) -> Iterator[Bench]:
    """Give the bench with a home that a test mounts a disk over; it is taken away after it."""
    small.unkilled(_NIGHT)
    small.put(_NIGHT.start)
    yield small
    _call(small, "clear")


def _call(bench: Bench, name: str, *words: str) -> Any:
    ended = bench.did(str(bench.person.home), *words, function=f"{_DISKS}{name}")
    return json.loads(ended.out)


def _after(bench: Bench, scenario: Scenario) -> list[str]:
    """Run the act to its end; what lies on the mounted disk is seen from inside alone."""
    assert bench.did(*scenario.act)
    told: dict[str, Any] = json.loads(bench.did(function="tests.trust.looking:looked").out)
    wanted = bench.unkilled(scenario).state
    return list(wrong({name: wanted[name] for name in told}, told))


@pytest.mark.slow
@pytest.mark.parametrize("free", _FREE)
def test_a_night_on_a_full_disk_is_told_and_the_next_completes(disk: Bench, free: int) -> None:
    _call(disk, "shrink", str(free))
    ended = disk.run("night")
    _tells_what_to_do(ended.code, ended.err)
    assert disk.run("lessons").code == 0
    _call(disk, "grow")
    assert _after(disk, _NIGHT) == []


@pytest.mark.slow
def test_on_a_full_disk_nothing_is_acknowledged_and_all_can_be_read(disk: Bench) -> None:
    _call(disk, "shrink", "0")
    said = disk.run("remember", "the ferry leaves at six", "--project", "paperboat")
    while said.code == 0:  # until the last block of the journal is full
        said = disk.run("remember", "x" * 3_000, "--project", "paperboat")
    assert said.code == 5
    assert "accepted" not in said.out
    for words in (("recall", "pnpm", "--project", "paperboat"), ("status",), ("morning",)):
        ended = disk.run(*words)
        assert ended.code == 0, ended.err


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_told_and_can_be_read(disk: Bench) -> None:
    _call(disk, "forbid")
    for words in (
        ("night",),
        ("ingest",),
        ("render",),
        ("rebuild",),
        ("compact",),
        ("remember", "the ferry leaves at six", "--project", "paperboat"),
    ):
        ended = disk.run(*words)
        assert ended.code == 5, (words, ended.out, ended.err)
        assert "fix its permissions" in ended.err
        assert "accepted" not in ended.out
    for words in (("recall", "pnpm", "--project", "paperboat"), ("status",), ("lessons",)):
        ended = disk.run(*words)
        assert ended.code == 0, (words, ended.err)
    _call(disk, "clear")
    assert disk.wrong_after(_NIGHT) == []
    _call(disk, "forbid")
