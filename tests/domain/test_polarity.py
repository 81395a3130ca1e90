import time
import tomllib
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.polarity import Stance, clash, clashes, opposed, stance_of

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


@given(st.lists(RULES | st.sampled_from(TEXTS), max_size=12))
def test_the_clashes_of_many_are_the_pairs_that_are_opposed(texts: list[str]) -> None:
    pairs = combinations(range(len(texts)), 2)
    expected = [(i, j) for i, j in pairs if opposed(texts[i], texts[j])]
    assert list(clashes([stance_of(text) for text in texts])) == expected


@given(RULES | st.sampled_from(TEXTS), RULES | st.sampled_from(TEXTS))
def test_no_pair_that_is_passed_over_unasked_would_clash(a: str, b: str) -> None:
    one, two = stance_of(a), stance_of(b)
    assert clash(one, two) == clash(_asking_all(one), _asking_all(two))


def _asking_all(stance: Stance) -> Stance:
    mark = frozenset({"*"})
    return replace(stance, sought=stance.sought | mark, offered=stance.offered | mark)


def test_all_pairs_of_a_thousand_alike_are_told_apart_in_seconds() -> None:
    texts = [f"always use option number {n} for the tool" for n in range(1000)]
    start = time.perf_counter()
    found = sum(1 for _ in clashes([stance_of(text) for text in texts]))
    assert found == 1000 * 999 // 2
    assert time.perf_counter() - start < 15
