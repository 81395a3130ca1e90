"""Make the README's picture of a morning report: the demo's real report, drawn by Chromium.

Run it from the repository when the report's look changes: `python deployments/picture.py`.
It needs `chromium` on the path; nothing else of Everest does. The report is drawn as it is.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markdown import Markdown
from rich.terminal_theme import TerminalTheme
from rich.theme import Theme

TARGET: Final = Path(__file__).parent / "images" / "morning.png"
_WIDE: Final = 104
_PAGE: Final = (
    "<!doctype html><meta charset=utf-8><style>body{{margin:24px 28px;background:{background};"
    "color:{foreground}}}pre{{font:13px/1.45 'DejaVu Sans Mono',monospace;margin:0}}"
    "{stylesheet}</style><pre>{code}</pre>"
)
_THEME: Final = TerminalTheme(
    (253, 252, 249),
    (40, 42, 48),
    [
        *((40, 42, 48), (170, 60, 50), (50, 120, 70), (150, 100, 20)),
        *((40, 90, 160), (120, 60, 140), (20, 110, 120), (90, 92, 98)),
    ],
)

_PLAIN_CODE: Final = Theme({"markdown.code": "cyan"})  # without the dark ground behind it


def main() -> None:
    """Run the demo and draw its report into `TARGET`."""
    with tempfile.TemporaryDirectory() as folder:
        report = _report(Path(folder) / "demo")
        page, lines = _page(report)
        drawn = Path(folder) / "page.html"
        drawn.write_text(page, "utf-8")
        _draw(drawn, lines)


def _report(home: Path) -> str:
    everest = Path(sys.executable).with_name("everest")
    told = subprocess.run(  # noqa: S603  our own command, its words fixed here
        [str(everest), "demo", "--home", str(home), "--json"], capture_output=True, check=True
    )
    morning = Path(json.loads(told.stdout)["home"]) / "morning.md"
    text = morning.read_text("utf-8").partition("\n<!--")[0]
    return re.sub(re.escape(str(home)), "~", text)


def _page(report: str) -> tuple[str, int]:
    """Return the report as a page, and how many lines it has."""
    with tempfile.TemporaryFile("w") as nowhere:
        console = Console(
            record=True, width=_WIDE, file=nowhere, force_terminal=True, theme=_PLAIN_CODE
        )
        console.print(Markdown(report))
        lines = console.export_text(clear=False).count("\n")
        return console.export_html(theme=_THEME, code_format=_PAGE), lines


def _draw(page: Path, lines: int) -> None:
    size = f"{round(_WIDE * 7.83) + 56},{round(lines * 18.85) + 52}"
    chromium = (
        *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--hide-scrollbars"),
        *(f"--window-size={size}", f"--screenshot={TARGET}"),
    )
    subprocess.run([*chromium, page.as_uri()], check=True)  # noqa: S603  words fixed here


if __name__ == "__main__":
    main()
