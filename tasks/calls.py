"""Whether a lesson learned from failed calls bears on a call about to be made. Pure, loads little.

It bears on the tools it names, else on the occasion it names ("before you commit"), else on the
commands it quotes. What a call writes or says (file contents, commit messages) is never looked at.
"""

from __future__ import annotations

from tasks.embedding.words import stem

TYPE_CHECKING = False
if TYPE_CHECKING:  # by a name of ours, since `typing` takes long to load
    from tasks.bearing import Profile

_ACTS = {
    "commit": ("commit",),
    "push": ("push",),
    "merge": ("merge", "pull", "cherry-pick"),
    "rebase": ("rebase",),
    "test": ("test", "pytest", "rspec", "jest", "vitest", "nextest", "ctest"),
    "server": (
        *("dev", "serve", "server", "start", "up", "preview", "runserver", "uvicorn", "gunicorn"),
    ),
}
"""What a command does, by the words that its line may hold."""
OCCASIONS = {stem(act): act for act in (*_ACTS, "edit")}
"""What a call does, by the term that a lesson names it with."""
_SHELLS = ("Bash", "PowerShell", "shell", "exec_command", "run_shell_command", "local_shell")
_GIT = ("commit", "push", "merge", "rebase")
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "write_file", "replace")
_PROSE = (".md", ".mdx", ".rst", ".txt")
_PASSED = ("sudo", "env", "time", "nohup", "npx")
_IDLE = ("cd", "echo")


class Call:
    """A call about to be made, read from its tool's name and its command, path or pattern.

    Attributes:
        tool: its name.
        steps: of a command line, the words of each step without options and quoted texts.
        acts: what it does, as `_ACTS` names it, or "edit" when it changes more than prose.
    """

    __slots__ = ("acts", "steps", "tool")

    def __init__(self, words: str) -> None:
        self.tool, _, told = words.partition(" ")
        self.steps = _steps(told) if self.tool in _SHELLS else []
        self.acts = {act for step in self.steps for act in _acts(step)}
        if self.tool in _EDITS and not told.endswith(_PROSE):
            self.acts.add("edit")

    def terms(self) -> list[str]:
        """Return what lessons are looked up by: a lesson that has none of it does not bear."""
        words = [word for step in self.steps for word in step]
        return [*map(_tool_term, [self.tool]), *map(_act_term, self.acts), *map(_word_term, words)]


def terms_told(lesson: Profile) -> set[str]:
    """Return what a lesson of failed calls is looked up by at a call."""
    words = (word for command in lesson["commands"] for word in command)
    tools, acts = map(_tool_term, lesson["tools"]), map(_act_term, lesson["acts"])
    return {*tools, *acts, *map(_word_term, words)}


def bears(lesson: Profile, made: Call) -> bool:
    """Tell whether a lesson of failed calls bears on a call."""
    tools, acts, rather = lesson["tools"], lesson["acts"], lesson["rather"]
    if tools:
        return made.tool in tools
    if acts:
        return not made.acts.isdisjoint(acts)
    return any(
        _runs(step, words) and not (rather and step[: len(rather)] == rather)
        for step in made.steps
        for words in lesson["commands"]
    )


def _tool_term(tool: str) -> str:
    return f"tool:{tool}"


def _act_term(act: str) -> str:
    return f"act:{act}"


def _word_term(word: str) -> str:
    return f"run:{word}"


def _steps(line: str) -> list[list[str]]:
    line = _unquoted(line.partition("<<")[0])
    for mark in ("&&", "||", "|", ";"):
        line = line.replace(mark, "\n")
    found = []
    for step in line.split("\n"):
        words = [_bare(word) for word in step.split() if not _is_passed(word)]
        if words and words[0] not in _IDLE:
            found.append(words)
    return found


def _unquoted(line: str) -> str:
    """Return a command line without what stands in quotes."""
    kept, quote, escaped = [], "", False
    for mark in line:
        if escaped:
            escaped = False
        elif mark == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        else:
            kept.append(mark)
    return "".join(kept)


def _is_passed(word: str) -> bool:
    name, is_assigned, _ = word.partition("=")
    return word[0] in "-&>" or word in _PASSED or bool(is_assigned and name.isidentifier())


def _acts(words: list[str]) -> list[str]:
    """Return what a step does; what git does must be the word behind it."""
    parts = {part for word in words[:3] for part in word.split(":")}
    of_git = words[1:2] if words[0] in ("git", "jj") else []
    return [
        act for act, told in _ACTS.items() if set(told) & (set(of_git) if act in _GIT else parts)
    ]


def _runs(step: list[str], words: list[str]) -> bool:
    """Tell whether a step runs a command: its words stand in it in a row."""
    return any(step[at : at + len(words)] == words for at in range(len(step) - len(words) + 1))


def _bare(word: str) -> str:
    """Return a word without its folder, as a program is named."""
    return word if word.startswith("./") else word.rsplit("/", 1)[-1]
