"""`python -m worker`, or `python -m worker join`, with a fake trainer: `worker_process.py COMMAND [join]`."""

import logging
import sys

from core.settings import get_machine_settings, get_settings
from worker.jobs.claim import serve
from worker.jobs.launch.local import LocalLauncher
from worker.jobs.machines import join_runs

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    fake = LocalLauncher([sys.executable, *sys.argv[1].split()])
    if sys.argv[2:] == ["join"]:
        sys.exit(join_runs(get_machine_settings(), fake))
    sys.exit(serve(get_settings(), fake))
