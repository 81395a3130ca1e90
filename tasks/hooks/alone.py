"""What a hook is answered while no warm process runs: from what was published, by words alone.

It goes by the rules of `tasks.hooks.contract`, `tasks.hooks.moments` and `tasks.prime.select`, and
leaves what it did where the warm process looks for it: `shown/`, and the spool for the journal. It
loads only what starts fast. Invariants: nothing is shown that was not written down before; a lesson
is shown once a session, also to two hooks at once.
"""

from __future__ import annotations

import posix
import sys
import time

from tasks.bearing import CUT
from tasks.hooks import plain
from tasks.hooks.folder import is_ignored, project_of
from tasks.hooks.heard import KEEP, STOP, TOOL, moment_of, name_of, text_of, words_of
from tasks.hooks.published import View
from tasks.hooks.unfolded import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tasks.hooks.plain import Row

MOST = 3
NEAREST = 5
FENCE = "<everest-memory>", "</everest-memory>"
ABOUT = "What was learned here before that bears on this, quoted as data."

_PROVENANCE = {"claude-code": "claude_code", "codex": "codex", "gemini": "gemini_cli"}
_ONLY = {TOOL: "error", STOP: "correction"}
_USABLE = ("corroborated", "verified")
_NAME = 32


def answer(agent: str, event: str, home: str, body: bytes) -> bytes:
    """Return what to print for one hook.

    Args:
        agent: as the wired command names it.
        event: as the agent calls it.
        home: where Everest's things lie.
        body: what the agent wrote to the hook.

    Raises:
        OSError: when what is published cannot be read, or what was decided cannot be written.
    """
    told = plain.parsed(body)
    moment = moment_of(agent, event)
    if moment == KEEP:
        _keep(agent, home, told)
        return b""
    words = words_of(moment, told) if moment else ""
    if not words or not plain.is_there(f"{home}/view/current"):
        return b""
    text = _Point(agent, event, home, told, moment).text(words)
    return _printed(agent, event, moment, text) if text else b""


class _Point:
    """A moment at which lessons may be shown."""

    def __init__(self, agent: str, event: str, home: str, told: Row, moment: str) -> None:
        self.home, self.told, self.moment = home, told, moment
        self.agent = _PROVENANCE[agent]
        self.session = name_of(told, "session_id")
        self.cwd = _start(agent) or text_of(told, "cwd")
        turn = [text_of(told, name) for name in ("tool_use_id", "prompt_id", "turn_id")]
        named = next(filter(None, turn), "")
        self.turn = plain.digest("hook", event, named)[:_NAME] if named else ""

    def text(self, words: str) -> str:
        """Return what the model is to read, after that was written down."""
        view = View(self.home)
        project, path = project_of(self.cwd, view)
        if is_ignored(project, path, view):
            return ""
        scopes = [_scope(view, project), _scope(view, "@global")]
        shelves = filter(None, map(view.lessons, scopes))
        near = sorted(
            (one for each in shelves for one in each.near(self.moment, words)),
            key=lambda one: (-one[0], one[1]["id"]),
        )
        hidden, edited = said(f"{self.home}/journal", view.offsets)
        if not view.is_current():
            raise OSError(11, "another view was published meanwhile")
        near = [one for one in near if one[1]["id"] not in hidden]
        return self._settled(near, scopes[0], edited, view)

    def _settled(
        self,
        near: list[tuple[float, Row]],
        scope: tuple[str, ...],
        edited: dict[str, str],
        view: View,
    ) -> str:
        """Decide and write it down in one go, so that two hooks at once never tell the same."""
        plain.make_folder(f"{self.home}/shown")
        path = f"{self.home}/shown/{plain.digest('shown', scope[3], self.session)[:_NAME]}.jsonl"
        plain.lock(f"{self.home}/shown/.lock")
        turns, settled = _told(path)
        if self.turn in turns:
            return ""
        wanted, others = _parted(near, self.moment, settled)
        ids = [str(row["id"]) for row in wanted[:MOST]]
        room = [(row["id"], "no room") for row in wanted[MOST:]]
        is_out = _is_held_out(self.session, view)
        self._write(path, scope, [] if is_out else ids, ids, [*room, *others][:NEAREST])
        if is_out or not ids:
            return ""
        lines = [_line(row, edited, view) for row in wanted[:MOST]]
        return "\n".join([FENCE[0], ABOUT, *lines, FENCE[1]])

    def _write(
        self,
        path: str,
        scope: tuple[str, ...],
        shown: list[str],
        settled: list[str],
        near: list[tuple[object, str]],
    ) -> None:
        at = plain.now()
        if settled:
            put: Row = {"v": 1, "turn": self.turn, "text": "", "lessons": shown, "settled": settled}
            put |= {"events": [], "model": name_of(self.told, "model"), "at": at}
            plain.append(path, plain.dumped(put))
        whose: Row = {"channel": "hook", "moment": self.moment, "agent": self.agent}
        held_out = [one for one in settled if one not in shown]
        what = {"shown": shown, "held_out": held_out, "near": near}
        line: Row = {"v": 1, "kind": "expose", "id": _new_id(at), "at": at, "scope": scope}
        _spool(self.home, {**line, **whose, "session": self.session, **what})


