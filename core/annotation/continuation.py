"""Going on with a job: its reward model learns from a closed round, and PPO goes on from its policy (the online iterative
recipe, with people for the judge: Bai et al. 2022, §4.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.references import is_checkpoint_id
from core.annotation import results, rounds
from core.datasets import versions
from core.errors import CannotContinue, InvalidSpec, NotFound, RoundOpen
from core.jobs.submit import submit_job
from core.models import AnnotationRound, Checkpoint, DatasetVersion, Job
from core.models.annotation import RoundStatus
from core.settings import Settings
from trainer.spec import JobSpec, ModelReward
from trainer.spec.validation_errors import explain

LONGEST_NAME = 200
_STAGES = ("reward_model", "ppo", "evaluation")
_POLICY_STAGES = ("ppo", "kto", "dpo", "sft")


@dataclass(frozen=True)
class Basis:
    """What a job has left to go on from, each model by the name under which a spec may name it."""

    spec: JobSpec
    policy: str
    reward_model: str
    anchor: str | None
    """The policy as PPO began, which its KL was taken to; None where the job had no PPO."""


@dataclass(frozen=True)
class Continuation:
    """A job to come, and what it will do in words."""

    spec: JobSpec
    sentences: list[str]


def continued(basis: Basis, preferences: str, name: str, steps: int | None = None) -> dict[str, Any]:
    """The spec of the next job, as JSON: refit the reward model on `preferences`, then `steps` of PPO (None: as many as
    before). Everything else is as it was, but the seed, which is the next one: the same draws would come again.

    The KL stays anchored where it was, so that the rounds together cannot drift further from it than one long run; a
    reference that moves (`ppo.reference.update`) starts at the policy, as it had come to follow it.
    """
    raw: dict[str, Any] = basis.spec.model_dump(mode="json")
    raw["name"], raw["seed"], raw["seeds"] = name, (basis.spec.seed + 1) % 2**32, 1
    raw["model"] |= {"path": basis.policy, "config": None, "tokenizer": None}
    raw["data"] |= {"preferences": preferences, "thumbs": None}
    raw["stages"] = [stage for stage in _STAGES if stage != "evaluation" or stage in basis.spec.stages]
    raw["reward_model"] |= {"path": basis.reward_model, "loss": "pairwise"}
    raw["rewards"] = [_refitted(reward, basis) for reward in raw["rewards"]]
    raw["ppo"]["steps"] = steps or basis.spec.ppo.steps
    if raw["ppo"]["reference"]["update"] != "fixed":
        raw["ppo"]["reference"]["path"] = None
    elif basis.anchor != basis.policy:
        raw["ppo"]["reference"]["path"] = basis.anchor
    return raw


def plan(
    session: Session, round_: AnnotationRound, job_id: str, steps: int | None = None, name: str | None = None
) -> Continuation:
    """What `go_on` would submit. Raises RoundOpen, NotFound, CannotContinue or InvalidSpec."""
    version = _version(session, round_)
    basis = basis_of(session, round_.owner_id, job_id)
    whole = (name or f"{basis.spec.name or job_id}, then {round_.name}")[:LONGEST_NAME]
    spec = _checked(continued(basis, f"{version.dataset_id}@{version.number}", whole, steps))
    return Continuation(spec, summary_sentences(session, round_, spec, version))


def go_on(
    session: Session,
    round_: AnnotationRound,
    job_id: str,
    settings: Settings,
    steps: int | None = None,
    name: str | None = None,
) -> Job:
    """Queue the next job, and note it with the round. Raises what `plan` and `core.jobs.submit` raise."""
    job = submit_job(session, round_.owner_id, plan(session, round_, job_id, steps, name).spec, settings)
    round_ = rounds.locked(session, round_.id)  # after the dataset, as wherever both are
    round_.jobs = [*round_.jobs, job.id]
    session.flush()
    return job


def basis_of(session: Session, owner_id: str, job_id: str) -> Basis:
    """What there is of a job. Raises NotFound, or CannotContinue saying what is missing."""
    job = session.scalars(select(Job).filter_by(id=job_id, owner_id=owner_id)).one_or_none()
    if job is None:
        raise NotFound(f"There is no job {job_id!r}.", param="job")
    try:
        spec = JobSpec.model_validate(job.spec)
    except ValidationError as error:
        raise CannotContinue(
            f"The spec of {job_id} is of an older version: {explain(error)[0]}.", param="job"
        ) from error
    saved = session.scalars(select(Checkpoint).filter_by(job_id=job_id).where(Checkpoint.path.is_not(None))).all()
    policy = _newest_policy(saved)
    if policy is None:
        raise CannotContinue(f"{job_id} has no checkpoint of a policy to go on from.", param="job")
    own = [one for one in saved if one.seed == policy.seed and one.final]
    return Basis(spec, policy.id, _reward_model(job_id, spec, own), _anchor(spec, own))


def _newest_policy(saved: Sequence[Checkpoint]) -> Checkpoint | None:
    """The result of the last stage that trains a policy; while there is none, its best, else its newest. Of several
    seeds the first."""
    found = [one for one in saved if one.stage in _POLICY_STAGES]

    def key(one: Checkpoint) -> tuple[int, int, bool, bool, int]:
        return -_POLICY_STAGES.index(one.stage), -(one.seed or 0), one.final, one.best, one.step

    return max(found, key=key, default=None)


def _reward_model(job_id: str, spec: JobSpec, final: Sequence[Checkpoint]) -> str:
    """The one that PPO was rewarded by: the job's own, or the only one that it was given."""
    models = [reward for reward in spec.scoring if isinstance(reward, ModelReward)]
    if not models:
        detail = f"{job_id} has no reward model that could learn from answers: its rewards are rules."
        raise CannotContinue(detail, param="job")
    if any(model.path is None for model in models):
        trained = next((one.id for one in final if one.stage == "reward_model"), None)
        if trained is None:
            raise CannotContinue(f"The reward model of {job_id} is not trained yet.", param="job")
        return trained
    if len(models) > 1:
        raise CannotContinue(
            f"{job_id} has {len(models)} reward models from elsewhere: which should learn?", param="job"
        )
    assert models[0].path is not None
    return models[0].path


