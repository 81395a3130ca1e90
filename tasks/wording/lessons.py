"""The text of a lesson: a template of ours with the person's spans or known names in its slots.

Invariant: a text is at most 300 characters and a quote at most 500; no content word comes from
anywhere but the template, the person's typing, or the failed call. What could do harm is held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from tasks.domain.units import Episode, EpisodeKind
from tasks.wording.remedies import remedy_of
from tasks.wording.spans import (
    Form,
    Rule,
    content_words,
    one_sentence,
    rule_of,
    stopped_first,
    trimmed,
)
from tasks.wording.unsafe import gapped, neutralised, unsafe

TEXT_ROOM: Final = 300
QUOTE_ROOM: Final = 500
_SHORT: Final = 200  # characters that every place which shows a quote has room for
_TELLING: Final = 3  # content words that a surprise must hold
_NAME: Final = re.compile(r"[\w.+-]{1,40}")
_LEAD: Final = re.compile(
    r"(?i)^(?:(?:ah|oh|so|and|but|ok|it|this|that)[\s,]+)*"
    r"(?:turn(?:s|ed)\sout|surprisingly|unexpectedly|to\smy\ssurprise)[\s,]+(?:that\s)?"
)
_SO_I: Final = re.compile(r"(?i),?\s(?:so|hence|therefore|which is why)\s(?:i|we)\b.*")
"""What the agent did about it, which was for that task."""
_FIRST_PERSON: Final = re.compile(r"(?i)\b(?:i|i['’]\w+|my|me|we|us|our|you|your)\b")


@dataclass(frozen=True, slots=True)
class Worded:
    """A text that may stand, with the words behind it.

    Attributes:
        form: how the rule is put, where it is the person's.
    """

    text: str
    quote: str
    form: Form = field(default=Form.ORDER, compare=False)


@dataclass(frozen=True, slots=True)
class Held:
    """A text that waits for a person, and why."""

    text: str
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unworded:
    """No rule that a stranger could follow can be made."""

    reason: str


Wording = Worded | Held | Unworded
Word = Callable[[EpisodeKind, Sequence[Episode]], Wording]
"""What words lessons: `word`, or a model that falls back to it."""


def word(kind: EpisodeKind, episodes: Sequence[Episode]) -> Wording:
    """Return the text of the lesson that episodes of one kind teach."""
    match kind:
        case EpisodeKind.CORRECTION:
            return _corrected(episodes)
        case EpisodeKind.ERROR:
            return _failed(episodes)
        case EpisodeKind.SURPRISE:
            return _surprised(episodes)
        case EpisodeKind.SESSION | EpisodeKind.ENVIRONMENT | EpisodeKind.NOTE:
            return Unworded(f"{kind.value} episodes make no lesson")
        case _:
            assert_never(kind)


def _corrected(episodes: Sequence[Episode]) -> Wording:
    """Word the episodes' clearest rule: stated rules first, then orders, then the latest words.

    Of one session only what was heard as a rule may be worded: it alone is why there is a lesson.
    """
    may = speaking(episodes)
    put = [(episode, rule) for episode in may if (rule := _rule(episode)) is not None]
    if not put:
        return Unworded("the person's words do not stand by themselves")
    episode, rule = min(
        put, key=lambda one: (one[0].rule == "", one[1].form, -one[0].at.timestamp(), one[0].id)
    )
    if rule.form is Form.QUOTED and len({one.session_id for one in episodes}) == 1:
        return Unworded("the person's words are no plain rule and were said in one session only")
    return checked(rule, neutralised(episode.words), neutralised(episode.rule))


def speaking(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the corrections whose words may become a rule: of one session, those heard as one."""
    lone = len({one.session_id for one in episodes}) == 1
    return [one for one in episodes if one.rule or not lone]


def spoken(episode: Episode) -> str:
    """Return the person's words that a rule may be made of: a rule that was heard, else all."""
    return gapped(episode.rule or episode.words)


def _rule(episode: Episode) -> Rule | None:
    command = _about(episode)
    span = spoken(episode)
    rule = rule_of(span, command) if episode.rule or one_sentence(span) else None
    if rule is None:
        return None
    rule = stopped_first(rule, episode.tool, command)
    return rule if len(rule.text) <= TEXT_ROOM else None


def _failed(episodes: Sequence[Episode]) -> Wording:
    text, why = remedy_of(episodes)
    if not text:
        return Unworded(why)
    reason = unsafe(text)
    quote = _cut(_shown(sorted(episodes, key=lambda one: (one.at, one.id))))
    return Held(text, quote, reason) if reason else Worded(text, quote)


def _shown(episodes: Sequence[Episode]) -> str:
    """Return the first error's words that are safe to show, or their first line; else its date."""
    whole = [neutralised(episode.words) for episode in episodes]
    heads = [neutralised(episode.words.partition("\n")[0]) for episode in episodes]
    safe = next((said for said in (*whole, *heads) if said and not unsafe(said)), "")
    first = episodes[0]
    name = first.error_class.replace("_", " ")
    return safe or f"A call failed ({name}), first on {first.at:%Y-%m-%d}"


def _surprised(episodes: Sequence[Episode]) -> Wording:
    for episode in sorted(episodes, key=lambda one: (one.at, one.id)):
        said = _SO_I.sub("", _LEAD.sub("", neutralised(episode.words)))
        if (
            not _FIRST_PERSON.search(said)
            and rule_of(said)
            and len(content_words(said)) >= _TELLING
        ):
            rule = Rule(f'Check first: "{trimmed(said)}"', Form.ORDER)
            return checked(rule, neutralised(episode.words), said)
    return Unworded("the agent's words do not stand by themselves")


def checked(rule: Rule, words: str, span: str) -> Wording:
    """Hold what is unsafe; a quote that is unsafe around a safe text shrinks to the span in it."""
    quote = _cut(_from(words, span))
    reason = unsafe(rule.text)
    if reason is not None:
        return Held(rule.text, quote, reason)
    return Worded(rule.text, _cut(span) if unsafe(quote) else quote, rule.form)


def _from(words: str, span: str) -> str:
    """Return a long message from the sentence on that holds the span: there is what was meant."""
    at = words.find(span)
    if len(words) <= _SHORT or at <= 0:
        return words
    before = max(words.rfind(mark, 0, at) for mark in (". ", "? ", "! "))
    return words if before < 0 else f"… {words[before + 2 :]}"


def _about(episode: Episode) -> str:
    """Return the command that the person stopped, "" when there is none to trust."""
    return episode.command if _NAME.fullmatch(episode.command) else ""


def _cut(text: str) -> str:
    return text if len(text) <= QUOTE_ROOM else text[: QUOTE_ROOM - 1].rstrip() + "…"
