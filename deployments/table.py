"""What is deployed, once: the flows, when they run, and what happens when two runs meet.

`prefect.yaml` says the same for workers and is held to this table by a test; an installed package
has no prefect.yaml. Nothing here is Prefect's, so that commands may read it cheaply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

POOL: Final = "everest"
TAG: Final = "everest"


class Meeting(Enum):
    """What becomes of a run while another of the same deployment is at work."""

    CANCEL_NEW = "CANCEL_NEW"
    ENQUEUE = "ENQUEUE"


@dataclass(frozen=True, slots=True)
class Times:
    """When a deployment runs by itself: a cron line in the person's zone.

    Attributes:
        given: parameters of these runs alone; who starts a run by hand gives their own.
    """

    cron: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deployed:
    """One deployment; it is called as its flow and its module are."""

    name: str
    description: str
    meeting: Meeting = Meeting.CANCEL_NEW
    times: Times | None = None
    tags: tuple[str, ...] = (TAG,)

    @property
    def entrypoint(self) -> str:
        """Return where the flow is, as an import path."""
        return f"flows.{self.name}.{self.name}"


TABLE: Final = (
    Deployed(
        "nightly",
        "The night: read, learn, write lesson files and the morning report.",
        times=Times("30 3 * * *", {"if_due": True}),
    ),
    Deployed(
        "ingest",
        "Read new transcripts for recall; learn nothing yet.",
        times=Times("0 * * * *", {"unless_paused": True}),
    ),
    Deployed("sleep", "Learn from what is stored: the six passes alone."),
    Deployed("render", "Take in edits of lesson files and write them again."),
    Deployed("measure", "Work out how often the person had to repeat a correction."),
    Deployed("rebuild", "Make the store again from the ledger."),
    Deployed(
        "compact",
        "Copy the store into a new file, so that forgotten bytes leave the disk.",
        Meeting.ENQUEUE,
    ),
    Deployed(
        "forget",
        "Carry out now what was asked to be forgotten, down to the bytes on the disk.",
        Meeting.ENQUEUE,
    ),
    Deployed("backup", "Copy all that cannot be made again into one file."),
)
