"""The editor of TOML: what is added, what stays, and what cannot be changed safely."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.wiring.data import Unwirable
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.owner import Owner
from deployments.wiring.statements import statements
from deployments.wiring.tomls import TomlText
from deployments.wiring.wishes import Entry, Hook, Kept, Option, fulfil, present
from deployments.wiring.withdrawing import withdraw
from tasks.hooks.wired import command
from tests.deployments.wiring.toml_writer import Writer

BOM = "\ufeff"
SERVER = {"command": "/a b/everest", "args": ["serve"], "env": {"EVEREST_HOME": 'q"\\'}}
HANDLER = {"type": "command", "command": "sh -c 'x' \"y\"", "timeout": 5}
PIECES = [
    'a{n} = "# no comment"  # one',
    "b{n} = '''\n[no.table]\nx = 1\n'''",
    'c{n} = """\na \\""" [[x]]\n"""',
    "d{n} = [1,\n  2, # two\n  ]",
    "e{n} = {{ x = [1, 2], 'y z' = \"}}\" }}",
    'f{n}."q.r".s = 1979-05-27T07:32:00Z',
    "# a comment [x]",
    "",
    "[t{n}]",
    "[ t{n} . 'u v' ]  # table",
    '[t{n}."\\"k"]\nx = 1',
    "[[i{n}]]\ny = 2\n[[i{n}]]\n[i{n}.sub]\nz = 3\n[[i{n}.deep]]\n[[i{n}.deep]]",
    "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'x'",
    "[mcp_servers.m{n}]\ncommand = 'y'",
]


def _text(seed: int) -> str:
    """Return a text of random pieces; each names keys of its own, so that any order is TOML."""
    random = Random(seed)
    pieces = [
        piece.format(n=n) for n, piece in enumerate(random.choices(PIECES, k=random.randrange(9)))
    ]
    text = "\n".join(pieces) + random.choice(["", "\n", "\n\n"])
    newline = random.choice(["\n", "\r\n"])
    return random.choice(["", BOM]) + text.replace("\n", newline)


_texts = st.integers(0, 2**32).map(_text)


@given(_texts)
def test_statements_one_behind_the_other_are_the_text(text: str) -> None:
    start = len(BOM) if text.startswith(BOM) else 0
    found = list(statements(text, start))
    assert text[:start] + "".join(text[one.start : one.end] for one in found) == text
    data = tomllib.loads(text.removeprefix(BOM))
    for one in found:
        if one.kind == "pair":
            value = tomllib.loads("v = " + text[slice(*one.value)])["v"]
            assert _at(data, one.path) == value


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        data = data[name]
    return data


@given(_texts)
def test_what_is_added_is_there_and_nothing_else_is_touched(text: str) -> None:
    before = TomlText(text)
    after = (
        before.put(("mcp_servers", "everest"), SERVER)
        .put(("model_provider",), "everest")
        .append(("hooks", "Stop"), {"hooks": [HANDLER]})
        .put(("features", "codex_hooks"), value=True)
    )
    assert after.get(("mcp_servers", "everest")) == SERVER
    assert after.get(("hooks", "Stop"))[-1] == {"hooks": [HANDLER]}
    rest = iter(after.text)
    assert all(one in rest for one in text)
    if "\r\n" in text:
        assert after.text.count("\n") == after.text.count("\r\n")


@given(_texts)
def test_what_was_added_comes_out_again(text: str) -> None:
    before = TomlText(text)
    after = before.put(("mcp_servers", "everest"), SERVER)
    after = after.append(("hooks", "Stop"), {"hooks": [HANDLER]})
    after = after.drop(("hooks", "Stop", len(after.get(("hooks", "Stop"))) - 1))
    after = after.drop(("mcp_servers", "everest")).put(("model_provider",), "x")
    after = after.drop(("model_provider",))
    assert after.text.rstrip("\r\n") == text.rstrip("\r\n")


def test_a_value_is_replaced_in_its_place_with_its_comment_kept() -> None:
    text = 'model_provider = "azure" # mine\n[mcp_servers.everest]\ncommand = "a"  # c\nargs = []\n'
    after = TomlText(text).put(("model_provider",), "everest")
    after = after.put(("mcp_servers", "everest", "command"), "b")
    assert after.text == text.replace('"azure"', '"everest"').replace('"a"', '"b"')


INSIDE = [
    ("m = {}", "m = { everest = { c = 1 } }"),
    ("m = { }  # none", "m = { everest = { c = 1 } }  # none"),
    ("m = {a = 1}", "m = {a = 1, everest = { c = 1 }}"),
    ("m = { a.b = 1 }", "m = { a.b = 1, everest = { c = 1 } }"),
    ("m.a.b = 1", "m.a.b = 1\n\n[m.everest]\nc = 1\n"),
    ("[m]\na = 1\n[x]\n", "[m]\na = 1\n[x]\n\n[m.everest]\nc = 1\n"),
    ("[m.b]\n[x]\n[m]\n# z", "[m.b]\n[x]\n[m]\n# z\n\n[m.everest]\nc = 1\n"),
    ("'m' = { 'q\"' = [1, 2] } # c\r\n", "'m' = { 'q\"' = [1, 2], everest = { c = 1 } } # c\r\n"),
    ("# only this", "# only this\n\n[m.everest]\nc = 1\n"),
]


