"""What the person's words may do instead of stating a rule: take one back, report a failure, ask.

English only: in another language such words read as an ordinary correction, which waits for a
second session. Mere disagreement is no retraction; the words must withdraw something said before.
"""

from __future__ import annotations

import re
from typing import Final

from tasks.domain.units import Episode, EpisodeKind
from tasks.wording import open_question

_WITHDRAWAL: Final = re.compile(
    r"\bi (?:mis-?spoke|take (?:that|it) back|was (?:wrong|mistaken) (?:about|when i|to say))\b"
    r"|\b(?:forget|disregard|ignore|scratch) (?:what|the rule|everything)"
    r" i(?:'ve| have)? (?:said|told you|asked)\b"
    r"|\bscratch that\b"
    r"|\bi(?:'ve| have)? (?:told|gave|given) you (?:the )?wrong(?:ly)?\b"
    r"|\bthat(?:'s| is| rule is| was)? no longer (?:true|applies|the case|valid)\b"
    r"|\bwhat i said (?:before|earlier|about [^.;!?]{1,60})"
    r" (?:was|is) (?:wrong|not true|a mistake)\b",
    re.IGNORECASE,
)

_FAILURE: Final = re.compile(
    r"\bstill (?:\w+ ){0,2}(?:fail|not|no|broken|wrong|the same|there|missing|red|happen|crash|get)"
    r"|\b(?:fail(?:s|ed|ing|ure|ures)?|broken|crash(?:es|ed|ing)?|stuck|errored)\b"
    r"|\b(?:do(?:es)?|did|is|are|was)(?:n't| not) (?:seem to |even )?work"
    r"|\bnot working\b|\b(?:same|another|an|this|the) (?:error|exception|traceback)\b"
    r"|\bi(?:'m| am)? (?:still )?(?:get|got|getting|see|seeing|saw) (?:an?|the|this) "
    r"(?:\w+ )?(?:error|failure|exception)",
    re.IGNORECASE,
)


def founds_nothing(episode: Episode) -> bool:
    """Tell whether a correction can neither make nor bear out a lesson: it states no rule at all.

    One whose words also state a lasting rule can.
    """
    return (
        episode.kind is EpisodeKind.CORRECTION
        and not episode.lasting
        and (
            retracts(episode.words)
            or reports_failure(episode.words)
            or open_question(episode.words)
        )
    )


def reports_failure(words: str) -> bool:
    """Tell whether the words report that something does not work."""
    return _FAILURE.search(_plain(words)) is not None


def retracts(words: str) -> bool:
    """Tell whether the words withdraw something the person said before."""
    return _WITHDRAWAL.search(_plain(words)) is not None


def _plain(words: str) -> str:
    return words.replace("’", "'")
