"""What a call asks: of which conversation it is, which turns of the person's it holds, what for.

Pure, given which answers belong to which conversation. Invariant: a body that cannot be read as its
API's is a call for nothing, and so nothing is added to it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from serving.proxy.agents import CODEX, agent_of
from serving.proxy.anthropic import Anthropic
from serving.proxy.apis import Api, Headers, header
from serving.proxy.calls import Call
from serving.proxy.chains import Chains
from serving.proxy.families import AT_SERVER, Body, Family, Made, Message, Result, Speaker
from serving.proxy.gemini import Gemini
from serving.proxy.kinds import Kind, kind_of
from serving.proxy.ollama import OllamaChat, OllamaGenerate
from serving.proxy.openai_chat import OpenAIChat
from serving.proxy.openai_responses import OpenAIResponses
from serving.proxy.splice import NOWHERE, Spot
from tasks.domain.ids import digest_of
from tasks.domain.markers import FENCE_OPEN, HEADLESS

_SESSION: Final = b"x-claude-code-session-id"
_CODEX_SESSIONS: Final = (b"session-id", b"session_id")
_LONGEST_NAME: Final = 200
_KEY: Final = 32
_FAMILIES: Final[tuple[tuple[Api, re.Pattern[str], Family | Kind], ...]] = (
    (Api.OPENAI, re.compile(r".*/chat/completions"), OpenAIChat()),
    (Api.OPENAI, re.compile(r".*/responses"), OpenAIResponses()),
    (Api.OPENAI, re.compile(r".*/responses/input_tokens"), Kind.COUNT),
    (Api.ANTHROPIC, re.compile(r".*/messages"), Anthropic()),
    (Api.ANTHROPIC, re.compile(r".*/messages/count_tokens"), Kind.COUNT),
    (Api.GEMINI, re.compile(r".*:(?:generateContent|streamGenerateContent)"), Gemini()),
    (Api.GEMINI, re.compile(r".*:countTokens"), Kind.COUNT),
    (Api.OLLAMA, re.compile(r"/api/chat"), OllamaChat()),
    (Api.OLLAMA, re.compile(r"/api/generate"), OllamaGenerate()),
)
"""Paths by API. A completion of `/v1/completions` is a text to go on with and no conversation."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the person's.

    Attributes:
        key: the same whenever the conversation is sent again, and no other turn's; "" where the
            server keeps the conversation and no turn is sent twice.
    """

    key: str
    words: str
    spot: Spot


@dataclass(frozen=True, slots=True)
class Ran:
    """A call whose result this request brings."""

    call: Made
    failed: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks.

    Attributes:
        conversation: as the client names it, else made of its beginning; "" when nothing tells.
        named: the client names it, or what it follows is known.
        turns: of the person, oldest first.
        fresh: how many of the last turns wait for this very answer.
        first: the conversation begins with this request.
        before: what the agent said before the fresh turns.
        follows: the answer that a client goes on from that sends only what is new.
        marked: a turn or the lead holds text of ours already.
        ran: calls whose results are new with this request.
        room: characters that may be added; None where there is no bound to speak of.
        length: messages that were sent.
    """

    kind: Kind
    model: str
    conversation: str = ""
    named: bool = False
    turns: tuple[Turn, ...] = ()
    fresh: int = 0
    first: bool = False
    before: str = ""
    follows: str = ""
    marked: bool = False
    ran: tuple[Ran, ...] = ()
    room: int | None = None
    length: int = 0

    def told_anew(self) -> Asked:
        """Return it with the last turns alone, those that wait, and with no part of the body."""
        last = self.turns[-max(self.fresh, 1) :]
        return replace(self, turns=tuple(replace(one, spot=NOWHERE) for one in last))


class Asking:
    """What calls ask: each is read once, by whoever asks first, and forgotten with the call."""

    def __init__(self, chains: Chains) -> None:
        self.chains = chains
        self._read: WeakKeyDictionary[Call, Asked] = WeakKeyDictionary()

    def of(self, call: Call, project: str) -> Asked:
        """Return what a call asks in the project of its grant."""
        found = self._read.get(call)
        if found is None:
            found = self._read[call] = asked(call, project, self.chains)
        return found


def family_of(call: Call) -> Family | None:
    """Return how a call's request and answer are read, None when it is no talk with a model."""
    found = _found(call)
    return None if isinstance(found, Kind) else found


def asked(call: Call, project: str, chains: Chains) -> Asked:
    """Return what a call asks in a project."""
    found = _found(call)
    if isinstance(found, Kind) or call.body is None:
        return Asked(found if isinstance(found, Kind) else Kind.NONE, call.model or "")
    try:
        body = found.read(call.body)
    except (msgspec.MsgspecError, RecursionError):
        return Asked(Kind.NONE, call.model or "")
    model = call.model or body.model
    kind = kind_of(call.headers, model, body)
    if _is_headless(call.body):
        kind = Kind.NONE
    return _asked(call, project, chains, body, Asked(kind, model))