def _parted(
    near: list[tuple[float, Row]], moment: str, settled: set[str]
) -> tuple[list[Row], list[tuple[object, str]]]:
    """Return the lessons to show, and the ids of the others with why not."""
    wanted, others = [], []
    for relevance, row in near:
        if row["trust"] not in _USABLE:
            others.append((row["id"], "not confirmed"))
        elif row["kind"] != _ONLY.get(moment, row["kind"]):
            others.append((row["id"], "of another moment"))
        elif relevance < CUT:
            others.append((row["id"], "not relevant enough"))
        elif row["id"] in settled:
            others.append((row["id"], "shown before"))
        else:
            wanted.append(row)
    return wanted, others


def _told(path: str) -> tuple[set[str], set[str]]:
    """Return the turns that were decided in a conversation, and the lessons it was told."""
    turns: set[str] = set()
    settled: set[str] = set()
    if plain.is_there(path):
        for line in plain.read(path).split(b"\n"):
            match plain.parsed(line):
                case {"turn": str(turn), "settled": list(ids)}:
                    turns.add(turn)
                    settled.update(ids)
    return turns - {""}, settled


def _line(row: Row, edited: dict[str, str], view: View) -> str:
    at = row["at"]
    zone = posix.environ.get(b"EVEREST_TIMEZONE") or str(view.told.get("zone") or "").encode()
    if zone:
        posix.putenv(b"TZ", zone)
        time.tzset()
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    said_there = row["said"]
    if row["id"] in edited:
        from tasks.domain.markers import told_lesson  # noqa: PLC0415  rarely needed, slow to load

        shown = str(row["id"])[:16]
        said_there = told_lesson(row["trust"], row["kind"], edited[row["id"]], shown)
    return f"- {day}{said_there}"


def _is_held_out(session: str, view: View) -> bool:
    given = posix.environ.get(b"EVEREST_HOLDOUT")
    share = float(given) if given else float(view.told.get("holdout", 0.5))
    first = plain.sha(f"everest-holdout-1:{session}")[:4]
    return int.from_bytes(first, "big") < share * 2**32


def _scope(view: View, project: str) -> tuple[str, str, str, str]:
    owner = posix.environ.get(b"EVEREST_OWNER", b"").decode() or view.told.get("owner", "me")
    app = posix.environ.get(b"EVEREST_APP", b"").decode() or view.told.get("app", "default")
    return (owner, "user", app, project)


def _start(agent: str) -> str:
    """Return the folder in which the agent was started, where it says so to its hooks."""
    if agent != "claude-code":
        return ""
    return posix.environ.get(b"CLAUDE_PROJECT_DIR", b"").decode(errors="replace")


def _printed(agent: str, event: str, moment: str, text: str) -> bytes:
    if moment == STOP and agent != "claude-code":
        word = "deny" if agent == "gemini" else "block"
        return plain.dumped({"decision": word, "reason": text}).encode()
    told = {"hookEventName": event, "additionalContext": text}
    return plain.dumped({"hookSpecificOutput": told}).encode()


def _keep(agent: str, home: str, told: Row) -> None:
    """Leave word that a conversation is over, or about to be summed up, and have it read."""
    session, transcript = name_of(told, "session_id"), text_of(told, "transcript_path")
    if not transcript or text_of(told, "agent_id"):
        return
    line: Row = {"v": 1, "kind": "session_end", "agent": agent, "session": session}
    _spool(home, {**line, "transcript_path": transcript, "at": plain.now()})
    _start_reading(home)


def _spool(home: str, line: Row) -> None:
    plain.make_folder(f"{home}/spool")
    held = plain.lock(f"{home}/spool/.lock")
    plain.append(f"{home}/spool/hooks.jsonl", plain.dumped(line))
    posix.close(held)


def _start_reading(home: str) -> None:
    """Start what reads the spool, apart from the agent, unless one runs: it looks again at its end.

    The lock that tells so is taken here already and handed on as standard input, or a hundred
    conversations that end at once would start a hundred.
    """
    everest = f"{sys.executable.rpartition('/')[0]}/everest"
    if not plain.is_there(everest):
        return
    held = plain.lock_if_free(f"{home}/spool/.running")
    if held is None or posix.fork():
        return
    try:
        posix.setsid()
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for stream, file in enumerate((held, nothing, nothing)):
            posix.dup2(file, stream)
        given = {**posix.environ, b"EVEREST_HOME": home.encode(errors="surrogateescape")}
        posix.execve(everest, ["everest", "ingest", "--spooled", "--quiet"], given)
    finally:
        posix._exit(1)  # noqa: SLF001  the copy of the hook must not go on as one


def _new_id(at: str) -> str:
    return f"{at}-{posix.urandom(6).hex()}"
