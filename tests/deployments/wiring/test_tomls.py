"""The editor of TOML: what is added, what stays, and what cannot be changed safely."""

from __future__ import annotations

import tomllib
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.wiring.data import Unwirable
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.statements import statements
from deployments.wiring.tomls import TomlText

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


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { a = { command = "x" } }\n',
        "mcp_servers = 3\n",
    ],
)
def test_what_stands_on_one_line_is_left_to_the_person(text: str) -> None:
    with pytest.raises(Unwirable):
        TomlText(text).put(("mcp_servers", "everest"), SERVER)


def test_hooks_in_an_array_on_one_line_are_left_to_the_person() -> None:
    text = 'hooks = { Stop = [ { hooks = [ { command = "x" } ] } ] }\n'
    with pytest.raises(Unwirable):
        TomlText(text).append(("hooks", "Stop"), {"hooks": [HANDLER]})


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a = \n", 1, 5), ("[x]\na = 1\na = 2\n", 3, 6), ('x = "', 1, 6), ("\ufeffa = = 1", 1, 5)],
)
def test_what_is_no_toml_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(Unreadable) as told:
        TomlText(text)
    assert (told.value.line, told.value.column) == (line, column)
