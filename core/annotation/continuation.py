"""Continues a job: the next job refits its reward model on a closed round, then runs PPO from its policy.

This is online iterative RLHF with people as the judge (Bai et al. 2022, §4.5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.references import is_checkpoint_id
from core.annotation import results, rounds
from core.datasets import versions
from core.errors import CannotContinue, NotFound, RoundOpen
from core.jobs.checkpoints.damage import refuse_marked
from core.jobs.lifecycle.actors import PLATFORM, Actor
from core.jobs.overview.lineage import origin_of, place_in_words
from core.jobs.submission.stored_specs import validated
from core.jobs.submission.submit import submit_job
from core.models import AnnotationRound, Checkpoint, DatasetVersion, Job
from core.models.annotation import RoundStatus
from core.models.jobs import Relation
from core.settings import Settings
from trainer.spec import JobSpec, ModelReward
from trainer.spec.validation_errors import explain

LONGEST_NAME = 200
_STAGES = ("reward_model", "ppo", "evaluation")
_POLICY_STAGES = ("ppo", "kto", "dpo", "sft")


@dataclass(frozen=True)
class ContinuationBasis:
    """The models of a job from which the next job starts: checkpoint ids, or the paths that its spec names."""

    spec: JobSpec
    policy: str
    reward_model: str
    reference: str | None
    """The reference of its PPO: the policy with which PPO began, or `ppo.reference.path`. None for a job without PPO."""


@dataclass(frozen=True)
class Continuation:
    """The spec of the next job, and a description of it for people."""

    spec: JobSpec
    sentences: list[str]


def next_spec(basis: ContinuationBasis, preferences: str, name: str, steps: int | None = None) -> dict[str, Any]:
    """The spec of the next job, as JSON: refit the reward model on `preferences`, then `steps` of PPO.

    `steps` None: as many as the job had. All other fields are unchanged but the seed, which is incremented: with the same
    seed the random draws would repeat.

    The reference of the KL penalty stays the same, so that all rounds together drift no further from it than one long run.
    A reference that follows the policy (`ppo.reference.update`) starts at the policy.
    """
    raw: dict[str, Any] = basis.spec.model_dump(mode="json")
    raw["name"], raw["seed"], raw["seeds"] = name, (basis.spec.seed + 1) % 2**32, 1
    raw["model"] |= {"path": basis.policy, "config": None, "tokenizer": None}
    raw["data"] |= {"preferences": preferences, "thumbs": None, "steps": None}
    raw["stages"] = [stage for stage in _STAGES if stage != "evaluation" or stage in basis.spec.stages]
    raw["reward_model"] |= {"path": basis.reward_model, "loss": "pairwise"}
    raw["rewards"] = [_refitted(reward, basis) for reward in raw["rewards"]]
    raw["ppo"]["steps"] = steps or basis.spec.ppo.steps
    if raw["ppo"]["reference"]["update"] != "fixed":
        raw["ppo"]["reference"]["path"] = None
    elif basis.reference != basis.policy:
        raw["ppo"]["reference"]["path"] = basis.reference
    return raw


@dataclass(frozen=True)
class NextJob:
    """The job to continue, and what the next one changes."""

    job_id: str
    steps: int | None = None
    """Steps of the next job; None: as many as before."""
    name: str | None = None
    """Its name; None: made of the names of the job and of the round."""


def plan(
    session: Session, round_: AnnotationRound, job_id: str, steps: int | None = None, name: str | None = None
) -> Continuation:
    """The job that `continue_job` would submit. Raises RoundOpen, NotFound, CannotContinue or InvalidSpec."""
    version = _version(session, round_)
    basis = basis_of(session, round_.owner_id, job_id)
    whole = (name or f"{basis.spec.name or job_id}, then {round_.name}")[:LONGEST_NAME]
    spec = validated(next_spec(basis, f"{version.dataset_id}@{version.number}", whole, steps))
    return Continuation(spec, summary_sentences(session, round_, spec, version))


def continue_job(
    session: Session,
    round_: AnnotationRound,
    wanted: NextJob,
    settings: Settings,
    actor: Actor = PLATFORM,
) -> Job:
    """Queue the next job, and store its id with the round. Raises the errors of `plan` and of `submit_job`."""
    spec = plan(session, round_, wanted.job_id, wanted.steps, wanted.name).spec
    job = submit_job(session, round_.owner_id, spec, settings, actor)
    policy = session.get(Checkpoint, spec.model.path)
    origin = origin_of(session.get_one(Job, wanted.job_id), Relation.CONTINUE, policy)
    job.parent = origin | {"round": round_.id, "round_name": round_.name}
    round_ = rounds.locked(session, round_.id)  # lock order: the dataset, then the round
    round_.jobs = [*round_.jobs, job.id]
    session.flush()
    return job


def basis_of(session: Session, owner_id: str, job_id: str) -> ContinuationBasis:
    """The models of the owner's job. Raises NotFound, or CannotContinue if one of them is missing."""
    job = session.scalars(select(Job).filter_by(id=job_id, owner_id=owner_id)).one_or_none()
    if job is None:
        raise NotFound(f"There is no job {job_id!r}.", param="job")
    try:
        spec = JobSpec.model_validate(job.spec)
    except ValidationError as error:
        raise CannotContinue(
            f"The spec of {job_id} was stored by an older release and is no longer valid: {explain(error)[0]}.",
            param="job",
        ) from error
    saved = session.scalars(select(Checkpoint).filter_by(job_id=job_id).where(Checkpoint.path.is_not(None))).all()
    policy = _newest_policy(saved, (job.summary or {}).get("best_seed"))
    if policy is None:
        raise CannotContinue(f"{job_id} has no checkpoint of a policy. Choose a job that has saved one.", param="job")
    refuse_marked(policy, "job")
    own = [one for one in saved if one.seed == policy.seed and one.final]
    return ContinuationBasis(spec, policy.id, _reward_model(job_id, spec, own), _reference(spec, own))


