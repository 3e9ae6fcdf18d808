"""Peak memory of each phase of a run in one process: resident bytes (weights, optimizer) and temporary ones on top.

A phase's peak is the largest of these moments:

- A backward pass: the activations of one micro-batch and the gradients that exist by then. In a step of one micro-batch
  the model has none of its own yet, in a step of several it has all. While the critic learns, the policy's exist, unless
  the critic learns apart.
- The optimizer's step: all gradients and its temporaries.
- Sampling: the cache, which is allocated at once, and reading the prompts or the last decode step. An asynchronous
  rollout samples beside scoring and learning.

Experience itself, a few numbers per token, is left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from trainer.distributed.cpu_threads import PAIRED_BELOW, available_cores
from trainer.models.builders import Head
from trainer.optim.micro_batches import BatchLimits
from trainer.preflight.memory import shapes
from trainer.preflight.memory.passes import Pass, Passes, Training, head_of
from trainer.preflight.memory.processes import Learning, Processes, available, gathered_for_training, gathered_whole
from trainer.preflight.memory.residents import (
    NO_SCORERS,
    NamedScorers,
    blueprint_of,
    forward_pass,
    planned_in,
    resident,
)
from trainer.preflight.memory.shapes import Level, Responses, Shape
from trainer.preflight.report import Phase, PhaseMemory
from trainer.preflight.workload import Sizes
from trainer.sampling.graphs import KEPT_SHARE
from trainer.spec import CriticSpec, DPOSpec, JobSpec, KTOSpec, OptimizerSpec, PPOSpec, RewardModelSpec, StageName

Parts = dict[str, int]
ShapeAt = Callable[[Level], Shape]
GAPS = {"cpu": 1.4, "cuda": 1.1}
"""Factor for the allocator's fragmentation, in `high` alone. glibc added 39 % to a measured training step, and 1 % with
`MALLOC_MMAP_THRESHOLD_=262144` in the environment."""


@dataclass(frozen=True)
class Peak:
    """The expected peak of a phase, by use."""

    phase: Phase
    parts: Parts

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(self.parts.values())


class Phases:
    """Estimates for one spec on one kind of device."""

    def __init__(self, spec: JobSpec, passes: Passes, sizes: Sizes, scorers: NamedScorers = NO_SCORERS) -> None:
        self.spec, self.sizes, self.passes, self.blueprint = spec, sizes, passes, passes.blueprint
        self.scorers = scorers
        self.processes = Processes.from_spec(spec)

    def all(self) -> list[PhaseMemory]:
        """The phases in the order of a run."""
        return [self._phase(phase, parts) for phase, parts in self._planned()]

    def expected(self, only: Phase | None = None) -> list[Peak]:
        """The expected peaks alone, of all phases or one, which takes a third of the time of `all`."""
        return [
            Peak(phase, self._stays(phase) | parts("expected"))
            for phase, parts in self._planned()
            if only in (None, phase)
        ]

    def of(self, stage: StageName) -> list[PhaseMemory]:
        """The phases of one stage."""
        return [self._phase(phase, parts) for phase, parts in self._planned() if f"{phase}_".startswith(f"{stage}_")]

    def host(self) -> int:
        """Bytes of an offloaded optimizer in RAM, in the stage where they are most."""
        phases = [phase for phase, _ in self._planned() if phase != "evaluation"]
        return max((resident(self.spec, phase, self.blueprint).host for phase in phases), default=0)

    def _planned(self) -> Iterator[tuple[Phase, Callable[[Level], Parts]]]:
        if "sft" in self.spec.stages:
            yield "sft", self._sft
        if "reward_model" in self.spec.stages:
            yield "reward_model", self._reward_model
        if "dpo" in self.spec.stages:
            yield "dpo", self._dpo
        if "kto" in self.spec.stages:
            yield "kto", self._kto
        if "ppo" in self.spec.stages:
            yield "ppo_rollout", self._rollout
            yield "ppo_score", self._score
            yield "ppo_update", self._update
        if {"ppo", "evaluation"} & set(self.spec.stages):
            yield "evaluation", self._evaluation

    def _stays(self, phase: Phase) -> Parts:
        held = resident(self.spec, phase, self.blueprint, self.scorers)
        return {"weights": held.weights, "optimizer": held.optimizer}

    def _phase(self, phase: Phase, parts: Callable[[Level], Parts]) -> PhaseMemory:
        stays = self._stays(phase)
        totals = {level: sum((stays | parts(level)).values()) for level in ("low", "expected", "high")}
        return PhaseMemory(
            phase=phase,
            low=totals["low"],
            expected=totals["expected"],
            high=int(totals["high"] * GAPS[self.blueprint.device]),
            parts={name: size for name, size in (stays | parts("expected")).items() if size},
        )

    def _sft(self, level: Level) -> Parts:
        spec, examples = self.spec.sft, self.sizes.examples
        whole = partial(shapes.demonstrations, min(spec.batch_size, len(examples)), examples)
        return self._learning("logprobs", whole, level, spec)

    def _reward_model(self, level: Level) -> Parts:
        spec, (model,) = self.spec.reward_model, planned_in(self.spec, "reward_model", self.scorers)
        if spec.loss == "pointwise":
            return self._learning("scores", self._thumbs(spec), level, spec, critic=model.own_parts)
        if spec.loss == "stepwise":
            rows = self.sizes.solutions
            whole = partial(shapes.demonstrations, min(spec.batch_size, len(rows)), rows)
            return self._learning("scores", whole, level, spec, critic=model.own_parts)
        return self._learning("scores", self._sides(spec), level, spec, together=2, critic=model.own_parts)

    def _dpo(self, level: Level) -> Parts:
        return self._learning("logprobs", self._sides(self.spec.dpo), level, self.spec.dpo, together=2)

    def _kto(self, level: Level) -> Parts:
        """KTO's passes over mismatched pairs have no gradients and need less, so they are not counted."""
        return self._learning("logprobs", self._thumbs(self.spec.kto), level, self.spec.kto)

    def _thumbs(self, spec: RewardModelSpec | KTOSpec) -> ShapeAt:
        """One sequence for each thumb."""
        thumbs = self.sizes.thumbs
        return partial(shapes.demonstrations, min(spec.batch_size, len(thumbs)), thumbs)

    def _sides(self, spec: RewardModelSpec | DPOSpec) -> ShapeAt:
        """Two sequences for each pair."""
        return partial(shapes.comparisons, 2 * min(spec.batch_size, len(self.sizes.pairs)), self.sizes.pairs)

    def _training(
        self, what: Pass, shape_at: ShapeAt, level: Level, spec: OptimizerSpec, critic: CriticSpec | None = None
    ) -> Training:
        """The peaks of a training pass: counted at the expected and the high level, scaled by tokens at the low one."""
        passes = self.passes.for_critic(critic)
        gradients = passes.blueprint.trained_bytes(head_of(what))
        counted = passes.training(what, shape_at("expected" if level == "low" else level))
        if level == "low":
            share = shape_at("low").tokens / shape_at("expected").tokens
            first = max(gradients, int(counted.first * share))
            counted = Training(first, gradients + int((counted.later - gradients) * share), gradients)
        wider = self._learns(head_of(what), spec, critic).gradients - gradients  # than the weights, where parts add up
        return self.processes.training(Training(counted.first + wider, counted.later + wider, gradients + wider))

    def _learns(self, head: Head, spec: OptimizerSpec, critic: CriticSpec | None = None) -> Learning:
        return self.processes.learning(Learning.for_model(self.blueprint.for_critic(critic), head, spec))

    def _learning(
        self,
        what: Pass,
        whole: ShapeAt,
        level: Level,
        spec: OptimizerSpec,
        together: int = 1,
        critic: CriticSpec | None = None,
    ) -> Parts:
        shape_at, several = self._in_parts(whole, spec, together)
        learns, pass_ = self._learns(head_of(what), spec, critic), self._training(what, shape_at, level, spec, critic)
        peak = max(pass_.later if several else pass_.first, learns.gradients + learns.step)
        parts = {"gradients": learns.gradients, "activations": peak - learns.gradients}
        # a sharded model is gathered whole for the held-out figures, when there is no gradient
        return max(
            parts | self._gathered([head_of(what)], learning=True),
            self._gathered([head_of(what)]),
            key=lambda parts: sum(parts.values()),
        )

    def _gathered(self, heads: Sequence[Head], learning: bool = False) -> Parts:
        """Bytes of sharded models that are gathered, one model at a time."""
        if not self.processes.sharded:
            return {}
        gathered = gathered_for_training if learning else gathered_whole
        return {"gathered": max(gathered(self.blueprint, head) for head in heads)}

    def _rollout(self, level: Level) -> Parts:
        return self._of_rollout(level) | self._gathered(["policy"])

    def _of_rollout(self, level: Level) -> Parts:
        responses = Responses.from_sizes(self.sizes, self.spec.ppo.max_new_tokens)
        sampling = self._sampling(responses, self.spec.ppo.batch_size, level)
        return self._of_vllm(sampling) if self.spec.ppo.rollout.engine == "vllm" else sampling

    def _of_vllm(self, sampling: Parts) -> Parts:
        """Its weights and its cache: a share of a known GPU, else the bytes of trainer/sampling/vllm.py."""
        if self.blueprint.device == "cuda" and torch.cuda.is_available():
            return {"kv_cache": int(self.spec.ppo.rollout.gpu_memory_utilization * available("cuda"))}
        weights = self.blueprint.parameters("policy") * self.blueprint.dtype.itemsize
        return sampling | {"kv_cache": weights + 3 * sampling["kv_cache"] // 2}

    def _beside(self, parts: Parts, level: Level) -> Parts:
        """Add the sampling of the next responses if it is asynchronous, else the rollout's cache that is kept."""
        if not self.spec.ppo.rollout.asynchronous:
            return parts | self._kept(level)
        sampling = self._of_rollout(level)
        return {name: parts.get(name, 0) + sampling.get(name, 0) for name in (parts | sampling)}

    def _kept(self, level: Level) -> Parts:
        """The cache of CUDA graphs and the weights in autocast's type, if they are small enough to be kept.

        trainer/sampling/graphs.py has the rule. On an unknown GPU nothing is counted. vLLM sleeps on a GPU, and keeps all on
        a CPU.
        """
        rollout = self.spec.ppo.rollout
        if rollout.engine == "vllm" and self.blueprint.device == "cpu":
            return {"kv_cache": self._of_rollout(level)["kv_cache"]}
        captured = rollout.engine == "built_in" and rollout.decode != "eager" and not self.processes.sharded
        if self.blueprint.device != "cuda" or not captured or not torch.cuda.is_available():
            return {}
        cast = self.blueprint.dtype != torch.float32 and self.spec.model.trained_weights == "float32"
        size = self._of_rollout(level)["kv_cache"] + (self.blueprint.trained_bytes("policy") // 2 if cast else 0)
        return {"kv_cache": size} if size <= KEPT_SHARE * available("cuda") else {}

    def _sampling(self, responses: Responses, rows: int, level: Level) -> Parts:
        rows = self.processes.block(rows)
        rows = min(rows, self.spec.ppo.rollout.rows_at_once or rows)
        found = self.passes.sampling(responses.read(rows, "high" if level == "high" else "expected"), responses.limit)
        return {"kv_cache": found.cache, "activations": found.peak - found.cache}

    def _score(self, level: Level) -> Parts:
        ppo = self.spec.ppo
        whole = partial(Responses.from_sizes(self.sizes, ppo.max_new_tokens).shape, ppo.batch_size)
        return self._beside(self._forwards("ppo_score", self._in_parts(whole, ppo)[0], level), level)

    def _forwards(self, phase: Phase, shape_at: ShapeAt, level: Level) -> Parts:
        """Passes without gradients, one model after the other. The low level is the expected one scaled by tokens."""
        models = planned_in(self.spec, phase, self.scorers)
        blueprints = [blueprint_of(model, self.blueprint, self.scorers) for model in models]
        asked = {(self.passes.of(own), *forward_pass(model)) for model, own in zip(models, blueprints, strict=True)}
        shape = shape_at("expected" if level == "low" else level)
        counted = max(passes.forward(what, as_trained, shape) for passes, what, as_trained in asked)
        activations = counted if level != "low" else int(counted * shape_at("low").tokens / shape.tokens)
        parts = {"activations": activations} | self._gathered([model.head for model in models])
        if self.processes.sharded:
            wholes = [gathered_whole(own, model.head) for model, own in zip(models, blueprints, strict=True)]
            parts["gathered"] = max(parts["gathered"], *wholes)
        return parts

    def _update(self, level: Level) -> Parts:
        ppo, apart = self.spec.ppo, self.spec.ppo.critic_learns_apart
        shape_at, several = self._in_parts(self._minibatch(ppo), ppo)
        several = several or ppo.ptx is not None
        trained = [model for model in planned_in(self.spec, "ppo_update", self.scorers) if model.use == "trained"]
        learners: list[Head] = [model.head for model in trained]
        learning = {model.head: self._learns(model.head, ppo, model.critic) for model in trained}
        frozen = next((model.critic for model in trained if model.critic is not None), None)
        gradients = {head: found.gradients for head, found in learning.items()}
        policy = self._training("logprobs_and_entropy", shape_at, level, ppo)
        policy = policy.with_more(self._bins_of_value_head(shape_at("expected" if level == "low" else level)))
        total = max(gradients.values()) if apart else sum(gradients.values())
        stepping = max(gradients[head] + found.step for head, found in learning.items())
        moments = [stepping if apart else total + max(found.step for found in learning.values())]
        critics = 0 if apart else gradients.get("scalar", 0)
        moments += [policy.later + critics if several else policy.first]
        if "scalar" in learners and apart:
            critics_shape, in_parts = self._in_parts(self._minibatch(ppo.of_critic), ppo)
            critic = self._training("values", critics_shape, level, ppo, frozen)
            moments.append(critic.later if in_parts else critic.first)
        elif "scalar" in learners:
            critic = self._training("values", shape_at, level, ppo, frozen)
            beside = (policy.later if several else policy.first) if self._in_pairs() else gradients["policy"]
            moments.append((critic.later if several else critic.first) + beside)
        if ppo.ptx is not None:
            texts, _ = self._in_parts(partial(shapes.texts, ppo.ptx.batch_size, self.sizes.texts), ppo)
            pass_ = self._training("logprobs", texts, level, ppo)
            moments.append(pass_.later + critics)
        parts = {"gradients": total, "activations": max(0, max(moments) - total)}
        return self._beside(parts | self._gathered(learners, learning=True), level)

    def _bins_of_value_head(self, shape: Shape) -> int:
        """Bytes of a value head with bins, which no model of the plan has; 0 without.

        The head has a gradient and moments in float32. Its loss holds five numbers per bin and token.
        """
        bins = self.spec.ppo.critic.classification
        if bins is None or not self.spec.ppo.has_value_head:
            return 0
        outputs = shape.rows * max(shape.completions)
        return bins.bins * (16 * (self.blueprint.hidden_size + 1) + 20 * outputs)

    def _minibatch(self, ppo: PPOSpec) -> ShapeAt:
        return partial(Responses.from_sizes(self.sizes, ppo.max_new_tokens).shape, ppo.batch_size // ppo.minibatches)

    def _in_pairs(self) -> bool:
        """Whether policy and critic are likely to be updated at once (trainer/distributed/cpu_threads.py)."""
        setting = self.spec.runtime.critic_thread
        if self.blueprint.device != "cpu" or self.spec.model.lora is not None or setting is False:
            return False
        cores = self.spec.runtime.threads if isinstance(self.spec.runtime.threads, int) else available_cores()
        return setting is True or (cores > 1 and self.blueprint.parameters("policy") < PAIRED_BELOW)

    def _evaluation(self, level: Level) -> Parts:
        """Sampling or scoring, whichever takes more."""
        spec = self.spec.evaluation
        held_out = self.sizes.encoded.held_out_prompts
        rows = max(1, min(spec.batch_size, self.spec.evaluation.prompts, len(held_out)))
        responses = Responses.from_sizes(self.sizes, spec.max_new_tokens or self.spec.ppo.max_new_tokens, held_out=True)
        at_once, _ = self._in_parts(partial(responses.shape, rows), self.spec.ppo)
        each = spec.pass_at.samples if spec.pass_at else 1
        return max(
            self._sampling(responses, min(spec.batch_size, rows * each), level) | self._gathered(["policy"]),
            self._forwards("evaluation", at_once, level),
            key=lambda parts: sum(parts.values()),
        )

    def _in_parts(self, whole: ShapeAt, spec: OptimizerSpec, together: int = 1) -> tuple[ShapeAt, bool]:
        """The largest micro-batch of a process' share of a step, and whether there are several."""
        limits = BatchLimits.from_spec(spec)

        def share(level: Level) -> Shape:
            return self.processes.share(whole(level), together)

        return lambda level: share(level).largest(limits), share("expected").largest(limits) != share("expected")
