"""A text is read once in each space, and again while nothing came of it."""

import numpy as np

from serving.meanings import Meanings
from tasks.embedding.hashed import Hashed


class Counted(Hashed):
    def __init__(self, name: str) -> None:
        self.name, self.asked, self.silent = name, 0, False

    def query(self, text: str) -> "np.typing.NDArray[np.float32]":
        self.asked += 1
        return super().query("" if self.silent else text)


def test_what_was_read_is_kept_for_its_space_alone() -> None:
    meanings, one, other = Meanings(), Counted("one"), Counted("other")
    first = meanings.of(one, "pnpm or npm")
    assert np.array_equal(meanings.of(one, "pnpm or npm"), first)
    meanings.of(other, "pnpm or npm")
    meanings.of(one, "another text")
    assert (one.asked, other.asked) == (2, 1)


def test_a_silence_is_not_kept() -> None:
    meanings, one = Meanings(), Counted("one")
    one.silent = True
    assert not meanings.of(one, "pnpm").any()
    one.silent = False
    assert meanings.of(one, "pnpm").any()


def test_it_does_not_grow_for_ever() -> None:
    meanings, one = Meanings(), Counted("one")
    for n in range(501):
        meanings.of(one, f"text {n}")
    meanings.of(one, "text 500")
    assert one.asked == 501
    meanings.of(one, "text 0")
    assert one.asked == 502
