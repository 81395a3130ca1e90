import re
import string
import tomllib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.redaction import redact

TABLE = tomllib.loads(Path(__file__).with_name("redaction.toml").read_text(encoding="utf-8"))
ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_uppercase + "234567",
    "N": string.digits,
}
MARK = re.compile(r"\[redacted:[a-z-]+\]")


def _filled(template: str) -> str:
    """Fill {A32} with 32 random-looking characters, always the same ones."""

    def one(m: re.Match[str]) -> str:
        chosen = Random(m[0]).choices(ALPHABETS[m[1]], k=int(m[2]))
        return "".join(chosen[:-2]) + ("7Q"[-len(chosen) :] if m[1] != "N" else "42")

    return re.sub(r"\{([ABN])(\d+)\}", one, template)


def _secrets() -> list[object]:
    return [
        pytest.param(row["kind"], secret, text.replace("{S}", secret), id=f"{row['kind']}-{n}")
        for row in TABLE["redact"]
        for secret in [_filled(row["secret"])]
        for n, text in enumerate(row["texts"])
    ]


SECRETS = _secrets()
TEXTS = [p.values[2] for p in SECRETS] + TABLE["survive"]["texts"]


@pytest.mark.parametrize(("kind", "secret", "text"), SECRETS)
def test_a_secret_is_taken_out_and_named(kind: str, secret: str, text: str) -> None:
    clean = redact(text)
    assert secret not in clean
    assert f"[redacted:{kind}]" in clean
    assert redact(clean) == clean


@pytest.mark.parametrize(("kind", "secret", "text"), SECRETS)
def test_a_secret_is_found_in_the_middle_of_a_conversation(
    kind: str, secret: str, text: str
) -> None:
    clean = redact(f"Höre, the build fails 🙂.\n\n{text}\nWhat now?")
    assert secret not in clean
    assert clean.startswith("Höre, the build fails 🙂.\n\n")
    assert clean.endswith("What now?")


@pytest.mark.parametrize("text", TABLE["survive"]["texts"])
def test_an_innocent_text_survives(text: str) -> None:
    assert redact(text) == text
    assert redact(f"Look:\n{text}\nok?") == f"Look:\n{text}\nok?"


def test_what_stands_around_a_secret_stays() -> None:
    assert redact("a password=hunter2, b") == "a password=[redacted:password], b"
    assert (
        redact('{"password": "hunter2", "x": 1}') == '{"password": "[redacted:password]", "x": 1}'
    )
    assert redact("x://u:s3cr3t@h/p") == "x://u:[redacted:url-password]@h/p"


def test_several_secrets_in_one_text_are_all_taken_out() -> None:
    text = "password=hunter2\nDB_PASSWORD=swordfish\ncard 4111111111111111 and 5500 0000 0000 0004"
    assert len(MARK.findall(redact(text))) == 4


def test_overlapping_finds_leave_nothing_between_them() -> None:
    key = _filled("ghp_{A36}")
    assert redact(f"https://me:{key}@github.com") == "https://me:[redacted:github-token]@github.com"


def test_a_find_that_begins_in_another_is_taken_out_to_its_end() -> None:
    block = _filled("-----BEGIN RSA PRIVATE KEY-----\n{A32}\n-----END RSA PRIVATE KEY-----")
    assert redact(f"password=ab1{block}") == "password=[redacted:password]"


def test_half_of_a_character_pair_is_kept() -> None:
    assert redact("\ud800 password=hunter2 \udfff") == "\ud800 password=[redacted:password] \udfff"


PIECES = st.one_of(
    st.sampled_from(TEXTS), st.text(max_size=12), st.sampled_from("\"'=:;&@{}[]\\ \n")
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_redaction_is_idempotent(text: str) -> None:
    clean = redact(text)
    assert redact(clean) == clean


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(redact(text), str)


@pytest.mark.parametrize(
    "unit", ["password=", "://a:", "0", "aA1_", "-----BEGIN PRIVATE KEY-----", "key: ", "\\"]
)
def test_hostile_repetition_takes_no_time_to_speak_of(unit: str) -> None:
    """A quadratic pattern would need minutes for this; the suite's timeout would end it."""
    assert redact(unit * (200_000 // len(unit)))
