"""The command line by the interpreter: `python -m serving.cli`, for what starts it by itself."""

from __future__ import annotations

from serving.cli.main import main

if __name__ == "__main__":
    main()
