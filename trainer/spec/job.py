"""One run."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from trainer.spec.data import DataSpec
from trainer.spec.facts import ANYTIME, BETWEEN_STAGES, MAIN, MID_PPO, OWN_WIDGET, Amount, Change
from trainer.spec.health import HealthSpec
from trainer.spec.model import ModelSpec
from trainer.spec.ppo import PPOSpec
from trainer.spec.ppo_reward import refuse_idle_without_rewards
from trainer.spec.rewards import ModelReward, RewardSpec
from trainer.spec.section import STAGES, Label, PositiveInt, Section, StageName
from trainer.spec.stages import DPOSpec, EvaluationSpec, KTOSpec, RewardModelSpec, SFTSpec
from trainer.spec.tracking import TrackingSpec

_SHARE_EVALUATED = 0.25
_LEAST_EVALUATED, _MOST_EVALUATED = 128, 512
"""Bounds of the default number of held-out prompts. See `JobSpec.default_held_out_prompts`."""


SlurmName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+@-]{0,62}$")]
"""The name of a partition, an account or a quality of service."""
SlurmExpression = Annotated[str, Field(pattern=r"^[A-Za-z0-9_\[][A-Za-z0-9_.,:;+@&|*()\[\]-]{0,199}$")]
"""Names of nodes or features, with Slurm's own signs."""


class SlurmSpec(Section):
    """Options of the batch job of a worker that submits to Slurm. Other workers do not take such a job."""

    partition: SlurmName | None = None
    """Partition. The job waits for a worker whose cluster has it. Left out: the worker's."""
    account: SlurmName | None = None
    """Account that Slurm charges. Left out: the worker's."""
    qos: SlurmName | None = None
    """Quality of service. Left out: the worker's."""
    minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    """Time limit of each batch job. The trainer saves before it, and the job is queued again, so it does not limit the run. Left out: the worker's."""
    memory_gib: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """Memory on each node. Left out: the worker's."""
    constraint: SlurmExpression | None = None
    """Features that the nodes must have, such as `a100`."""
    exclude: SlurmExpression | None = None
    """Nodes that the job must not use, such as `node[3-5]`."""
    reservation: SlurmName | None = None
    """Reservation that the job runs in."""


