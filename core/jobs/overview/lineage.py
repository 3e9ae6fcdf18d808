"""The origin of a job: the job, checkpoint and annotation round that it was made from, and the jobs made from it.

A row stores its origin with the names of that time, so that the words remain when the other job is deleted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.models import AnnotationRound, Checkpoint, Job, JobEvent
from core.models.jobs import JobStatus, Relation
from data.findings import Described
from trainer.spec.section import STAGES, StageName

MOST_ANCESTORS = 50
MOST_CHILDREN = 100
"""Most children that a lineage lists."""
_STAGE_WORDS = {
    "sft": "SFT",
    "reward_model": "reward model",
    "dpo": "DPO",
    "kto": "KTO",
    "ppo": "PPO",
    "evaluation": "evaluation",
}


class InheritedStage(Described):
    """A stage that ended before a branch began. The branch uses its result."""

    stage: str
    """The stage."""
    job: str
    """Id of the job that ran it. It may have been deleted since."""
    name: str
    """Name of that job when the branch was made."""
    seed: int | None
    """Seed of its checkpoint, where that job has several; null otherwise."""
    step: int
    """The last step of the stage."""
    checkpoint: str
    """Id of the stage's result."""
    seconds: float | None
    """Duration of the stage; null while unknown."""
    summary: dict[str, float]
    """Headline figures of the stage, by name."""


class CarriedPart(Described):
    """A part of the state of a run, and whether a branch continues it."""

    part: str
    """`results` of earlier stages, `weights`, `optimizer`, `critic`, `kl_controller`, `reference` or `sampler`."""
    carried: bool
    """Whether the branch continues it."""
    detail: str
    """The part that carries over, or the reason why it does not, for people."""


class JobParent(Described):
    """The job that another one was made from."""

    job: str
    """Its id. It may have been deleted since."""
    name: str | None
    """Its name: the present one, or that of the time for a deleted job; null where it is unknown."""
    deleted: bool
    """Whether that job has been deleted."""
    relation: Relation
    """`clone`: with its spec, from the beginning. `branch`: from one of its checkpoints. `extend`: with more steps of PPO.
    `continue`: with its policy, and its reward model refitted on the answers of an annotation round."""
    text: str
    """The origin in one phrase, such as `Branched from "First", PPO step 40`."""
    checkpoint: str | None = None
    """Id of the checkpoint that it starts from; null for a clone."""
    stage: str | None = None
    """Stage of that checkpoint; null for a clone."""
    step: int | None = None
    """Step of that checkpoint; null for a clone."""
    final: bool | None = None
    """Whether that checkpoint is the result of its stage; null for a clone, and where it is unknown."""
    seed: int | None = None
    """Seed of that checkpoint, where the other job has several; null otherwise."""
    round: str | None = None
    """Id of the annotation round with whose answers it continues; null otherwise."""
    round_name: str | None = None
    """Name of that round."""
    stages: list[InheritedStage] = Field(default_factory=list)
    """The stages that ended before a branch began, in order."""
    carried: list[CarriedPart] = Field(default_factory=list)
    """The parts of the state of a branch; empty for other relations."""


class Ancestor(Described):
    """A job from which another one descends."""

    job: str
    """Its id."""
    name: str | None
    """Its name; null where it is unknown."""
    status: JobStatus | None
    """Its state; null for a job that was deleted."""
    text: str
    """How the next job was made from it, in one phrase."""


class HistoryPart(Described):
    """Metrics from before the first step of a job, which belong to an ancestor."""

    stage: str
    """Their stage."""
    job: str
    """The ancestor."""
    name: str | None
    """Its name; null where it is unknown."""
    deleted: bool
    """Whether it was deleted, and its metrics with it."""
    seed: int | None
    """The seed whose metrics they are, where the ancestor has several; null otherwise."""
    to: int | None
    """The last step that counts; null for the whole stage."""


class JobChild(Described):
    """A job that was made from another one."""

    job: str
    """Its id."""
    name: str
    """Its name."""
    status: JobStatus
    """Its state."""
    relation: Relation
    """How it was made."""
    stage: str | None
    """Stage of the checkpoint that it starts from; null for a clone."""
    step: int | None
    """Step of that checkpoint; null for a clone."""
    final: bool | None
    """Whether that checkpoint is the result of its stage; null for a clone, and where it is unknown."""
    seed: int | None
    """Seed of that checkpoint, where this job has several; null otherwise."""