def _anchor(spec: JobSpec, final: Sequence[Checkpoint]) -> str | None:
    """What the KL of PPO was taken to: a model of its own, else the policy as PPO began."""
    if "ppo" not in spec.stages:
        return None
    before = [stage for stage in ("kto", "dpo", "sft") if stage in spec.stages]
    trained = (one.id for stage in before[:1] for one in final if one.stage == stage)
    return spec.ppo.reference.path or next(trained, None) or spec.model.path


def _refitted(reward: dict[str, Any], basis: Basis) -> dict[str, Any]:
    """A reward model from elsewhere that the next job trains on is its own there."""
    same = reward["type"] == "model" and reward["path"] == basis.reward_model
    return reward | {"path": None} if same else reward


def _version(session: Session, round_: AnnotationRound) -> DatasetVersion:
    if round_.status != RoundStatus.CLOSED:
        raise RoundOpen(f"{round_.id} is {round_.status}; close it first.")
    if round_.dataset_id is None:
        raise NotFound("The dataset that the round was closed into has been deleted.")
    return versions.usable(session, round_.owner_id, f"{round_.dataset_id}@{round_.version}")


def _checked(raw: dict[str, Any]) -> JobSpec:
    """As a posted spec is."""
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        errors = [{"pointer": found.pointer, "detail": found.detail} for found in explain(error)]
        first = errors[0]
        param = first["pointer"].removeprefix("#/").replace("/", ".")
        raise InvalidSpec(f"{first['pointer']}: {first['detail']}", param=param, errors=errors) from error


# What going on with a job will do, in sentences: for the person who is about to submit it.
def summary_sentences(session: Session, round_: AnnotationRound, spec: JobSpec, version: DatasetVersion) -> list[str]:
    """Of a job as `continuing.continued` makes it."""
    assert spec.model.path is not None and spec.reward_model.path is not None
    rows = version.content.rows if version.content else 0
    epochs = f"{spec.reward_model.epochs} epoch{'s' if spec.reward_model.epochs > 1 else ''}"
    policy, reference = _named(session, "policy", spec.model.path), spec.ppo.reference.path
    said = [
        f"The {_named(session, 'reward model', spec.reward_model.path)} goes on learning, for {epochs}, from what is "
        f"labelled among the {rows:,} rows of {version.dataset_id}@{version.number}; {spec.data.eval_fraction:.0%} of "
        "the prompts are held out.",
        f"PPO goes on from the {policy} for {spec.ppo.steps:,} steps.",
    ]
    if reference is not None:
        said.append(f"Its KL penalty is taken to the {_named(session, 'policy', reference)}.")
    if spec.data.prompts is None:
        said.append("Its prompts are those of the same rows.")
    if "evaluation" in spec.stages:
        against = spec.evaluation.against
        other = "policy that it began with" if against is None else _named(session, "policy", against)
        said.append(f"At the end it is compared with the {other}.")
    return [*said, *_warnings(session, round_, spec)]


def _warnings(session: Session, round_: AnnotationRound, spec: JobSpec) -> list[str]:
    found = []
    counts = results.counts(session, [round_])[round_.id]
    if counts.cut_off:
        found.append(
            f"In {counts.cut_off:,} of the {counts.items:,} items an answer was cut off at the longest length: the reward "
            "model learns it as if it had ended there."
        )
    if spec.model.lora is not None and spec.model.lora.share_backbone:
        found.append(
            "Policy, reward model and reference begin at different weights now, so that each stands on a backbone of its "
            "own: it takes more memory than before."
        )
    return found


def _named(session: Session, part: str, path: str) -> str:
    """By its job and step, where it is a checkpoint."""
    checkpoint = session.get(Checkpoint, path) if is_checkpoint_id(path) else None
    if checkpoint is None:
        return f"{part} {path}"
    job = session.get_one(Job, checkpoint.job_id)
    name = job.spec.get("name") or job.id
    return f"{part} of {name} ({checkpoint.stage}, step {checkpoint.step}, {path})"
