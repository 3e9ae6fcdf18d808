"""What can be done with a job. The worker's verbs carry their attempt number and are refused once it is not the newest."""

from core.jobs.checkpoints import checkpoint_prefix, checkpoints_to_resume, prune_checkpoints, record_checkpoint
from core.jobs.create import create
from core.jobs.holding import Claim, LeaseState, claim, finish, release, renew_lease
from core.jobs.log import append_events, stored_offset
from core.jobs.queue_reason import queue_reasons
from core.jobs.sweep import SweepResult, lose, sweep
from core.jobs.wishes import request_cancel

__all__ = [
    "Claim",
    "LeaseState",
    "SweepResult",
    "append_events",
    "checkpoint_prefix",
    "checkpoints_to_resume",
    "claim",
    "create",
    "finish",
    "lose",
    "prune_checkpoints",
    "queue_reasons",
    "record_checkpoint",
    "release",
    "renew_lease",
    "request_cancel",
    "stored_offset",
    "sweep",
]
