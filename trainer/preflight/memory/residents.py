"""Bytes that stay in memory for a whole phase: the weights and optimizers of the models that the stage plan lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.passes import Pass
from trainer.preflight.memory.processes import Learning, Processes
from trainer.preflight.report import Phase
from trainer.spec import JobSpec, OptimizerSpec, StageName
from trainer.stages.model_plan import PlannedModel, StageOutput, offloads_frozen, planned_models


@dataclass(frozen=True)
class NamedScorers:
    """The models that the rewards and judges of a spec name by path, and its teacher. Each process loads all of them."""

    weights: int = 0
    """Bytes of their weights."""
    critic_start: str | None = None
    """The one that a separate critic starts from, if any."""
    teacher: Any = None
    """The transformers configuration of `ppo.teacher`; None without one, or if it is not on this machine."""


NO_SCORERS = NamedScorers()


def blueprint_of(model: PlannedModel, own: Blueprint, scorers: NamedScorers) -> Blueprint:
    """The blueprint of a model of the plan: `own`, the policy's, for all but a teacher, which may have another architecture."""
    if model.part != "teacher" or scorers.teacher is None:
        return own.for_critic(model.critic)
    return own.of_teacher(scorers.teacher)


@dataclass(frozen=True)
class Resident:
    """Bytes that stay for the whole phase."""

    weights: int
    optimizer: int
    host: int = 0
    """Bytes of an offloaded optimizer, in RAM."""


def resident(spec: JobSpec, phase: Phase, blueprint: Blueprint, scorers: NamedScorers = NO_SCORERS) -> Resident:
    """The bytes of one process in `phase`. A phase that two stages have counts the stage that holds more."""
    residents = [_Stage(spec, stage, phase, blueprint, scorers).resident() for stage in _stages(spec, phase)]
    return max(residents, key=lambda each: each.weights + each.optimizer)


def planned_in(spec: JobSpec, phase: Phase, scorers: NamedScorers) -> list[PlannedModel]:
    """The models in memory in `phase`. For "evaluation" these are PPO's, which evaluates too, and those of its own stage."""
    return [model for stage in _stages(spec, phase) for model in planned_models(spec, stage, scorers.critic_start)]


def _stages(spec: JobSpec, phase: Phase) -> Sequence[StageName]:
    match phase:
        case "evaluation":
            return [stage for stage in ("ppo", "evaluation") if stage in spec.stages]
        case "ppo_rollout" | "ppo_score" | "ppo_update":
            return ["ppo"]
        case _:
            return [phase]


def forward_pass(model: PlannedModel) -> tuple[Pass, bool]:
    """The output that a model computes while a batch is scored, and whether its weights are held as a trained model's."""
    as_trained = model.use in ("trained", "moving")
    if model.head == "policy":
        return "logprobs", as_trained
    return ("values" if model.use == "trained" else "scores"), as_trained


@dataclass(frozen=True)
class _Stage:
    """One stage, in one of its phases."""

    spec: JobSpec
    stage: StageName
    phase: Phase
    blueprint: Blueprint
    scorers: NamedScorers

    def resident(self) -> Resident:
        models, processes = (
            planned_models(self.spec, self.stage, self.scorers.critic_start),
            Processes.from_spec(self.spec),
        )
        options = self._optimizer_options()
        learning = [
            processes.learning(Learning.for_model(self.blueprint.for_critic(model.own_parts), model.head, options))
            for model in models
            if model.use == "trained" and options is not None
        ]
        weights = self._on_backbones(models) if self.blueprint.spec.lora else self._whole(models, processes)
        return Resident(
            weights + self._sampling_copy(),
            sum(model.optimizer for model in learning),
            sum(model.host for model in learning),
        )

    def _optimizer_options(self) -> OptimizerSpec | None:
        return None if self.stage == "evaluation" else getattr(self.spec, self.stage)

    def _scorer_weights(self) -> int:
        return self.scorers.weights if self.stage in ("ppo", "evaluation") else 0

    def _whole(self, models: Sequence[PlannedModel], processes: Processes) -> int:
        """Whole models. Offloaded ones are on the GPU one at a time, in the phases that score."""
        offloads = offloads_frozen(self.spec, self.stage) and self.blueprint.device == "cuda"
        sizes = [(processes.held(self._bytes(model)), offloads and model.use == "frozen") for model in models]
        stay = sum(size for size, offloaded in sizes if not offloaded)
        if not offloads:
            return stay + self._scorer_weights()
        visits = [0, self._scorer_weights(), *(size for size, offloaded in sizes if offloaded)]
        return stay + (max(visits) if self.phase in ("ppo_score", "evaluation") else 0)

    def _bytes(self, model: PlannedModel) -> int:
        if model.use == "trained":
            own = self.blueprint.for_critic(model.own_parts)
            return own.own_bytes(model.head) + self._own_backbone(model, own)
        if model.use == "moving":
            return 4 * self.blueprint.parameters(model.head)
        return blueprint_of(model, self.blueprint, self.scorers).frozen_bytes(model.head)

    def _own_backbone(self, model: PlannedModel, own: Blueprint) -> int:
        """The backbone of a critic with adapters of its own beside whole models."""
        if own.spec.lora is None:
            return 0
        return own.frozen_bytes("scalar" if model.fresh_head is None else "policy")

    def _on_backbones(self, models: Sequence[PlannedModel]) -> int:
        """Adapters, and a backbone for each start or for each model."""
        lora = self.blueprint.spec.lora
        assert lora is not None  # the caller has looked
        apart = [model for model in models if model.part == "teacher"]
        own = [model for model in models if model.part != "teacher"]
        starts = {self._backbone(model) for model in own}
        backbones = len(starts) if lora.share_backbone else len(own)
        shared = starts if lora.share_backbone else set()
        teachers = sum(
            blueprint_of(model, self.blueprint, self.scorers).frozen_bytes("policy")
            for model in apart
            if self._backbone(model) not in shared
        )
        adapters = sum(
            self.blueprint.for_critic(model.own_parts).own_bytes(model.head)
            for model in models
            if self._has_adapter(model)
        )
        return backbones * self.blueprint.frozen_bytes("policy") + teachers + adapters + self._scorer_weights()

    def _backbone(self, model: PlannedModel) -> str | StageOutput | None:
        """An earlier stage's adapter is merged into its backbone, except into a quantized one."""
        from_adapter = isinstance(model.start, StageOutput) and self.blueprint.spec.quantization is not None
        return self.spec.model.path if from_adapter else model.start

    def _has_adapter(self, model: PlannedModel) -> bool:
        return model.has_adapter or self._backbone(model) != model.start

    def _sampling_copy(self) -> int:
        """The copy of the policy that an asynchronous rollout samples with, held as a frozen model (trainer/rollout/producer.py).

        With an adapter in a smaller type than it is trained in, the copy has a backbone of its own.
        """
        if self.stage != "ppo" or not self.spec.ppo.rollout.asynchronous:
            return 0
        blueprint = self.blueprint
        if blueprint.spec.lora is None:
            return blueprint.frozen_bytes("policy")
        return blueprint.dtype.itemsize * blueprint.trained_parameters("policy") + blueprint.frozen_bytes("policy")
