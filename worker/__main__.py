"""`python -m worker` runs jobs. `python -m worker data` imports, indexes and reports on data. `python -m worker sweep`
repairs the effects of lost workers, and sends webhooks. `python -m worker background` does the work of `data` and `sweep` in one process, as under
`proximal up`. `python -m worker join` adds another machine to a worker's jobs. `inspect` checks whether this machine can be a worker. `check`, `check-data` and `check-sweep` exit
with status 0 if the worker, the data worker or the sweeper of this machine is alive. The settings are environment variables;
the configuration reference lists them.
"""

import argparse
import logging
import sys
from collections.abc import Callable

from data.start_up import importing

with importing("worker.sweeper"):
    from sqlalchemy.orm import Session

    from core.errors import SettingsError
    from core.lanes import Seat, Slot
    from core.settings import Settings, get_machine_settings, get_settings
    from worker.health import data_worker_is_alive, sweeper_is_alive, worker_is_alive
    from worker.sweeper import sweep_until_stopped, sweeping
    from worker.webhooks import sending


# Each command imports its own part: the image of the API runs the sweeper, and has no packages that measure machines.
def _serve_jobs(settings: Settings) -> int:
    with importing("worker.jobs.claim"):
        from worker.jobs.claim import serve

    if settings.launcher == "slurm":
        from worker.jobs.launch.slurm.launcher import SlurmLauncher
        from worker.jobs.launch.slurm.watch import cancel_stale_jobs, watching_slurm

        _end_stale_jobs(cancel_stale_jobs, settings)
        with watching_slurm(settings) as cluster:
            return serve(settings, SlurmLauncher(cluster))
    if settings.launcher == "kubernetes":
        from worker.jobs.launch.kubernetes.launcher import KubernetesLauncher
        from worker.jobs.launch.kubernetes.watch import delete_stale_jobs, watching_kubernetes

        _end_stale_jobs(delete_stale_jobs, settings)
        with watching_kubernetes(settings) as namespace:
            return serve(settings, KubernetesLauncher(namespace))
    from worker.jobs.launch.local import LocalLauncher

    return serve(settings, LocalLauncher())


def _end_stale_jobs(end: Callable[[Session, Settings], None], settings: Settings) -> None:
    from core.db import session_scope

    with session_scope() as session:
        end(session, settings)


def _join() -> int:
    from worker.jobs.launch.local import LocalLauncher
    from worker.jobs.machines import join_runs

    return join_runs(get_machine_settings(), LocalLauncher())


def _inspect(probe: str | None) -> int:
    from worker.inspection import inspect

    return inspect(get_settings(), probe)


def _serve_data(settings: Settings) -> int:
    from worker.tasks import slots

    return slots.serve(settings)


def _serve_slot(settings: Settings, slot: Slot, data_worker: str) -> int:
    from worker.capacity import data_slots

    with importing("worker.tasks.claim"):  # with the readers of all file formats, which the other commands do not need
        from worker.tasks import claim

    return claim.serve(settings, Seat(slot, data_worker, data_slots(settings)))


def _serve_sweeper(settings: Settings) -> int:
    with sending(settings):
        return sweep_until_stopped(settings)


def _serve_background(settings: Settings) -> int:
    with sweeping(settings), sending(settings):
        return _serve_data(settings)


COMMANDS: dict[str, Callable[[Settings], int]] = {
    "run": _serve_jobs,
    "data": _serve_data,
    "sweep": _serve_sweeper,
    "background": _serve_background,
    "check": lambda _: 0 if worker_is_alive() else 1,
    "check-data": lambda settings: 0 if data_worker_is_alive(settings) else 1,
    "check-sweep": lambda settings: 0 if sweeper_is_alive(settings) else 1,
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    parser.add_argument(
        "command", nargs="?", choices=[*COMMANDS, "join", "inspect"], default="run", help="default: run"
    )
    parser.add_argument(
        "--slot", type=Slot, choices=list(Slot), help="with `data`: run this slot alone, in this process"
    )
    parser.add_argument("--data-worker", default="", help="with `--slot`: the id of the data worker of this slot")
    parser.add_argument("--probe", default=None, help="with `inspect`: SHA-256 of the platform's storage probe")
    arguments = parser.parse_args(argv)
    if arguments.probe is not None and arguments.command != "inspect":
        parser.error("--probe is for `inspect`")
    if arguments.slot is not None and arguments.command != "data":
        parser.error("--slot is for `data`")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        if arguments.command == "join":
            return _join()
        if arguments.command == "inspect":
            return _inspect(arguments.probe)
        if arguments.slot is not None:
            return _serve_slot(get_settings(), arguments.slot, arguments.data_worker)
        return COMMANDS[arguments.command](get_settings())
    except SettingsError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    sys.exit(main())
