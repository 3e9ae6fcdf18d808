"""Who does which kind of data task. Each handler may run again from its beginning: a worker can be lost at any point."""

from collections.abc import Callable

from worker.tasks import fetch, fix, imports, index, judge, report, round_close, round_items
from worker.tasks.context import TaskRun

HANDLERS: dict[str, Callable[[TaskRun], None]] = {
    "annotation_close": round_close.run,
    "annotation_items": round_items.run,
    "annotation_scores": judge.run,
    "fetch": fetch.run,
    "fix": fix.run,
    "import": imports.run,
    "index": index.run,
    "report": report.run,
}
"""By `DataTask.kind`. A PlatformError that a handler raises fails the task with its code and detail."""
