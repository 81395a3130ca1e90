"""What an ingest came to: files, lines, sessions and episodes, counted as they are met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.domain.proposals import Decision, Proposal, PutEpisode, Refusal, Stored
from tasks.domain.session import ReadCounts


@dataclass(slots=True)
class Ingested:
    """What an ingest came to.

    Attributes:
        files: transcripts found; `changed`: those that were new or had changed.
        counts: what became of their lines; `adds_up` holds.
        sessions: sessions stored; `by_program`, `ignored`: sessions left out, and why.
        episodes: new or changed episodes by kind.
        problems: one sentence for each file or folder that could not be read as it should.
    """

    files: int = 0
    changed: int = 0
    counts: ReadCounts = field(default_factory=ReadCounts)
    sessions: int = 0
    by_program: int = 0
    ignored: int = 0
    episodes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Return how many lines could not be read."""
        return len(self.counts.failed)

    def decided(self, proposals: Sequence[Proposal], decisions: Sequence[Decision]) -> None:
        """Count the episodes that were stored, and what was refused."""
        for proposal, decision in zip(proposals, decisions, strict=True):
            match decision:
                case Stored() if isinstance(proposal.change, PutEpisode):
                    self.episodes[proposal.change.episode.kind] += 1
                case Refusal(reason, _):
                    self.refused[reason] += 1
                case _:
                    pass

    def gain(self, counts: ReadCounts, before: Mapping[str, Any] | None) -> dict[str, int]:
        """Count the lines of a file that were not counted before; return how many of each.

        Args:
            counts: of the whole file.
            before: the counts of what was read earlier, as `plain` gives them; None for nothing.
        """
        known = before or plain(ReadCounts())
        failed = counts.failed[len(known["failed"]) :]
        gained = {name: getattr(counts, name) - known[name] for name in _NUMBERS}
        total = self.counts
        for name, more in gained.items():
            setattr(total, name, getattr(total, name) + more)
        total.set_aside.update(counts.set_aside)
        total.set_aside.subtract(known["set_aside"])
        total.failed += failed
        aside = counts.set_aside.total() - sum(known["set_aside"].values())
        return {**gained, "set_aside": aside, "failed": len(failed)}


_NUMBERS = ("read", "used", "duplicates")


def plain(counts: ReadCounts) -> dict[str, Any]:
    """Return counts as plain JSON data, to be kept beside a file's state."""
    return {
        **{name: getattr(counts, name) for name in _NUMBERS},
        "set_aside": dict(counts.set_aside),
        "failed": list(counts.failed),
    }
