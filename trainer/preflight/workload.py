"""The size of a run: its data as token counts, by the stages' own encoders, and the steps and tokens of each stage."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trainer.preflight.report import StageEstimate
from trainer.run_data import Data
from trainer.spec import DPOSpec, JobSpec, KTOSpec, RewardModelSpec, SFTSpec, StageName
from trainer.spec.stages import total_steps
from trainer.stages.tokenize import LONG_PROMPT, TokenizedData, why_left_out, why_thumbs_left_out
from trainer.stages.tokenized_rows import (
    TokenizedDemonstration,
    TokenizedPair,
    rankings,
    tokenize_demonstrations,
    tokenize_pairs,
    tokenize_thumbs,
)
from trainer.text.codec import Codec, TokenizedPrompt, tokenize_prompts

TOO_SHORT = "fewer than two tokens"


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
    """Every usable row's token counts."""

    examples: list[ExampleTokens]
    held_out_examples: list[ExampleTokens]
    pairs: list[PairTokens]
    held_out_pairs: list[PairTokens]
    rankings: int
    """What the training pairs count as in a batch: a ranking with all of its pairs is one."""
    prompts: list[TokenizedPrompt]
    held_out_prompts: list[TokenizedPrompt]
    texts: list[int]
    left_out: dict[str, Counter[str]]
    """By dataset, then by reason."""
    encoded: TokenizedData
    """The rows themselves, as the run would encode them."""
    thumbs: list[ExampleTokens] = field(default_factory=list)
    """Completions with a thumb, those for training."""

    @property
    def answers(self) -> list[int]:
        """Completion lengths of the demonstrations that fit whole: the best guess at a response's length."""
        return [example.completion for example in self.examples if example.whole]

    def prompt_lengths(self, held_out: bool = False) -> list[int]:
        return [len(prompt.ids) for prompt in (self.held_out_prompts if held_out else self.prompts)]


def measure(spec: JobSpec, loaded: Data, codec: Codec) -> Sizes:
    """Encode everything once. Raises DataError where a chat template refuses a row."""
    train, kept = loaded.demonstrations.train, loaded.demonstrations.held_out
    (examples, _, _), (held_out_examples, _, _) = (
        tokenize_demonstrations(train, codec),
        tokenize_demonstrations(kept, codec),
    )
    comparisons = [*loaded.comparisons.train, *loaded.comparisons.held_out]
    pairs, _ = tokenize_pairs(loaded.comparisons.train, codec)
    held_out_pairs, _ = tokenize_pairs(loaded.comparisons.held_out, codec)
    asked, long_prompts = tokenize_prompts(loaded.prompts.train, codec)
    held_out_prompts, long_held_out = tokenize_prompts(loaded.prompts.held_out, codec)
    verdicts, _ = tokenize_thumbs(loaded.thumbs.train, codec)
    held_out_verdicts, _ = tokenize_thumbs(loaded.thumbs.held_out, codec)
    texts = [codec.text(text, spec.ppo.ptx.max_tokens) for text in loaded.texts] if spec.ppo.ptx else []
    usable = [ids for ids in texts if len(ids) > 1]
    reasons = why_left_out(comparisons, codec) if len(pairs) + len(held_out_pairs) < len(comparisons) else Counter()
    demonstrations_left = len(train) + len(kept) - len(examples) - len(held_out_examples)
    return Sizes(
        _examples(examples, codec),
        _examples(held_out_examples, codec),
        _pairs(pairs),
        _pairs(held_out_pairs),
        len(rankings(pairs)),
        asked,
        held_out_prompts,
        [len(ids) for ids in usable],
        {
            "demonstrations": Counter({LONG_PROMPT: demonstrations_left}),
            "pairs": reasons,
            "thumbs": why_thumbs_left_out([*loaded.thumbs.train, *loaded.thumbs.held_out], codec),
            "prompts": Counter({LONG_PROMPT: long_prompts + long_held_out}),
            "texts": Counter({TOO_SHORT: len(texts) - len(usable)}),
        },
        TokenizedData(
            examples,
            held_out_examples,
            [],
            pairs,
            held_out_pairs,
            asked,
            held_out_prompts,
            usable,
            verdicts,
            held_out_verdicts,
        ),
        [ExampleTokens(len(verdict.prompt), len(verdict.completion), True) for verdict in verdicts],
    )


