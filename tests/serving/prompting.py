"""A model that works as an agent's command line expects: it calls `recall`, then closes."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.serving.scripted import Calls, Heard, Says, follow
from tests.serving.upstream import Received, Reply

QUESTION = "which port has staging"
CLOSING = "The memory was asked."


@dataclass
class Model:
    """What the script was sent.

    Attributes:
        tools: names of tools that a request offered, of the last request that offered any.
        results: results of tool calls that came back, as text.
    """

    tools: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def speak(self, request: Received) -> Reply:
        """Answer one request as its API would."""
        return follow(self._next)(request)

    def _next(self, heard: Heard) -> Says | Calls:
        self.tools = list(heard.offered) or self.tools
        self.results = list(heard.results) or self.results
        name = next((name for name in heard.offered if name.endswith("recall")), None)
        if name is None or heard.results:
            return Says(CLOSING)
        return Calls(name, {"query": QUESTION})
