"""Properties of the editor of JSON with comments, on texts written in every way there is."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.wiring.data import Unwirable, dropped
from deployments.wiring.jsonc import Unreadable, parse
from deployments.wiring.spans import JsonText

BOM = "\ufeff"
VALUE = {"hooks": [{"type": "command", "command": 'a "b" \\ é', "timeout": 5}], "flat": {}}

_keys = st.sampled_from(["a", "b", "hooks", "Stop", "a b", 'q"', "é", "\\", "//", "/*"])
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "// no comment", "/* neither */", "\u2028", 'a"b', "{", ","]),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)
_objects = st.dictionaries(_keys, _values, max_size=4)


class Writer:
    """Writes values with any space, comments, trailing commas, line ends and mark there are.

    It draws from a seed, for speed: hypothesis draws the value and the seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        newline = self._random.choice(["\n", "\r\n"])
        self._spaces = ["", "", " ", "\t", newline, newline + "    ", newline + "\t"]
        if self._random.random() < 0.5:
            self._spaces += [f" // c, }}{newline}", " /* {, */ ", f"/* two{newline}lines */"]
            self._spaces += ["/**/", f"//{newline}"]

    def text(self, value: Any) -> str:
        mark = self._random.choice(["", BOM])
        return mark + self._space() + self._written(value) + self._space()

    def _space(self) -> str:
        return "".join(self._random.choices(self._spaces, k=self._random.randrange(3)))

    def _written(self, value: Any) -> str:
        match value:
            case dict():
                return "{" + self._joined([self._member(*one) for one in value.items()]) + "}"
            case list():
                return "[" + self._joined([self._space() + self._written(v) for v in value]) + "]"
        return json.dumps(value, ensure_ascii=self._random.random() < 0.5)

    def _member(self, key: str, value: Any) -> str:
        named = json.dumps(key, ensure_ascii=False)
        return f"{self._space()}{named}{self._space()}:{self._space()}{self._written(value)}"

    def _joined(self, parts: list[str]) -> str:
        ending = self._space() + "," if parts and self._random.random() < 0.3 else ""
        return (self._space() + ",").join(parts) + ending + self._space()


_texts = st.builds(lambda value, seed: Writer(seed).text(value), _objects, st.integers(0, 2**32))


def _is_within(old: str, new: str) -> bool:
    rest = iter(new)
    return all(one in rest for one in old)


@given(_texts)
def test_what_is_read_is_what_json_reads(text: str) -> None:
    assert JsonText(text).text == text
    root = parse(text)
    assert root is not None
    assert json.loads(json.dumps(root.value)) == JsonText(text).data


@given(_texts)
def test_a_new_member_is_added_and_nothing_else_is_touched(text: str) -> None:
    before = JsonText(text)
    after = before.put(("everest",), VALUE)
    assert after.data == {**before.data, "everest": VALUE}
    assert _is_within(text, after.text)


@given(_texts)
def test_what_was_added_to_what_was_there_comes_out_without_a_trace(text: str) -> None:
    before = JsonText(text)
    after = before.put(("everest",), VALUE).drop(("everest",))
    if before.data:
        assert after.text == text
    assert after.data == before.data


@given(_texts, st.data())
def test_an_item_is_added_to_any_array_and_comes_out_again(text: str, data: st.DataObject) -> None:
    before = JsonText(text)
    arrays = [path for path, value in _paths(before.data) if isinstance(value, list) and value]
    if not arrays:
        return
    path = data.draw(st.sampled_from(arrays))
    many = len(before.get(path))
    after = before.append(path, VALUE)
    assert after.get(path) == [*before.get(path), VALUE]
    assert _is_within(text, after.text)
    assert after.drop((*path, many)).text == text


@given(_texts, st.data(), _values)
def test_any_value_can_be_replaced_and_put_back(text: str, data: st.DataObject, value: Any) -> None:
    before = JsonText(text)
    paths = [path for path, _ in _paths(before.data)]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    after = before.put(path, value)
    assert after.get(path) == value
    assert after.put(path, before.get(path)).data == before.data


