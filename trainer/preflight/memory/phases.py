"""Peak memory of each phase of a run: what stays (weights, optimizer) and what comes and goes on top.

Every phase's peak is the largest of its moments. While gradients are taken: the activations of one micro-batch with the
gradients that stand by then (none of its own model in a step of one micro-batch, all in one of several; the policy's
while the critic learns); or the optimizer's step with all gradients and its own temporaries. While sampling: reading the
prompts; or the last decode step, with the cache, a layer's copy of it (its tensors grow by concatenation) and the draw,
which takes the probabilities in float64. Experience itself (a few numbers per token) is left out.
"""

from collections.abc import Callable, Iterator

from trainer.preflight.memory import shapes
from trainer.preflight.memory.blueprint import Head
from trainer.preflight.memory.passes import Passes, Shape, Training
from trainer.preflight.memory.residents import Resident, members
from trainer.preflight.memory.shapes import Level, Responses, read_at_ends
from trainer.preflight.plan import mean
from trainer.preflight.report import Phase, PhaseMemory
from trainer.preflight.sizes import Sizes
from trainer.spec import DPOSpec, JobSpec, RewardModelSpec

Parts = dict[str, int]
GAPS = {"cpu": 1.4, "cuda": 1.1}
"""Allocators hand out blocks of their own sizes, and keep what they cannot join: what that may add, counted in `high` alone.
glibc's was seen to add 39 % to a training step (with `MALLOC_MMAP_THRESHOLD_=262144` in the environment, 1 %)."""
_DRAW = 4 + 3 * 8
"""Bytes per row and token of the vocabulary while drawing: the logits, and in float64 the scaled logits, the
probabilities and their cumulative sums (trainer/sampling/draws.py)."""


