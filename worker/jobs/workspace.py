"""The folder of one attempt, with every file that the trainer needs."""

import copy
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import NOT_MOUNTED, BlobDamaged, BlobStore, Content
from core.errors import NotFound
from core.jobs.checkpoints.checkpoints import checkpoints_to_resume, start_checkpoints
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.seeds import outcome_of
from core.models import Checkpoint, CheckpointPin, DatasetContent, DatasetVersion, Job, JobDataset, JobEvent, JobSeed
from core.models.jobs import Relation
from core.settings import Settings
from trainer.events.seed_summary import SeedOutcome, write_outcome
from trainer.spec import DATASETS
from trainer.spec.named_resources import put
from trainer.spec.path_rules import PathRules
from trainer.spec.tracking import TrackingSpec
from worker.jobs import checkpoints, damaged
from worker.jobs.checkpoints import StoredCheckpoint

LOCAL_PATHS = "local_paths.json"


@dataclass(frozen=True)
class Workspace:
    """Paths in the folder of an attempt."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "spec.json"

    @property
    def lease(self) -> Path:
        return self.folder / "lease"

    @property
    def local_paths(self) -> Path:
        """The rules for local paths: which folders the trainer may read beside this one."""
        return self.folder / LOCAL_PATHS

    @property
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def log(self) -> Path:
        """The console output of the trainer, or of the launcher of its processes."""
        return self.folder / "trainer.log"

    @property
    def logs(self) -> list[Path]:
        """The files with console output, of all machines and processes."""
        return sorted(self.folder.glob("trainer*.log"))


@dataclass(frozen=True)
class StoredRows:
    """The rows of a dataset version."""

    blob_key: str
    content: Content

    @classmethod
    def of(cls, row: DatasetContent) -> Self:
        return cls(row.blob_key, Content(row.bytes, row.sha256))


@dataclass(frozen=True)
class Inputs:
    """The inputs of an attempt, as the database describes them."""

    datasets: dict[str, StoredRows]
    """Rows by the field of the spec's `data`."""
    checkpoints: dict[str, StoredCheckpoint]
    """Checkpoints of earlier attempts, and of the start of a branch, by folder within the run folder."""
    models: dict[str, StoredCheckpoint]
    """Checkpoints of other jobs, by the JSON pointer of the field that names them."""
    threads: int | None
    """Number of threads of the earlier attempts. Another number would round differently."""
    dtype: str | None
    """Type of the earlier attempts, for `model.dtype` = "auto": this machine might choose another one."""
    seeds: list[SeedOutcome] = field(default_factory=list)
    """The seeds of a job with several that are done, and do not run again."""


def workspace_of(claim: Claim, data_dir: Path) -> Workspace:
    """The workspace of an attempt. Each attempt has its own, so that late writes of an earlier one do no harm."""
    return Workspace(data_dir / "runs" / claim.job_id / f"attempt-{claim.attempt}")


def create(workspace: Workspace, rules: PathRules) -> None:
    """Make the folder anew. It then holds only the rules for local paths."""
    if workspace.folder.exists():
        shutil.rmtree(workspace.folder)
    workspace.folder.mkdir(parents=True)
    write_path_rules(workspace.folder, rules)


def write_path_rules(folder: Path, rules: PathRules) -> list[str]:
    """Write the rules for local paths into `folder`. Returns the option that makes a trainer follow them."""
    file = folder / LOCAL_PATHS
    file.write_text(rules.model_dump_json(exclude={"own"}), encoding="utf-8")
    return ["--local-paths", str(file)]


def remove(workspace: Workspace, *, keep_log: bool) -> None:
    """Remove the folders of this attempt and of earlier ones. With `keep_log`, only the large files of this one.

    A later attempt may have begun here already, because a user has retried the job.
    """
    if not keep_log:
        for folder in workspace.folder.parent.glob("attempt-*"):
            if _number(folder) <= _number(workspace.folder):
                shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # not empty
            workspace.folder.parent.rmdir()
        return
    for large in ("checkpoints", "data", "models", "seeds"):
        shutil.rmtree(workspace.folder / large, ignore_errors=True)


def _number(folder: Path) -> int:
    """The number of an attempt's folder."""
    return int(folder.name.removeprefix("attempt-"))


