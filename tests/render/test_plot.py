"""The picture of a night: a whole SVG that shows what it is given; nothing breaks on nothing."""

from __future__ import annotations

import base64
from datetime import date
from xml.etree import ElementTree as ET

import pytest

from tasks.render.plot import as_image, plot

DAYS = [(date(2026, 11, 24), 1, 4), (date(2026, 11, 25), 0, 2)]
TODAY = date(2026, 11, 26)
STAGES = [("fold", 0.1), ("ingest", 90.0)]
SVG = "{http://www.w3.org/2000/svg}"


def drawn_words(picture: str) -> list[str | None]:
    return [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]


def test_it_shows_each_day_with_its_share_and_each_stage_with_its_time() -> None:
    words = drawn_words(plot(DAYS, STAGES, today=TODAY))
    for shown in ("24 Nov", "1/4", "25 Nov", "0/2", "fold", "0.1 s", "ingest", "1 min 30 s"):
        assert shown in words


def test_a_day_of_another_year_carries_it() -> None:
    words = drawn_words(plot([*DAYS, (date(2027, 1, 2), 0, 1)], [], today=date(2027, 1, 3)))
    assert [word for word in words if word and "Nov" in word] == ["24 Nov ’26", "25 Nov ’26"]
    assert "2 Jan" in words


def test_columns_are_as_tall_as_what_they_stand_for() -> None:
    boxes = list(ET.fromstring(plot(DAYS, [], today=TODAY)).iter(f"{SVG}rect"))[1:]
    tall = [float(box.attrib["height"]) for box in boxes]
    assert tall[1] == pytest.approx(tall[0] / 4)
    assert tall[2] == pytest.approx(tall[0] / 2)
    assert tall[3] == 0


@pytest.mark.parametrize(("days", "stages"), [([], []), (DAYS[1:], []), ([], STAGES)])
def test_a_night_with_nothing_to_show_has_a_picture_too(days: list, stages: list) -> None:  # type: ignore[type-arg]
    assert ET.fromstring(plot(days, stages, today=TODAY)).tag == f"{SVG}svg"


def test_many_days_stay_apart_and_inside() -> None:
    days = [(date(2026, 11, n), 1, n) for n in range(1, 15)]
    picture = ET.fromstring(plot(days, [], today=TODAY))
    wide = float(picture.attrib["width"])
    lefts = [float(box.attrib["x"]) for box in list(picture.iter(f"{SVG}rect"))[1:]]
    assert all(0 < left < wide for left in lefts)
    assert len(set(lefts)) == len(days)


def test_the_image_holds_the_picture_whole() -> None:
    svg = plot(DAYS, STAGES, today=TODAY)
    head, _, data = as_image(svg).partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == svg
