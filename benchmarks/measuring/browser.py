"""Chromium for the programs and the tests that look at the dashboard."""

import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ("--no-sandbox",)


def chromium() -> str:
    """The path of the browser that the set-up has installed, else of the machine's. Ends the program without one."""
    own = Path(sys.prefix) / "bin" / "chromium"
    found = str(own) if own.exists() else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        sys.exit("There is no Chromium on this machine. Run `python3 .setup browser`, or install Chromium.")
    return found
