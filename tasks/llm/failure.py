"""Every way in which a server of models may fail to answer, and what it says of it itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks.domain.markers import one_line

_TOLD: Final = 200


class Wrong(StrEnum):
    """In which way a call failed."""

    AWAY = "did not answer"
    SLOW = "took too long"
    REFUSED = "refused the request"
    BROKEN = "answered what cannot be read"
    OTHER = "answers with another model"
    UNASKED = "was not asked any more"


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that came to nothing.

    Attributes:
        detail: our words, or the server's own for its owner's eyes alone; never put in a log.
        status: of the HTTP answer, 0 when there was none.
    """

    wrong: Wrong
    detail: str = ""
    status: int = 0

    def __str__(self) -> str:
        return f"{self.wrong} (HTTP {self.status})" if self.status else str(self.wrong)


def error_in(answer: object) -> str:
    """Return what an error body says, in one line; both forms: `{error: text}` and OpenAI's."""
    said = answer.get("error") if isinstance(answer, dict) else None
    said = said.get("message") if isinstance(said, dict) else said
    return one_line(said)[:_TOLD] if isinstance(said, str) else ""
