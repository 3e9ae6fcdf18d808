"""What can be done with a job. The worker's verbs carry their attempt number and are refused once it is not the newest."""

from core.jobs.attempts import Claim, LeaseState, SweepResult, claim, finish, lose, release, renew_lease, sweep
from core.jobs.checkpoints import checkpoint_prefix, checkpoints_to_resume, prune_checkpoints, record_checkpoint
from core.jobs.create import create
from core.jobs.events import append_events, stored_offset
from core.jobs.state import request_cancel
from core.jobs.workers import queue_reasons

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