@given(_texts, st.data())
def test_anything_can_be_taken_out_and_comments_stay(text: str, data: st.DataObject) -> None:
    before = JsonText(text)
    paths = [path for path, _ in _paths(before.data)]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    after = before.drop(path)
    assert after.data == dropped(before.data, path)
    assert _is_within(after.text, text)


def _paths(data: Any, above: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    match data:
        case dict():
            inner = list(data.items())
        case list():
            inner = list(enumerate(data))
        case _:
            return []
    found = []
    for name, value in inner:
        found += [((*above, name), value), *_paths(value, (*above, name))]
    return found


@given(st.text() | _texts.flatmap(lambda text: st.integers(0, len(text)).map(lambda n: text[:n])))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        parse(text)
    except Unreadable as error:
        place = (error.line, error.column)
    else:
        return
    assert (1, 1) <= place <= (text.count("\n") + 1, len(text) + 1)


@given(_objects)
def test_plain_json_is_read_as_python_reads_it(value: dict[str, Any]) -> None:
    assert JsonText(json.dumps(value)).data == value


ADDED = [
    ("", '{\n  "k": 1\n}\n'),
    ("{}", '{\n  "k": 1\n}'),
    ('{"a":1}', '{"a":1,"k":1}'),
    ('{"a": 1}\n', '{"a": 1, "k": 1}\n'),
    ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": 1\n}'),
    ('{\r\n    "a": 1 // x\r\n}\r\n', '{\r\n    "a": 1, // x\r\n    "k": 1\r\n}\r\n'),
    ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "k": 1,\n}'),
    ("{ // none yet\n}", '{ // none yet\n  "k": 1\n}'),
    (BOM + "{}", BOM + '{\n  "k": 1\n}'),
    ("// only this\n", '// only this\n{\n  "k": 1\n}\n'),
    (BOM, BOM + '{\n  "k": 1\n}\n'),
]


@pytest.mark.parametrize(("text", "after"), ADDED)
def test_a_member_is_written_as_its_neighbours_are(text: str, after: str) -> None:
    assert JsonText(text).put(("k",), 1).text == after


REFUSED = [
    ("{", 1, 2, "a key in quotes"),
    ('{"a": 1\n "b": 2}', 2, 2, "comma"),
    ('{"a" 1}', 1, 6, "colon"),
    ("{'a': 1}", 1, 2, "no JSON"),
    ('{"a": }', 1, 7, "a value is missing"),
    ("{} {}", 1, 4, "after the end"),
    ('{"a": "\\x"}', 1, 7, "no JSON"),
    ('{"a": 01}', 1, 7, "no JSON"),
    ('{"a": tru}', 1, 7, "no JSON"),
    ("{\n/* never closed", 2, 1, "no JSON"),
    ("[" * 5000, 1, 202, "too deeply"),
]


@pytest.mark.parametrize(("text", "line", "column", "why"), REFUSED)
def test_what_is_no_json_is_refused_with_its_place(
    text: str, line: int, column: int, why: str
) -> None:
    with pytest.raises(Unreadable) as told:
        JsonText(text)
    assert (told.value.line, told.value.column) == (line, column)
    assert why in told.value.why


@pytest.mark.parametrize("text", ["[]", "3", '{"hooks": 3}', '{"hooks": null}', '{"hooks": []}'])
def test_nothing_is_put_where_there_is_no_room(text: str) -> None:
    with pytest.raises(Unwirable):
        JsonText(text).append(("hooks", "Stop"), VALUE)


def test_of_a_key_that_stands_twice_the_last_one_is_changed() -> None:
    text = '{"a": {"x": 1}, "a": {"y": 2}}'
    assert JsonText(text).put(("a", "k"), 1).text == '{"a": {"x": 1}, "a": {"y": 2, "k": 1}}'
