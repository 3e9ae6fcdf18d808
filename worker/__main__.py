"""`python -m worker` runs jobs; `python -m worker sweep` looks after lost ones. Settings: see core/settings.py."""

import argparse
import logging
import sys

from core.errors import SettingsError
from core.settings import get_settings
from worker.app import serve
from worker.launcher import Launcher
from worker.sweeper import sweep_for_ever


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["run", "sweep"], default="run", help="default: run")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = get_settings()
    except SettingsError as error:
        parser.exit(2, f"{error}\n")
    return sweep_for_ever(settings) if arguments.what == "sweep" else serve(settings, Launcher())


if __name__ == "__main__":
    sys.exit(main())
