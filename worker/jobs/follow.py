"""Carries what the trainer writes into `events.jsonl` to the database, each event once and in order."""

import logging
from itertools import islice

from core import jobs
from core.blobs import BlobStore
from core.db import session_scope
from core.errors import LeaseLost
from core.jobs import Claim
from core.jobs.checkpoints import File
from trainer.events import CheckpointSaved, Event, RunFailed, RunFinished, RunStopped, read
from worker.jobs import checkpoints
from worker.jobs.workspace import Workspace

_BATCH = 500
log = logging.getLogger(__name__)


class Follower:
    """`advance` as often as you like. When the database is away it raises, and the next call takes up where it was."""

    def __init__(self, claim: Claim, workspace: Workspace, blobs: BlobStore) -> None:
        self._claim = claim
        self._workspace = workspace
        self._blobs = blobs
        self._offset = 0
        self._unsure = False
        self._uploaded: tuple[str, list[File]] | None = None
        self.finished: RunFinished | None = None
        self.failed: RunFailed | None = None
        self.stopped: RunStopped | None = None

    def advance(self) -> bool:
        """Store the events that are there; answer whether there may be more."""
        self._make_sure()
        pending: list[Event] = []
        end, count = self._offset, 0
        for event, offset in islice(read(self._workspace.events, self._offset), _BATCH):
            if isinstance(event, CheckpointSaved):
                self._store(pending, end)
                self._store_checkpoint(event, offset)
                pending = []
            else:
                pending.append(event)
            end, count = offset, count + 1
        self._store(pending, end)
        return count == _BATCH

    def _make_sure(self) -> None:
        """A connection that breaks during a commit does not say whether it was done. The database knows."""
        if self._unsure:
            with session_scope() as session:
                self._offset = jobs.stored_offset(session, self._claim.job_id, self._claim.attempt)
            self._unsure = False

    def _store(self, events: list[Event], end: int) -> None:
        if not events:
            return
        for event in events:
            if isinstance(event, RunFinished):
                self.finished = event
            elif isinstance(event, RunFailed):
                self.failed = event
            elif isinstance(event, RunStopped):
                self.stopped = event
        self._unsure = True
        with session_scope() as session:
            jobs.append_events(session, self._claim.job_id, self._claim.attempt, events, end)
        self._offset, self._unsure = end, False

    def _store_checkpoint(self, event: CheckpointSaved, end: int) -> None:
        """Files first, then the record and the event together: whoever hears of a checkpoint can download it."""
        job_id, attempt = self._claim.job_id, self._claim.attempt
        prefix = jobs.checkpoint_prefix(job_id, attempt, end, event.path)
        files = self._upload(event, prefix)
        stale: list[str] = []
        self._unsure = True
        try:
            with session_scope() as session:
                if files:
                    jobs.record_checkpoint(session, job_id, attempt, event, files, prefix)
                    stale = jobs.prune_checkpoints(session, job_id, attempt)
                jobs.append_events(session, job_id, attempt, [event], end)
        except LeaseLost:
            self._blobs.delete_prefix(prefix)
            raise
        self._offset, self._unsure = end, False
        for old in stale:
            self._blobs.delete_prefix(old)

    def _upload(self, event: CheckpointSaved, prefix: str) -> list[File]:
        """Once, however often the record has to be tried again. Nothing, if the trainer has already pruned or replaced it."""
        if self._uploaded and self._uploaded[0] == prefix:
            return self._uploaded[1]
        folder = self._workspace.folder / event.path
        try:
            files = checkpoints.upload(self._blobs, folder, prefix)
            checkpoints.refuse_another(folder, event.step)
        except FileNotFoundError:
            log.warning("%s: %s was gone before it could be uploaded", self._claim.job_id, event.path)
            self._blobs.delete_prefix(prefix)
            files = []
        self._uploaded = (prefix, files)
        return files
