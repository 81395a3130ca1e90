"""The open event format: what is read, what is filled in, what is refused and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.events import LONGEST_TEXT, Event, EventKind, Role, event
from tasks.errors import EventInvalid

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_kind_and_text_are_enough() -> None:
    told = event({"kind": "deploy", "text": "release 1.4"}, now=NOW)

    assert (told.kind, told.text, told.role, told.at) == (
        EventKind.DEPLOY,
        "release 1.4",
        Role.NONE,
        NOW,
    )
    assert told.id


def test_the_same_line_told_twice_is_one_event_and_another_is_not() -> None:
    line = {"kind": "note", "text": "the queue is full", "session": "s"}
    later = NOW.replace(hour=9)

    assert event(line, now=NOW).id == event(line, now=later).id
    assert event({**line, "session": "t"}, now=NOW).id != event(line, now=NOW).id


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "rumour"}, "kind"),
        ({"kind": None}, "kind"),
        ({"role": "boss"}, "role"),
        ({"text": "  "}, "text"),
        ({"text": ["a"]}, "text"),
        ({"text": "x" * (LONGEST_TEXT + 1)}, "text"),
        ({"at": "yesterday"}, "at"),
        ({"at": 5}, "at"),
        ({"at": "0999-01-01"}, "at"),
        ({"project": 7}, "project"),
        ({"v": 2}, "v"),
    ],
)
def test_what_cannot_be_used_is_named(change: dict[str, Any], field: str) -> None:
    good = {"kind": "turn", "text": "words"}
    assert event(good, now=NOW)

    with pytest.raises(EventInvalid, match=f"no event: {field}: "):
        event({**good, **change}, now=NOW)


@given(
    st.builds(
        Event,
        st.sampled_from(EventKind),
        st.text(min_size=1).filter(lambda text: bool(text.strip())),
        st.sampled_from(Role),
        *[st.text(st.characters(exclude_categories=["Cs"]), max_size=30)] * 4,
        st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  it is put in UTC by the strategy
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    )
)
def test_what_is_written_is_read_back(told: Event) -> None:
    assert event(told.record(), now=NOW).record() == event(told.record(), now=NOW).record()
    if told.text.isprintable():
        assert event(told.record(), now=NOW) == told
