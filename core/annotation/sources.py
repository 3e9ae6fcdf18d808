"""Resolves the datasets and checkpoints that a new round names. They must belong to its owner."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from core.access.allowlist import model_refusal
from core.access.references import is_checkpoint_id, owned_checkpoint
from core.annotation.spec import NewRound, RoundFromCheckpoints, RoundFromDataset
from core.datasets import versions
from core.errors import InvalidRequest, PlatformError, WrongDatasetKind
from core.jobs.checkpoints.damage import refuse_damaged
from core.models import Checkpoint, DatasetVersion, Job
from core.settings import Settings
from data.schema import DatasetKind
from trainer.spec.named_resources import NamedPath

DEFAULT_TOKENS = 256
_POLICY_FIELDS = ("checkpoint", "model", "job", "stage", "step", "seed")
_WITH_PROMPTS = (DatasetKind.PROMPTS, DatasetKind.PREFERENCES, DatasetKind.THUMBS, DatasetKind.STEPS, DatasetKind.SFT)


@dataclass(frozen=True)
class ResolvedSource:
    """The source of a round in its stored form, with references that never change their meaning."""

    name: str
    """Name of the dataset that the round is made from."""
    source: dict[str, Any]
    gold: str | None
    policies: list[dict[str, Any]] | None = None
    checkpoints: set[str] = field(default_factory=set)
    """Ids of the checkpoints that must exist until the items are made."""


def resolve(session: Session, owner_id: str, spec: NewRound, settings: Settings) -> ResolvedSource:
    """Raises NotFound, WrongDatasetKind, WrongCheckpoint, InvalidRequest or DatasetNotReady, with the name of the field."""
    source = spec.source
    if isinstance(source, RoundFromDataset):
        version = _version(session, owner_id, source.dataset, "source.dataset", DatasetKind.PREFERENCES)
        gold = spec.gold or (pinned(version) if spec.gold_share else None)
        stored = source.model_dump(mode="json") | {"dataset": pinned(version)}
        return ResolvedSource(version.dataset.name, stored, _gold(session, owner_id, gold))
    version = _version(session, owner_id, source.prompts, "source.prompts", *_WITH_PROMPTS)
    policies, jobs = _policies(session, owner_id, source, settings)
    tokens = source.max_new_tokens or _tokens_of(jobs)
    stored = source.model_dump(mode="json") | {"prompts": pinned(version), "max_new_tokens": tokens}
    needed = {policy["checkpoint"] for policy in policies if policy["checkpoint"]}
    return ResolvedSource(version.dataset.name, stored, _gold(session, owner_id, spec.gold), policies, needed)


def pinned(version: DatasetVersion) -> str:
    """The reference `ds_…@n` of a version. Its rows never change."""
    return f"{version.dataset_id}@{version.number}"


def owned_reward_model(
    session: Session, owner_id: str, checkpoint_id: str, settings: Settings, param: str = "reward_model"
) -> Checkpoint:
    """The owner's checkpoint of a reward model. Raises NotFound, WrongCheckpoint, CheckpointDamaged or InvalidRequest."""
    named = NamedPath(tuple(param.split(".")), "reward_model", checkpoint_id)
    if not is_checkpoint_id(checkpoint_id):
        _refuse(named, "must be the id of a checkpoint, ckpt_…")
    checkpoint = owned_checkpoint(session, owner_id, named)
    refuse_damaged(session, settings, {param: checkpoint})
    return checkpoint


def _gold(session: Session, owner_id: str, name: str | None) -> str | None:
    return None if name is None else pinned(_version(session, owner_id, name, "gold", DatasetKind.PREFERENCES))


def _version(session: Session, owner_id: str, name: str, param: str, *kinds: DatasetKind) -> DatasetVersion:
    try:
        version = versions.usable(session, owner_id, name)
    except PlatformError as error:
        error.extras.setdefault("param", param)
        raise
    if version.dataset.kind not in kinds:
        detail = f"{name} holds {version.dataset.kind}. {param} takes {' or '.join(kinds)}."
        raise WrongDatasetKind(detail, param=param)
    return version


def _policies(
    session: Session, owner_id: str, source: RoundFromCheckpoints, settings: Settings
) -> tuple[list[dict[str, Any]], list[Job]]:
    """Each policy in its stored form, and the jobs of those that are checkpoints."""
    found, jobs = [], []
    for index, value in enumerate(source.checkpoints):
        named = NamedPath(("source", "checkpoints", index), "policy", value)
        policy: dict[str, Any] = dict.fromkeys(_POLICY_FIELDS)
        if is_checkpoint_id(value):
            checkpoint = owned_checkpoint(session, owner_id, named)
            refuse_damaged(session, settings, {named.param: checkpoint})
            policy |= {"checkpoint": value, "job": checkpoint.job_id}
            policy |= {"stage": checkpoint.stage, "step": checkpoint.step, "seed": checkpoint.seed}
            jobs.append(session.get_one(Job, checkpoint.job_id))
        else:
            if why := model_refusal(value, settings.path_rules):
                _refuse(named, why)
            policy["model"] = value
        found.append(policy)
    return found, jobs


def _tokens_of(jobs: list[Job]) -> int:
    """The largest `ppo.max_new_tokens` of these jobs, so that no policy is cut off earlier than in its job."""
    own = [int(job.spec["ppo"]["max_new_tokens"]) for job in jobs if "ppo" in job.spec["stages"]]
    return max(own, default=DEFAULT_TOKENS)


def _refuse(named: NamedPath, detail: str) -> None:
    errors = [{"pointer": named.pointer, "detail": detail}]
    raise InvalidRequest(f"{named.pointer}: {detail}", param=named.param, errors=errors)
