"""The folder of one attempt: everything that the trainer needs, as files."""

import copy
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.errors import NotFound
from core.jobs import Claim
from core.jobs.checkpoints import checkpoints_to_resume
from core.models import Checkpoint, CheckpointPin, DatasetContent, DatasetVersion, Job, JobDataset, JobEvent
from core.models.jobs import JobStatus
from trainer.spec import DATASETS
from trainer.spec.named_resources import put
from trainer.spec.path_rules import PathRules
from worker.jobs import checkpoints

LOCAL_PATHS = "local_paths.json"


@dataclass(frozen=True)
class Workspace:
    """Paths of an attempt's folder."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "spec.json"

    @property
    def lease(self) -> Path:
        return self.folder / "lease"

    @property
    def local_paths(self) -> Path:
        """Which folders the trainer may read from, beside this one."""
        return self.folder / LOCAL_PATHS

    @property
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def log(self) -> Path:
        """What the trainer writes to its terminal."""
        return self.folder / "trainer.log"


@dataclass(frozen=True)
class Model:
    """A checkpoint of another job."""

    id: str
    blob_prefix: str


@dataclass(frozen=True)
class Inputs:
    """What the database says that an attempt needs."""

    datasets: dict[str, str]
    """Field of the spec's `data` → blob key."""
    checkpoints: dict[str, str]
    """What earlier attempts saved: folder within the run's → blob prefix."""
    models: dict[str, Model]
    """Checkpoints of other jobs that this one starts from, by the pointer of the field that names them."""
    threads: int | None
    """How many threads the run had before: another number would give other roundings."""
    dtype: str | None
    """In which type the run computed before, for `model.dtype` = "auto": this machine might choose another."""


def of(claim: Claim, data_dir: Path) -> Workspace:
    """One of its own for each attempt: a late writer of an earlier one cannot get in the way."""
    return Workspace(data_dir / "runs" / claim.job_id / f"attempt-{claim.attempt}")


def make(workspace: Workspace, rules: PathRules) -> None:
    """The folder, empty but for the rules that its trainer must keep to."""
    if workspace.folder.exists():
        shutil.rmtree(workspace.folder)
    workspace.folder.mkdir(parents=True)
    confine(workspace.folder, rules)


def confine(folder: Path, rules: PathRules) -> list[str]:
    """Write the rules for local paths into `folder`; the option that makes a trainer keep to them."""
    file = folder / LOCAL_PATHS
    file.write_text(rules.model_dump_json(exclude={"own"}), encoding="utf-8")
    return ["--local-paths", str(file)]


def close(workspace: Workspace, *, keep_log: bool) -> None:
    """Remove the job's folders: what is to be kept has been uploaded. Of a failed run, what explains it may stay."""
    if not keep_log:
        shutil.rmtree(workspace.folder.parent, ignore_errors=True)
        return
    for bulk in ("checkpoints", "data", "models", "seeds"):
        shutil.rmtree(workspace.folder / bulk, ignore_errors=True)


def clear_away(session: Session, data_dir: Path) -> None:
    """Remove the folders of jobs that have ended elsewhere, on another worker's machine."""
    over = (JobStatus.SUCCEEDED, JobStatus.CANCELLED)
    for folder in (data_dir / "runs").glob("job_*"):
        job = session.get(Job, folder.name)
        if job is None or job.status in over:
            shutil.rmtree(folder, ignore_errors=True)


def inputs_of(session: Session, claim: Claim) -> Inputs:
    of_job = select(JobDataset.role, DatasetContent.blob_key).join_from(JobDataset, DatasetVersion)
    of_job = of_job.join(DatasetContent, DatasetContent.sha256 == DatasetVersion.sha256)
    datasets = dict(session.execute(of_job.where(JobDataset.job_id == claim.job_id)).all())
    for role in DATASETS:
        if (name := claim.spec["data"].get(role)) and role not in datasets:
            raise NotFound(f"There is no dataset {name!r}.")
    saved = {str(one.path): one.blob_prefix for one in checkpoints_to_resume(session, claim.job_id)}
    pins = select(CheckpointPin.field, Checkpoint).join(Checkpoint, Checkpoint.id == CheckpointPin.checkpoint_id)
    pinned = session.execute(pins.where(CheckpointPin.job_id == claim.job_id))
    models = {field: Model(checkpoint.id, checkpoint.blob_prefix) for field, checkpoint in pinned}
    started = select(JobEvent.data).where(JobEvent.job_id == claim.job_id, JobEvent.type == "run_started")
    last_start = session.scalars(started.order_by(JobEvent.seq.desc()).limit(1)).first()
    before = last_start or {}
    return Inputs(datasets, saved, models, before.get("threads"), before.get("dtype"))


def fill(workspace: Workspace, claim: Claim, inputs: Inputs, blobs: BlobStore, go_on: Callable[[], None]) -> None:
    """Fetch datasets, checkpoints and models, and write the spec that names them. `go_on` is called after each and may raise."""
    paths = {role: f"data/{role}.jsonl" for role in inputs.datasets}
    for role, key in inputs.datasets.items():
        blobs.get_to(key, workspace.folder / paths[role])
        go_on()
    for folder, prefix in inputs.checkpoints.items():
        checkpoints.download(blobs, prefix, workspace.folder / folder)
        go_on()
    for model in set(inputs.models.values()):
        checkpoints.download(blobs, model.blob_prefix, workspace.folder / _model_path(model), model_only=True)
        go_on()
    workspace.spec.write_text(json.dumps(_resolved(claim.spec, paths, inputs), indent=2, ensure_ascii=False))


def _model_path(model: Model) -> str:
    return f"models/{model.id}"


def _resolved(spec: dict[str, Any], paths: dict[str, str], inputs: Inputs) -> dict[str, Any]:
    """Ids become paths, relative to the spec: the folder can be moved, and run again by hand."""
    resolved = copy.deepcopy(spec)
    resolved["data"] |= paths
    for pointer, model in inputs.models.items():
        put(resolved, pointer, _model_path(model))
    if inputs.threads is not None:
        resolved["runtime"]["threads"] = inputs.threads
    if inputs.dtype is not None and resolved["model"]["dtype"] == "auto":
        resolved["model"]["dtype"] = inputs.dtype
    return resolved
