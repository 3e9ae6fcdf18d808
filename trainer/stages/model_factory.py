"""Builds the models, rewards and judges of each stage, from trainer/stages/model_plan.py and the run's checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trainer.errors import ModelError
from trainer.hangs import phase
from trainer.models import Model, ModelBuilder, WeightUse, builder_for, dtype_of, load_tokenizer, set_stops
from trainer.models.builders import new_value_head
from trainer.rewards.base import RewardContext, Rewards
from trainer.rewards.build import build
from trainer.rewards.judges import Judge, load_judge
from trainer.rollout.context import PPOModels
from trainer.session.manifest import STATE
from trainer.session.session import Session
from trainer.spec import JudgeSpec, StageName
from trainer.stages.model_plan import (
    BestCheckpoint,
    NewestCheckpoint,
    PlannedModel,
    Saved,
    StageOutput,
    critic_start_path,
    last_policy_stage,
    offloads_frozen,
    planned_models,
    policy_before,
)
from trainer.text.codec import Codec, same_vocabulary


@dataclass(frozen=True)
class EvaluatedModels:
    """The models of the evaluation stage."""

    models: PPOModels
    """The policy that the run trained, and as `initial` the policy before it."""
    against: Model | None
    """The model of `evaluation.against`."""
    load_best: Callable[[], Model] | None
    """Loads PPO's best checkpoint; None if the last one is the best, or if this machine does not have it."""


