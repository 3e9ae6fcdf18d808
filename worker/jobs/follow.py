"""Copies events and checkpoints of the trainer from the run folder to the platform, each once and in order."""

import logging

from core.blobs import BlobStore
from core.db import session_scope
from core.errors import LeaseLost
from core.jobs.actions.commands import settle_commands
from core.jobs.checkpoints.checkpoints import CheckpointFile, checkpoint_prefix, prune_checkpoints, record_checkpoint
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.events import append_events, stored_offset
from core.masking import Masker
from trainer.events import (
    CheckpointDamaged,
    CheckpointSaved,
    Event,
    Health,
    Message,
    RewardMissing,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    read,
)
from worker.jobs import checkpoints
from worker.jobs.checkpoints import DamagedFolder
from worker.jobs.workspace import Workspace

_BATCH, _BATCH_BYTES = 500, 16 * 1024**2
"""Most events of a transaction, and bytes of the log after which it ends, so that large completions fit into memory."""
_SHARE, _SHARE_WITH_GPU = 0.02, 0.1
_WITH_DATABASE = 1.5
_LONGEST_PAUSE = 1.0
log = logging.getLogger(__name__)


def storing_pause(cpu_seconds: float, cores: int, on_cpu: bool) -> float:
    """Seconds from a store that took `cpu_seconds` of this thread until the next one, at most 1.

    A trainer on every core loses the CPU time of the stores, which is about 3 ms in this thread and half of that in the
    database server. The stores may take a fiftieth of the machine's CPU time, and a tenth if the model is on a GPU. So the
    events of a step of half a second are stored at once, and those of shorter steps together. Elapsed time does not count,
    because it includes waits for the disk and for other processes.
    """
    share = _SHARE if on_cpu else _SHARE_WITH_GPU
    return min(_WITH_DATABASE * cpu_seconds / (share * cores), _LONGEST_PAUSE)


