from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.proxy.anthropic import Anthropic
from serving.proxy.families import Family
from serving.proxy.gemini import Gemini
from serving.proxy.ollama import OllamaChat, OllamaGenerate
from serving.proxy.openai_chat import OpenAIChat
from serving.proxy.openai_responses import OpenAIResponses
from serving.proxy.splice import NotOfThisBody, spliced

OURS = 'a “fence”\n\\ "quoted" \u2028 🏔 </x>'

Words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: "w" + text)
Odd: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def _text(kind: str) -> Callable[[str], dict[str, str]]:
    return lambda words: {"type": kind, "text": words}


def _blocks(kind: str) -> st.SearchStrategy[Any]:
    """Contents as clients write them: a string, or blocks with some of other kinds between."""
    other = st.fixed_dictionaries({"type": st.just("image"), "source": Odd})
    last = Words.map(_text(kind))
    return Words | st.tuples(
        st.lists(other | last, max_size=2), last, st.lists(other, max_size=1)
    ).map(lambda parts: [*parts[0], parts[1], *parts[2]])


def _talk(kind: str, answer: str = "assistant") -> st.SearchStrategy[list[Any]]:
    user = st.fixed_dictionaries(
        {"role": st.just("user"), "content": _blocks(kind)}, optional={"zz": Odd}
    )
    model = st.fixed_dictionaries({"role": st.just(answer), "content": Words}, optional={"zz": Odd})
    return st.lists(st.one_of(user, model), min_size=1, max_size=5).map(
        lambda told: [*told, {"role": "user", "content": "w!"}]
    )


def _gemini() -> st.SearchStrategy[list[Any]]:
    part = Words.map(lambda words: {"text": words})
    one = st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "model"]),
            "parts": st.lists(part, min_size=1, max_size=3),
        },
        optional={"zz": Odd},
    )
    return st.lists(one, max_size=4).map(lambda told: [*told, {"parts": [{"text": "w!"}]}])


FAMILIES: dict[str, tuple[Family, str, st.SearchStrategy[Any]]] = {
    "anthropic": (Anthropic(), "messages", _talk("text")),
    "chat": (OpenAIChat(), "messages", _talk("text")),
    "responses": (OpenAIResponses(), "input", _talk("input_text") | Words),
    "gemini": (Gemini(), "contents", _gemini()),
    "ollama": (
        OllamaChat(),
        "messages",
        st.lists(Words, min_size=1, max_size=4).map(
            lambda all_: [{"role": "user", "content": one} for one in all_]
        ),
    ),
    "generate": (OllamaGenerate(), "prompt", Words),
}


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write a value as JSON in an odd but valid way: any blanks, any escapes, keys twice."""
    blank = st.sampled_from(["", "", " ", "\n\t", "\r\n  "])
    match value:
        case dict():
            members = [(key, draw(written(one))) for key, one in value.items()]
            if members and draw(st.booleans()):
                twice = draw(st.sampled_from(sorted(value)))
                members.insert(0, (twice, _other(value[twice])))
            told = [
                f"{draw(blank)}{draw(written(key))}{draw(blank)}:{draw(blank)}{one}{draw(blank)}"
                for key, one in members
            ]
            return "{" + ",".join(told) + "}"
        case list():
            return (
                "["
                + ",".join(f"{draw(blank)}{draw(written(one))}{draw(blank)}" for one in value)
                + "]"
            )
        case str():
            plain = json.dumps(value, ensure_ascii=draw(st.booleans()))
            return plain.replace("w", "\\u0077", 1) if draw(st.booleans()) else plain
        case _:
            return json.dumps(value)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_body_gains_the_texts_and_nothing_else(name: str, data: st.DataObject) -> None:
    family, key, talk = FAMILIES[name]
    said = data.draw(talk)
    around = data.draw(st.dictionaries(st.text(max_size=4).map(lambda k: "z" + k), Odd, max_size=3))
    body = data.draw(written({**around, key: said, "model": "m"})).encode()
    spots = [one.spot for one in family.read(body).messages if one.spot is not None]
    longer = spliced(body, [(spot, OURS) for spot in spots])

    assert spots
    assert _is_subsequence(body, longer)
    assert _without_ours(json.loads(longer), key) == _without_ours(json.loads(body), key)
    assert json.dumps(json.loads(longer), ensure_ascii=False).count(
        json.dumps(OURS, ensure_ascii=False)[1:-1]
    ) == len(spots)


def test_a_spot_of_another_body_is_refused() -> None:
    body = b'{"messages":[{"role":"user","content":"one"}]}'
    spot = OllamaChat().read(body).messages[0].spot
    assert spot is not None
    with pytest.raises(NotOfThisBody):
        spliced(b'{"messages":[{"role":"user","content":"two"}]}', [(spot, OURS)])


def _other(value: Any) -> str:
    """Return another value of the same kind: of a key that stands twice the last counts."""
    match value:
        case str():
            return '"old"'
        case list():
            return "[]"
        case _:
            return "{}"


def _is_subsequence(short: bytes, long: bytes) -> bool:
    left = iter(long)
    return all(byte in left for byte in short)


def _without_ours(value: Any, key: str) -> Any:
    """Return a body with our texts taken out, strings and lists of one text alike."""
    match value:
        case dict():
            return {name: _without_ours(one, key) for name, one in value.items()}
        case list():
            kept = [_without_ours(one, key) for one in value if not _is_ours(one)]
            return kept[0]["text"] if _is_bare(kept) else kept
        case str():
            return value.removesuffix("\n\n" + OURS)
        case _:
            return value


def _is_ours(one: Any) -> bool:
    return isinstance(one, dict) and one.get("text") == OURS


def _is_bare(kept: list[Any]) -> bool:
    return (
        len(kept) == 1
        and isinstance(kept[0], dict)
        and set(kept[0]) == {"type", "text"}
        and kept[0]["type"] == "text"
    )