def _newest_policy(saved: Sequence[Checkpoint], best_seed: float | None) -> Checkpoint | None:
    """The checkpoint of the last stage that trains a policy: the final one, else the best, else the newest.

    With several seeds, it is one of `best_seed`, or of the first seed while the job has none. The job's own copy of the best
    seed's policy is left out, because the reward model and the reference are stored with the seed.
    """
    found = [one for one in saved if one.stage in _POLICY_STAGES]
    found = [one for one in found if one.seed is not None] or found

    def key(one: Checkpoint) -> tuple[bool, int, int, bool, bool, int]:
        own = one.seed is not None and one.seed == best_seed
        return own, -_POLICY_STAGES.index(one.stage), -(one.seed or 0), one.final, one.best, one.step

    return max(found, key=key, default=None)


def _reward_model(job_id: str, spec: JobSpec, final: Sequence[Checkpoint]) -> str:
    """The reward model of the job's PPO: the one that it trained, or the only one that its spec names."""
    models = [reward for reward in spec.scoring if isinstance(reward, ModelReward)]
    if not models:
        detail = f"{job_id} has no reward model to refit on the answers: its rewards are rules. Choose another job."
        raise CannotContinue(detail, param="job")
    if any(model.is_trained_in_run for model in models):
        trained = next((one for one in final if one.stage == "reward_model"), None)
        if trained is None:
            raise CannotContinue(
                f"The reward model of {job_id} is not trained yet. Try again when that stage has ended.", param="job"
            )
        refuse_marked(trained, "job")
        return trained.id
    paths = [path for model in models for path in model.paths]
    if len(paths) > 1:
        raise CannotContinue(
            f"{job_id} names {len(paths)} reward models, and only one can be refitted. Choose a job with one.",
            param="job",
        )
    return paths[0]


def _reference(spec: JobSpec, final: Sequence[Checkpoint]) -> str | None:
    """The reference of PPO's KL penalty: `ppo.reference.path`, else the policy with which PPO began. None without PPO."""
    if "ppo" not in spec.stages:
        return None
    before = [stage for stage in ("kto", "dpo", "sft") if stage in spec.stages]
    trained = (one.id for stage in before[:1] for one in final if one.stage == stage)
    return spec.ppo.reference.path or next(trained, None) or spec.model.path


def _refitted(reward: dict[str, Any], basis: ContinuationBasis) -> dict[str, Any]:
    """The reward without its path, if it names the model that the next job refits: there it is the job's own model."""
    same = reward["type"] == "model" and reward["path"] == basis.reward_model
    return reward | {"path": None} if same else reward


def _version(session: Session, round_: AnnotationRound) -> DatasetVersion:
    if round_.status != RoundStatus.CLOSED:
        raise RoundOpen(f"{round_.id} is {round_.status}. Close it first.")
    if round_.dataset_id is None:
        raise NotFound("The dataset that the round was closed into has been deleted.")
    return versions.usable(session, round_.owner_id, f"{round_.dataset_id}@{round_.version}")


def summary_sentences(session: Session, round_: AnnotationRound, spec: JobSpec, version: DatasetVersion) -> list[str]:
    """The description of a spec of `next_spec`, for the person who is about to submit it."""
    assert spec.model.path is not None and spec.reward_model.path is not None
    rows = version.content.rows if version.content else 0
    epochs = f"{spec.reward_model.epochs} more epoch{'s' if spec.reward_model.epochs > 1 else ''}"
    policy, reference = _model_name(session, "policy", spec.model.path), spec.ppo.reference.path
    sentences = [
        f"The {_model_name(session, 'reward model', spec.reward_model.path)} is trained for {epochs} on the labelled "
        f"ones of the {rows:,} rows of {version.dataset.name}, version {version.number} "
        f"({version.dataset_id}@{version.number}). {spec.data.eval_fraction:.0%} of the prompts "
        "are held out.",
        f"PPO continues from the {policy} for {spec.ppo.steps:,} steps.",
    ]
    if reference is not None:
        sentences.append(f"Its KL penalty is measured against the {_model_name(session, 'policy', reference)}.")
    if spec.data.prompts is None:
        sentences.append("Its prompts are those of the same rows.")
    if "evaluation" in spec.stages:
        against = spec.evaluation.against
        other = "policy that it starts from" if against is None else _model_name(session, "policy", against)
        sentences.append(f"At the end it is compared with the {other}.")
    return [*sentences, *_warnings(session, round_, spec)]


def _warnings(session: Session, round_: AnnotationRound, spec: JobSpec) -> list[str]:
    warnings = []
    counts = results.counts(session, [round_])[round_.id]
    if counts.cut_off:
        warnings.append(
            f"In {counts.cut_off:,} of the {counts.items:,} items a completion was cut off at the longest length. The reward "
            "model learns it as if it had ended there."
        )
    if spec.model.lora is not None and spec.model.lora.share_backbone:
        warnings.append(
            "Policy, reward model and reference start from different weights, so each needs a backbone of its own. "
            "The run takes more memory than the job before."
        )
    return warnings


def _model_name(session: Session, part: str, path: str) -> str:
    """A model for people: a checkpoint by its job, stage and step; any other by its path."""
    checkpoint = session.get(Checkpoint, path) if is_checkpoint_id(path) else None
    if checkpoint is None:
        return f"{part} {path}"
    job = session.get_one(Job, checkpoint.job_id)
    return f"{part} of {job.name or job.id} ({place_in_words(vars(checkpoint))}, {path})"
