"""Whether the person takes something back in so many words.

English only: in another language a retraction reads as an ordinary correction, which at worst
waits. Mere disagreement is no retraction; the words must withdraw something said before.
"""

from __future__ import annotations

import re
from typing import Final

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


def retracts(words: str) -> bool:
    """Tell whether the words withdraw something the person said before."""
    return _WITHDRAWAL.search(words.replace("’", "'")) is not None
