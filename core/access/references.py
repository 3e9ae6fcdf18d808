"""Checkpoints, models, files and addresses that a spec names: whether the owner of a job may use them."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.allowlist import RewardUrls, model_refusal, url_refusal
from core.errors import InvalidSpec, NotFound, WrongCheckpoint
from core.models import Checkpoint, Job
from trainer.spec import JobSpec
from trainer.spec.facts import PathKind
from trainer.spec.named_resources import NamedPath, NamedUrl, named_paths, named_urls
from trainer.spec.path_rules import PathRules

_ALLOWED_STAGES: dict[PathKind, tuple[str, ...]] = {
    "policy": ("sft", "dpo", "kto", "ppo"),
    "reward_model": ("reward_model",),
    "classifier": ("reward_model",),
    "file": (),
}
"""For each kind of field, the stages whose checkpoints it takes."""


def is_checkpoint_id(path: str) -> bool:
    """Whether a model's path is the id of a checkpoint. No hub id of one word begins like that; others have a slash."""
    return path.startswith("ckpt_") and "/" not in path


def check_references(
    session: Session, owner_id: str, spec: JobSpec, rules: PathRules, reward_urls: RewardUrls
) -> dict[str, Checkpoint]:
    """The checkpoints that the spec names, by JSON pointer of the field. They are locked against deletion until the commit.

    Raises NotFound, WrongCheckpoint or InvalidSpec, with the name of the field.
    """
    for url in named_urls(spec):
        _refuse(url, url_refusal(url.value, reward_urls))
    check_paths(spec, rules)
    named = named_paths(spec)
    return {path.pointer: owned_checkpoint(session, owner_id, path) for path in named if is_checkpoint_id(path.value)}


def check_paths(spec: JobSpec, rules: PathRules) -> None:
    """Raises InvalidSpec, with the name of the field, for a local path that the operator does not allow."""
    for path in named_paths(spec):
        if is_checkpoint_id(path.value):
            continue
        _refuse(path, rules.why_not(path.value) if path.kind == "file" else model_refusal(path.value, rules))


def owned_checkpoint(session: Session, owner_id: str, named: NamedPath) -> Checkpoint:
    """The owner's checkpoint that the field names. It is locked against deletion until the commit.

    Raises NotFound, or WrongCheckpoint for a checkpoint of a stage that the field does not take.
    """
    query = select(Checkpoint).join(Job, Job.id == Checkpoint.job_id)
    query = query.where(Checkpoint.id == named.value, Job.owner_id == owner_id)
    checkpoint = session.scalars(query.with_for_update(read=True, key_share=True, of=Checkpoint)).one_or_none()
    if checkpoint is None:
        detail = f"`{named.param}`: There is no checkpoint {named.value!r}. It may have been deleted. Name another one."
        raise NotFound(detail, param=named.param)
    stages = _ALLOWED_STAGES[named.kind]
    if checkpoint.stage not in stages:
        takes = " or ".join(stages) or "no checkpoint, but a file"
        detail = f"{named.value} is of the stage {checkpoint.stage}. {named.param} takes {takes}"
        errors = [{"pointer": named.pointer, "detail": detail}]
        raise WrongCheckpoint(f"{detail}.", param=named.param, errors=errors)
    return checkpoint


def _refuse(named: NamedPath | NamedUrl, detail: str | None) -> None:
    if detail is not None:
        errors = [{"pointer": named.pointer, "detail": detail}]
        raise InvalidSpec(f"{named.pointer}: {detail}", param=named.param, errors=errors)
