"""The size of a run: its data as token counts, by the stages' own encoders, and the steps and tokens of each stage."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from trainer.preflight.report import StageEstimate
from trainer.spec import DPOSpec, JobSpec, KTOSpec, RewardModelSpec, SFTSpec, StageName
from trainer.spec.stages import total_steps
from trainer.stages.tokenize import TokenizedData
from trainer.stages.tokenized_rows import rankings


@dataclass(frozen=True)
class ExampleTokens:
    """Token counts of a demonstration; `whole`: its EOS fits."""

    prompt: int
    completion: int
    whole: bool


@dataclass(frozen=True)
class PairTokens:
    """Token counts of a comparison."""

    prompt: int
    a: int
    b: int


@dataclass(frozen=True)
class Sizes:
    """Token counts of every usable row."""

    encoded: TokenizedData
    eos_id: int

    @cached_property
    def examples(self) -> list[ExampleTokens]:
        """The training demonstrations."""
        return [
            ExampleTokens(len(e.prompt), len(e.completion), e.completion[-1] == self.eos_id)
            for e in self.encoded.examples
        ]

    @cached_property
    def pairs(self) -> list[PairTokens]:
        """The training pairs."""
        return [PairTokens(len(pair.prompt), len(pair.a), len(pair.b)) for pair in self.encoded.pairs]

    @cached_property
    def rankings(self) -> int:
        """The number of items that the training pairs are in a batch: a ranking with all of its pairs is one."""
        return len(rankings(self.encoded.pairs))

    @cached_property
    def thumbs(self) -> list[ExampleTokens]:
        """The completions with a thumb for training."""
        return [ExampleTokens(len(verdict.prompt), len(verdict.completion), True) for verdict in self.encoded.verdicts]

    @cached_property
    def solutions(self) -> list[ExampleTokens]:
        """The solutions with labelled steps for training."""
        return [ExampleTokens(len(one.prompt), len(one.completion), True) for one in self.encoded.solutions]

    @cached_property
    def texts(self) -> list[int]:
        """Lengths of the pretraining texts."""
        return [len(ids) for ids in self.encoded.texts]

    @property
    def answers(self) -> list[int]:
        """Completion lengths of the demonstrations that fit whole: the best guess at a response's length."""
        return [example.completion for example in self.examples if example.whole]

    def prompt_lengths(self, held_out: bool = False) -> list[int]:
        return [len(prompt.ids) for prompt in (self.encoded.held_out_prompts if held_out else self.encoded.prompts)]


def plan(spec: JobSpec, sizes: Sizes) -> list[StageEstimate]:
    """The stages of the run, in their order."""
    estimates = {
        "sft": lambda: _sft(spec.sft, sizes),
        "reward_model": lambda: _reward_model(spec.reward_model, sizes),
        "dpo": lambda: _on_pairs("dpo", spec.dpo, len(sizes.pairs), sizes),
        "kto": lambda: _on_single("kto", spec.kto, sizes.thumbs),
        "ppo": lambda: _ppo(spec, sizes),
        "evaluation": lambda: _evaluation(spec, sizes),
    }
    return [estimates[stage]() for stage in spec.stages]


def expected_response(sizes: Sizes, limit: int) -> float:
    """Expected mean length of a response in tokens: that of the demonstrations, cut to `limit`, or `limit` without any."""
    return mean([min(length, limit) for length in sizes.answers]) if sizes.answers else float(limit)


def mean(values: Sequence[int]) -> float:
    return statistics.fmean(values) if values else 0.0


def _sft(spec: SFTSpec, sizes: Sizes) -> StageEstimate:
    tokens = spec.epochs * sum(example.prompt + example.completion for example in sizes.examples)
    steps = total_steps(len(sizes.examples), spec)
    return StageEstimate(stage="sft", steps=steps, optimizer_steps=steps, tokens=tokens)


def _on_pairs(stage: StageName, spec: RewardModelSpec | DPOSpec, count: int, sizes: Sizes) -> StageEstimate:
    """Each side of a pair is a sequence. The answers of a ranking are counted once for each pair."""
    tokens = spec.epochs * sum(2 * pair.prompt + pair.a + pair.b for pair in sizes.pairs)
    steps = total_steps(count, spec)
    return StageEstimate(stage=stage, steps=steps, optimizer_steps=steps, tokens=tokens)


def _reward_model(spec: RewardModelSpec, sizes: Sizes) -> StageEstimate:
    if spec.loss == "pointwise":
        return _on_single("reward_model", spec, sizes.thumbs)
    if spec.loss == "stepwise":
        return _on_single("reward_model", spec, sizes.solutions)
    return _on_pairs("reward_model", spec, sizes.rankings, sizes)


def _on_single(stage: StageName, spec: RewardModelSpec | KTOSpec, rows: Sequence[ExampleTokens]) -> StageEstimate:
    """A stage that learns from one completion at a time. KTO's mismatched pairs are not counted, because they have no gradient."""
    tokens = spec.epochs * sum(row.prompt + row.completion for row in rows)
    steps = total_steps(len(rows), spec)
    return StageEstimate(stage=stage, steps=steps, optimizer_steps=steps, tokens=tokens)


def _ppo(spec: JobSpec, sizes: Sizes) -> StageEstimate:
    ppo = spec.ppo
    trained_on, before = ppo.steps * ppo.batch_size, ppo.most_steps - ppo.steps
    sampled = 2 + math.ceil(ppo.steps / ppo.eval_every)  # the policy before PPO, step 0, and the planned evaluations
    responses = (
        trained_on
        + before * ppo.batch_size
        + sampled * min(spec.evaluation.prompts, len(sizes.encoded.held_out_prompts))
    )
    if ppo.advantage.baseline == "optimal_value":
        responses += ppo.optimal_value.samples * len(sizes.encoded.prompts)
    if ppo.online is not None:
        responses += 2 * ppo.online.prompts * (ppo.online.rounds - 1)
    replaced = 0 if ppo.rollout.refill is None else trained_on * (ppo.rollout.refill.max_rounds - 1)
    length = expected_response(sizes, ppo.max_new_tokens)
    steps = ppo.epochs * ppo.minibatches
    if ppo.critic_learns_apart:
        steps += ppo.of_critic.epochs * ppo.of_critic.minibatches
    return StageEstimate(
        stage="ppo",
        steps=ppo.most_steps,
        at_most=before > 0,
        optimizer_steps=ppo.steps * steps + before * ppo.of_critic.epochs * ppo.of_critic.minibatches,
        responses=responses,
        tokens=round(ppo.epochs * trained_on * (mean(sizes.prompt_lengths()) + length)),
        generated=round(responses * length),
        generated_max=(responses + replaced) * ppo.max_new_tokens,
    )


def _evaluation(spec: JobSpec, sizes: Sizes) -> StageEstimate:
    """Both policies answer every prompt, and so does PPO's best checkpoint, which is usually not the last.

    With `pass_at` each answers it further times.
    """
    each = 1 + (spec.evaluation.pass_at.samples if spec.evaluation.pass_at else 0)
    responses = each * spec.compared_policies * min(spec.evaluation.prompts, len(sizes.encoded.held_out_prompts))
    limit = spec.evaluation.max_new_tokens or spec.ppo.max_new_tokens
    generated = responses * expected_response(sizes, limit)
    prompt_tokens = responses * mean(sizes.prompt_lengths(held_out=True))
    return StageEstimate(
        stage="evaluation",
        steps=1,
        optimizer_steps=0,
        responses=responses,
        tokens=round(prompt_tokens + generated),
        generated=round(generated),
        generated_max=responses * limit,
    )