class JobLineage(Described):
    """The ancestors of a job, its metrics from before its first step, and the jobs made from it."""

    object: Literal["job.lineage"] = "job.lineage"
    """Always `job.lineage`."""
    job_id: str
    """The job."""
    ancestors: list[Ancestor]
    """The job that it was made from, then the one before that, as far as they are stored."""
    history: list[HistoryPart]
    """The parts of the history, oldest first within a stage; empty for a job that runs every stage from its beginning."""
    children: list[JobChild]
    """The jobs made from it, oldest first, at most 100."""


def origin_of(job: Job, relation: Relation, start: Checkpoint | None = None) -> dict[str, Any]:
    """The `parent` that a job made from `job` stores. `start`: the checkpoint that it starts from."""
    origin: dict[str, Any] = {"job": job.id, "relation": relation.value, "name": job.name}
    if start is not None:
        origin |= {"checkpoint": start.id, "stage": start.stage, "step": start.step}
        origin |= {"final": start.final, "seed": start.seed}
    return origin


def inherited_stages(session: Session, results: Mapping[StageName, Checkpoint]) -> list[dict[str, Any]]:
    """The stages with these results, as a branch stores them. A stage that another branch has inherited keeps its own job."""
    return [_inherited(session, stage, one) for stage, one in results.items()]


def _inherited(session: Session, stage: str, result: Checkpoint) -> dict[str, Any]:
    query = select(JobEvent.data).filter_by(job_id=result.job_id, type="stage_finished", stage=stage, seed=result.seed)
    ended = session.scalars(query.order_by(JobEvent.seq.desc()).limit(1)).first() or {}
    job = session.get_one(Job, result.job_id)
    return InheritedStage(
        stage=stage,
        job=job.id,
        name=job.name,
        seed=result.seed,
        step=result.step,
        checkpoint=result.id,
        seconds=ended.get("seconds"),
        summary=ended.get("summary") or {},
    ).model_dump()


def parents(session: Session, rows: Sequence[Job]) -> dict[str, JobParent]:
    """The parents of the jobs that have one, by the id of the job."""
    origins = {row.id: row.parent for row in rows if row.parent}
    names = _names(session, Job, {one["job"] for one in origins.values()}, {row.owner_id for row in rows})
    rounds = _names(
        session,
        AnnotationRound,
        {one["round"] for one in origins.values() if one.get("round")},
        {r.owner_id for r in rows},
    )
    return {id_: _parent(_with_stages(session, origin), names, rounds) for id_, origin in origins.items()}


def _with_stages(session: Session, origin: Mapping[str, Any]) -> Mapping[str, Any]:
    """The origin with its stages. Rows of older releases name only the checkpoints, which may be gone."""
    if "stages" in origin or not origin.get("folders"):
        return origin
    ids = {folder.removeprefix("checkpoints/"): id_ for folder, id_ in origin["folders"].items()}
    found = {stage: session.get(Checkpoint, ids[stage]) for stage in STAGES if stage in ids}
    results = {stage: one for stage, one in found.items() if one is not None}
    return {**origin, "stages": inherited_stages(session, results)}


def _parent(origin: Mapping[str, Any], names: Mapping[str, str], rounds: Mapping[str, str]) -> JobParent:
    """Rows of older releases hold neither names nor stages."""
    present = {name: origin[name] for name in JobParent.model_fields if name in origin}
    present |= {
        "name": names.get(origin["job"]) or origin.get("name"),
        "deleted": origin["job"] not in names,
        "round_name": rounds.get(origin.get("round") or "") or origin.get("round_name"),
    }
    return JobParent.model_validate(present | {"text": _text(present)})


def _names(session: Session, model: type[Job | AnnotationRound], ids: set[str], owners: set[str]) -> dict[str, str]:
    if not ids:
        return {}
    query = select(model.id, model.name).where(model.id.in_(ids), model.owner_id.in_(owners))
    return {row_id: name for row_id, name in session.execute(query)}  # noqa: C416


def _text(origin: Mapping[str, Any]) -> str:
    """The origin in one phrase, as `JobParent.text` describes it."""
    name = f'"{origin["name"]}"' if origin["name"] else "a job"
    if origin["deleted"]:
        name = f"{name}, which was deleted" if origin["name"] else "a job that was deleted"
    place = f", {place_in_words(origin)}" if origin.get("stage") else ""
    match Relation(origin["relation"]):
        case Relation.CLONE:
            return f"Cloned from {name}"
        case Relation.BRANCH:
            return f"Branched from {name}{place}"
        case Relation.EXTEND:
            return f"Extends {name}{place}"
        case Relation.CONTINUE:
            of_round = f' of the round "{origin["round_name"]}"' if origin["round_name"] else " of a round"
            return f"Continues {name}{place}, with the answers{of_round}"


