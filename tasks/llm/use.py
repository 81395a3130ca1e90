"""What a night asked models for, and how often that failed: told in its report and by `status`.

Invariant: counts, names and our own words alone; nothing a model said and no memory text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tasks.durable import swap_file
from tasks.embedding.served import Served
from tasks.embedding.space import Space
from tasks.llm.wording import Wordsmith
from tasks.render.phrases import count, listing

WRITING: Final = "writing"
EMBEDDING: Final = "embedding"


@dataclass(frozen=True, slots=True)
class Use:
    """One model's work in one night.

    Attributes:
        what: what the model is for.
        failed: calls that came to nothing, by how.
        written: lessons that have the model's choice of words.
        unfit: answers that code refused, by why.
        told: conversations whose gist has the model's choice of words.
        unasked: questions that there was no budget for.
        left_out: texts without a vector at the end.
    """

    what: str
    model: str
    server: str
    asked: int = 0
    seconds: float = 0.0
    failed: Mapping[str, int] = field(default_factory=dict)
    written: int = 0
    unfit: Mapping[str, int] = field(default_factory=dict)
    told: int = 0
    unasked: int = 0
    left_out: int = 0

    @property
    def went_wrong(self) -> bool:
        """Tell whether there is something that the person should look at."""
        return bool(self.failed or self.unasked or self.left_out)


def uses(space: Space, wordsmith: Wordsmith | None, left_out: int) -> tuple[Use, ...]:
    """Return what a run asked each model for, so far."""
    return (*_embedding(space, left_out), *_writing(wordsmith))


def _embedding(space: Space, left_out: int) -> Iterator[Use]:
    if isinstance(space, Served):
        tally, base = space.server.tally, space.server.base
        failed = dict(tally.failed)
        yield Use(
            EMBEDDING, space.name, base, tally.asked, tally.seconds, failed, left_out=left_out
        )


def _writing(smith: Wordsmith | None) -> Iterator[Use]:
    if smith is not None:
        server = smith.client.server
        yield Use(
            WRITING,
            smith.client.model,
            server.base,
            server.tally.asked,
            server.tally.seconds,
            dict(server.tally.failed),
            smith.written,
            dict(smith.unfit),
            smith.told,
            smith.client.unasked,
        )


def in_words(use: Use) -> str:
    """Return a sentence on a model's work that went as it should, "" when it was not asked."""
    if not use.asked:
        return ""
    asked = f"{use.model} was asked {count(use.asked, 'time')} in {use.seconds:.0f} s"
    if use.what == EMBEDDING:
        return f"The embedding model {asked}."
    chosen = (count(use.written, "lesson"), count(use.told, "conversation's gist"))
    made = listing(
        [one for one, number in zip(chosen, (use.written, use.told), strict=True) if number]
    )
    chose = made and f"it chose the words of {made}"
    refused = sum(use.unfit.values())
    kept = f"{count(refused, 'answer was', 'answers were')} set aside" if refused else ""
    told = listing([part for part in (chose, kept) if part])
    return f"The writing model {asked}{told and f'; {told}'}."


def trouble_of(use: Use) -> Iterator[str]:
    """Yield what went wrong with a model, and what was done instead."""
    if use.failed:
        ways = listing([f"{number}× {how}" for how, number in use.failed.items()])
        rules = "lessons were worded by rule there" if use.what == WRITING else ""
        without = rules or "questions are read by their words meanwhile"
        yield f"The {use.what} model {use.model} at {use.server} failed ({ways}): {without}."
    if use.left_out:
        texts = count(use.left_out, "text has", "texts have")
        yield f"{texts} no vector yet, and {use.model} is asked again by the next night."
    if use.unasked:
        more = count(use.unasked, "question")
        yield f"{more} to the writing model waited: EVEREST_LLM_CALLS and _SECONDS bound a night."


def keep_uses(path: Path, found: Sequence[Use]) -> None:
    """Keep what the last night asked for; no file where no model is in use.

    Raises:
        WriteFailed: when the disk refuses.
    """
    if found:
        swap_file(path, json.dumps([asdict(one) for one in found], indent=1).encode())
    else:
        path.unlink(missing_ok=True)


def kept_uses(path: Path) -> list[dict[str, Any]]:
    """Return what the last night asked for, as plain data; nothing where that cannot be read."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return [one for one in kept if isinstance(one, dict)] if isinstance(kept, list) else []


def of_data(kept: Mapping[str, Any]) -> Use | None:
    """Return kept plain data as what it was, None when it is of another form."""
    try:
        return Use(**{**kept, "failed": Counter(kept["failed"]), "unfit": Counter(kept["unfit"])})
    except (TypeError, KeyError, ValueError):
        return None
