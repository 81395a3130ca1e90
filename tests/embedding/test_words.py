from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.embedding.words import FUNCTION_WORDS, stem, terms


@pytest.mark.parametrize(
    "forms",
    [
        "create creates created creating",
        "try tries tried trying",
        "stop stops stopped stopping",
        "use uses used using",
        "class classes",
        "install installs installed installing",
        "commit commits committed committing",
        "write writes writing",
        "parse parses parsed parsing",
        "delete deleted deleting",
        "cache caches cached caching",
    ],
)
def test_the_forms_of_one_word_meet(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["note not", "plane plan", "string stringent", "status state"])
def test_different_words_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


def test_an_identifier_gives_its_parts_and_itself() -> None:
    assert terms("getUserName") == ["get", "user", "name", "getusername"]
    assert terms("src/main_test.py") == ["src", "main", "test", "py", "src/main_test.py"]
    assert terms("XMLHttpRequest")[:3] == ["xml", "http", "request"]


def test_an_apostrophe_neither_splits_nor_sticks() -> None:
    assert terms("Caroline's") == terms("caroline’s") == terms("Caroline")
    assert terms("don't") == ["dont"]


def test_scripts_without_spaces_give_pairs() -> None:
    assert terms("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert terms("木") == ["木"]


def test_marks_belong_to_their_word() -> None:
    assert terms("हिन्दी में") == ["हिन्दी", "में"]


def test_case_and_width_do_not_matter() -> None:
    assert terms("STRASSE ｔｅｓｔ") == terms("Straße TEST")


def test_function_words_are_spelled_as_terms_spells_them() -> None:
    assert set(terms(" ".join(FUNCTION_WORDS))) == FUNCTION_WORDS


@given(st.text())
def test_any_text_has_terms_or_none_and_the_same_ones_twice(text: str) -> None:
    found = terms(text)
    assert all(found)
    assert found == terms(text)
