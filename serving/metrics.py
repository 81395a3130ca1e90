"""What the door counts about itself, as Prometheus reads it. Counts and names of APIs, no words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Series:
    """One metric: a number for each set of label values.

    Attributes:
        labels: the labels' names, in the order in which values are given.
    """

    name: str
    about: str
    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...] = ()
    _values: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, *labels: str, by: float = 1) -> None:
        """Add to the number of these label values."""
        self._values[labels] = self._values.get(labels, 0) + by

    def set(self, value: float, *labels: str) -> None:
        """Put the number of these label values."""
        self._values[labels] = value

    def value(self, *labels: str) -> float:
        """Return the number of these label values, 0 when nothing was counted."""
        return self._values.get(labels, 0)

    def total(self, last: str | None = None) -> float:
        """Return the sum of the numbers, of one value of the last label if that is given."""
        return sum(n for labels, n in self._values.items() if last in (None, *labels[-1:]))

    def items(self) -> list[tuple[tuple[str, ...], float]]:
        """Return each set of label values with its number, in their order."""
        return sorted(self._values.items())

    def lines(self) -> Iterator[str]:
        """Yield the metric in Prometheus' text format."""
        yield f"# HELP {self.name} {self.about}"
        yield f"# TYPE {self.name} {self.kind}"
        for values, number in self.items():
            named = ",".join(
                f'{name}="{value}"' for name, value in zip(self.labels, values, strict=True)
            )
            yield f"{self.name}{{{named}}} {number:g}" if named else f"{self.name} {number:g}"


class Counters:
    """Every metric of the process, made once and passed down."""

    def __init__(self) -> None:
        self.requests = Series(
            "everest_proxy_requests_total",
            "Requests by API and by the status of their answer; 499 is a client that went away.",
            "counter",
            ("api", "status"),
        )
        self.in_flight = Series(
            "everest_proxy_in_flight", "Requests under way, by API.", "gauge", ("api",)
        )
        self.upstream_failures = Series(
            "everest_proxy_upstream_failures_total",
            "Servers that could not be reached or broke off, by API and kind.",
            "counter",
            ("api", "kind"),
        )
        self.door_failures = Series(
            "everest_door_failures_total",
            "Requests that went without memory because their token or project could not be read.",
            "counter",
            ("kind",),
        )
        self.additions = Series(
            "everest_proxy_additions_total",
            "Requests that could get an addition, by what came of it; no project is one of a token "
            "of several with none named.",
            "counter",
            ("outcome",),
        )
        self.tees = Series(
            "everest_proxy_answers_read_total",
            "Answers read for the relay, by what came of it.",
            "counter",
            ("outcome",),
        )

        self.hooks = Series(
            "everest_hooks_total",
            "Hooks answered, by agent and by what came of it.",
            "counter",
            ("agent", "outcome"),
        )
        self.view_age = Series(
            "everest_view_age_seconds", "How old the view in use is; absent with none.", "gauge"
        )
        self.view_readable = Series(
            "everest_memory_readable", "1 while the newest view can be read.", "gauge"
        )
        self.journal_waiting = Series(
            "everest_journal_waiting_lines", "Lines that no night has folded yet.", "gauge"
        )
        self.model_loaded = Series(
            "everest_model_loaded", "1 once questions can be compared by meaning.", "gauge"
        )

    def series(self) -> list[Series]:
        """Return every metric, in the order of its making."""
        return [one for one in vars(self).values() if isinstance(one, Series)]

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        return "\n".join(line for one in self.series() for line in one.lines()) + "\n"
