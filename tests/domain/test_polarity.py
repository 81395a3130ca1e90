import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.polarity import opposed

PAIRS = tomllib.loads(Path(__file__).with_name("polarity.toml").read_text(encoding="utf-8"))
TEXTS = sorted({text for pairs in PAIRS.values() for pair in pairs for text in pair})
WORDS = st.sampled_from(sorted({word for text in TEXTS for word in text.split()}))
RULES = st.lists(WORDS, max_size=14).map(" ".join)


@pytest.mark.parametrize(("a", "b"), PAIRS["opposed"])
def test_opposite_rules_are_opposed_in_either_order(a: str, b: str) -> None:
    assert opposed(a, b)
    assert opposed(b, a)


@pytest.mark.parametrize(("a", "b"), PAIRS["free"])
def test_rules_that_say_the_same_or_something_else_are_free_to_meet(a: str, b: str) -> None:
    assert not opposed(a, b)
    assert not opposed(b, a)


@pytest.mark.parametrize("text", TEXTS)
def test_no_rule_opposes_itself_in_other_dress(text: str) -> None:
    assert not opposed(text, f"  {text.upper()}!")


@given(RULES, RULES)
def test_opposition_is_mutual(a: str, b: str) -> None:
    assert opposed(a, b) == opposed(b, a)


@given(st.text(max_size=80), RULES)
def test_any_text_is_answered(wild: str, rule: str) -> None:
    assert opposed(wild, rule) in (True, False)


@given(RULES)
def test_a_rule_never_opposes_itself(rule: str) -> None:
    assert not opposed(rule, rule)
