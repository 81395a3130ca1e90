"""One made-up session as the records Claude Code writes: messages in pieces, noise in between.

Only the shape is the host's; what is said comes in as acts. Invariant: nothing here is random.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

Record = dict[str, Any]

_VERSION: Final = "2.1.209"
_MODEL: Final = "claude-opus-4-8"
_TOOLS: Final = {"runs": "Bash", "reads": "Read", "edits": "Edit", "searches": "Grep"}
_NO: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). "
)
_NO_REASON: Final = "STOP what you are doing and wait for the user to tell you how to proceed."
_WITH_REASON: Final = "To tell you how to proceed, the user said:\n"
_REMINDER: Final = (
    "\n\n<system-reminder>\nThe task tools haven't been used recently. Ignore this if they do not"
    " apply.\n</system-reminder>"
)


@dataclass(slots=True)
class Transcript:
    """A session's records as they come, with the clock that dates them."""

    session_id: str
    cwd: str
    branch: str
    at: datetime
    records: list[Record] = field(default_factory=list)
    _parent: str | None = None
    _message: str = ""
    _prompt: str = ""

    def act(self, step: Mapping[str, str]) -> None:
        """Add the records of one act of the script."""
        match step:
            case {"you": text}:
                self._you(text)
            case {"you_meanwhile": text}:
                self._queue(text)
            case {"says": text}:
                self._assistant({"type": "text", "text": text})
            case {"escape": _}:
                self._user([{"type": "text", "text": "[Request interrupted by user]"}])
            case _:
                self._call(step)

    def closed(self, title: str) -> list[Record]:
        """Return all records, ended as the host ends a file."""
        self._turn_ended()
        self._bare("ai-title", aiTitle=title)
        self._bare("last-prompt", lastPrompt=self._prompt, leafUuid=self._parent)
        return self.records

    def _you(self, text: str) -> None:
        if self.records:
            self._turn_ended()
        else:
            self._opened()
        self._pass(40 + len(text) % 50)
        self._prompt = text
        self._user(text, origin={"kind": "human"}, permissionMode="default")
        self._attachment("task_reminder", content=[], itemCount=0)

    def _queue(self, text: str) -> None:
        self._pass(4)
        self._bare("queue-operation", operation="enqueue", content=text, timestamp=self._now())
        self._pass(3)
        self._bare("queue-operation", operation="remove", content=text, timestamp=self._now())
        self._attachment(
            "queued_command", prompt=text, commandMode="prompt", origin={"kind": "human"}
        )

    def _call(self, step: Mapping[str, str]) -> None:
        act, line = next((act, line) for act, line in step.items() if act in _TOOLS)
        call_id = f"toolu_{self._hash(24)}"
        self._assistant(
            {
                "type": "tool_use",
                "id": call_id,
                "name": _TOOLS[act],
                "input": self._input(act, line),
            }
        )
        self._pass(3 + len(line) % 9)
        match step:
            case {"gives": text}:
                self._result(
                    call_id, text + (_REMINDER if act == "reads" else ""), {"stdout": text}
                )
            case {"fails": text}:
                self._result(call_id, text, f"Error: {text}", is_error=True)
            case {"refused": ""}:
                text = _NO + _NO_REASON
                self._result(call_id, text, "User rejected tool use", is_error=True)
                interrupted = "[Request interrupted by user for tool use]"
                self._user([{"type": "text", "text": interrupted}])
            case {"refused": reason}:
                text = _NO + _WITH_REASON + reason
                self._result(call_id, text, f"Error: {text}", is_error=True)

    def _input(self, act: str, line: str) -> Record:
        match act:
            case "runs":
                return {"command": line, "description": f"Run {line.split(maxsplit=1)[0]}"}
            case "searches":
                return {"pattern": line, "output_mode": "files_with_matches"}
            case "reads":
                return {"file_path": f"{self.cwd}/{line}"}
            case _:
                return {"file_path": f"{self.cwd}/{line}", "old_string": "…", "new_string": "…"}

    def _result(self, call_id: str, text: str, structured: object, **block: object) -> None:
        content = {"type": "tool_result", "tool_use_id": call_id, "content": text, **block}
        self._user([content], toolUseResult=structured, sourceToolAssistantUUID=self._parent)

    def _opened(self) -> None:
        self._bare("mode", mode="normal")
        self._bare(
            "file-history-snapshot",
            messageId=self._uuid(),
            snapshot={"trackedFileBackups": {}, "timestamp": self._now()},
            isSnapshotUpdate=False,
        )
        self._attachment(
            "hook_success",
            hookName="SessionStart:startup",
            hookEvent="SessionStart",
            toolUseID=self._uuid(),
            content="",
            exitCode=0,
        )

    def _turn_ended(self) -> None:
        self._linked("system", subtype="turn_duration", durationMs=41_250, isMeta=False)

    def _user(self, content: object, **fields: object) -> None:
        self._message = ""
        self._linked("user", message={"role": "user", "content": content}, **fields)

    def _assistant(self, block: Record) -> None:
        """Add one block; blocks of one message stand in records of their own with its id."""
        self._pass(5)
        if not self._message:
            self._message = f"msg_{self._hash(24)}"
            self._piece({"type": "thinking", "thinking": "", "signature": self._hash(32)})
        self._piece(block)
        if block["type"] == "tool_use" and block["name"] == "Bash":
            data = {"type": "bash_progress", "output": "", "elapsedTimeSeconds": 2}
            self._linked("progress", data=data, toolUseID=block["id"])

    def _piece(self, block: Record) -> None:
        usage = {"input_tokens": 12, "output_tokens": 1, "cache_read_input_tokens": 18_204}
        message = {
            "model": _MODEL,
            "id": self._message,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "usage": usage,
        }
        self._linked("assistant", message=message, requestId=f"req_{self._message[4:]}")

    def _attachment(self, kind: str, **fields: object) -> None:
        self._linked("attachment", attachment={"type": kind, **fields})

    def _linked(self, kind: str, **fields: object) -> None:
        """Add a record that hangs in the tree, with the host's common fields."""
        self._pass(1)
        own = self._uuid()
        self.records.append(
            {
                "parentUuid": self._parent,
                "isSidechain": False,
                "userType": "external",
                "entrypoint": "cli",
                "cwd": self.cwd,
                "sessionId": self.session_id,
                "version": _VERSION,
                "gitBranch": self.branch,
                "type": kind,
                **fields,
                "uuid": own,
                "timestamp": self._now(),
            }
        )
        self._parent = own

    def _bare(self, kind: str, **fields: object) -> None:
        """Add a record outside the tree."""
        self.records.append({"type": kind, "sessionId": self.session_id, **fields})

    def _pass(self, seconds: int) -> None:
        self.at += timedelta(seconds=seconds)

    def _now(self) -> str:
        return self.at.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _uuid(self) -> str:
        return str(uuid.uuid5(uuid.UUID(self.session_id), f"record {len(self.records)}"))

    def _hash(self, length: int) -> str:
        name = f"{self.session_id} {len(self.records)}"
        return hashlib.sha256(name.encode()).hexdigest()[:length]
