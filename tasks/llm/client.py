"""The writing model: one question, one JSON object back, never an exception.

Invariant: it is asked no more often and no longer than its budget allows, and not at all after it
failed several times in a row; the clock is passed in.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tasks.llm.failure import Failure, Wrong
from tasks.llm.server import Server

_IN_A_ROW: Final = 3
_TOKENS: Final = 400
_MOST: Final = 8_000
"""Characters of an answer that are looked at."""
_NO_SCHEMA: Final = (400, 404, 422, 501)
"""How servers answer that do not know `response_format`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend.

    Attributes:
        calls: how many.
        seconds: spent waiting for all of them.
        timeout: seconds that one may take.
    """

    calls: int
    seconds: float
    timeout: float


@dataclass(slots=True)
class Client:
    """One model on one server, for one run.

    Attributes:
        unasked: questions that there was no budget for.
    """

    server: Server
    model: str
    budget: Budget
    clock: Callable[[], float] = time.monotonic
    unasked: int = 0
    _spent: float = 0.0
    _calls: int = 0
    _failed_in_a_row: int = 0
    _schema: bool = field(default=True, repr=False)

    def ask(
        self, rules: str, question: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> dict[str, Any] | Failure:
        """Return the object that the model answers with.

        Args:
            rules: what it is to do; ours alone.
            question: data, given as JSON apart from the rules.
            schema: of the answer, for servers that hold a model to one.
        """
        answer = self._within_budget(rules, question, schema)
        if isinstance(answer, Failure) and answer.status in _NO_SCHEMA and self._schema:
            self._schema = False
            answer = self._within_budget(rules, question, schema)
        return answer

    def _within_budget(
        self, rules: str, question: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> dict[str, Any] | Failure:
        left = self.budget.seconds - self._spent
        if self._calls >= self.budget.calls or left <= 0 or self._failed_in_a_row >= _IN_A_ROW:
            self.unasked += 1
            return Failure(Wrong.UNASKED)
        self._calls += 1
        began = self.clock()
        url = f"{self.server.chat_url}/chat/completions"
        body = self._body(rules, question, schema)
        answer = self.server.post(url, body, timeout=min(self.budget.timeout, left))
        self._spent += self.clock() - began
        found = answer if isinstance(answer, Failure) else self._read(answer)
        self._failed_in_a_row = self._failed_in_a_row + 1 if isinstance(found, Failure) else 0
        return found

    def _body(
        self, rules: str, question: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": rules},
                {"role": "user", "content": json.dumps(question, ensure_ascii=False)},
            ],
            "temperature": 0,
            "seed": 1,
            "max_tokens": _TOKENS,
            "stream": False,
        }
        if self._schema:
            form = {"name": "answer", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _read(self, answer: object) -> dict[str, Any] | Failure:
        found = _object_in(_content(answer))
        if isinstance(found, Failure):
            self.server.tally.failed[str(found)] += 1
        return found


def _content(answer: object) -> str:
    """Return the words of a chat completion, "" where it has none."""
    try:
        content = answer["choices"][0]["message"]["content"]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return ""
    return content[:_MOST] if isinstance(content, str) else ""


def _object_in(content: str) -> dict[str, Any] | Failure:
    """Return the JSON object in an answer, whatever a model thought or fenced around it."""
    said = content.rpartition("</think>")[2]
    first, last = said.find("{"), said.rfind("}")
    try:
        found = json.loads(said[first : last + 1]) if first >= 0 else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else Failure(Wrong.BROKEN, "it is no JSON object")