def place_in_words(place: Mapping[str, Any]) -> str:
    """A checkpoint as `PPO step 40`, or `result of SFT`, with its seed where the job has several."""
    words = _STAGE_WORDS.get(place["stage"], place["stage"])
    seed = "" if place.get("seed") is None else f", seed {place['seed']}"
    return (f"result of the {words} stage" if place.get("final") else f"{words} step {place['step']}") + seed


def children_counts(session: Session, ids: Sequence[str]) -> dict[str, dict[Relation, int]]:
    """The numbers of jobs made from each of these jobs, by relation."""
    of, relation = Job.parent["job"].astext, Job.parent["relation"].astext
    query = select(of, relation, func.count()).where(of.in_(ids), Job.parent.is_not(None)).group_by(of, relation)
    found: dict[str, dict[Relation, int]] = defaultdict(dict)
    for id_, name, number in session.execute(query):
        found[id_][Relation(name)] = number
    return found


def lineage(session: Session, job: Job) -> JobLineage:
    """The lineage of a job. A chain longer than MOST_ANCESTORS is cut."""
    chain = _chain(session, job)
    query = select(Job).where(Job.parent["job"].astext == job.id, Job.owner_id == job.owner_id)
    children = session.scalars(query.order_by(Job.created_at, Job.id).limit(MOST_CHILDREN))
    return JobLineage(
        job_id=job.id,
        ancestors=[
            Ancestor(job=of.job, name=of.name, status=row and JobStatus(row.status), text=of.text) for of, row in chain
        ],
        history=_history(session, job, chain),
        children=[_child(one) for one in children],
    )


def _child(row: Job) -> JobChild:
    origin = row.parent or {}
    return JobChild(
        job=row.id,
        name=row.name,
        status=JobStatus(row.status),
        relation=Relation(origin["relation"]),
        stage=origin.get("stage"),
        step=origin.get("step"),
        final=origin.get("final"),
        seed=origin.get("seed"),
    )


def _chain(session: Session, job: Job) -> list[tuple[JobParent, Job | None]]:
    """Each ancestor with its row, the nearest first. A deleted one has no row and is the last."""
    found: list[tuple[JobParent, Job | None]] = []
    row: Job | None = job
    while row is not None and row.parent is not None and len(found) < MOST_ANCESTORS:
        parent = parents(session, [row])[row.id]
        row = session.scalars(select(Job).filter_by(id=parent.job, owner_id=job.owner_id)).one_or_none()
        found.append((parent, row))
    return found


def _history(session: Session, job: Job, chain: Sequence[tuple[JobParent, Job | None]]) -> list[HistoryPart]:
    """The parts by stage. Each stage was begun by some ancestor and continued by those after it."""
    if not chain or chain[0][0].relation not in (Relation.BRANCH, Relation.EXTEND):
        return []
    parts: list[HistoryPart] = []
    for inherited in chain[0][0].stages:
        owner = session.scalars(select(Job).filter_by(id=inherited.job, owner_id=job.owner_id)).one_or_none()
        if owner is not None:
            parts += reversed(list(_before(_chain(session, owner), inherited.stage, None)))
        parts.append(
            HistoryPart(
                stage=inherited.stage,
                job=inherited.job,
                name=owner.name if owner else inherited.name,
                deleted=owner is None,
                seed=inherited.seed,
                to=None,
            )
        )
    if chain[0][0].stage is not None:
        parts += reversed(list(_before(chain, chain[0][0].stage, None)))
    return parts


def _before(chain: Sequence[tuple[JobParent, Job | None]], stage: str, limit: int | None) -> Iterator[HistoryPart]:
    """The parts of a stage that ancestors ran before the first step of a job, the newest first."""
    for parent, row in chain:
        started_in_stage = parent.stage == stage and parent.final is not True
        if parent.relation not in (Relation.BRANCH, Relation.EXTEND) or not started_in_stage or parent.step is None:
            return
        limit = parent.step if limit is None else min(limit, parent.step)
        yield HistoryPart(
            stage=stage, job=parent.job, name=parent.name, deleted=row is None, seed=parent.seed, to=limit
        )
