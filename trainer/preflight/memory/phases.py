"""Peak memory of each phase of a run: what stays (weights, optimizer) and what comes and goes on top.

Every phase's peak is the largest of its moments. While gradients are taken: the activations of one micro-batch with the
gradients that stand by then (none of its own model in a step of one micro-batch, all in one of several; the policy's
while the critic learns); or the optimizer's step with all gradients and its own temporaries. While sampling: the cache,
which is allocated at once, with reading the prompts or with the last decode step; an asynchronous rollout samples beside
scoring and learning. Experience itself (a few numbers per token) is left out. All of it is of one process.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from trainer.distributed.cpu_threads import PAIRED_BELOW, available_cores
from trainer.optim.micro_batches import Limits
from trainer.preflight.memory import shapes
from trainer.preflight.memory.estimate import available
from trainer.preflight.memory.fake_models import Head
from trainer.preflight.memory.passes import Pass, Passes, Training, head_of
from trainer.preflight.memory.processes import Learning, Processes, gathered_for_training, gathered_whole
from trainer.preflight.memory.residents import Resident, members, passes_of
from trainer.preflight.memory.shapes import Level, Responses, Shape
from trainer.preflight.report import Phase, PhaseMemory
from trainer.preflight.workload import Sizes
from trainer.sampling.graphs import KEPT_SHARE
from trainer.spec import DPOSpec, JobSpec, KTOSpec, OptimizerSpec, RewardModelSpec, StageName

Parts = dict[str, int]
ShapeAt = Callable[[Level], Shape]
GAPS = {"cpu": 1.4, "cuda": 1.1}
"""Allocators hand out blocks of their own sizes, and keep what they cannot join: what that may add, counted in `high` alone.
glibc's was seen to add 39 % to a training step (with `MALLOC_MMAP_THRESHOLD_=262144` in the environment, 1 %)."""


