"""The models, files and addresses that a new job names: allowed, and where they are checkpoints, kept for it."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.allowlist import model_refusal, url_refusal
from core.errors import InvalidSpec, NotFound, WrongCheckpoint
from core.models import Checkpoint, Job
from core.settings import Settings
from trainer.spec import JobSpec
from trainer.spec.named_resources import NamedPath, NamedUrl, named_paths, named_urls
from trainer.spec.rewards import PathKind

POLICY_STAGES = ("sft", "dpo", "kto", "ppo")
SUITED: dict[PathKind, tuple[str, ...]] = {
    "policy": POLICY_STAGES,
    "reward_model": ("reward_model",),
    "classifier": ("reward_model",),
    "file": (),
}
"""The stages whose checkpoints may stand in a field of each kind."""


def is_checkpoint_id(path: str) -> bool:
    """No hub id looks so: those of one word have no underscore behind such a prefix, others have a slash."""
    return path.startswith("ckpt_") and "/" not in path


def check_names(session: Session, owner_id: str, spec: JobSpec, settings: Settings) -> dict[str, Checkpoint]:
    """The checkpoints that the spec names, by the pointer of the field; nobody deletes them before the commit.

    Raises NotFound, WrongCheckpoint or InvalidSpec, each naming the field.
    """
    for url in named_urls(spec):
        _refuse(url, url_refusal(url.value, settings.reward_urls))
    check_paths(spec, settings)
    named = named_paths(spec)
    return {path.pointer: owned_checkpoint(session, owner_id, path) for path in named if is_checkpoint_id(path.value)}


def check_paths(spec: JobSpec, settings: Settings) -> None:
    """Raise InvalidSpec, naming the field, for a local path that the operator does not allow."""
    rules = settings.path_rules
    for path in named_paths(spec):
        if is_checkpoint_id(path.value):
            continue
        _refuse(path, rules.why_not(path.value) if path.kind == "file" else model_refusal(path.value, rules))


def _refuse(named: NamedPath | NamedUrl, detail: str | None) -> None:
    if detail is not None:
        errors = [{"pointer": named.pointer, "detail": detail}]
        raise InvalidSpec(f"{named.pointer}: {detail}", param=named.param, errors=errors)


def owned_checkpoint(session: Session, owner_id: str, named: NamedPath) -> Checkpoint:
    """The checkpoint that stands there, which must suit the field; nobody deletes it before the commit.

    Raises NotFound or WrongCheckpoint, naming the field.
    """
    query = select(Checkpoint).join(Job, Job.id == Checkpoint.job_id)
    query = query.where(Checkpoint.id == named.value, Job.owner_id == owner_id)
    checkpoint = session.scalars(query.with_for_update(read=True, key_share=True, of=Checkpoint)).one_or_none()
    if checkpoint is None:
        raise NotFound(f"There is no checkpoint {named.value!r}.", param=named.param)
    if checkpoint.stage not in SUITED[named.kind]:
        takes = " or ".join(SUITED[named.kind]) or "no checkpoint, but a file"
        detail = f"{named.value} is of the stage {checkpoint.stage}; {named.param} takes {takes}"
        errors = [{"pointer": named.pointer, "detail": detail}]
        raise WrongCheckpoint(f"{detail}.", param=named.param, errors=errors)
    return checkpoint