def inputs_of(session: Session, claim: Claim) -> Inputs:
    """Raises NotFound for a dataset that has been deleted, and NoGoodCheckpoint for a stage whose checkpoints are all damaged."""
    damaged.refuse_lost_stage(session, claim.job_id)
    of_job = select(JobDataset.role, DatasetContent).join_from(JobDataset, DatasetVersion)
    of_job = of_job.join(DatasetContent, DatasetContent.sha256 == DatasetVersion.sha256)
    found = session.execute(of_job.where(JobDataset.job_id == claim.job_id))
    datasets = {role: StoredRows.of(rows) for role, rows in found}
    for role in DATASETS:
        if (name := claim.spec["data"].get(role)) and role not in datasets:
            raise NotFound(f"There is no dataset {name!r}.")
    pins_of_start = start_checkpoints(session, claim.job_id).items()
    starts = {
        folder: StoredCheckpoint.of(one) for folder, one in pins_of_start if not damaged.may_be_left_out(folder, one)
    }
    saved = {str(one.path): StoredCheckpoint.of(one) for one in checkpoints_to_resume(session, claim.job_id)}
    pins = select(CheckpointPin.field, Checkpoint).join(Checkpoint, Checkpoint.id == CheckpointPin.checkpoint_id)
    pinned = session.execute(pins.where(CheckpointPin.job_id == claim.job_id, CheckpointPin.field.startswith("#")))
    models = {field: StoredCheckpoint.of(checkpoint) for field, checkpoint in pinned}
    before = _last_start(session, claim.job_id) or _start_of_parent(session, claim)
    return Inputs(
        datasets, starts | saved, models, before.get("threads"), before.get("dtype"), _finished_seeds(session, claim)
    )


def _finished_seeds(session: Session, claim: Claim) -> list[SeedOutcome]:
    rows = session.scalars(select(JobSeed).filter_by(job_id=claim.job_id).order_by(JobSeed.seed))
    return [outcome for row in rows if (outcome := outcome_of(row))]


def _last_start(session: Session, job_id: str) -> dict[str, Any] | None:
    """The data of the newest `run_started` event."""
    started = select(JobEvent.data).where(JobEvent.job_id == job_id, JobEvent.type == "run_started")
    return session.scalars(started.order_by(JobEvent.seq.desc()).limit(1)).first()


def _start_of_parent(session: Session, claim: Claim) -> dict[str, Any]:
    """The start of the run that a branch continues, where the spec leaves the threads to the trainer."""
    parent = session.get_one(Job, claim.job_id).parent or {}
    if parent.get("relation") not in (Relation.BRANCH, Relation.EXTEND):
        return {}
    before = _last_start(session, parent["job"]) or {}
    threads = before.get("threads") if claim.spec["runtime"]["threads"] == "auto" else None
    return {"threads": threads, "dtype": before.get("dtype")}


def fill(
    workspace: Workspace, spec: dict[str, Any], inputs: Inputs, blobs: BlobStore, check: Callable[[], None]
) -> None:
    """Fetch datasets, checkpoints and models, and write the spec with their paths.

    Every file is verified on its way. A file that is in the folder already is not fetched again. `check` is called after each
    download and may raise. Raises DamagedRows and DamagedCheckpoint.
    """
    paths = {role: f"data/{role}.jsonl" for role in inputs.datasets}
    for role, rows in inputs.datasets.items():
        fetch_rows(blobs, rows, workspace.folder / paths[role])
        check()
    for folder, stored in inputs.checkpoints.items():
        if not (workspace.folder / folder).exists():
            checkpoints.download(blobs, stored, workspace.folder / folder)
        check()
    for model in {model.id: model for model in inputs.models.values()}.values():
        if not (workspace.folder / _model_path(model)).exists():
            checkpoints.download(blobs, model, workspace.folder / _model_path(model), model_only=True)
        check()
    for outcome in inputs.seeds:
        own = workspace.folder / "seeds" / str(outcome.seed)
        own.mkdir(parents=True, exist_ok=True)
        write_outcome(own, outcome)
    workspace.spec.write_text(json.dumps(_resolved(spec, paths, inputs), indent=2, ensure_ascii=False))


def fetch_rows(blobs: BlobStore, rows: StoredRows, target: Path) -> None:
    """Copy rows to a file, which is left alone if it exists. Raises DamagedRows."""
    if target.exists():
        return
    try:
        blobs.get_to(rows.blob_key, target, rows.content)
    except NotFound as error:
        if blobs.is_empty():
            raise OSError(NOT_MOUNTED) from error
        raise damaged.DamagedRows(rows.content.sha256, "is missing") from error
    except BlobDamaged as error:
        raise damaged.DamagedRows(rows.content.sha256, str(error)) from error


def prepare_tracking(workspace: Workspace, job_id: str, settings: Settings) -> None:
    """Write the trackers of the platform into a spec without trackers of its own, and the id that trackers use.

    A tracker continues the run of an earlier attempt: the job's id identifies it, and TensorBoard's files are outside the
    folders of attempts.
    """
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


def _model_path(model: StoredCheckpoint) -> str:
    return f"models/{model.id}"


def _resolved(spec: dict[str, Any], paths: dict[str, str], inputs: Inputs) -> dict[str, Any]:
    """The spec with paths in place of ids. They are relative, so the folder can be moved and run by hand."""
    resolved = copy.deepcopy(spec)
    resolved["data"] |= paths
    for pointer, model in inputs.models.items():
        put(resolved, pointer, _model_path(model))
    if inputs.threads is not None:
        resolved["runtime"]["threads"] = inputs.threads
    if inputs.dtype is not None and resolved["model"]["dtype"] == "auto":
        resolved["model"]["dtype"] = inputs.dtype
    return resolved
