"""A small writer of Claude Code transcripts: records with the envelope that real ones have."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.domain.session import AgentTurn, PersonTurn, Session
from tasks.evidence.claude_code import read_session
from tasks.evidence.reading import SessionRead

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
)


class Transcript:
    """Collects records; every method returns the record it added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[bytes] = []
        self.made = 0

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def bare(self, **given: Any) -> dict[str, Any]:
        self.lines.append(json.dumps(given, ensure_ascii=False).encode() + b"\n")
        return given

    def record(self, kind: str, **given: Any) -> dict[str, Any]:
        self.made += 1
        envelope = {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/me/shop",
            "sessionId": "s1",
            "version": "2.1.44",
            "type": kind,
            "uuid": f"u{self.made}",
            "timestamp": self.now(),
        }
        return self.bare(**{**envelope, **given})

    def now(self) -> str:
        at = START + timedelta(seconds=self.made)
        return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def user(self, content: Any, **given: Any) -> dict[str, Any]:
        return self.record("user", message={"role": "user", "content": content}, **given)

    def says(self, text: str, *, message: str = "", **given: Any) -> dict[str, Any]:
        return self.agent([{"type": "text", "text": text}], message=message, **given)

    def calls(self, call: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
        return self.agent([{"type": "tool_use", "id": call, "name": name, "input": given}])

    def agent(self, content: Any, *, message: str = "", **given: Any) -> dict[str, Any]:
        inner = {"id": message or f"m{self.made}", "model": "claude-x", "type": "message"}
        return self.record("assistant", message={**inner, "content": content}, **given)

    def result(
        self, call: str, content: Any = "", *, text: str = "", **given: Any
    ) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        if "is_error" in given:
            block["is_error"] = given.pop("is_error")
        rest = [{"type": "text", "text": text}] if text else []
        return self.user([block, *rest], **given)

    def queue(self, operation: str, content: str | None = None) -> dict[str, Any]:
        self.made += 1
        words = {} if content is None else {"content": content}
        return self.bare(
            type="queue-operation",
            operation=operation,
            timestamp=self.now(),
            sessionId="s1",
            **words,
        )

    def queued(self, prompt: Any, **given: Any) -> dict[str, Any]:
        inner = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **given}
        return self.record("attachment", attachment=inner)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(self.lines))
        return self.path

    def read(self) -> Session:
        reading = read_session(self.write())
        assert isinstance(reading, SessionRead), reading
        assert reading.session.counts.adds_up()
        return reading.session


def spoken(session: Session) -> list[PersonTurn]:
    return [turn for turn in session.turns if isinstance(turn, PersonTurn)]


def agent_turns(session: Session) -> list[AgentTurn]:
    return [turn for turn in session.turns if isinstance(turn, AgentTurn)]
