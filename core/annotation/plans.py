"""What going on with a job will do, in sentences: for the person who is about to submit it."""

from sqlalchemy.orm import Session

from core.annotation import results
from core.jobs.references import is_checkpoint_id
from core.models import AnnotationRound, Checkpoint, DatasetVersion, Job
from trainer.spec import JobSpec


def sentences(session: Session, round_: AnnotationRound, spec: JobSpec, version: DatasetVersion) -> list[str]:
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
