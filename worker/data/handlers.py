"""Who does which kind of data task. Each handler may run again from its beginning: a worker can be lost at any point."""

from collections.abc import Callable

from worker.data import fetch, import_, index
from worker.data.task_run import TaskRun

HANDLERS: dict[str, Callable[[TaskRun], None]] = {
    "fetch": fetch.run,
    "import": import_.run,
    "index": index.run,
}
"""By `DataTask.kind`. A PlatformError that a handler raises fails the task with its code and detail."""