@pytest.mark.parametrize(("text", "after"), INSIDE)
def test_an_entry_is_written_as_the_table_is_that_holds_it(text: str, after: str) -> None:
    made = TomlText(text).put(("m", "everest"), {"c": 1})
    assert made.text == after
    assert made.drop(("m", "everest")).data == TomlText(text).data


ADDED = [
    ("h = []", "h = [{ c = 1 }]"),
    ("h = [ {a = 1} ]", "h = [ {a = 1}, { c = 1 } ]"),
    ("h = [\n  {a = 1}, # one\n]", "h = [\n  {a = 1}, # one\n  { c = 1 },\n]"),
    ("h = [\n  {a = 1} # one\n]", "h = [\n  {a = 1}, # one\n  { c = 1 }\n]"),
    ("h = [\r\n\t{a = 1}]", "h = [\r\n\t{a = 1},\r\n\t{ c = 1 }]"),
    ("h = [ # none\n]", "h = [ # none\n  { c = 1 }\n]"),
    ("[[h]]\na = 1", "[[h]]\na = 1\n\n[[h]]\nc = 1\n"),
]


@pytest.mark.parametrize(("text", "after"), ADDED)
def test_an_item_is_written_as_those_before_it_and_comes_out_again(text: str, after: str) -> None:
    before = TomlText(text)
    made = before.append(("h",), {"c": 1})
    assert made.text == after
    back = made.drop(("h", len(made.get(("h",))) - 1)).text
    assert back.rstrip() == text


def test_a_setting_joins_a_table_that_dotted_keys_make() -> None:
    text = "features.web = true # mine\n[x]\nfeatures = 1\n"
    made = TomlText(text).put(("features", "hooks"), value=True)
    assert made.text == text.replace("# mine\n", "# mine\nfeatures.hooks = true\n")
    assert made.drop(("features", "hooks")).text == text
    deeper = TomlText("a.b.c = 1\n").put(("a", "d"), 2)
    assert deeper.text == "a.b.c = 1\na.d = 2\n"


def test_what_is_no_table_is_left_to_the_person() -> None:
    with pytest.raises(Unwirable):
        TomlText("mcp_servers = 3\n").put(("mcp_servers", "everest"), SERVER)
    with pytest.raises(Unwirable):
        TomlText("hooks = { Stop = 3 }\n").append(("hooks", "Stop"), {"hooks": [HANDLER]})


_names = st.sampled_from(["a", "b_c", "a b", 'q"', "é", "x.y", "command"])
_leaves = st.one_of(
    st.booleans(),
    st.integers(-5, 10**12),
    st.sampled_from(["", "x", "# no comment", "[a]", 'a"b', "it's", "{ = , }", "\n"]),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=5,
)
_tables = st.dictionaries(_names, _values, max_size=3)
_groups = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": _leaves}))}),
    max_size=2,
)
_configs = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("gpt"),
        "odd": _tables,
        "mcp_servers": st.dictionaries(_names, _tables, max_size=2),
        "model_providers": st.dictionaries(_names, _tables, max_size=1),
        "features": st.dictionaries(_names, _leaves, max_size=2),
        "hooks": st.dictionaries(st.sampled_from(["Stop", "PreCompact"]), _groups, max_size=2),
        "list": st.lists(_tables, max_size=2),
    },
)
HOME = "/a home"
WISHES = (
    Entry(("mcp_servers", "everest"), SERVER | {"env": {"EVEREST_HOME": HOME}}),
    Option(("features", "hooks"), value=True),
    Option(("model_provider",), "everest"),
    Entry(("model_providers", "everest"), {"base_url": "http://x/t/everest_1/v1"}),
    *(
        Hook(
            event,
            HANDLER | {"command": command(Path("/py"), Path(HOME), Path("/s"), "codex", event)},
        )
        for event in ("Stop", "PreCompact")
    ),
)


@given(_configs, st.integers(0, 2**32))
def test_any_settings_written_in_any_way_are_wired_and_unwired(
    data: dict[str, Any], seed: int
) -> None:
    text = Writer(seed).text(data)
    assert TomlText(text).data == data
    wired, kept = fulfil(TomlText(text), WISHES, Kept())
    assert present(wired, WISHES)
    assert fulfil(wired, WISHES, kept)[0].text == wired.text, "twice is as once"
    rest = iter(wired.text)
    assert all(one in rest for one in text), "nothing is taken out"
    if "\r\n" in text:
        assert wired.text.count("\n") == wired.text.count("\r\n")
    back = withdraw(wired, kept, [], Owner(HOME))
    assert _bare(back.data) == _bare(data)
    assert back.text.split() == text.split() or _bare(data) != data


def _bare(data: dict[str, Any]) -> dict[str, Any]:
    """Return settings without tables that hold nothing: of an implied one no trace is left."""
    return {key: value for key, value in data.items() if value not in ({}, [])}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a = \n", 1, 5), ("[x]\na = 1\na = 2\n", 3, 6), ('x = "', 1, 6), ("\ufeffa = = 1", 1, 5)],
)
def test_what_is_no_toml_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(Unreadable) as told:
        TomlText(text)
    assert (told.value.line, told.value.column) == (line, column)