class ResourcesSpec(Section):
    """The processes that share the work, and the workers that may run them. A run may be resumed with other values."""

    processes: Annotated[PositiveInt, MAIN] = 1
    """Processes on each machine: one for each GPU, or for each core or two on a CPU. They split every batch and sum their gradients. The result equals that of one process up to rounding."""
    machines: PositiveInt = 1
    """Machines, each with `processes` processes. The worker that takes the job must be the first of a group of at least as many."""
    gpu_memory_gib: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Smallest memory of each GPU of the worker, in GiB. The job waits for a worker with such GPUs. Left out: any worker. The trainer ignores it."""
    labels: Annotated[tuple[Label, ...], Field(max_length=16)] = ()
    """Labels that the worker must have, such as `["a100", "zone=eu"]`. The operator sets them with `PROXIMAL_LABELS`. The job waits for a worker that has all of them. The trainer ignores them."""
    slurm: SlurmSpec | None = None
    """Options of the batch job in Slurm. The job then waits for a worker that submits to Slurm. The trainer ignores them."""

    @property
    def total(self) -> int:
        """Processes over all machines."""
        return self.processes * self.machines


class CheckpointSpec(Section):
    """The checkpoints that are kept during a run."""

    keep_last: PositiveInt = 2
    """Intermediate checkpoints kept per stage; the final one of each stage always is."""


class HangSpec(Section):
    """The watch for phases of the run that hang. The deadline of a phase is ten times the longest that it has taken."""

    action: Literal["off", "warn", "restart", "fail"] = "warn"
    """`warn`: name the phase in the events and write the stacks of all threads into the log. `restart`: do so, end the run and start it again from its checkpoint. After five attempts without a new checkpoint it fails. `fail`: end the run with the error `hang`. `off`: watch nothing."""
    first_seconds: PositiveInt = 1800
    """Shortest deadline of a phase that has not ended before: it may compile kernels or start an engine."""
    least_seconds: PositiveInt = 45
    """Shortest deadline of a phase that has ended before."""

    @model_validator(mode="after")
    def _floors_have_an_effect(self) -> "HangSpec":
        if self.action == "off":
            self.refuse_idle(["first_seconds", "least_seconds"], 'with `action` = "off"')
        if self.first_seconds < self.least_seconds:
            raise ValueError(
                f"`first_seconds` ({self.first_seconds}) must be at least `least_seconds` ({self.least_seconds}): the first "
                "time takes longer than later ones"
            )
        return self


class RuntimeSpec(Section):
    """The device, the threads and the memory layout of the run."""

    device: Annotated[Literal["auto", "cpu", "cuda"], MAIN] = "auto"
    """`auto` takes a GPU where there is one."""
    threads: Annotated[
        PositiveInt | Literal["auto"], BeforeValidator(lambda value: "auto" if value is None else value)
    ] = "auto"
    """CPU threads. `auto` takes one per core, but a single one for models below a million parameters, which more threads slow down on a busy machine. On several cores, SFT and a reward model on pairs then compute the two halves of a batch at once while that is faster. A resumed run keeps the number it began with."""
    packing: bool | Literal["auto"] = "auto"
    """Lay the sequences of a forward pass end to end in one row, each seeing only itself: no work on padding. `auto` does so where the architecture is found to compute the same that way and more than a fiftieth would be padding. Changes speed, not the result."""
    critic_thread: bool | Literal["auto"] = "auto"
    """On a CPU, let the policy and a separate critic learn at the same time, each with half of the threads (at least one). `auto` does so for models below forty million parameters where there are two cores: larger ones keep the cores busy by themselves. A resumed run keeps what it had. Has no effect where the two share a trunk, on a GPU, or with several processes."""
    offload_frozen: bool = False
    """Keep the frozen models of PPO and of the evaluation (reference, reward models) in host memory. Each is copied to the GPU only while it scores. This saves the memory of two or three models and costs some seconds of copying per batch. Has no effect with adapters on one backbone. Changes no result."""

    sharding: Literal["replicated", "fsdp"] = "replicated"
    """The part of the models that each process holds. `replicated`: all of them. `fsdp`: a slice of each model, its gradient and its optimizer, for models that do not fit one device. Layers are gathered when they are used (torch's FSDP2). The result is the same up to rounding. Has no effect with one process."""

    @model_validator(mode="before")
    @classmethod
    def _compile_was_removed(cls, value: Any) -> Any:
        """Specs stored before November 2026 hold `"compile": false`."""
        if not isinstance(value, dict) or "compile" not in value:
            return value
        if value["compile"] is not False:
            raise ValueError("`compile` was removed, because it brought at most 5 %; leave it out")
        return {name: setting for name, setting in value.items() if name != "compile"}

    @model_validator(mode="after")
    def _each_device_has_its_own(self) -> "RuntimeSpec":
        if self.device == "cpu":
            self.refuse_idle(["offload_frozen"], 'with `device` = "cpu": it all is in host memory')
        if self.device == "cuda":
            self.refuse_idle(["critic_thread"], 'with `device` = "cuda": it shares out the cores of a CPU')
        return self


def _with_auto(schema: dict[str, Any]) -> None:
    """Give the section's default in the JSON schema the schedule that a spec may leave out, not the one that it resolves to.

    The dashboard's form leaves out values that equal the default.
    """
    schema["default"]["lr_schedule"] = "auto"


class JobSpec(Section):
    """One RLHF run: by default SFT → reward model → PPO → evaluation; any of them alone by `stages`."""

    name: Annotated[str, Field(max_length=200), ANYTIME, OWN_WIDGET] = ""
    """Name for people, shown in lists."""
    model: Annotated[ModelSpec, Change("never", "the stored weights belong to the other model")]
    """The model to start from. A bare string is short for `{"path": …}`."""
    data: Annotated[DataSpec, BETWEEN_STAGES]
    """Datasets."""
    stages: Annotated[tuple[StageName, ...], Field(min_length=1), BETWEEN_STAGES, OWN_WIDGET] = (
        "sft",
        "reward_model",
        "ppo",
        "evaluation",
    )
    """Stages of the run, in this order. A stage that is left out is skipped, even if its section is given: `["sft"]` alone, `["ppo", "evaluation"]` on a checkpoint with a rule as reward, `["sft", "dpo", "evaluation"]`, `["sft", "kto", "evaluation"]`."""
    sft: SFTSpec = SFTSpec()
    """Supervised fine-tuning."""
    reward_model: RewardModelSpec = RewardModelSpec()
    """The reward model's training."""
    dpo: DPOSpec = DPOSpec()
    """Direct preference optimisation."""
    kto: KTOSpec = KTOSpec()
    """Kahneman-Tversky optimisation."""
    ppo: Annotated[PPOSpec, Field(json_schema_extra=_with_auto)] = PPOSpec()
    """The policy's optimisation."""
    rewards: Annotated[tuple[RewardSpec, ...], Change("anytime", in_optimal_values=True), MAIN] = ()
    """PPO maximises the weighted sum of these. Left out: the reward model trained in this run; without one too, PPO learns from `ppo.teacher` alone."""
    evaluation: Annotated[EvaluationSpec, ANYTIME] = EvaluationSpec()
    """The comparison at the end, and in the loop."""
    health: Annotated[HealthSpec, ANYTIME] = HealthSpec()
    """The limits on PPO's metrics, and the action when one is passed."""
    hang: Annotated[HangSpec, ANYTIME] = HangSpec()
    """The watch for phases of the run that hang."""
    checkpoints: Annotated[CheckpointSpec, ANYTIME] = CheckpointSpec()
    """The checkpoints that are kept during a run."""
    runtime: Annotated[RuntimeSpec, ANYTIME] = RuntimeSpec()
    """The device, the threads and the memory layout of the run."""
    resources: Annotated[ResourcesSpec, ANYTIME] = ResourcesSpec()
    """How many processes, on how many machines, and on which workers."""
    tracking: Annotated[TrackingSpec, BETWEEN_STAGES] = TrackingSpec()
    """Trackers that the metrics also go to."""
    seed: Annotated[int, Field(ge=0, lt=2**32), MID_PPO, MAIN] = 0
    """Seeds data order, initial weights and sampling. On a CPU the same spec and seed give the same bits."""
    seeds: Annotated[int, Field(ge=1, le=64), Change("never", "a branch has one seed"), MAIN, Amount("seeds")] = 1
    """Number of whole runs, one after the other, with `seed`, `seed` + 1, …: the summary holds each figure's mean and interval, and which seeds collapsed."""

    @model_validator(mode="after")
    def _what_can_be_sharded(self) -> "JobSpec":
        if self.runtime.sharding == "replicated":
            return self
        ppo = self.ppo if "ppo" in self.stages else None
        gradient_stages = [stage for stage in self.stages if stage != "evaluation"]
        refused = {
            "`model.lora`: one frozen backbone is small already": self.model.lora is not None,
            '`model.trained_weights` = "bfloat16"': self.model.trained_weights == "bfloat16",
            '`model.output_layer` = "float32"': self.model.output_layer == "float32",
            '`model.dtype` = "float16"': self.model.dtype == "float16",
            "`runtime.offload_frozen`": self.runtime.offload_frozen,
            '`ppo.critic.kind` = "value_head"': ppo is not None and ppo.has_value_head,
            '`ppo.critic.train` = "adapters"': ppo is not None and ppo.critic.train == "adapters",
            "`ppo.rollout.asynchronous`": ppo is not None and ppo.rollout.asynchronous,
            "`ppo.online`": ppo is not None and ppo.online is not None,
            '`ppo.rollout.engine` other than "built_in"': ppo is not None and ppo.rollout.engine != "built_in",
            '`ppo.rollout.decode` = "cuda_graphs"': self.ppo.rollout.decode == "cuda_graphs",
        }
        for stage in gradient_stages:
            refused[f'`{stage}.optimizer` = "adamw_8bit"'] = getattr(self, stage).optimizer != "adamw"
            refused[f"`{stage}.offload_optimizer`"] = getattr(self, stage).offload_optimizer
        if named := [what for what, so in refused.items() if so]:
            raise ValueError(f'`runtime.sharding` = "fsdp" does not go with {" or ".join(named)}')
        return self

    @model_validator(mode="after")
    def _a_normalized_critic_needs_float32(self) -> "JobSpec":
        ppo, whole = self.ppo, self.ppo.has_separate_critic and self.ppo.critic.train != "adapters"
        narrow = whole and self.model.trained_weights == "bfloat16"  # heads beside adapters are in float32
        if "ppo" in self.stages and ppo.normalizes_values and narrow:
            raise ValueError(
                '`ppo.critic.normalization` with `model.trained_weights` = "bfloat16": the rescaled head would be rounded to 8 '
                'bits, which changes the values it must keep. Set `model.trained_weights` = "float32", or `ppo.critic.train` = '
                '"adapters"'
            )
        return self

    @model_validator(mode="after")
    def _gpu_memory_needs_a_gpu(self) -> "JobSpec":
        if self.runtime.device == "cpu" and self.resources.gpu_memory_gib is not None:
            raise ValueError('`resources.gpu_memory_gib` has no effect with `runtime.device` = "cpu"')
        return self

    @model_validator(mode="after")
    def _stages_in_order(self) -> "JobSpec":
        order = tuple(stage for stage in STAGES if stage in self.stages)
        if self.stages != order:
            raise ValueError(f"`stages` must be each at most once, in the order {', '.join(STAGES)}")
        return self

    @model_validator(mode="after")
    def _a_new_model_needs_sft(self) -> "JobSpec":
        if self.model.config is not None and "sft" not in self.stages:
            raise ValueError('a model made from `model.config` has random weights: it needs "sft" in `stages`')
        return self

    @model_validator(mode="after")
    def _stages_have_their_data(self) -> "JobSpec":
        data, loss = self.data, self.reward_model.loss
        pointwise = loss == "pointwise"
        if "reward_model" in self.stages and loss == "stepwise" and data.steps is None:
            raise ValueError('`reward_model.loss` = "stepwise" needs `data.steps`')
        if "reward_model" in self.stages and loss == "pairwise" and data.preferences is None:
            instead = '; `data.thumbs` needs `reward_model.loss` = "pointwise"' if data.thumbs else ""
            instead = '; `data.steps` needs `reward_model.loss` = "stepwise"' if data.steps else instead
            raise ValueError(f"`stages` names 'reward_model': it needs `data.preferences`{instead}")
        if "reward_model" in self.stages and pointwise and data.thumbs is None:
            raise ValueError('`reward_model.loss` = "pointwise" needs `data.thumbs`')
        if "dpo" in self.stages and data.preferences is None:
            raise ValueError("`stages` names 'dpo': it needs `data.preferences`")
        if "kto" in self.stages and data.thumbs is None:
            raise ValueError("`stages` names 'kto': it needs `data.thumbs`")
        if "sft" in self.stages and not (data.sft or data.preferences or data.thumbs):
            raise ValueError("`stages` names 'sft': it needs `data.sft`, `data.preferences` or `data.thumbs`")
        if self.stages == ("evaluation",) and data.evaluation_prompts:
            return self
        if not (data.preferences or data.sft or data.prompts or data.thumbs or data.steps):
            raise ValueError("`data` needs `prompts`, or `preferences`, `sft`, `thumbs` or `steps` to take them from")
        if ("ppo" in self.stages and self.ppo.ptx is not None) != (self.data.pretraining is not None):
            raise ValueError("`data.pretraining` and `ppo.ptx` belong together: one is given without the other")
        return self

    @model_validator(mode="after")
    def _ppo_has_rewards(self) -> "JobSpec":
        own = any(reward.is_trained_in_run for reward in self.rewards)
        if own and "reward_model" not in self.stages:
            raise ValueError("`rewards` names a model without `path`, but `stages` trains none")
        if "ppo" not in self.stages:
            return self
        if not self.scoring:
            refuse_idle_without_rewards(self.ppo)
        if self.ppo.critic.initial == "reward_model" and not any(isinstance(one, ModelReward) for one in self.scoring):
            raise ValueError('`ppo.critic.initial` = "reward_model": this run has no reward model')
        if self.model.lora is not None and self.ppo.reference.path is not None and self.ppo.reference.update != "fixed":
            raise ValueError(
                f'`ppo.reference.update` = "{self.ppo.reference.update}" moves an adapter, which means nothing on the '
                "backbone of another `path`: leave `path` out, or train without `model.lora`"
            )
        if self.model.lora is not None and self.ppo.critic.train == "adapters":
            raise ValueError(
                '`ppo.critic.train` = "adapters" has no effect with `model.lora`: the critic has adapters already, and with '
                "`model.lora.share_backbone` no backbone of its own"
            )
        if self.ppo.online is not None and not self.own_reward_model:
            raise ValueError("`ppo.online` refits the reward model: this run has none among its rewards")
        if self.ppo.online is not None and self.reward_model.loss != "pairwise":
            raise ValueError('`ppo.online` refits the reward model on pairs: it needs `reward_model.loss` = "pairwise"')
        if self.ppo.online is not None and self.ppo.online.label_by is None and self.evaluation.judge is None:
            raise ValueError("`ppo.online` needs a preference source: `label_by`, or `evaluation.judge`")
        return self

    @model_validator(mode="after")
    def _own_reward_model_scores_as_it_learnt(self) -> "JobSpec":
        if "reward_model" not in self.stages:
            return self
        stepwise, trained = self.reward_model.loss == "stepwise", self.reward_model.step_delimiter
        labels = None if self.ppo.online is None else self.ppo.online.label_by
        for reward in (*self.rewards, self.evaluation.judge, labels):
            if not isinstance(reward, ModelReward) or not reward.is_trained_in_run:
                continue
            if not stepwise and reward.step_delimiter is not None:
                raise ValueError(
                    f'`step_delimiter` on the reward model of this run, which `reward_model.loss` = "{self.reward_model.loss}" '
                    'trains to score whole responses: its value at a step means nothing. Train it with "stepwise", or leave '
                    "`step_delimiter` out"
                )
            if stepwise and reward.step_delimiter != trained:
                named = "has none" if reward.step_delimiter is None else f"has {reward.step_delimiter!r}"
                raise ValueError(
                    f'`reward_model.loss` = "stepwise" trains a reward model that is read at the ends of steps, at {trained!r}, and '
                    f"the reward {named}: set `step_delimiter` of the reward to that of `reward_model`"
                )
        return self

    @model_validator(mode="after")
    def _own_ensemble_is_combined(self) -> "JobSpec":
        if "reward_model" in self.stages and self.reward_model.members > 1:
            return self
        labels = None if self.ppo.online is None else self.ppo.online.label_by
        for reward in (*self.rewards, self.evaluation.judge, labels):
            if isinstance(reward, ModelReward) and reward.is_trained_in_run:
                reward.refuse_idle_combination("on a single reward model: set `reward_model.members`")
        return self

    @model_validator(mode="after")
    def _the_policy_gets_its_turn(self) -> "JobSpec":
        warmup, steps = self.ppo.critic.warmup_steps, self.ppo.steps
        if "ppo" in self.stages and warmup >= steps:
            raise ValueError(f"`ppo.critic.warmup_steps` ({warmup}) leaves the policy none of the {steps} `ppo.steps`")
        return self

    @model_validator(mode="after")
    def _evaluation_has_a_comparison(self) -> "JobSpec":
        if "evaluation" not in self.stages:
            return self
        if not (self.rewards or "reward_model" in self.stages or self.evaluation.judge):
            raise ValueError("`stages` names 'evaluation': it needs `evaluation.judge`, `rewards` or a reward model")
        if not {"sft", "dpo", "kto", "ppo"} & set(self.stages) and self.evaluation.against is None:
            raise ValueError("`stages` trains no policy: `evaluation` needs `against`, a model to compare with")
        return self

    @model_validator(mode="after")
    def _pass_at_has_a_verifier(self) -> "JobSpec":
        if "evaluation" in self.stages and self.evaluation.pass_at is not None:
            self.evaluation.pass_at.verifier(self.rewards)
        return self

    @model_validator(mode="after")
    def _engine_samples_evaluations(self) -> "JobSpec":
        if "ppo" in self.stages:
            self.ppo.rollout.refuse_temperature("evaluation.temperature", self.evaluation.temperature)
        if "ppo" in self.stages and self.ppo.rollout.engine == "vllm" and self.model.output_layer == "float32":
            raise ValueError(
                '`model.output_layer` = "float32" with `ppo.rollout.engine` = "vllm": vLLM computes its logits in its own type, so '
                'only the trainer would change. Leave it out, or set the engine to "built_in"'
            )
        return self

    @model_validator(mode="after")
    def _number_of_held_out_prompts(self) -> "JobSpec":
        if "prompts" not in self.evaluation.model_fields_set:
            evaluation = self.evaluation.model_copy(update={"prompts": self.default_held_out_prompts})
            object.__setattr__(self, "evaluation", evaluation)  # the spec is frozen once it is validated
        return self

    @property
    def default_held_out_prompts(self) -> int:
        """The default of `evaluation.prompts`: the held-out prompts that each evaluation uses, where there are as many.

        A win rate over n prompts has a 95 % interval of about ±1/√n: ±.09 for 128, ±.04 for 512. More cost more than they show.
        """
        if "ppo" not in self.stages:
            return _MOST_EVALUATED
        affordable = int(_SHARE_EVALUATED * self.ppo.batch_size * self.ppo.eval_every)
        return max(_LEAST_EVALUATED, min(_MOST_EVALUATED, affordable))

    @property
    def compared_policies(self) -> int:
        """The policies that the evaluation stage samples: both sides, and PPO's best checkpoint, usually not the last."""
        if "evaluation" not in self.stages:
            return 0
        return 3 if "ppo" in self.stages and self.evaluation.keep_best else 2

    @property
    def scoring(self) -> tuple[RewardSpec, ...]:
        """The rewards of the run: those named, else the reward model that it trains, else none."""
        if self.rewards or "reward_model" not in self.stages:
            return self.rewards
        stepwise = self.reward_model.loss == "stepwise"
        return (ModelReward(step_delimiter=self.reward_model.step_delimiter if stepwise else None),)

    @property
    def own_reward_model(self) -> bool:
        """Whether the reward model trained in this run is among the rewards."""
        return any(reward.is_trained_in_run for reward in self.scoring)
