"""Who does which kind of data task. Each handler may run again from its beginning: a worker can be lost at any point."""

from collections.abc import Callable

from worker.data import fetch, fix, import_, index, judge, report, round_close, round_items
from worker.data.task_run import TaskRun

HANDLERS: dict[str, Callable[[TaskRun], None]] = {
    "annotation_close": round_close.run,
    "annotation_items": round_items.run,
    "annotation_scores": judge.run,
    "fetch": fetch.run,
    "fix": fix.run,
    "import": import_.run,
    "index": index.run,
    "report": report.run,
}
"""By `DataTask.kind`. A PlatformError that a handler raises fails the task with its code and detail."""
