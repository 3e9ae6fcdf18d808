"""The folder of one attempt: everything that the trainer needs, as files."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.jobs import Claim
from core.jobs.checkpoints import checkpoints_to_resume
from core.models import Dataset, Job, JobEvent
from core.models.job import JobStatus
from trainer.spec import DATASETS
from worker import checkpoints


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
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def log(self) -> Path:
        """What the trainer writes to its terminal."""
        return self.folder / "trainer.log"


@dataclass(frozen=True)
class Inputs:
    """What the database says that an attempt needs."""

    datasets: dict[str, str]
    """Role (preferences, sft, prompts) → blob key."""
    checkpoints: list[str]
    """Blob prefixes of what earlier attempts saved."""
    threads: int | None
    """How many threads the run had before: another number would give other roundings."""


def of(claim: Claim, data_dir: Path) -> Workspace:
    """One of its own for each attempt: a late writer of an earlier one cannot get in the way."""
    return Workspace(data_dir / "runs" / claim.job_id / f"attempt-{claim.attempt}")


def make(workspace: Workspace) -> None:
    """The folder, empty."""
    if workspace.folder.exists():
        shutil.rmtree(workspace.folder)
    workspace.folder.mkdir(parents=True)


def close(workspace: Workspace, *, keep_log: bool) -> None:
    """Remove the job's folders: what is to be kept has been uploaded. Of a failed run, what explains it may stay."""
    if not keep_log:
        shutil.rmtree(workspace.folder.parent, ignore_errors=True)
        return
    for bulk in ("checkpoints", "data"):
        shutil.rmtree(workspace.folder / bulk, ignore_errors=True)


def clear_away(session: Session, data_dir: Path) -> None:
    """Remove the folders of jobs that have ended elsewhere, on another worker's machine."""
    over = (JobStatus.SUCCEEDED, JobStatus.CANCELLED)
    for folder in (data_dir / "runs").glob("job_*"):
        job = session.get(Job, folder.name)
        if job is None or job.status in over:
            shutil.rmtree(folder, ignore_errors=True)


def inputs_of(session: Session, claim: Claim) -> Inputs:
    named = {role: claim.spec["data"].get(role) for role in DATASETS}
    datasets = {role: session.get_one(Dataset, name).blob_key for role, name in named.items() if name}
    saved = [checkpoint.blob_prefix for checkpoint in checkpoints_to_resume(session, claim.job_id)]
    started = select(JobEvent.data).where(JobEvent.job_id == claim.job_id, JobEvent.type == "run_started")
    last_start = session.scalars(started.order_by(JobEvent.seq.desc()).limit(1)).first()
    return Inputs(datasets, saved, last_start["threads"] if last_start else None)


def fill(workspace: Workspace, claim: Claim, inputs: Inputs, blobs: BlobStore, go_on: Callable[[], None]) -> None:
    """Fetch the datasets and checkpoints, and write the spec that names them. `go_on` is called after each and may raise."""
    paths = {role: f"data/{role}.jsonl" for role in inputs.datasets}
    for role, key in inputs.datasets.items():
        blobs.get_to(key, workspace.folder / paths[role])
        go_on()
    for prefix in inputs.checkpoints:
        checkpoints.download(blobs, prefix, workspace.folder / "checkpoints")
        go_on()
    workspace.spec.write_text(json.dumps(_resolved(claim.spec, paths, inputs.threads), indent=2, ensure_ascii=False))


def _resolved(spec: dict[str, Any], paths: dict[str, str], threads: int | None) -> dict[str, Any]:
    """The datasets' ids become paths, relative to the spec: the folder can be moved, and run again by hand."""
    resolved = {**spec, "data": {**spec["data"], **paths}}
    if threads is not None:
        resolved["runtime"] = {**spec["runtime"], "threads": threads}
    return resolved