class ModelFactory:
    """Builds the models anew for each stage, so that those of the stage before can be freed first."""

    def __init__(self, session: Session, codec: Codec) -> None:
        self.session = session
        self.spec = session.spec
        self.codec = codec

    def starting_policy(self, stage: StageName) -> Model:
        """The whole policy that `stage` starts from, for the checks before the run."""
        use: WeightUse = "exact" if last_policy_stage(self.spec) is None else "trained"
        planned = PlannedModel("policy", "policy", use, policy_before(self.spec, stage))
        return self._build(self._builder(stage, sharded=False), planned)

    def policy(self, stage: StageName) -> Model:
        """The policy that `stage` trains, from its newest checkpoint if it has one."""
        return self._models(stage)["policy"]

    def dpo_models(self) -> tuple[Model, Model | None]:
        """The policy that DPO trains, and the policy that the stage started from if its loss compares with it."""
        models = self._models("dpo")
        return models["policy"], models.get("reference")

    def kto_models(self) -> tuple[Model, Model]:
        """The policy that KTO trains, and the policy that the stage started from."""
        models = self._models("kto")
        return models["policy"], models["reference"]

    def reward_model(self) -> Model:
        """The reward model that its stage trains, from its newest checkpoint if it has one."""
        return self._models("reward_model")["reward_model"]

    def ppo_models(self) -> PPOModels:
        """The models and rewards of PPO.

        The policy and a separate critic come from the newest checkpoint. The stage itself restores the other models that
        change: a moving reference and a refitted reward model.
        """
        models = self._models("ppo")
        policy, initial, own = models["policy"], models["initial"], models.get("reward_model")
        return PPOModels(
            policy,
            models.get("reference", initial),
            initial,
            new_value_head(policy, self.spec.ppo.critic) if self.spec.ppo.has_value_head else models.get("critic"),
            self._rewards(own),
            own,
            self.session.world,
            teacher=models.get("teacher"),
        )

    def evaluated_models(self) -> EvaluatedModels:
        """The models that the evaluation stage compares."""
        builder, plan = self._builder("evaluation"), planned_models(self.spec, "evaluation")
        models = {planned.part: self._build(builder, planned) for planned in plan if planned.part != "best"}
        against, own = models.get("against"), models.get("reward_model")
        initial = models["initial"] if last_policy_stage(self.spec) else models["against"]
        ppo_models = PPOModels(models["policy"], initial, initial, None, self._rewards(own), own, self.session.world)
        best = next((planned for planned in plan if planned.part == "best"), None)
        if best is None or self._saved(best.saved) is None:
            return EvaluatedModels(ppo_models, against, None)
        return EvaluatedModels(ppo_models, against, partial(self._build, builder, best))

    def judge(self, spec: str | JudgeSpec | None, own: Model | None) -> Judge | None:
        """The judge that `spec` names, if any. `own`: the reward model that this run trained."""
        return load_judge(spec, self.context(own))

    def context(self, own: Model | None = None) -> RewardContext:
        """The context from which rewards and judges are built. `own`: the reward model that this run trained."""
        return RewardContext(
            self.codec,
            self.session.device,
            own,
            self.spec.ppo.micro_batch_size,
            self.session.warn,
            dtype_of(self.spec.model),
            self.spec.runtime.packing,
            self.spec.runtime.offload_frozen,
            world=self.session.world,
            batch_tokens=self.spec.ppo.micro_batch_tokens,
        )

    def _rewards(self, own: Model | None) -> Rewards:
        return build(self.spec.scoring, self.context(own))

    @phase("load")
    def _models(self, stage: StageName) -> dict[str, Model]:
        """The stage's models by part."""
        critic_start = self._critic_start() if stage == "ppo" else None
        builder, plan = self._builder(stage), planned_models(self.spec, stage, critic_start)
        return {planned.part: self._build(self._own_builder(planned) or builder, planned) for planned in plan}

    def _own_builder(self, planned: PlannedModel) -> ModelBuilder | None:
        """The builder of a critic with adapters of its own beside whole models; None for any other model."""
        critic = planned.critic
        if critic is None or critic.train != "adapters":
            return None

        def seed(part: str) -> int:
            return self.session.seed("adapter", "ppo", part)

        return builder_for(critic.adapted(self.spec.model), self.session.device, seed, self.spec.runtime)

    def _critic_start(self) -> str | None:
        """The reward model of another run that the critic starts from. Raises ModelError if the spec demands one."""
        ppo = self.spec.ppo
        if not ppo.has_separate_critic:
            return None
        start = critic_start_path(self.spec, lambda path: same_vocabulary(load_tokenizer(path), self.codec.tokenizer))
        if start is None and ppo.critic.initial == "reward_model" and not self.spec.own_reward_model:
            raise ModelError(
                '`ppo.critic.initial` = "reward_model": no reward model among `rewards` is on the policy\'s tokenizer. '
                'Set it to "policy".'
            )
        return start

    def _builder(self, stage: StageName, sharded: bool = True) -> ModelBuilder:
        """`sharded`: reduce whole models to the slice of this process, if `runtime.sharding` asks for it."""

        def seed(part: str) -> int:
            """The seed of an adapter. A moving reference has the policy's, so that both start with the same weights."""
            return self.session.seed("adapter", stage, "policy" if part == "reference" else part)

        shard = None
        if self.session.world.sharded and sharded:
            from trainer.distributed.sharding import shard as shard_model

            shard = partial(shard_model, world=self.session.world, device=self.session.device)
        offload = offloads_frozen(self.spec, stage)
        return builder_for(self.spec.model, self.session.device, seed, self.spec.runtime, offload, shard)

    def _build(self, builder: ModelBuilder, planned: PlannedModel) -> Model:
        saved = self._saved(planned.saved)
        start = self._path(planned.start) if isinstance(planned.start, StageOutput) else planned.start
        if planned.head == "scalar":
            assert start is not None  # a new policy is trained by SFT before a stage has a scalar head
            head = self.session.seed("score head") if planned.fresh_head == "random" else planned.fresh_head
            return builder.scorer(planned.part, start, planned.use, saved, head, planned.critic, planned.members)
        if (origin := start or saved) is None:
            model = builder.new(self.codec.tokenizer, self.session.seed("model"), planned.use)
        else:
            model = builder.policy(planned.part, origin, planned.use, saved)
        return set_stops(model, self.codec.stops)

    def _saved(self, places: Sequence[Saved]) -> Path | None:
        """The first of these checkpoints that exists."""
        return next((path for place in places if (path := self._path(place)) is not None), None)

    def _path(self, place: Saved) -> Path | None:
        """The folder of a saved model; None if it does not exist. The result of an earlier stage always exists."""
        checkpoints = self.session.checkpoints
        match place:
            case StageOutput(stage, str(part)):
                folder = checkpoints.final(stage) / part
                return folder if folder.is_dir() else None
            case StageOutput(stage):
                return checkpoints.final(stage)
            case NewestCheckpoint(stage, part):
                newest = checkpoints.newest(stage)
                if newest is None:
                    return None
                return newest[0] if part is None else newest[0] / STATE / part
            case BestCheckpoint(stage):
                return self._best(stage)

    def _best(self, stage: StageName) -> Path | None:
        """The stage's best checkpoint; None if the last one is the best, or if this machine does not have it."""
        result, kept = self.session.checkpoints.result(stage), self.session.checkpoints.best(stage)
        if result is None or kept is None or kept[1] != result.summary.get("best_step") or kept[1] == result.steps:
            return None
        return kept[0]
