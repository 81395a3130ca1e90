"""The English words that `polarity` reads by: what negates, what joins, what excludes.

Data only. Words stand as written; `polarity` compares their stems too.
"""

from __future__ import annotations

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATORS: Final = _set(
    "not never no without avoid stop nor neither forbid forbidden prohibit disallow ban refrain"
    " forget skip omit quit neglect unwanted"
)
"""A word that turns what follows it; two in a row turn it back ("don't forget to …")."""
GATES: Final = _set("without until unless before till")
"""After a negation these name the condition that lifts it: "don't push until CI is green"."""
PREFERENCES: Final = _set("prefer favor favour choose pick like rather")
"""Verbs after which "over" and "to" name what is not wanted."""
VERDICTS: Final = _set("allow ok okay acceptable permit want wanted need fine good welcome")
"""Judgements that a negation before them passes on what stood before: "pip is not allowed"."""
CONDITIONS: Final = _set(
    "before after when whenever while if unless until till once because since during"
)
PREPOSITIONS: Final = (
    _set("in on at for to into onto from with inside within under as by via through per")
    | CONDITIONS
)
"""Words that end what a clause is about and open where and when it holds."""
STOPS: Final = _set(
    "a an the this that these those it its i me my we us our you your they them their he she and or"
    " be is are was were been am do does did have has had will would should shall can could may"
    " might must to of so also just only really very always please now then than there here again"
    " ever every all any some such each both instead longer more well ok okay let use using used"
    " run make sure want need prefer favor favour choose pick like rather remember try keep get"
    " over ensure actually simply even still too what which who how about anymore out up"
)
"""Words that say nothing of what a rule is about; among them the verbs that fit every rule."""
FRESH_STARTS: Final = _set("always use prefer run keep make do ask instead never please ensure try")
"""Words before which an "and" begins another rule."""
NUMBERS: Final = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip

ALTERNATIVES: Final = tuple(
    _set(group)
    for group in """
        enable disable
        tab space
        single double
        true false
        on off
        allow deny block
        show hide
        include exclude
        add remove delete
        open close
        start stop
        fail pass
        uppercase lowercase
        camelcase snakecase kebabcase pascalcase
        sync async
        synchronous asynchronous
        light dark
        public private
        merge rebase squash
        ascending descending
        first last
        left right
        min max
        minimum maximum
        short long
        local remote
        strict loose
        keep drop
        above below
        top bottom
        increase decrease
        append prepend
        encrypt decrypt
        lock unlock
        mutable immutable
        npm yarn pnpm bun
        pip uv poetry conda pipenv
        jest vitest mocha
        json yaml toml
        pytest unittest
        class function
        mock real
        const let var
        soft hard
        staging production
        dev prod
        debug release
        verbose quiet
        brief detailed
        bash zsh fish
        mysql postgres sqlite
        http https
        interface type
        early late
        commit amend
        eslint biome
        black ruff
        docker podman
        relative absolute
    """.strip().splitlines()
)
"""Values of which a rule can want only one at a time."""