def _asked(call: Call, project: str, chains: Chains, body: Body, so_far: Asked) -> Asked:
    people = [one for one in body.messages if one.speaker is Speaker.PERSON and one.spot]
    named = _named(call, body, chains)
    made = "" if named or not people else digest_of(project, call.api.value, _hash(people[0].text))
    at = _begin_of_new(body.messages)
    new = body.messages[at:]
    return Asked(
        so_far.kind,
        so_far.model,
        conversation=named or made,
        named=bool(named),
        turns=tuple(_turns(people, body.follows)),
        fresh=sum(one.speaker is Speaker.PERSON for one in new),
        first=at == 0 and not body.follows,
        before=_said_before(body.messages[:at]),
        follows=body.follows,
        marked=any(one.marked for one in body.messages) or FENCE_OPEN in body.system,
        ran=tuple(_ran(body.messages)),
        room=body.room,
        length=len(body.messages),
    )


def _found(call: Call) -> Family | Kind:
    path = call.path.partition("?")[0]
    if call.method != "POST":
        return Kind.NONE
    for api, pattern, found in _FAMILIES:
        if api is call.api and pattern.fullmatch(path):
            return found
    return Kind.NONE


def session_in(headers: Headers) -> str:
    """Return the conversation that an agent's headers name, as its hooks name it too; "" for none.

    What another program's headers of such names mean is not known.
    """
    names = _CODEX_SESSIONS if agent_of(headers) == CODEX else (_SESSION,)
    found = next(filter(None, (header(headers, name) for name in names)), b"")
    return found.decode("latin-1").strip()[:_LONGEST_NAME]


def _named(call: Call, body: Body, chains: Chains) -> str:
    session = session_in(call.headers)
    if session:
        return session
    if body.conversation:
        return body.conversation[:_LONGEST_NAME]
    return chains.root(body.follows)[:_LONGEST_NAME] if body.follows else ""


def _turns(people: Iterable[Message], follows: str) -> Iterable[Turn]:
    """Yield turns; of equal words the first, the second, and so on are turns of their own."""
    met: Counter[str] = Counter()
    for one in people:
        if one.spot is None:
            continue
        key = "" if follows == AT_SERVER else _key(follows, 0, one.text)
        if key:
            met[key] += 1  # by the key, since a long text is slow to hash
            if met[key] > 1:
                key = _key(follows, met[key] - 1, one.text)
        yield Turn(key, one.text, one.spot)


def _key(follows: str, before: int, words: str) -> str:
    return _hash(f"{follows}\0{before}\0{words}")[:_KEY]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _begin_of_new(messages: Sequence[Message]) -> int:
    """Return where the part begins that no answer followed yet."""
    spoke = (Speaker.AGENT, Speaker.TOOL)
    return max((n for n, one in enumerate(messages, 1) if one.speaker in spoke), default=0)


def _said_before(messages: Sequence[Message]) -> str:
    return next((m.text for m in reversed(messages) if m.speaker is Speaker.AGENT and m.text), "")


def _ran(messages: Sequence[Message]) -> Iterable[Ran]:
    """Yield the calls whose results no answer followed yet."""
    last = max((n for n, m in enumerate(messages) if m.speaker is Speaker.AGENT), default=-1)
    results = [result for one in messages[last + 1 :] for result in one.results]
    if results:
        yield from _paired(results, _calls_before(messages, last))


def _calls_before(messages: Sequence[Message], last: int) -> list[Made]:
    """Return the calls of the answer that ends at `last`; its items may be several messages."""
    first = last
    while first > 0 and messages[first - 1].speaker is Speaker.AGENT:
        first -= 1
    return [call for one in messages[max(first, 0) : last + 1] for call in one.calls]


def _paired(results: Iterable[Result], calls: list[Made]) -> Iterable[Ran]:
    """Yield results with their calls: by id, else by name in order."""
    left: list[Made] = list(calls)
    by_id: Mapping[str, Made] = {call.id: call for call in calls if call.id}
    for one in results:
        alike = (call for call in left if not one.id and one.name in ("", call.name))
        call = by_id.get(one.id) if one.id else next(alike, None)
        if call is None:
            call = Made(one.id, one.name, b"")
        elif call in left:
            left.remove(call)
        yield Ran(call, one.failed)


def _is_headless(body: bytes) -> bool:
    return _NAMED in body and any(mark in body for mark in _HEADLESS)


_HEADLESS: Final = (
    HEADLESS.encode(),
    HEADLESS.replace("<", "\\u003c").replace(">", "\\u003e").encode(),
)
_NAMED: Final = HEADLESS.strip("<!-> ").encode()
"""What both hold: a long body is gone through once."""
