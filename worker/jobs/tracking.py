"""Prepares a run folder for the trackers of a job.

A tracker continues the run of an earlier attempt: the job's id identifies it, and TensorBoard's files are outside the
folders of attempts.
"""

import json

from core.settings import Settings
from trainer.spec.tracking import TrackingSpec
from worker.jobs.workspace import Workspace


def prepare_tracking(workspace: Workspace, job_id: str, settings: Settings) -> None:
    """Write the trackers of the platform into a spec without trackers of its own, and the id that trackers use."""
    spec = json.loads(workspace.spec.read_text())
    tracking = TrackingSpec.model_validate(spec.get("tracking", {}))
    if not tracking.chosen:
        tracking = settings.tracking
    if not tracking.chosen:
        return
    spec["tracking"] = tracking.model_dump(mode="json")
    workspace.spec.write_text(json.dumps(spec, indent=2, ensure_ascii=False))
    (workspace.folder / "run_id").write_text(job_id)
    if tracking.tensorboard is not None:
        kept = settings.data_dir / "tensorboard" / job_id
        kept.mkdir(parents=True, exist_ok=True)
        (workspace.folder / "tensorboard").symlink_to(kept)