class Phases:
    """Estimates for one spec on one kind of device."""

    def __init__(self, spec: JobSpec, passes: Passes, sizes: Sizes, other_weights: int = 0) -> None:
        self.spec, self.sizes, self.passes, self.blueprint = spec, sizes, passes, passes.blueprint
        self.other_weights = other_weights

    def all(self) -> list[PhaseMemory]:
        """In the order in which a run goes through them."""
        return [self._phase(phase, parts) for phase, parts in self._planned()]

    def _planned(self) -> Iterator[tuple[Phase, Callable[[Level], Parts]]]:
        if "sft" in self.spec.stages:
            yield "sft", self._sft
        if "reward_model" in self.spec.stages:
            yield "reward_model", self._reward_model
        if "dpo" in self.spec.stages:
            yield "dpo", self._dpo
        if "ppo" in self.spec.stages:
            yield "ppo_rollout", self._rollout
            yield "ppo_score", self._score
            yield "ppo_update", self._update
        if {"ppo", "evaluation"} & set(self.spec.stages):
            yield "evaluation", self._evaluation

    def _phase(self, phase: Phase, parts: Callable[[Level], Parts]) -> PhaseMemory:
        resident = Resident.of(members(self.spec, phase), self.blueprint, self.other_weights)
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
        packing = self.spec.runtime.packing is not False
        rows = min(spec.micro_batch_size or spec.batch_size, len(examples))
        pass_ = self._training("policy", lambda at: shapes.demonstrations(rows, examples, at, packing), level)
        return self._learning("policy", pass_, rows < spec.batch_size)

    def _reward_model(self, level: Level) -> Parts:
        spec = self.spec.reward_model
        rows = self._sides(spec)
        pass_ = self._training("scalar", lambda at: read_at_ends(self._pairs(rows, at)), level)
        return self._learning("scalar", pass_, rows < 2 * spec.batch_size)

    def _dpo(self, level: Level) -> Parts:
        rows = self._sides(self.spec.dpo)
        pass_ = self._training("policy", lambda at: self._pairs(rows, at), level)
        return self._learning("policy", pass_, rows < 2 * self.spec.dpo.batch_size)

    def _sides(self, spec: RewardModelSpec | DPOSpec) -> int:
        """Sequences per forward pass: two for each pair."""
        pairs = max(1, spec.micro_batch_size // 2) if spec.micro_batch_size else spec.batch_size
        return 2 * min(pairs, len(self.sizes.pairs))

    def _pairs(self, rows: int, level: Level) -> Shape:
        return shapes.comparisons(rows, self.sizes.pairs, level)

    def _training(
        self, head: Head, shape_at: Callable[[Level], Shape], level: Level, entropy: bool = False
    ) -> Training:
        """Counted at the expected and the high level; at the low one, the share of the expected that the width has."""
        if level != "low":
            return self.passes.training(head, shape_at(level), entropy)
        gradients, expected = self.blueprint.trained_bytes(head), shape_at("expected")
        counted = self.passes.training(head, expected, entropy)
        share = shape_at("low").width / expected.width
        first = max(gradients, int(counted.first * share))
        return Training(first, gradients + int((counted.later - gradients) * share))

    def _learning(self, head: Head, pass_: Training, several: bool) -> Parts:
        gradients = self.blueprint.trained_bytes(head)
        peak = max(pass_.later if several else pass_.first, gradients + self._step([head]))
        return {"gradients": gradients, "activations": peak - gradients}

    def _rollout(self, level: Level) -> Parts:
        return self._sampling(Responses.of(self.sizes, self.spec.ppo.max_new_tokens), self.spec.ppo.batch_size, level)

    def _sampling(self, responses: Responses, rows: int, level: Level) -> Parts:
        prompt = responses.prompt(level)
        read = self.passes.sampling(rows, prompt)
        tokens, alive = responses.cached_tokens(rows, level)
        cache = read.cache * tokens // (rows * prompt)
        config = self.blueprint.config.get_text_config()
        decode = cache // int(config.num_hidden_layers) + alive * int(config.vocab_size) * _DRAW
        if read.prefill > cache + decode:
            return {"kv_cache": read.cache, "activations": read.prefill - read.cache}
        return {"kv_cache": cache, "activations": decode}

    def _score(self, level: Level) -> Parts:
        ppo = self.spec.ppo
        rows = ppo.micro_batch_size or ppo.batch_size
        return self._forwards("ppo_score", Responses.of(self.sizes, ppo.max_new_tokens).shape(rows, level))

    def _forwards(self, phase: Phase, shape: Shape) -> Parts:
        """Passes without gradients, one model after the other."""
        ends = read_at_ends(shape)
        kinds = {(member.head, member.learns or member.exact) for member in members(self.spec, phase)}
        return {
            "activations": max(self.passes.forward(*kind, shape if kind[0] == "policy" else ends) for kind in kinds)
        }

    def _update(self, level: Level) -> Parts:
        ppo = self.spec.ppo
        minibatch = ppo.batch_size // ppo.minibatches
        rows = min(ppo.micro_batch_size or minibatch, minibatch)
        several = rows < minibatch or ppo.ptx is not None
        responses = Responses.of(self.sizes, ppo.max_new_tokens)
        shape_at = lambda at: responses.shape(rows, at)  # noqa: E731
        learners: list[Head] = [member.head for member in members(self.spec, "ppo_update") if member.learns]
        gradients = {head: self.blueprint.trained_bytes(head) for head in learners}
        policy = self._training("policy", shape_at, level, entropy=True)
        moments = [sum(gradients.values()) + self._step(learners)]
        moments += [policy.later + gradients.get("scalar", 0) if several else policy.first]
        if "scalar" in learners:
            critic = self._training("scalar", shape_at, level)
            moments.append((critic.later if several else critic.first) + gradients["policy"])
        if ppo.ptx is not None:
            texts = min(ppo.micro_batch_size or ppo.ptx.batch_size, ppo.ptx.batch_size)
            moments.append(self._texts(texts, level).later + gradients.get("scalar", 0))
        total = sum(gradients.values())
        return {"gradients": total, "activations": max(0, max(moments) - total)}

    def _texts(self, rows: int, level: Level) -> Training:
        def shape_at(at: Level) -> Shape:
            width = round(mean(self.sizes.texts)) if at == "low" else max(self.sizes.texts)
            return Shape(rows, width, rows * max(1, width - 1))

        return self._training("policy", shape_at, level)

    def _evaluation(self, level: Level) -> Parts:
        """Sampling or scoring, whichever takes more."""
        spec = self.spec.evaluation
        held_out = self.sizes.held_out_prompts
        rows = max(1, min(spec.batch_size, spec.prompts, len(held_out)))
        responses = Responses.of(self.sizes, spec.max_new_tokens or self.spec.ppo.max_new_tokens, held_out=True)
        at_once = min(self.spec.ppo.micro_batch_size or rows, rows)
        return max(
            self._sampling(responses, rows, level),
            self._forwards("evaluation", responses.shape(at_once, level)),
            key=lambda parts: sum(parts.values()),
        )

    def _step(self, heads: list[Head]) -> int:
        """AdamW's temporaries: on a GPU the square roots of all second moments at once (`foreach`), else of one tensor, twice."""
        if self.blueprint.device == "cuda":
            return max(self.blueprint.trained_bytes(head) for head in heads)
        return max(2 * 4 * self.blueprint.largest_trained(head) for head in heads)
