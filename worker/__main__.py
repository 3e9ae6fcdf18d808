"""`python -m worker` runs jobs; `python -m worker data` imports, indexes and judges data; `python -m worker sweep` looks
after lost ones of both. Settings: see core/settings.py.

`join` gives another machine to the jobs of a worker.

`check`, `check-data` and `check-sweep` say by their exit status whether the worker, the data worker or the sweeper of this
machine is alive.
"""

import argparse
import logging
import sys
from collections.abc import Callable

from core.errors import SettingsError
from core.settings import Settings, get_machine_settings, get_settings
from worker.health import data_worker_is_alive, sweeper_is_alive, worker_is_alive
from worker.jobs.app import serve
from worker.jobs.join import join_for_ever
from worker.jobs.launch import Launcher
from worker.sweeper import sweep_for_ever


def _data(settings: Settings) -> int:
    from worker.tasks import claim  # brings the readers of every container, which the others do without

    return claim.serve(settings)


COMMANDS: dict[str, Callable[[Settings], int]] = {
    "run": lambda settings: serve(settings, Launcher()),
    "data": _data,
    "sweep": sweep_for_ever,
    "check": lambda _: 0 if worker_is_alive() else 1,
    "check-data": lambda settings: 0 if data_worker_is_alive(settings) else 1,
    "check-sweep": lambda settings: 0 if sweeper_is_alive(settings) else 1,
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    parser.add_argument("what", nargs="?", choices=[*COMMANDS, "join"], default="run", help="default: run")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        if arguments.what == "join":
            return join_for_ever(get_machine_settings(), Launcher())
        return COMMANDS[arguments.what](get_settings())
    except SettingsError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    sys.exit(main())