def _examples(examples: Iterable[TokenizedDemonstration], codec: Codec) -> list[ExampleTokens]:
    return [ExampleTokens(len(e.prompt), len(e.completion), e.completion[-1] == codec.eos_id) for e in examples]


def _pairs(pairs: Iterable[TokenizedPair]) -> list[PairTokens]:
    return [PairTokens(len(pair.prompt), len(pair.a), len(pair.b)) for pair in pairs]


def plan(spec: JobSpec, sizes: Sizes) -> list[StageEstimate]:
    """The stages of the run, in their order."""
    estimates = {
        "sft": lambda: _sft(spec.sft, sizes),
        "reward_model": lambda: _reward_model(spec.reward_model, sizes),
        "dpo": lambda: _on_pairs("dpo", spec.dpo, len(sizes.pairs), sizes),
        "kto": lambda: _on_thumbs("kto", spec.kto, sizes),
        "ppo": lambda: _ppo(spec, sizes),
        "evaluation": lambda: _evaluation(spec, sizes),
    }
    return [estimates[stage]() for stage in spec.stages]


def expected_response(sizes: Sizes, limit: int) -> float:
    """Mean length of a response in tokens: that of the demonstrations, cut to `limit`; the limit where there are none."""
    return mean([min(length, limit) for length in sizes.answers]) if sizes.answers else float(limit)


def mean(values: Sequence[int]) -> float:
    return statistics.fmean(values) if values else 0.0


def _sft(spec: SFTSpec, sizes: Sizes) -> StageEstimate:
    tokens = spec.epochs * sum(example.prompt + example.completion for example in sizes.examples)
    steps = total_steps(len(sizes.examples), spec)
    return StageEstimate(stage="sft", steps=steps, optimizer_steps=steps, tokens=tokens)


def _on_pairs(stage: StageName, spec: RewardModelSpec | DPOSpec, count: int, sizes: Sizes) -> StageEstimate:
    """Each side of a pair is a sequence of its own; the answers of a ranking are counted once for each pair."""
    tokens = spec.epochs * sum(2 * pair.prompt + pair.a + pair.b for pair in sizes.pairs)
    steps = total_steps(count, spec)
    return StageEstimate(stage=stage, steps=steps, optimizer_steps=steps, tokens=tokens)


def _reward_model(spec: RewardModelSpec, sizes: Sizes) -> StageEstimate:
    if spec.loss == "pointwise":
        return _on_thumbs("reward_model", spec, sizes)
    return _on_pairs("reward_model", spec, sizes.rankings, sizes)


def _on_thumbs(stage: StageName, spec: RewardModelSpec | KTOSpec, sizes: Sizes) -> StageEstimate:
    """KTO's mismatched pairs are not counted: no gradient is taken of them."""
    tokens = spec.epochs * sum(thumb.prompt + thumb.completion for thumb in sizes.thumbs)
    steps = total_steps(len(sizes.thumbs), spec)
    return StageEstimate(stage=stage, steps=steps, optimizer_steps=steps, tokens=tokens)


def _ppo(spec: JobSpec, sizes: Sizes) -> StageEstimate:
    ppo = spec.ppo
    trained_on = ppo.steps * ppo.batch_size
    evaluations = 1 + math.ceil(ppo.steps / ppo.eval_every)
    responses = trained_on + evaluations * min(spec.evaluation.prompts, len(sizes.held_out_prompts))
    if ppo.advantage.baseline == "optimal_value":
        responses += ppo.optimal_value.samples * len(sizes.prompts)
    if ppo.online is not None:
        responses += 2 * ppo.online.prompts * (ppo.online.rounds - 1)
    length = expected_response(sizes, ppo.max_new_tokens)
    return StageEstimate(
        stage="ppo",
        steps=ppo.steps,
        optimizer_steps=ppo.steps * ppo.epochs * ppo.minibatches,
        responses=responses,
        tokens=round(ppo.epochs * trained_on * (mean(sizes.prompt_lengths()) + length)),
        generated=round(responses * length),
        generated_max=responses * ppo.max_new_tokens,
    )


def _evaluation(spec: JobSpec, sizes: Sizes) -> StageEstimate:
    """Both policies answer every prompt, and so does PPO's best checkpoint, which is as a rule not the last."""
    sides = 3 if "ppo" in spec.stages and spec.evaluation.keep_best else 2
    responses = sides * min(spec.evaluation.prompts, len(sizes.held_out_prompts))
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
