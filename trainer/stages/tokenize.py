"""Tokenizing the run's data, once for all stages, with warnings about rows that are left out or look wrong."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from data import overlap
from data.rows import Comparison, Thumb
from data.splits import prompt_key, prompt_text
from trainer import run_data
from trainer.session.session import Session
from trainer.spec import JobSpec, TokenizerSpec
from trainer.stages.tokenized_rows import (
    LONG_COMPLETION,
    LONG_PROMPT,
    TokenizedDemonstration,
    TokenizedPair,
    TokenizedSolution,
    TokenizedThumb,
    tokenize_demonstrations,
    tokenize_pairs,
    tokenize_solutions,
    tokenize_thumbs,
)
from trainer.text.codec import Codec, TokenizedPrompt, Tokenizer, tokenize_prompts, train_tokenizer
from trainer.text.stops import Stops

SAME_SIDES = "same tokens on both sides"
TOO_SHORT = "fewer than two tokens"


@dataclass(frozen=True)
class TokenizedData:
    """Token ids for every stage, and the rows that were left out."""

    examples: list[TokenizedDemonstration] = field(default_factory=list)
    held_out_examples: list[TokenizedDemonstration] = field(default_factory=list)
    references: list[TokenizedDemonstration] = field(default_factory=list)
    """The training demonstrations that end with their EOS."""
    pairs: list[TokenizedPair] = field(default_factory=list)
    held_out_pairs: list[TokenizedPair] = field(default_factory=list)
    prompts: list[TokenizedPrompt] = field(default_factory=list)
    held_out_prompts: list[TokenizedPrompt] = field(default_factory=list)
    texts: list[list[int]] = field(default_factory=list)
    """Pretraining texts, each ending with its EOS unless it was cut."""
    verdicts: list[TokenizedThumb] = field(default_factory=list)
    held_out_verdicts: list[TokenizedThumb] = field(default_factory=list)
    solutions: list[TokenizedSolution] = field(default_factory=list)
    held_out_solutions: list[TokenizedSolution] = field(default_factory=list)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    """Numbers of rows that are not used, by dataset and then by reason."""
    cut_completions: int = 0
    """Number of training demonstrations whose completion was cut."""

    def longest_prompt(self) -> int:
        return max((len(prompt.ids) for prompt in (*self.prompts, *self.held_out_prompts)), default=0)

    def longest_demonstration(self) -> int:
        examples = (*self.examples, *self.held_out_examples)
        return max((len(e.prompt) + len(e.completion) for e in examples), default=0)

    def longest_side(self) -> int:
        """The longest prompt with one of its two answers, over all pairs."""
        pairs = (*self.pairs, *self.held_out_pairs)
        return max((len(p.prompt) + max(len(p.a), len(p.b)) for p in pairs), default=0)

    def longest_thumb(self, mismatched: bool = False) -> int:
        """The longest prompt with its completion. `mismatched`: the longest prompt with any completion, as KTO combines them."""
        verdicts = (*self.verdicts, *self.held_out_verdicts)
        if mismatched:
            prompt = max((len(v.prompt) for v in verdicts), default=0)
            return prompt + max((len(v.completion) for v in verdicts), default=0)
        return max((v.tokens for v in verdicts), default=0)

    def longest_solution(self) -> int:
        return max((one.tokens for one in (*self.solutions, *self.held_out_solutions)), default=0)


def tokenize_data(spec: JobSpec, loaded: run_data.Data, codec: Codec) -> TokenizedData:
    """Encode all data of the run. Raises DataError if the chat template refuses a row."""
    examples, long_prompts, cut = tokenize_demonstrations(loaded.demonstrations.train, codec)
    held_out_examples, long_held_out_shown, _ = tokenize_demonstrations(loaded.demonstrations.held_out, codec)
    pairs, odd_pairs = tokenize_pairs(loaded.comparisons.train, codec)
    held_out_pairs, odd_held_out_pairs = tokenize_pairs(loaded.comparisons.held_out, codec)
    thumbs, long_thumbs = tokenize_thumbs(loaded.thumbs.train, codec)
    held_out_thumbs, long_held_out_thumbs = tokenize_thumbs(loaded.thumbs.held_out, codec)
    solutions, odd_solutions = tokenize_solutions(loaded.solutions.train, codec, spec.reward_model)
    held_out_solutions, odd_held_out = tokenize_solutions(loaded.solutions.held_out, codec, spec.reward_model)
    prompts, long_train = tokenize_prompts(loaded.prompts.train, codec)
    held_out_prompts, long_held_out = tokenize_prompts(loaded.prompts.held_out, codec)
    texts = [codec.text(text, spec.ppo.ptx.max_tokens) for text in loaded.texts] if spec.ppo.ptx else []
    usable_texts = [ids for ids in texts if len(ids) > 1]
    comparisons = [*loaded.comparisons.train, *loaded.comparisons.held_out]
    shown_thumbs = [*loaded.thumbs.train, *loaded.thumbs.held_out]
    return TokenizedData(
        examples=examples,
        held_out_examples=held_out_examples,
        references=[example for example in examples if example.completion[-1] == codec.eos_id],
        pairs=pairs,
        held_out_pairs=held_out_pairs,
        prompts=prompts,
        held_out_prompts=held_out_prompts,
        texts=usable_texts,
        verdicts=thumbs,
        held_out_verdicts=held_out_thumbs,
        solutions=solutions,
        held_out_solutions=held_out_solutions,
        left_out={
            "demonstrations": Counter({LONG_PROMPT: long_prompts + long_held_out_shown}),
            "pairs": why_left_out(comparisons, codec) if odd_pairs + odd_held_out_pairs else Counter(),
            "thumbs": why_thumbs_left_out(shown_thumbs, codec) if long_thumbs + long_held_out_thumbs else Counter(),
            "solutions": odd_solutions + odd_held_out,
            "prompts": Counter({LONG_PROMPT: long_train + long_held_out}),
            "texts": Counter({TOO_SHORT: len(texts) - len(usable_texts)}),
        },
        cut_completions=cut,
    )


def new_tokenizer(spec: TokenizerSpec, loaded: run_data.Data) -> Tokenizer:
    """A tokenizer trained on the text of the training demonstrations."""
    texts = (prompt_text(item.prompt) + item.completion for item in loaded.demonstrations.train)
    return train_tokenizer(texts, spec.vocab_size)


def log_data_warnings(session: Session, loaded: run_data.Data, codec: Codec, tokenized: TokenizedData) -> None:
    """Log a warning for each kind of row that is left out or looks wrong, and notes about stops and repeated prompts."""
    _log_left_out(session, tokenized)
    _log_template(session, codec)
    _log_stops(session, loaded, codec)
    warnings = (without_roles(session.spec, loaded, codec), without_margins(session.spec, loaded), unused(session.spec))
    for warning in chain(*warnings, shared_prompts(loaded), nearly_held_out(session.spec, loaded)):
        session.log(warning, warning=True)
    for note in repeated_prompts(session.spec, loaded):
        session.log(note)


def _log_left_out(session: Session, tokenized: TokenizedData) -> None:
    """Log a warning for each kind of row that a stage of the run uses and that was left out or cut."""
    spec, stages, left_out = session.spec, set(session.spec.stages), tokenized.left_out
    counts = {dataset: sum(reasons.values()) for dataset, reasons in left_out.items()}
    pairs, solutions = (_reasons(left_out[dataset]) for dataset in ("pairs", "solutions"))
    too_long = "longer than `data.max_prompt_tokens`"
    for used, count, what in (
        ("sft" in stages, counts["demonstrations"], f"demonstrations left out: their prompt is {too_long}"),
        ("sft" in stages, tokenized.cut_completions, "SFT completions cut to `data.max_completion_tokens`; they teach no EOS"),
        (learns_from(spec, "comparisons"), counts["pairs"], f"pairs left out: {pairs}"),
        (
            learns_from(spec, "thumbs"),
            counts["thumbs"],
            f"thumbs left out: their prompt is {too_long}, or their completion longer than `data.max_completion_tokens`",
        ),
        (learns_from(spec, "solutions"), counts["solutions"], f"solutions left out: {solutions}"),
        (stages & {"ppo", "evaluation"}, counts["prompts"], f"prompts left out: {too_long}"),
        (True, counts["texts"], "pretraining texts left out: they have a single token, so there is none to predict"),
    ):  # fmt: skip
        if used and count:
            session.log(f"{count} {what}.", warning=True)


def _reasons(left_out: Counter[str]) -> str:
    return ", ".join(f"{count} with {reason}" for reason, count in left_out.items())


def _log_template(session: Session, codec: Codec) -> None:
    closing, eos = codec.closing_token(), codec.tokenizer.eos_token
    if closing in (None, eos) or codec.tokenizer.convert_tokens_to_ids(closing) in codec.stops.ids:
        return
    session.log(
        f"The chat template ends an assistant's turn with {closing}, but the tokenizer's EOS is {eos}: completions are "
        f"trained to end with {eos}, and {closing} does not end a response. Add it to `ppo.stop`, or set `eos_token` in "
        f"tokenizer_config.json to {closing} if the model should keep to its template.",
        warning=True,
    )


def _log_stops(session: Session, loaded: run_data.Data, codec: Codec) -> None:
    if not {"ppo", "evaluation"} & set(session.spec.stages):
        return
    if codec.stops.strings or len(codec.stops.ids) > 1:
        session.log(f"These end a response: {codec.stops.shown(codec.tokenizer)}.")
    for warning in odd_stops(session.spec, loaded, codec):
        session.log(warning, warning=True)


def odd_stops(spec: JobSpec, loaded: run_data.Data, codec: Codec) -> Iterator[str]:
    """Warnings about stops that are probably not intended."""
    stops, tokenizer = codec.stops, codec.tokenizer
    if ordinary := stops.ordinary_ids(tokenizer):
        yield (
            f"The model's generation settings end a response with {Stops(tuple(ordinary)).shown(tokenizer)}, which the "
            "tokenizer does not mark as special. If ordinary text holds them, correct `eos_token_id` in "
            "generation_config.json."
        )
    shown = [*loaded.demonstrations.train, *loaded.demonstrations.held_out] if "sft" in spec.stages else []
    holding = sum(stops.before(item.completion) != item.completion for item in shown)
    if holding:
        yield (
            f"{holding} of {len(shown)} demonstrations contain a stop string: SFT teaches all of their text, but a sampled "
            "response ends at the string."
        )


def learns_from(spec: JobSpec, kind: Literal["comparisons", "thumbs", "solutions"]) -> bool:
    """Whether a stage of the run learns from items of this kind."""
    return any(kind in run_data.needs(stage, spec.reward_model.loss) for stage in spec.stages)


def why_left_out(comparisons: Sequence[Comparison], codec: Codec) -> Counter[str]:
    """The number of unused comparisons by reason, where the first reason of each counts."""
    counts: Counter[str] = Counter()
    for item in comparisons:
        (a, a_whole), (b, b_whole) = codec.completion(item.a), codec.completion(item.b)
        if codec.prompt(item.prompt) is None:
            counts[LONG_PROMPT] += 1
        elif not (a_whole and b_whole):
            counts[LONG_COMPLETION] += 1
        elif a == b:
            counts[SAME_SIDES] += 1
    return counts


def why_thumbs_left_out(rows: Sequence[Thumb], codec: Codec) -> Counter[str]:
    """The number of unused thumbs by reason, where the first reason of each counts."""
    counts: Counter[str] = Counter()
    for row in rows:
        if codec.prompt(row.prompt) is None:
            counts[LONG_PROMPT] += 1
        elif not codec.completion(row.completion)[1]:
            counts[LONG_COMPLETION] += 1
    return counts


def shared_prompts(loaded: run_data.Data) -> Iterator[str]:
    """A warning about rows that are not trained on because their prompt is held out for evaluation."""
    if loaded.shared:
        counted = ", ".join(f"{count} {name}" for name, count in loaded.shared.items())
        yield f"No stage trains on {counted}: their prompt is in `data.evaluation_prompts`."


def nearly_held_out(spec: JobSpec, loaded: run_data.Data) -> Iterator[str]:
    """A warning for each kind of training data with near duplicates of held-out prompts."""
    if {"ppo", "evaluation"} & set(spec.stages):
        held_out = [row.prompt for row in loaded.prompts.held_out]
        yield from (found.text for found in overlap.near_held_out(loaded.trained_prompts(), held_out))


def repeated_prompts(spec: JobSpec, loaded: run_data.Data) -> Iterator[str]:
    """A note for each split in which a prompt occurs several times with the same answer."""
    for stages, items, what, so in (
        ({"ppo"}, loaded.prompts.train, "prompts to train on", "each row is drawn, so such a prompt weighs more"),
        ({"ppo", "evaluation"}, loaded.prompts.held_out, "held-out prompts", "each row is answered, and the interval of the "
         "win rate counts them as different prompts"),
    ):  # fmt: skip
        again = len(items) - len({(prompt_key(row.prompt), row.answer) for row in items})
        if again and stages & set(spec.stages):
            yield f"{again} of {len(items)} {what} repeat an earlier row: {so}."


def without_roles(spec: JobSpec, loaded: run_data.Data, codec: Codec) -> Iterator[str]:
    """A warning where stages read conversations and there is no chat template to mark the roles."""
    stages = set(spec.stages)
    used = [
        split
        for needed, split in (
            ({"sft"}, loaded.demonstrations),
            (stages if learns_from(spec, "comparisons") else set(), loaded.comparisons),
            (stages if learns_from(spec, "thumbs") else set(), loaded.thumbs),
            (stages if learns_from(spec, "solutions") else set(), loaded.solutions),
            ({"ppo", "evaluation"}, loaded.prompts),
        )
        if needed & stages
    ]
    if codec.use_chat_template:
        return
    talks = (row.prompt for split in used for row in (*split.train, *split.held_out) if not isinstance(row.prompt, str))
    count = sum(len(prompt) > 1 for prompt in talks)
    if count:
        yield (
            f"Prompts are conversations ({count} of several messages), but no chat template is applied: their messages "
            "are joined by line breaks, and their roles are lost."
        )


def unused(spec: JobSpec) -> Iterator[str]:
    """A warning about thumbs, steps or preferences of the job from which no stage learns."""
    data_, trains = spec.data, {"reward_model", "dpo", "kto"} & set(spec.stages)
    if data_.thumbs and data_.preferences and trains and not learns_from(spec, "thumbs"):
        yield (
            "No stage learns from `data.thumbs`: `reward_model.loss` is \"pairwise\", and `stages` has no 'kto'. The reward "
            "model learns from `data.preferences` alone."
        )
    if data_.steps and trains and not learns_from(spec, "solutions"):
        loss = spec.reward_model.loss
        why = f'`reward_model.loss` is "{loss}"' if "reward_model" in trains else "`stages` has no 'reward_model'"
        yield f'No stage learns from `data.steps`: {why}. Steps train a reward model whose loss is "stepwise".'
    if data_.steps and data_.preferences and learns_from(spec, "solutions") and not learns_from(spec, "comparisons"):
        yield "No stage learns from the comparisons of `data.preferences`: the reward model learns from `data.steps`."
    if data_.thumbs and data_.preferences and trains and not learns_from(spec, "comparisons"):
        yield "No stage learns from the comparisons of `data.preferences`: those that train learn from `data.thumbs`."


def without_margins(spec: JobSpec, loaded: run_data.Data) -> Iterator[str]:
    """A warning where `reward_model.margin` is set and no row has a margin."""
    if "reward_model" not in spec.stages or not spec.reward_model.margin:
        return
    pairs = (*loaded.comparisons.train, *loaded.comparisons.held_out)
    if all(pair.margin is None for pair in pairs):
        yield "`reward_model.margin` is set, but no row of `data.preferences` has a `margin`, so it has no effect."
