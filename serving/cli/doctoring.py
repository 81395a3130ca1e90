"""The command that tries out what is wired: doctor."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import setting
from tasks.errors import SomethingWrong
from tasks.render.phrases import count

if TYPE_CHECKING:
    from deployments.doctor import Finding


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(doctor)


def doctor(as_json: AsJson = False) -> int:
    """Try out everything that is wired.

    It starts the MCP server and lists its tools, fires each hook with a
    sample, asks the proxy, and says what is wrong with the command that
    mends it. It changes nothing; with something wrong it ends with code 7.

    Example: everest doctor
    """
    from deployments.doctor import State, examine  # noqa: PLC0415  heavy imports wait

    findings: list[Finding] = []
    for found in examine(setting()):
        findings.append(found)
        if not as_json:
            say(_line(found))
    bad = [one for one in findings if one.state is State.WRONG]
    if as_json:
        put({"ok": not bad, "findings": [asdict(one) for one in findings]})
        return SomethingWrong.exit_code if bad else 0
    if bad:
        raise SomethingWrong(count(len(bad), "thing"), _way_out(bad))
    say("Nothing is wrong.")
    return 0


def _way_out(bad: list[Finding]) -> str:
    if any(one.mend for one in bad):
        return "the commands above mend what a command can mend"
    return "no command mends that; what is told above names what to look at"


def _line(found: Finding) -> str:
    mend = f"\n           mend it: {found.mend}" if found.mend else ""
    return f"{found.state.value:<6} {found.about}: {found.what}{mend}"
