"""Rewards and judges: whether what they need is here. Models are not loaded, endpoints asked only where that is wanted."""

import math
from collections.abc import Iterator, Sequence

from trainer.errors import RewardError, TrainerError
from trainer.judges import GROUP as JUDGES
from trainer.preflight.models import finding
from trainer.preflight.places import config_of, local, weights_of
from trainer.preflight.report import EXIT_STATUS, Area, Finding
from trainer.rewards import Answer, RewardContext, build
from trainer.rewards.endpoint import GOES_ON
from trainer.rewards.plugin import GROUP, installed
from trainer.spec import ClassifierReward, HttpJudge, HttpReward, JobSpec, ModelReward, PluginReward
from trainer.spec.paths import named_paths

_HEAVY = (ModelReward, ClassifierReward, PluginReward, HttpReward, HttpJudge)
"""Not built here: their building loads models, runs what an operator installed, or goes over a network."""


def look(spec: JobSpec, context: RewardContext | None, ask: bool) -> Iterator[Finding]:
    """Findings of every reward and judge. `context`: None where the model could not be had."""
    for where, member in _members(spec):
        try:
            yield from _member(where, member, context, ask)
        except TrainerError as error:
            yield Finding(level="error", area=_area(error), code="scorer", where=where, detail=str(error))


def look_at_models(spec: JobSpec) -> Iterator[Finding]:
    """Every model that the spec names beside the job's own."""
    for named in named_paths(spec):
        if named.kind == "file" or named.pointer == "#/model/path" or not _used(spec, named.pointer):
            continue
        try:
            folder = local(named.value)
            if folder is None:
                detail = f"{named.value} is no folder here and not in the hub's cache: it could not be checked."
                yield finding("warning", "not_checked", named.pointer, detail)
                continue
            config_of(folder)
            weights_of(folder)
        except TrainerError as error:
            yield finding("error", "invalid_model", named.pointer, str(error))


def weights(spec: JobSpec) -> int:
    """Bytes of the reward models that the run only loads, in the model's type; 0 for those that are not here."""
    size = 4 if spec.model.dtype == "float32" else 2
    total = 0
    for reward in [*spec.scoring, spec.evaluation.judge]:
        if isinstance(reward, ModelReward | ClassifierReward) and reward.path is not None:
            folder = local(reward.path)
            if folder is not None:
                total += size * sum(math.prod(shape) for shape in weights_of(folder).values())
    return total


def _area(error: TrainerError) -> Area:
    """That with the exit status of the run; a model's is also that of what only a run finds out, such as no answer."""
    areas: tuple[Area, ...] = ("spec", "data")
    return next((area for area in areas if EXIT_STATUS[area] == error.exit_status), "model")


def _used(spec: JobSpec, pointer: str) -> bool:
    stage = pointer.split("/")[1]
    return stage not in ("reward_model", "ppo") or stage in spec.stages


def _members(spec: JobSpec) -> Iterator[tuple[str, object]]:
    if {"ppo", "evaluation"} & set(spec.stages):
        yield from ((f"#/rewards/{number}", reward) for number, reward in enumerate(spec.rewards))
        if spec.evaluation.judge is not None:
            yield "#/evaluation/judge", spec.evaluation.judge
    if "ppo" in spec.stages and spec.ppo.online is not None and spec.ppo.online.label_by is not None:
        yield "#/ppo/online/label_by", spec.ppo.online.label_by


def _member(where: str, member: object, context: RewardContext | None, ask: bool) -> Iterator[Finding]:
    if isinstance(member, str):
        installed(JUDGES, member, "judge")
    elif isinstance(member, PluginReward):
        installed(GROUP, member.plugin, "plug-in")
    elif isinstance(member, HttpReward | HttpJudge) and not (ask and isinstance(member, HttpReward)):
        yield finding(
            "info", "not_asked", where, f"{member.url} was not asked.", "`--ask-endpoints` asks it for a score."
        )
    elif isinstance(member, HttpReward) and context is not None:
        _ask(member, context)
    elif not isinstance(member, _HEAVY) and context is not None:
        build([member], context)  # type: ignore[list-item]


def _ask(member: HttpReward, context: RewardContext) -> None:
    """One answer to one prompt, without tries beyond the first."""
    once = member.model_copy(update={"retries": 0})
    answers: Sequence[Answer] = [Answer("A prompt.", [0], [0], "A response.", True, None)]
    try:
        build([once], context).score(answers)
    except RewardError as error:
        said = str(error).replace(GOES_ON, "")  # there is no run to go on with
        raise type(error)(said if member.url in said else f"{member.url}: {said}") from error
