from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_benchmark_reaches_its_aims_on_the_labels(shared_data: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests/benchmarks/detectors.py", "--data", shared_data, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    scores = json.loads(done.stdout.splitlines()[-1])
    assert "0 not found" in done.stdout
    assert scores["correction"]["precision"] >= 0.5
    assert scores["correction"]["recall"] >= 0.5
    assert scores["lasting"]["precision"] >= 0.7
    assert scores["offer"]["precision"] >= 0.85
    assert scores["offer"]["recall"] >= 0.85
