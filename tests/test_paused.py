from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.errors import UsageError
from tasks.paused import NAME, Pause, pause, paused, resume, span

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_a_home_is_paused_until_the_time_or_until_resumed(tmp_path: Path) -> None:
    assert paused(tmp_path, now=NOW) is None
    pause(tmp_path, NOW + timedelta(hours=2))
    assert paused(tmp_path, now=NOW) == Pause(NOW + timedelta(hours=2))
    assert paused(tmp_path, now=NOW + timedelta(hours=2)) is None
    pause(tmp_path, None)
    assert paused(tmp_path, now=NOW + timedelta(days=999)) == Pause(None)
    assert resume(tmp_path)
    assert paused(tmp_path, now=NOW) is None
    assert not resume(tmp_path)


@pytest.mark.parametrize("said", [b"soon", b"\xff\xfe", b"nan", b"inf", b"1e400", b"-"])
def test_a_file_that_cannot_be_read_counts_as_a_pause(tmp_path: Path, said: bytes) -> None:
    (tmp_path / NAME).write_bytes(said)
    assert paused(tmp_path, now=NOW) == Pause(None)


def test_a_folder_in_its_place_counts_as_a_pause(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    assert paused(tmp_path, now=NOW) == Pause(None)


@pytest.mark.parametrize(
    ("text", "minutes"), [("30m", 30), ("2h", 120), ("1h30m", 90), ("3d", 4320), (" 2H ", 120)]
)
def test_spans_are_read_as_people_write_them(text: str, minutes: int) -> None:
    assert span(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text", ["", "0h", "2", "h", "-2h", "2w", "1m2h", "9999d", "9" * 500 + "d", "٢h"]
)
def test_what_is_no_span_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="no span of time"):
        span(text)
