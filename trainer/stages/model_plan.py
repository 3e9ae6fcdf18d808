"""The models of each stage, as the spec determines them.

The model factory builds what the plan lists, and the memory estimate sums over it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from trainer.models.builders import Head, WeightUse
from trainer.spec import CriticSpec, JobSpec, ModelReward, StageName

POLICY_STAGES: tuple[StageName, ...] = ("sft", "dpo", "kto", "ppo")
"""The stages that train the policy, in their order."""


@dataclass(frozen=True)
class StageOutput:
    """The result of a stage of this run. `part`: a further model that is saved with it, if the stage has changed one."""

    stage: StageName
    part: str | None = None


@dataclass(frozen=True)
class NewestCheckpoint:
    """The newest checkpoint inside a stage, if there is one. `part`: a further model of the trainer state in it."""

    stage: StageName
    part: str | None = None


@dataclass(frozen=True)
class BestCheckpoint:
    """The checkpoint that a stage kept as its best, if it is another one than the last."""

    stage: StageName


Saved = StageOutput | NewestCheckpoint | BestCheckpoint


@dataclass(frozen=True)
class PlannedModel:
    """One model of a stage."""

    part: str
    """Its role in the stage, such as "policy" or "critic"."""
    head: Head
    use: WeightUse
    start: str | StageOutput | None
    """A hub id or folder, or the policy that a stage left. None: a new policy, made from `model.config`."""
    saved: tuple[Saved, ...] = ()
    """Checkpoints of this part. The first that exists replaces `start`."""
    fresh_head: Literal["random", "zero"] | None = None
    """The initial scalar head on a policy. None: `start` has a head, or the model is a policy."""
    critic: CriticSpec | None = None
    """The section of a critic with frozen parameters or with bins. None: all of a trained model learn, and it has none."""
    members: int | None = None
    """The members of the ensemble that it is; 1 for a critic, which begins as the mean of those of a reward model. None: a policy."""

    @property
    def own_parts(self) -> CriticSpec | None:
        """The section of a critic with the same weights, for the estimate of memory: an ensemble has the head of so many critics."""
        if self.critic is not None or (self.members or 1) == 1:
            return self.critic
        return CriticSpec.model_validate({"heads": {"count": self.members}})

    @property
    def has_adapter(self) -> bool:
        """Whether it has an adapter with `model.lora`. A part that never differs from its backbone has none."""
        return self.use in ("trained", "moving") or bool(self.saved)


def planned_models(spec: JobSpec, stage: StageName, critic_start: str | None = None) -> list[PlannedModel]:
    """The models of a stage, in the order in which they are built. A value head on the policy's trunk is not listed.

    `critic_start`: the result of `critic_start_path`.
    """
    match stage:
        case "sft":
            return [_trained_policy(spec, stage)]
        case "reward_model":
            return [_own_reward_model(spec, "reward_model", "trained", NewestCheckpoint(stage))]
        case "dpo" if not spec.dpo.traits.has_reference:
            return [_trained_policy(spec, stage)]
        case "dpo" | "kto":
            return [
                _trained_policy(spec, stage),
                PlannedModel("reference", "policy", "frozen", policy_before(spec, stage)),
            ]
        case "ppo":
            return list(_ppo(spec, critic_start))
        case "evaluation":
            return list(_evaluation(spec))


def _trained_policy(spec: JobSpec, stage: StageName) -> PlannedModel:
    return PlannedModel("policy", "policy", "trained", policy_before(spec, stage), (NewestCheckpoint(stage),))


def _own_reward_model(spec: JobSpec, part: str, use: WeightUse, *saved: Saved) -> PlannedModel:
    """A model that starts as the run's own reward model: from `reward_model.path`, else the policy with a random head."""
    if spec.reward_model.path is not None:
        return PlannedModel(part, "scalar", use, spec.reward_model.path, saved, members=spec.reward_model.members)
    start = policy_before(spec, "reward_model")
    return PlannedModel(part, "scalar", use, start, saved, "random", members=spec.reward_model.members)


