"""The models and rewards of each stage, made from what earlier stages left, from the spec's paths, or from a checkpoint."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from trainer.errors import ModelError
from trainer.models import Model, ModelBuilder, WeightUse, builder_for, dtype_of, load_tokenizer, set_stops
from trainer.models.heads import ValueHead
from trainer.rewards.base import RewardContext, Rewards
from trainer.rewards.build import build
from trainer.rewards.judges import Judge, load_judge
from trainer.rollout.context import PPOModels
from trainer.session.session import Session
from trainer.spec import JudgeSpec, ModelReward, StageName
from trainer.stages.inputs import Lineage
from trainer.text.codec import Codec, same_vocabulary


class Assembly:
    """Everything is made afresh for each stage, so that its models are gone before the next stage has its own."""

    def __init__(self, session: Session, codec: Codec) -> None:
        self.session = session
        self.spec = session.spec
        self.codec = codec
        self.lineage = Lineage(session.spec, session.checkpoints)

    def starting_policy(self, stage: StageName) -> Model:
        """The policy as `stage` finds it, set up as the run's stages need it: to be looked at."""
        care: WeightUse = "exact" if self.lineage.last_policy_stage() is None else "trained"
        return self._policy(self._maker(stage, whole=True), "policy", stage, care)

    def policy(self, stage: StageName) -> Model:
        """The policy that `stage` trains, as far as it has come."""
        return self._policy(self._maker(stage), "policy", stage, "trained", self.lineage.resumed(stage))

    def with_reference(self, stage: StageName) -> tuple[Model, Model]:
        """The policy that `stage` trains, and as it was before."""
        maker = self._maker(stage)
        policy = self._policy(maker, "policy", stage, "trained", self.lineage.resumed(stage))
        return policy, self._policy(maker, "reference", stage, "frozen")

    def reward_model(self) -> Model:
        """The reward model that its stage trains, as far as it has come."""
        saved = self.lineage.resumed("reward_model")
        return self._reward_model(self._maker("reward_model"), "reward_model", "trained", saved)

    def ppo_models(self) -> PPOModels:
        """Everyone who takes part in PPO. The policy and a separate critic come as its newest checkpoint has them; what else
        moves is put back by the stage itself."""
        spec, maker, resumed = self.spec.ppo, self._maker("ppo"), self.lineage.resumed("ppo")
        policy = self._policy(maker, "policy", "ppo", "trained", resumed)
        initial = self._policy(maker, "initial", "ppo", "frozen")
        reference = initial
        if spec.reference.update != "fixed":
            reference = self._policy(maker, "reference", "ppo", "moving", path=spec.reference.path)
        elif spec.reference.path is not None:
            reference = maker.policy("reference", spec.reference.path, "frozen")
        own = None
        if self.needs_own_reward_model("ppo"):
            care: WeightUse = "frozen" if spec.online is None else "moving"
            own = self._reward_model(maker, "reward_model", care, self.session.checkpoints.final("reward_model"))
        critic = self._critic(maker, policy) if spec.uses_critic else None
        return PPOModels(policy, reference, initial, critic, self._rewards(own), own, self.session.world)

    def compared(self) -> tuple[PPOModels, Model | None, Callable[[], Model] | None]:
        """The policy that the run trained beside the one before it, for the evaluation; `evaluation.against`; and what loads
        PPO's best checkpoint, where one was kept that is not the last."""
        maker, stage = self._maker("evaluation"), self.lineage.last_policy_stage()
        against = self.spec.evaluation.against
        other = None if against is None else maker.policy("against", against, "exact")
        if stage is None:
            assert self.spec.model.path is not None and other is not None  # the spec's validators demand both
            policy, initial = maker.policy("policy", self.spec.model.path, "exact"), other
        else:
            policy = self._policy(maker, "policy", stage, "exact", self.session.checkpoints.final(stage))
            initial = self._policy(maker, "initial", stage, "frozen")
        own = None
        if self.needs_own_reward_model("evaluation"):
            own = self._reward_model(maker, "reward_model", "frozen", self.lineage.refitted())
        best = None
        if (path := self._best_of_ppo()) is not None:
            best = partial(self._policy, maker, "best", "ppo", "exact", path)
        return PPOModels(policy, initial, initial, None, self._rewards(own), own, self.session.world), other, best

    def _best_of_ppo(self) -> Path | None:
        """The folder of PPO's best checkpoint; None where the last is the best, or this machine does not have it."""
        result, kept = self.session.checkpoints.result("ppo"), self.session.checkpoints.best("ppo")
        if result is None or kept is None or kept[1] != result.summary.get("best_step") or kept[1] == result.steps:
            return None
        return kept[0]

    def judge(self, spec: str | JudgeSpec | None, own: Model | None) -> Judge | None:
        return load_judge(spec, self.context(own))

    def context(self, own: Model | None = None) -> RewardContext:
        """What the run's rewards and judges are made with."""
        notify = self.session.warn
        size, dtype = self.spec.ppo.micro_batch_size, dtype_of(self.spec.model)
        runtime = self.spec.runtime
        return RewardContext(
            self.codec,
            self.session.device,
            own,
            size,
            notify,
            dtype,
            runtime.packing,
            runtime.offload_frozen,
            world=self.session.world,
            batch_tokens=self.spec.ppo.micro_batch_tokens,
        )

    def needs_own_reward_model(self, stage: StageName) -> bool:
        """Whether a reward or a judge of `stage` is the reward model that this run trains."""
        specs: list[object] = [*self.spec.scoring, self.spec.evaluation.judge]
        if stage == "ppo" and self.spec.ppo.online is not None:
            specs.append(self.spec.ppo.online.label_by)
        return any(isinstance(found, ModelReward) and found.path is None for found in specs)

    def _maker(self, stage: StageName, whole: bool = False) -> ModelBuilder:
        """`whole`: also where several processes share the models out among them."""

        def seed(part: str) -> int:
            """A reference that moves begins as the policy's twin, so that an average of the two is one of like with like."""
            return self.session.seed("adapter", stage, "policy" if part == "reference" else part)

        runtime = self.spec.runtime
        offload = runtime.offload_frozen and stage in ("ppo", "evaluation")  # DPO asks its reference at every step
        shard = None
        if self.session.world.sharded and not whole:
            from trainer.distributed.sharding import shard as sharded

            shard = partial(sharded, world=self.session.world)
        return builder_for(self.spec.model, self.session.device, seed, runtime, offload, shard)

    def _policy(
        self,
        maker: ModelBuilder,
        part: str,
        stage: StageName,
        care: WeightUse,
        saved: Path | None = None,
        path: str | None = None,
    ) -> Model:
        """The policy from `saved`, else `path`, else as `stage` found it."""
        start = path or self.lineage.policy_before(stage) or saved
        if start is None:
            made = maker.new(self.codec.tokenizer, self.session.seed("model"), care)
        else:
            made = maker.policy(part, start, care, saved)
        return set_stops(made, self.codec.stops)

    def _reward_model(self, maker: ModelBuilder, part: str, care: WeightUse, saved: Path | None) -> Model:
        """The run's own: from `saved`, else from `reward_model.path`, else the policy with a fresh head."""
        if self.spec.reward_model.path is not None:
            return maker.scorer(part, self.spec.reward_model.path, care, saved)
        start = self.lineage.policy_before("reward_model")
        assert start is not None  # a new model is trained by SFT first
        return maker.scorer(part, start, care, saved, fresh_head=self.session.seed("score head"))

    def _critic(self, maker: ModelBuilder, policy: Model) -> Model:
        if self.spec.ppo.critic.kind == "value_head":
            return ValueHead(policy)
        resumed = self.lineage.resumed("ppo", "critic")
        if self.spec.ppo.critic.initial != "policy":
            if self.spec.own_reward_model:
                trained = resumed or self.session.checkpoints.final("reward_model")
                return self._reward_model(maker, "critic", "trained", trained)
            if scorer := self._scorer_on_our_tokens(self.spec.rewards):
                return maker.scorer("critic", scorer, "trained", resumed)
            if self.spec.ppo.critic.initial == "reward_model":
                raise ModelError(
                    '`ppo.critic.initial` = "reward_model": no reward model among `rewards` is on the policy\'s tokenizer. '
                    'Set it to "policy".'
                )
        start = self.lineage.policy_before("ppo")
        assert start is not None  # a new model is trained by SFT first
        return maker.scorer("critic", start, "trained", resumed, fresh_head="zero")

    def _scorer_on_our_tokens(self, rewards: Sequence[object]) -> str | None:
        """The first reward model among the rewards whose tokens are the policy's."""
        paths = [reward.path for reward in rewards if isinstance(reward, ModelReward) and reward.path is not None]
        return next((path for path in paths if same_vocabulary(load_tokenizer(path), self.codec.tokenizer)), None)

    def _rewards(self, own: Model | None) -> Rewards:
        return build(self.spec.scoring, self.context(own))
