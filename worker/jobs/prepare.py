"""Prepares the workspace of an attempt before its trainer starts."""

import logging

from pydantic import ValidationError

from core.access.references import check_paths
from trainer.spec import JobSpec
from worker.jobs import workspace as workspaces
from worker.jobs.checkpoints import DamagedCheckpoint
from worker.jobs.commands import CommandDelivery
from worker.jobs.context import AttemptContext
from worker.jobs.damaged import DamagedRows, record

log = logging.getLogger(__name__)


class StoppedEarly(Exception):
    """A cancel, a pause or a stop was requested before the trainer started."""


def prepare(attempt: AttemptContext, commands: CommandDelivery) -> None:
    """Fetch the inputs and write the files that the trainer reads.

    Raises InvalidSpec for a path that is not allowed any more, CheckpointDamaged, DatasetDamaged, NoGoodCheckpoint, NotFound,
    StoppedEarly and LeaseLost.
    """
    _check_paths(attempt)
    log.info("%s attempt %d: fetching the inputs", *attempt.key)
    while not _fetch_inputs(attempt):
        pass  # a damaged checkpoint is recorded, so the next one is fetched
    commands.write_log(attempt.retried(commands.read_log))
    workspaces.prepare_tracking(attempt.workspace, attempt.claim.job_id, attempt.worker.settings)


def _check_paths(attempt: AttemptContext) -> None:
    """Raises InvalidSpec for a path that is not allowed: a link may have changed since the submission."""
    try:
        spec = JobSpec.model_validate(attempt.claim.spec)
    except ValidationError:
        return  # a spec of an older release: the trainer refuses it and names the fields
    check_paths(spec, attempt.worker.settings.path_rules)


def _fetch_inputs(attempt: AttemptContext) -> bool:
    """Returns False if a checkpoint was damaged that the run can replace, and True once everything is fetched."""
    claim = attempt.claim
    inputs = attempt.retried(lambda session: workspaces.inputs_of(session, claim))

    def check_still_wanted() -> None:
        """Called between downloads. Raises LeaseLost or StoppedEarly."""
        attempt.lease.check()
        if attempt.must_end():
            raise StoppedEarly

    try:
        workspaces.fill(attempt.workspace, claim.spec, inputs, attempt.worker.blobs, check_still_wanted)
    except (DamagedCheckpoint, DamagedRows) as error:
        log.error("%s attempt %d: damaged: %s", *attempt.key, error)
        damage = error
        if reason_to_end := attempt.retried(lambda session: record(session, claim, damage)):
            raise reason_to_end from error
        return False
    return True
