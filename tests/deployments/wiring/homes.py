"""Homes with agents' files of every kind, written byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deployments.wiring.carry import Plan, plan_leaving, plan_undoing, plan_wiring
from deployments.wiring.machine import Agent, Machine, Ours
from deployments.wiring.record import read_record
from deployments.wiring.setup import LOOKS, wire
from tasks.domain.clock import utc_now
from tasks.errors import EverestError
from tasks.settings import Places

DOOR = "http://127.0.0.1:8787/t/everest_" + 43 * "x"
BOM = "\ufeff"

RICH: dict[str, str] = {
    ".claude/settings.json": """{
    "model": "opus",
    "env": {"FOO": "bar", "ANTHROPIC_LOG": "debug"},
    "permissions": { "allow": ["Bash(ls:*)"], "deny": [] },
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash|Edit",
                "hooks": [{"type": "command", "command": "~/bin/guard", "timeout": 3}]
            }
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": []
    },
    "statusLine": {"type": "command", "command": "echo é ✓"}
}
""",
    ".claude.json": '{\n  "numStartups": 12,\n  "projects": {\n    "/w": {\n      "mcpServers": {'
    '}\n    }\n  },\n  "mcpServers": {\n    "fs": {\n      "command": "npx"\n    }\n  }\n}',
    ".codex/config.toml": """# my settings
model = "gpt-5"  # the big one
approval_policy = 'never'
notify = ["a",
  "b", # both
]

[mcp_servers.docs]
command = "npx"

[profiles."deep work"]
model = "o3"
text = \"\"\"
[not a table]
\"\"\"

[[hooks.Stop]]
matcher = ""
[[hooks.Stop.hooks]]
type = "command"
command = "say done"

[features]
web_search = true
""",
    ".gemini/settings.json": '{\n  // theme\n  "ui": {"theme": "GitHub"},\n  "mcpServers": {}\n}\n',
    ".gemini/.env": "# keys\nGEMINI_API_KEY=abc\n",
    ".cursor/mcp.json": '{"mcpServers":{"a":{"url":"http://x"}}}',
    ".codeium/windsurf/mcp_config.json": '{\n\t"mcpServers": {\n\t\t"a": {"url": "u"}\n\t}\n}\n',
    ".config/Code/User/mcp.json": '{\n\t"inputs": [],\n\t"servers": {\n\t\t// mine\n\t}\n}\n',
    ".config/Claude/claude_desktop_config.json": '{"globalShortcut": "", "mcpServers": {}}',
}
ODD: dict[str, str] = {
    ".claude/settings.json": '{ "hooks" : {"Stop":[ ], } , // none\n }',
    ".claude.json": '{"mcpServers":{"everest":{"command":"everest","args":["serve"],"x":1}}}',
    ".codex/config.toml": '"model" = "x"\n[ mcp_servers . "a b" ]\ncommand="y"\n\n\n# end',
    ".codex/hooks.json": '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    ".gemini/settings.json": "\n\n  {}\n\n",
    ".env": "export GOOGLE_API_KEY='k'",
    ".cursor/mcp.json": "   ",
    ".codeium/windsurf/mcp_config.json": "",
    ".config/Code/User/mcp.json": "// nothing yet",
    ".config/Claude/claude_desktop_config.json": "{\n}",
}
BARE: dict[str, str] = dict.fromkeys(RICH, "")
MISSING: dict[str, str] = {str(Path(name).parent / ".keep"): "" for name in RICH}
INLINE: dict[str, str] = {
    **RICH,
    ".codex/config.toml": """# all on one line
model = "gpt-5"
features = { web_search = true } # mine
mcp_servers = { docs = { command = "npx" }, 'my files'.command = "fs" }
model_providers = {}
hooks = { Stop = [ { matcher = "", hooks = [ { type = "command", command = "say done" } ] }, ] }
""",
}
DOTTED: dict[str, str] = {
    **RICH,
    ".codex/config.toml": """features.web_search = true
mcp_servers.docs.command = "npx"
"mcp_servers".docs . args = [] # none
[hooks]
Stop = [
  { hooks = [ { type = "command", command = "say done" } ] }, # keep
]
[profiles.work.sub]
[profiles]
model = "o3\"""",
}
HOMES: dict[str, dict[str, str]] = {
    "rich": RICH,
    "odd": ODD,
    "bare": BARE,
    "missing": MISSING,
    "inline": INLINE,
    "dotted": DOTTED,
    "marked": {name: BOM + text for name, text in RICH.items()},
    "windows": {name: text.replace("\n", "\r\n") for name, text in RICH.items()},
    "odd windows": {name: BOM + text.replace("\n", "\r\n") for name, text in ODD.items()},
}


class House:
    """One home folder with agents in it, and Everest's own home beside it."""

    def __init__(self, base: Path, files: Mapping[str, str]) -> None:
        self.user = base / "user"
        self.places = Places(base / "everest")
        for name, text in files.items():
            self.write(name, text)

    def path(self, name: str) -> Path:
        return self.user / name

    def write(self, name: str, text: str) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def text(self, name: str) -> str:
        return self.path(name).read_bytes().decode()

    def agents(self, door: str | None = None, **more: Any) -> list[Agent]:
        machine = Machine(self.user, {"PATH": ""}, "linux", self.user / "system")
        named = {"EVEREST_HOME": str(self.places.home)}
        given = {"interpreter": Path("/venv/bin/python"), "environment": named}
        ours = Ours(places=self.places, door=door, **{**given, **more})
        return [look(machine, ours) for look in LOOKS.values()]

    def wire(self, door: str | None = None, **more: Any) -> list[EverestError]:
        return self._done(plan_wiring(self.places, self.agents(door, **more)))

    def undo(self) -> list[EverestError]:
        return self._done(plan_undoing(self.places, self.agents()))

    def leave(self) -> list[EverestError]:
        record = read_record(self.places.wired)
        return self._done(plan_leaving(self.places, self.agents(), record))

    def _done(self, plan: Plan) -> list[EverestError]:
        return [*plan.failures, *wire(self.places, plan.changes, at=utc_now())]
