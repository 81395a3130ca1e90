"""A bench to kill commands on: one for a module, with a warmed parent of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.domain.clock import utc_now
from tests.serving.shipped import Everest
from tests.trust import material
from tests.trust.kills import KILLS, Bench
from tests.trust.nursery import Nursery, Order


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give a person's folder and the process that their commands are forked from."""
    yield from _bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give the same where disks can be mounted: skip where this account may not do that."""
    inside = ("unshare", "--map-root-user", "--mount")
    if shutil.which(inside[0]) is None or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("this account may not mount a small disk in a namespace of its own")
    yield from _bench(tmp_path_factory.mktemp("small"), *inside)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how many kills there were."""
    told = [
        value
        for kind in ("passed", "failed")
        for report in terminalreporter.getreports(kind)
        for name, value in report.user_properties
        if name == KILLS
    ]
    if told:
        terminalreporter.write_line(f"killed at {sum(told)} distinct steps")


def _bench(base: Path, *inside: str) -> Iterator[Bench]:
    warm = Everest(base / "warm")
    material.first_week(warm.claude, utc_now())
    words = (("night",), ("recall", "pnpm", "--project", "paperboat"), ("compact",))
    orders = (Order(each, warm.env(), str(warm.cwd)) for each in words)
    nursery = Nursery(*orders, inside=inside)
    yield Bench(Everest(base / "person"), nursery)
    nursery.close()
