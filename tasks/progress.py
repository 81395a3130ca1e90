"""How a long run shows a person how far it is: numbers and names, never memory text."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Shows a person how far a long run is; told numbers and names, never memory text."""

    def begin(self, stage: str) -> None:
        """Show that a stage begins."""
        ...

    def advance(self, done: int, total: int) -> None:
        """Show how far the stage is."""
        ...

    def waiting(self, holder: str) -> None:
        """Show who holds the store."""
        ...


class Quiet:
    """Progress for runs that nobody watches."""

    def begin(self, stage: str) -> None:
        """Show nothing."""

    def advance(self, done: int, total: int) -> None:
        """Show nothing."""

    def waiting(self, holder: str) -> None:
        """Show nothing."""
