"""Checks and queues a new job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core import quotas
from core.access.references import check_references
from core.access.users import acting_user
from core.datasets import overlap, versions
from core.datasets.rows import content_of
from core.datasets.versions import pin
from core.db import check_storable
from core.errors import Conflict, InvalidRequest, InvalidSpec, NotFound, WrongDatasetKind
from core.jobs.checkpoints.damage import refuse_damaged
from core.jobs.lifecycle.actors import PLATFORM, Actor
from core.jobs.lifecycle.state import write_first_status
from core.jobs.run.events import append_event
from core.jobs.submission.limits import check_limits
from core.models import Checkpoint, CheckpointPin, DatasetVersion, Job, JobDataset
from core.models.base import new_id
from core.scheduling.matching import Requirement
from core.scheduling.policy import Priority
from core.scheduling.usage import check_submission
from core.settings import Settings, get_settings
from trainer.events import Message
from trainer.spec import DATASETS, JobSpec

EVALUATION = "evaluation_prompts"
"""The field of `data` whose prompts are never used for training."""


@dataclass(frozen=True)
class Queueing:
    """How the queue treats a job. The run does not depend on it."""

    priority: Priority = Priority.NORMAL
    preemptible: bool = False
    """Whether the platform may pause the job for a more urgent one, and queue it again."""

    @classmethod
    def of(cls, job: Job) -> "Queueing":
        """That of an existing job."""
        return cls(Priority(job.priority), job.preemptible)


USUAL = Queueing()


def submit_job(
    session: Session,
    owner_id: str,
    spec: JobSpec,
    settings: Settings | None = None,
    actor: Actor = PLATFORM,
    queueing: Queueing = USUAL,
) -> Job:
    """Queue a job. Its datasets and checkpoints must belong to the owner and have the kinds that the spec needs.

    The stored spec names each dataset by the hash of its rows, so that it always means the same rows. Raises NotFound,
    InvalidSpec, LimitExceeded, QuotaExceeded, WrongCheckpoint, WrongDatasetKind and the errors of a version that is not ready.
    """
    allowed = settings or get_settings()
    resolved, needed = resolve(session, owner_id, spec, allowed)
    used = needed.versions
    quotas.check_open_jobs(session, owner_id, allowed)
    quotas.check_storage(session, owner_id, allowed)
    need = Requirement.of_spec(resolved)
    check_submission(session, owner_id, need.slots, allowed)
    job = Job(id=new_id("job"), owner_id=owner_id, name=spec.name, spec=resolved, attempt=0, last_seq=0)
    job.created_by = acting_user(session)
    job.priority, job.preemptible = int(queueing.priority), queueing.preemptible
    job.requirement, job.slots = need.stored(), need.slots
    write_first_status(session, job, "Created.", actor)
    session.add_all(JobDataset(job_id=job.id, role=role, version_id=version.id) for role, version in used.items())
    _warn_of_overlap(session, job, used)
    pin_checkpoints(session, job, needed.checkpoints)
    return job


@dataclass(frozen=True)
class JobInputs:
    """The inputs that a spec names: the dataset version of each field of `data`, and the checkpoint at each JSON pointer."""

    versions: dict[str, DatasetVersion]
    checkpoints: dict[str, Checkpoint]


def resolve(session: Session, owner_id: str, spec: JobSpec, settings: Settings) -> tuple[dict[str, Any], JobInputs]:
    """The spec as a job stores it, and its inputs: every default is filled in, and datasets are named by the hash of their rows.

    Raises InvalidSpec, LimitExceeded and the errors of `needed_inputs`.
    """
    resolved = spec.model_dump(mode="json")
    check_storable(resolved, InvalidSpec)
    check_limits(spec, settings)
    needed = needed_inputs(session, owner_id, spec, settings)
    resolved["data"] |= {role: pin(version) for role, version in needed.versions.items()}
    return resolved, needed


def needed_inputs(session: Session, owner_id: str, spec: JobSpec, settings: Settings) -> JobInputs:
    """The datasets and checkpoints that the spec names, locked against deletion until the commit.

    Raises NotFound, InvalidSpec, WrongCheckpoint, WrongDatasetKind and the errors of a version that is not ready.
    """
    checkpoints = check_references(session, owner_id, spec, settings.path_rules, settings.reward_urls)
    refuse_damaged(session, settings, checkpoints)
    return JobInputs(_versions(session, owner_id, spec), checkpoints)


def pin_checkpoints(session: Session, job: Job, checkpoints: Mapping[str, Checkpoint]) -> None:
    """Keep the checkpoints, by the field that names each, until the job ends."""
    session.add_all(CheckpointPin(job_id=job.id, field=at, checkpoint_id=one.id) for at, one in checkpoints.items())
    session.flush()


def _warn_of_overlap(session: Session, job: Job, used: dict[str, DatasetVersion]) -> None:
    """Append a warning for each dataset that contains evaluation prompts. Datasets that are not indexed yet are not compared.

    The run itself leaves these rows out of training, and looks for near duplicates as well.
    """
    evaluated = used.get(EVALUATION)
    for role, version in used.items():
        if evaluated is None or role == EVALUATION:
            continue
        shared = overlap.shared_prompts(session, content_of(evaluated), content_of(version))
        if shared:
            text = (
                f"{shared} different prompts of `data.{EVALUATION}` are also in `data.{role}`. No stage trains on those rows. "
                f"`proximal datasets overlap {evaluated.dataset_id} {version.dataset_id}` lists them."
            )
            append_event(session, job, Message(text=text, level="warning", actor=PLATFORM.as_json()))


def _versions(session: Session, owner_id: str, spec: JobSpec) -> dict[str, DatasetVersion]:
    """The versions by the field that names them, locked against deletion until the commit."""
    used = {}
    for role, kind in DATASETS.items():
        if (reference := getattr(spec.data, role)) is None:
            continue
        param = f"data.{role}"
        try:
            version = versions.usable(session, owner_id, reference, keep=True)
        except (NotFound, Conflict, InvalidRequest) as error:
            error.extras["param"] = param
            error.extras["errors"] = [{"pointer": f"#/data/{role}", "detail": error.detail}]
            if isinstance(error, NotFound):
                error.detail = f"`{param}`: {error.detail} It may have been deleted. Name another one."
            raise
        if version.dataset.kind != kind:
            detail = f"{version.dataset_id} holds {version.dataset.kind}. data.{role} takes {kind}."
            raise WrongDatasetKind(detail, param=param)
        used[role] = version
    return used
