"""Sends the metrics of a run to trackers. Torch-free.

Each tracker runs in a process of its own, which reads `events.jsonl`. So a tracker that hangs, crashes or needs much time
costs the run nothing. The file is the queue, so no point is dropped while the run goes on. docs/decisions/0019 compares
this with a thread in the trainer.
"""

from trainer.tracking.trackers import missing_package, tracked

__all__ = ["missing_package", "tracked"]