def _ppo(spec: JobSpec, critic_start: str | None) -> Iterator[PlannedModel]:
    before, reference = policy_before(spec, "ppo"), spec.ppo.reference
    yield _trained_policy(spec, "ppo")
    yield PlannedModel("initial", "policy", "frozen", before)
    if reference.update != "fixed":
        yield PlannedModel("reference", "policy", "moving", reference.path or before)
    elif reference.path is not None:
        yield PlannedModel("reference", "policy", "frozen", reference.path)
    if spec.ppo.teacher is not None:
        yield PlannedModel("teacher", "policy", "frozen", spec.ppo.teacher.path)
    if scores_with_own_reward_model(spec, "ppo"):
        use: WeightUse = "frozen" if spec.ppo.online is None else "moving"
        yield _own_reward_model(spec, "reward_model", use, StageOutput("reward_model"))
    if spec.ppo.has_separate_critic:
        own = spec.ppo.critic if spec.ppo.critic.has_own_parts else None
        yield replace(_critic(spec, critic_start), critic=own, members=1)


def _critic(spec: JobSpec, critic_start: str | None) -> PlannedModel:
    resumed, critic = NewestCheckpoint("ppo", "critic"), spec.ppo.critic
    if critic.initial != "policy" and spec.own_reward_model and critic.train == "adapters":  # on the whole reward model
        return PlannedModel("critic", "scalar", "trained", StageOutput("reward_model"), (resumed,))
    if critic.initial != "policy" and spec.own_reward_model:
        return _own_reward_model(spec, "critic", "trained", resumed, StageOutput("reward_model"))
    if critic_start is not None:
        return PlannedModel("critic", "scalar", "trained", critic_start, (resumed,))
    return PlannedModel("critic", "scalar", "trained", policy_before(spec, "ppo"), (resumed,), "zero")


def _evaluation(spec: JobSpec) -> Iterator[PlannedModel]:
    """The policy that the run trained and the one before it, or the two that the spec names if it trains none."""
    against, stage = spec.evaluation.against, last_policy_stage(spec)
    if against is not None:
        yield PlannedModel("against", "policy", "exact", against)
    if stage is None:
        yield PlannedModel("policy", "policy", "exact", spec.model.path)
    else:
        yield PlannedModel("policy", "policy", "exact", policy_before(spec, stage), (StageOutput(stage),))
        yield PlannedModel("initial", "policy", "frozen", policy_before(spec, stage))
    if scores_with_own_reward_model(spec, "evaluation"):
        refitted = StageOutput("ppo", "reward_model")
        yield _own_reward_model(spec, "reward_model", "frozen", refitted, StageOutput("reward_model"))
    if stage == "ppo" and spec.evaluation.keep_best:
        yield PlannedModel("best", "policy", "exact", policy_before(spec, stage), (BestCheckpoint("ppo"),))


def policy_before(spec: JobSpec, stage: StageName) -> str | StageOutput | None:
    """The policy that `stage` starts from; None for a new one made from `model.config`."""
    trained = _last_policy_stage(spec.stages[: spec.stages.index(stage)])
    return StageOutput(trained) if trained else spec.model.path


def last_policy_stage(spec: JobSpec) -> StageName | None:
    """The stage whose policy is evaluated; None if the run trains no policy."""
    return _last_policy_stage(spec.stages)


def _last_policy_stage(stages: tuple[StageName, ...]) -> StageName | None:
    return next((stage for stage in reversed(POLICY_STAGES) if stage in stages), None)


def scores_with_own_reward_model(spec: JobSpec, stage: StageName) -> bool:
    """Whether a reward or a judge of `stage` is the reward model that this run trains."""
    scorers: list[object] = [*spec.scoring, spec.evaluation.judge]
    if stage == "ppo" and spec.ppo.online is not None:
        scorers.append(spec.ppo.online.label_by)
    own = any(isinstance(scorer, ModelReward) and scorer.is_trained_in_run for scorer in scorers)
    return own and "reward_model" in spec.stages


def critic_start_path(spec: JobSpec, reads_policy_tokens: Callable[[str], bool]) -> str | None:
    """The reward model of another run that a separate critic starts from, if any.

    It is the first one among `rewards` for which `reads_policy_tokens` returns true.
    """
    if spec.ppo.critic.initial == "policy" or spec.own_reward_model:
        return None
    paths = [path for reward in spec.rewards if isinstance(reward, ModelReward) for path in reward.paths]
    return next((path for path in paths if reads_policy_tokens(path)), None)


def offloads_frozen(spec: JobSpec, stage: StageName) -> bool:
    """Whether frozen whole models of `stage` are in host memory between their passes. DPO and KTO use theirs at every step, if they have one."""
    return spec.runtime.offload_frozen and stage in ("ppo", "evaluation")