class Phases:
    """Estimates for one spec on one kind of device."""

    def __init__(self, spec: JobSpec, passes: Passes, sizes: Sizes, other_weights: int = 0) -> None:
        self.spec, self.sizes, self.passes, self.blueprint = spec, sizes, passes, passes.blueprint
        self.other_weights = other_weights
        self.processes = Processes.of(spec)

    def all(self) -> list[PhaseMemory]:
        """In the order in which a run goes through them."""
        return [self._phase(phase, parts) for phase, parts in self._planned()]

    def of(self, stage: StageName) -> list[PhaseMemory]:
        """Those of one stage."""
        return [self._phase(phase, parts) for phase, parts in self._planned() if phase.split("_")[0] == stage]

    def host(self) -> int:
        """Bytes in RAM that an offloaded optimizer keeps, in the stage where they are most."""
        phases = [phase for phase, _ in self._planned() if phase != "evaluation"]
        return max((Resident.of(self.spec, phase, self.blueprint).host for phase in phases), default=0)

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

    def _phase(self, phase: Phase, parts: Callable[[Level], Parts]) -> PhaseMemory:
        resident = Resident.of(self.spec, phase, self.blueprint, self.other_weights)
        stays = {"weights": resident.weights, "optimizer": resident.optimizer}
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
        spec = self.spec.reward_model
        if spec.loss == "pointwise":
            return self._learning("scores", self._thumbs(spec), level, spec)
        return self._learning("scores", self._sides(spec), level, spec, together=2)

    def _dpo(self, level: Level) -> Parts:
        return self._learning("logprobs", self._sides(self.spec.dpo), level, self.spec.dpo, together=2)

    def _kto(self, level: Level) -> Parts:
        """The passes over mismatched pairs, without gradients and before those with, need less."""
        return self._learning("logprobs", self._thumbs(self.spec.kto), level, self.spec.kto)

    def _thumbs(self, spec: RewardModelSpec | KTOSpec) -> ShapeAt:
        """One sequence for each thumb."""
        thumbs = self.sizes.thumbs
        return partial(shapes.demonstrations, min(spec.batch_size, len(thumbs)), thumbs)

    def _sides(self, spec: RewardModelSpec | DPOSpec) -> ShapeAt:
        """Two sequences for each pair."""
        return partial(shapes.comparisons, 2 * min(spec.batch_size, len(self.sizes.pairs)), self.sizes.pairs)

    def _training(self, what: Pass, shape_at: ShapeAt, level: Level, spec: OptimizerSpec) -> Training:
        """Counted at the expected and the high level; at the low one, the share of the expected that the tokens have."""
        gradients = self.blueprint.trained_bytes(head_of(what))
        counted = self.passes.training(what, shape_at("expected" if level == "low" else level))
        if level == "low":
            share = shape_at("low").tokens / shape_at("expected").tokens
            first = max(gradients, int(counted.first * share))
            counted = Training(first, gradients + int((counted.later - gradients) * share), gradients)
        wider = self._learns(head_of(what), spec).gradients - gradients  # than the weights, where parts add up
        return self.processes.training(Training(counted.first + wider, counted.later + wider, gradients + wider))

    def _learns(self, head: Head, spec: OptimizerSpec) -> Learning:
        return self.processes.learns(Learning.of(self.blueprint, head, spec))

    def _learning(self, what: Pass, whole: ShapeAt, level: Level, spec: OptimizerSpec, together: int = 1) -> Parts:
        shape_at, several = self._in_parts(whole, spec, together)
        learns, pass_ = self._learns(head_of(what), spec), self._training(what, shape_at, level, spec)
        peak = max(pass_.later if several else pass_.first, learns.gradients + learns.step)
        parts = {"gradients": learns.gradients, "activations": peak - learns.gradients}
        # a sharded model is there as a whole for the held-out figures, when there is no gradient
        return max(
            parts | self._gathered([head_of(what)], learning=True),
            self._gathered([head_of(what)]),
            key=lambda parts: sum(parts.values()),
        )

    def _gathered(self, heads: Sequence[Head], learning: bool = False) -> Parts:
        """Bytes of sharded models that are gathered, one model at a time."""
        if not self.processes.sharded:
            return {}
        models = [self.blueprint.trained(head) for head in heads]
        return {"gathered": max(map(gathered_for_training if learning else gathered_whole, models))}

    def _rollout(self, level: Level) -> Parts:
        return self._of_rollout(level) | self._gathered(["policy"])

    def _of_rollout(self, level: Level) -> Parts:
        return self._sampling(Responses.of(self.sizes, self.spec.ppo.max_new_tokens), self.spec.ppo.batch_size, level)

    def _beside(self, parts: Parts, level: Level) -> Parts:
        """With the next responses, where they are sampled meanwhile; else with what is kept of the rollout."""
        if not self.spec.ppo.rollout.asynchronous:
            return parts | self._kept(level)
        sampling = self._of_rollout(level)
        return {name: parts.get(name, 0) + sampling.get(name, 0) for name in (parts | sampling)}

    def _kept(self, level: Level) -> Parts:
        """The cache that CUDA graphs run over, and the weights as autocast would cast them, where the two are small enough
        to be kept (trainer/sampling/graphs.py). On an unknown GPU: nothing."""
        rollout = self.spec.ppo.rollout
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
        whole = partial(Responses.of(self.sizes, ppo.max_new_tokens).shape, ppo.batch_size)
        return self._beside(self._forwards("ppo_score", self._in_parts(whole, ppo)[0], level), level)

    def _forwards(self, phase: Phase, shape_at: ShapeAt, level: Level) -> Parts:
        """Passes without gradients, one model after the other; at the low level, the share that the tokens have."""
        asked = {passes_of(member) for member in members(self.spec, phase)}
        shape = shape_at("expected" if level == "low" else level)
        counted = max(self.passes.forward(*one, shape) for one in asked)
        activations = counted if level != "low" else int(counted * shape_at("low").tokens / shape.tokens)
        return {"activations": activations} | self._gathered([member.head for member in members(self.spec, phase)])

    def _update(self, level: Level) -> Parts:
        ppo = self.spec.ppo
        whole = partial(Responses.of(self.sizes, ppo.max_new_tokens).shape, ppo.batch_size // ppo.minibatches)
        shape_at, several = self._in_parts(whole, ppo)
        several = several or ppo.ptx is not None
        learners: list[Head] = [member.head for member in members(self.spec, "ppo_update") if member.learns]
        learning = {head: self._learns(head, ppo) for head in learners}
        gradients = {head: found.gradients for head, found in learning.items()}
        policy = self._training("logprobs_and_entropy", shape_at, level, ppo)
        moments = [sum(gradients.values()) + max(found.step for found in learning.values())]
        moments += [policy.later + gradients.get("scalar", 0) if several else policy.first]
        if "scalar" in learners:
            critic = self._training("values", shape_at, level, ppo)
            beside = (policy.later if several else policy.first) if self._in_pairs() else gradients["policy"]
            moments.append((critic.later if several else critic.first) + beside)
        if ppo.ptx is not None:
            texts, _ = self._in_parts(partial(shapes.texts, ppo.ptx.batch_size, self.sizes.texts), ppo)
            pass_ = self._training("logprobs", texts, level, ppo)
            moments.append(pass_.later + gradients.get("scalar", 0))
        total = sum(gradients.values())
        parts = {"gradients": total, "activations": max(0, max(moments) - total)}
        return self._beside(parts | self._gathered(learners, learning=True), level)

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
        held_out = self.sizes.held_out_prompts
        rows = max(1, min(spec.batch_size, spec.prompts, len(held_out)))
        responses = Responses.of(self.sizes, spec.max_new_tokens or self.spec.ppo.max_new_tokens, held_out=True)
        at_once, _ = self._in_parts(partial(responses.shape, rows), self.spec.ppo)
        return max(
            self._sampling(responses, rows, level) | self._gathered(["policy"]),
            self._forwards("evaluation", at_once, level),
            key=lambda parts: sum(parts.values()),
        )

    def _in_parts(self, whole: ShapeAt, spec: OptimizerSpec, together: int = 1) -> tuple[ShapeAt, bool]:
        """The largest micro-batch of a process' share of a step as the trainer splits it, and whether there are several."""
        limits = Limits.from_spec(spec)

        def share(level: Level) -> Shape:
            return self.processes.share(whole(level), together)

        return lambda level: share(level).largest(limits), share("expected").largest(limits) != share("expected")
