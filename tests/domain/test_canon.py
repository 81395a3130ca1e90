import hashlib
import hmac
import sys
import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.canon import CANON_VERSION, VERSIONS, canon, digests

VECTORS = tomllib.loads(Path(__file__).with_name("canon.toml").read_text(encoding="utf-8"))
KEY = b"k" * 32


def _meeting() -> list[object]:
    later = pytest.mark.xfail(strict=True, reason="canon version 2 comes with issue [holds]")
    return [
        pytest.param(
            group["text"],
            other,
            marks=later if group["since"] > CANON_VERSION else (),
            id=ascii(other),
        )
        for group in VECTORS["meet"]
        for other in group["others"]
    ]


@pytest.mark.parametrize(("text", "other"), _meeting())
def test_one_value_in_other_clothes_meets(text: str, other: str) -> None:
    assert canon(text) == canon(other)


@pytest.mark.parametrize(("text", "other"), VECTORS["apart"]["pairs"])
def test_two_values_stay_apart_under_every_version(text: str, other: str) -> None:
    for version in VERSIONS:
        assert canon(text, version) != canon(other, version)


@pytest.mark.parametrize("text", ["", "   ", "...", "?! ; :", "\u200b\u3164", " \u00ad. "])
def test_a_text_with_nothing_in_it_has_an_empty_canon_and_no_digest(text: str) -> None:
    assert canon(text) == ""
    assert digests(KEY, text) == ()


def test_short_texts_keep_their_keys() -> None:
    assert [canon(t) for t in ("v2", "C", "é")] == ["v2", "c", "é"]


def test_digests_are_keyed_and_carry_their_version() -> None:
    expected = hmac.new(KEY, b"1\x1fuse uv, not pip", hashlib.sha256).hexdigest()
    assert digests(KEY, "Use uv, not pip.") == (("1", expected),)
    assert digests(b"other", "Use uv, not pip.") != digests(KEY, "Use uv, not pip.")


def test_a_text_is_hashed_under_every_kept_version() -> None:
    assert [version for version, _ in digests(KEY, "x")] == [str(v) for v in sorted(VERSIONS)]
    assert CANON_VERSION in VERSIONS


def test_an_unknown_version_is_an_error() -> None:
    with pytest.raises(KeyError):
        canon("x", 99)


def test_every_format_character_of_unicode_is_invisible() -> None:
    left = [
        f"{c:04X}"
        for c in range(sys.maxunicode + 1)
        if unicodedata.category(chr(c)) == "Cf" and canon(f"a{chr(c)}b") != "ab"
    ]
    assert left == []


def test_half_of_a_character_pair_is_hashed_and_not_an_error() -> None:
    assert len(digests(KEY, "a\ud800b")) == 1


@pytest.mark.parametrize("text", ["\u1f80\u0313", "x\u0308\u1f80\u0308"])
def test_what_folding_takes_apart_is_put_together_again(text: str) -> None:
    assert canon(canon(text)) == canon(text)


@given(st.text())
def test_canon_of_canon_is_canon(text: str) -> None:
    assert canon(canon(text)) == canon(text)


@given(st.text())
def test_casefold_never_changes_the_match(text: str) -> None:
    assert canon(text.casefold()) == canon(text)


@given(st.text(st.characters(codec="ascii")), st.sampled_from(["", ".", "!", " ;", "?!"]))
def test_upper_case_and_closing_marks_never_change_the_match(text: str, closing: str) -> None:
    assert canon(text.upper() + closing) == canon(text)