class Follower:
    """Reads `events.jsonl`. After an error of the database, the next call continues at the same event."""

    def __init__(self, claim: Claim, workspace: Workspace, blobs: BlobStore, masker: Masker) -> None:
        self._claim = claim
        self._masker = masker
        self._workspace = workspace
        self._blobs = blobs
        self._offset = 0
        self._commit_unknown = False
        self._uploaded: tuple[str, list[CheckpointFile], str | None] | None = None
        """The newest upload: its prefix, its files, and why it was not stored."""
        self.on_cpu = True
        """Whether the trainer has reported that the model is on the CPU, or nothing yet."""
        self.finished: RunFinished | None = None
        self.failed: RunFailed | None = None
        self.stopped: RunStopped | None = None
        self.pausing_rule: str | None = None
        """Name of the last health rule that fired with the action `pause`."""

    def catch_up(self) -> None:
        """Continue after the events that an earlier process of this worker has stored."""
        self._commit_unknown = True
        self._confirm_offset()
        for event, end in read(self._workspace.events):
            if end <= self._offset:
                self._note(self._masked(event))

    def advance(self) -> bool:
        """Store the new events. Returns whether there may be more. Raises LeaseLost and errors of the database."""
        self._confirm_offset()
        pending: list[Event] = []
        start = end = self._offset
        count, full = 0, False
        for event, offset in read(self._workspace.events, start):
            if isinstance(event, CheckpointSaved):
                self._store(pending, end)
                self._store_checkpoint(event, offset)
                pending = []
            else:
                pending.append(self._masked(event))
            end, count = offset, count + 1
            full = count == _BATCH or end - start >= _BATCH_BYTES
            if full:
                break
        self._store(pending, end)
        return full

    def _masked(self, event: Event) -> Event:
        """The event without secrets, which an error text may quote from an address or a header."""
        if isinstance(event, Message):
            return event.model_copy(update={"text": self._masker.mask(event.text)})
        if isinstance(event, RunFailed):
            return event.model_copy(update={"message": self._masker.mask(event.message)})
        if isinstance(event, RunStopped) and event.message is not None:
            return event.model_copy(update={"message": self._masker.mask(event.message)})
        if isinstance(event, RewardMissing):
            return event.model_copy(update={"reason": self._masker.mask(event.reason)})
        return event

    def _confirm_offset(self) -> None:
        """After a connection broke during a commit, read from the database whether it was done."""
        if self._commit_unknown:
            with session_scope() as session:
                self._offset = stored_offset(session, self._claim.job_id, self._claim.attempt)
            self._commit_unknown = False

    def _store(self, events: list[Event], end: int) -> None:
        if not events:
            return
        for event in events:
            self._note(event)
        self._commit_unknown = True
        with session_scope() as session:
            append_events(session, self._claim.job_id, self._claim.attempt, events, end)
            settle_commands(session, self._claim.job_id, events)
        self._offset, self._commit_unknown = end, False

    def _note(self, event: Event) -> None:
        """Keep what the end of the attempt needs. The end of one seed of several is not that of the run."""
        if isinstance(event, RunStarted):
            self.on_cpu = event.device == "cpu"
            if event.seed is None:  # the engine may have started the run again
                self.finished = self.failed = self.stopped = self.pausing_rule = None
        elif isinstance(event, Health) and event.action == "pause":
            self.pausing_rule = event.rule
        elif event.seed is not None:
            return
        elif isinstance(event, RunFinished):
            self.finished = event
        elif isinstance(event, RunFailed):
            self.failed = event
        elif isinstance(event, RunStopped):
            self.stopped = event

    def _store_checkpoint(self, event: CheckpointSaved, end: int) -> None:
        """Upload the files, then store the record and the event together. So a published checkpoint can be downloaded."""
        job_id, attempt = self._claim.job_id, self._claim.attempt
        prefix = checkpoint_prefix(job_id, attempt, end, event.path)
        files, fault = self._upload(event, prefix)
        stored = _not_stored(event, fault) if fault else event
        stale: list[str] = []
        self._commit_unknown = True
        try:
            with session_scope() as session:
                if files:
                    record_checkpoint(session, job_id, attempt, event, files, prefix)
                    stale = prune_checkpoints(session, job_id, attempt)
                append_events(session, job_id, attempt, [stored], end)
        except LeaseLost:
            self._blobs.delete_prefix(prefix)
            raise
        self._offset, self._commit_unknown = end, False
        for old in stale:
            self._blobs.delete_prefix(old)

    def _upload(self, event: CheckpointSaved, prefix: str) -> tuple[list[CheckpointFile], str | None]:
        """Upload once, however often the record is retried. Returns the files, and the fault of damaged ones.

        There are no files if the trainer has already pruned or replaced the folder, or if they are damaged.
        """
        if self._uploaded and self._uploaded[0] == prefix:
            return self._uploaded[1:]
        folder = self._workspace.folder / event.path
        files: list[CheckpointFile] = []
        fault = None
        try:
            files = checkpoints.upload(self._blobs, folder, prefix)
            checkpoints.check_step(folder, event.step)
        except FileNotFoundError:
            log.warning("%s: %s was removed before it could be uploaded", self._claim.job_id, event.path)
            files = []
        except DamagedFolder as error:
            log.error("%s: %s is damaged: %s", self._claim.job_id, event.path, error)
            fault = str(error)
        if not files:
            self._blobs.delete_prefix(prefix)
        self._uploaded = (prefix, files, fault)
        return files, fault


def _not_stored(event: CheckpointSaved, fault: str) -> CheckpointDamaged:
    """The event in place of that of a checkpoint whose files were damaged before they were uploaded."""
    fields = event.model_dump(include={"at", "stage", "step", "path", "final", "best", "seed"})
    return CheckpointDamaged(**fields, reason=fault, remedy="It is not stored. The run continues.")
