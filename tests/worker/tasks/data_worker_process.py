"""`python -m worker data`, or one of its slots, with two more kinds of task: `wait` (until it is stopped, in a command of its own, the first
time), and `quick`."""

import json
import logging
import sys

from core.lanes import Seat, Slot
from core.settings import get_settings
from worker.tasks import claim, slots
from worker.tasks.attempt import HANDLERS
from worker.tasks.context import TaskContext

_WAITING = """
import json, os, time
print(json.dumps({"progress": 0.5, "note": f"process {os.getpid()}"}), flush=True)
time.sleep(600)
"""


def wait(task: TaskContext) -> None:
    done_before = task.scratch / f"{task.task_id}-was-here"
    if not done_before.exists():
        done_before.write_text(json.dumps(task.args))
        task.run_command([sys.executable, "-c", _WAITING])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    HANDLERS |= {"wait": wait, "quick": lambda task: None}
    if sys.argv[1:]:
        sys.exit(claim.serve(get_settings(), Seat(Slot(sys.argv[1]))))
    sys.exit(slots.serve(get_settings(), [sys.executable, __file__]))
