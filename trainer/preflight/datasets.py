"""Findings about the data: the rows that are used, those that are left out, and unexpected effects."""

from collections import Counter
from collections.abc import Iterator, Sequence

from data.splits import prompt_key
from trainer.preflight.report import DatasetReport, Finding, Lengths, Level
from trainer.preflight.workload import Sizes, mean
from trainer.run_data import Data
from trainer.spec import JobSpec, KTOSpec
from trainer.stages.tokenize import (
    SAME_SIDES,
    TOO_SHORT,
    TokenizedData,
    learns_from,
    nearly_held_out,
    odd_stops,
    repeated_prompts,
    shared_prompts,
    unused,
    without_margins,
    without_roles,
)
from trainer.stages.tokenized_rows import LONG_COMPLETION, LONG_PROMPT, ONLY_NEUTRAL, SPLIT_STEP
from trainer.text.codec import Codec

_FIXES = {
    LONG_PROMPT: "Raise `data.max_prompt_tokens`, or shorten them.",
    LONG_COMPLETION: "Raise `data.max_completion_tokens`.",
    SAME_SIDES: "Bring pairs whose sides differ.",
    TOO_SHORT: "Remove them.",
    SPLIT_STEP: "Set `reward_model.step_delimiter` to a text that no step holds, such as two line breaks.",
    ONLY_NEUTRAL: 'Set `reward_model.neutral` to "good" or "bad".',
}
_POINTERS = {
    "demonstrations": "sft",
    "pairs": "preferences",
    "thumbs": "thumbs",
    "solutions": "steps",
    "prompts": "prompts",
    "texts": "pretraining",
}
_LONG_SHARE = 0.05
"""Largest share of demonstrations longer than `ppo.max_new_tokens` that gives no warning."""
_UNBALANCED = 0.8
"""Largest share of the more frequent thumb that gives no warning."""
_FEW_HELD_OUT = 32
"""Below this the 95 % interval of a win rate of ½ is wider than ± 0.17."""


def describe(loaded: Data, sizes: Sizes) -> list[DatasetReport]:
    """A report of each dataset of the run."""
    demonstrations, pairs, prompts = loaded.demonstrations, loaded.comparisons, loaded.prompts
    reports = [
        DatasetReport(
            name="demonstrations",
            rows=len(demonstrations.train) + len(demonstrations.held_out),
            train=len(sizes.examples),
            held_out=len(sizes.encoded.held_out_examples),
            left_out=sizes.encoded.left_out["demonstrations"],
            lengths=_lengths(
                prompt=[e.prompt for e in sizes.examples], completion=[e.completion for e in sizes.examples]
            ),
        ),
        DatasetReport(
            name="pairs",
            rows=len(pairs.train) + len(pairs.held_out),
            train=len(sizes.pairs),
            held_out=len(sizes.encoded.held_out_pairs),
            left_out=sizes.encoded.left_out["pairs"],
            lengths=_lengths(
                prompt=[p.prompt for p in sizes.pairs], completion=[side for p in sizes.pairs for side in (p.a, p.b)]
            ),
        ),
        DatasetReport(
            name="thumbs",
            rows=len(loaded.thumbs.train) + len(loaded.thumbs.held_out),
            train=len(sizes.thumbs),
            held_out=len(sizes.encoded.held_out_verdicts),
            left_out=sizes.encoded.left_out["thumbs"],
            lengths=_lengths(prompt=[t.prompt for t in sizes.thumbs], completion=[t.completion for t in sizes.thumbs]),
        ),
        DatasetReport(
            name="solutions",
            rows=len(loaded.solutions.train) + len(loaded.solutions.held_out),
            train=len(sizes.solutions),
            held_out=len(sizes.encoded.held_out_solutions),
            left_out=sizes.encoded.left_out["solutions"],
            lengths=_lengths(
                prompt=[s.prompt for s in sizes.solutions], completion=[s.completion for s in sizes.solutions]
            ),
        ),
        DatasetReport(
            name="prompts",
            rows=len(prompts.train) + len(prompts.held_out),
            train=len(sizes.encoded.prompts),
            held_out=len(sizes.encoded.held_out_prompts),
            left_out=sizes.encoded.left_out["prompts"],
            lengths=_lengths(prompt=sizes.prompt_lengths()),
        ),
        DatasetReport(
            name="texts",
            rows=len(loaded.texts),
            train=len(sizes.texts),
            held_out=0,
            left_out=sizes.encoded.left_out["texts"],
            lengths=_lengths(text=sizes.texts),
        ),
    ]
    return [report for report in reports if report.rows]


def data_findings(spec: JobSpec, loaded: Data, codec: Codec, sizes: Sizes) -> list[Finding]:
    """All findings about the data."""
    findings = [
        *nothing_left(spec, sizes.encoded),
        *_left_out(spec, sizes),
        *_cut(sizes),
        *_response_limit(spec, sizes),
        *_template(spec, loaded, codec),
        *_stops(spec, loaded, codec),
        *_margins(spec, loaded),
        *_unused(spec),
        *_balance(spec, sizes),
        *_held_out(spec, sizes),
        *_batches(spec, sizes),
        *_repeats(loaded),
        *_prompts(spec, loaded),
        *_end_of_sequence(spec, codec, sizes),
    ]
    return findings


def _finding(level: Level, code: str, where: str, detail: str, fix: str | None = None) -> Finding:
    return Finding(level=level, area="data", code=code, where=where, detail=detail, fix=fix)


def _lengths(**values: Sequence[int]) -> dict[str, Lengths]:
    return {name: _quantiles(lengths) for name, lengths in values.items() if lengths}


def _quantiles(lengths: Sequence[int]) -> Lengths:
    ordered = sorted(lengths)

    def at(share: float) -> int:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Lengths(median=at(0.5), p95=at(0.95), longest=ordered[-1], mean=mean(ordered))


def nothing_left(spec: JobSpec, encoded: TokenizedData) -> Iterator[Finding]:
    """An error for each kind of row that a stage needs and of which none is left after tokenising."""
    stages, prompt_knob = set(spec.stages), "Raise `data.max_prompt_tokens`."
    reasons = encoded.left_out.get("pairs", Counter[str]())
    counted = ", ".join(f"{count} with {reason}" for reason, count in reasons.items())
    pair_fix = " ".join(_FIXES[reason] for reason in reasons)
    centred = "reward_model" in stages and spec.reward_model.normalize != "none"
    for needed, items, what, pointer, fix in (
        ("sft" in stages, encoded.examples, "demonstration", "sft", prompt_knob),
        ("sft" in stages or centred, encoded.references, "demonstration with its EOS", "sft", "Raise `data.max_completion_tokens`."),
        (learns_from(spec, "comparisons"), encoded.pairs, "pair", "preferences", pair_fix),
        (learns_from(spec, "thumbs"), encoded.verdicts, "thumb", "thumbs", f"{prompt_knob} Or raise `data.max_completion_tokens`."),
        (learns_from(spec, "solutions"), encoded.solutions, "solution", "steps", f"{prompt_knob} Or raise `data.max_completion_tokens`."),
        ("ppo" in stages, encoded.prompts, "prompt", "prompts", prompt_knob),
        (stages & {"ppo", "evaluation"}, encoded.held_out_prompts, "held-out prompt", "prompts", prompt_knob),
        ("ppo" in stages and spec.ppo.ptx is not None, encoded.texts, "pretraining text of two tokens", "pretraining", None),
    ):  # fmt: skip
        if needed and not items:
            why = f": {counted}" if items is encoded.pairs and counted else ""
            yield _finding(
                "error", "nothing_left", f"#/data/{pointer}", f"No {what} is left after tokenising{why}.", fix
            )
    if learns_from(spec, "solutions") and len({good for one in encoded.solutions for good in one.good}) == 1:
        label = "good" if encoded.solutions[0].good[0] else "bad"
        detail = f"Every step that is trained on is {label}: a model cannot learn the difference."
        yield _finding("error", "one_step_label_only", "#/data/steps", detail, "Bring steps with both labels.")


def _left_out(spec: JobSpec, sizes: Sizes) -> Iterator[Finding]:
    for dataset, reasons in sizes.encoded.left_out.items():
        for reason, count in reasons.items():
            if count:
                detail = f"{count} {dataset} are left out: {reason}."
                yield _finding("warning", "left_out", f"#/data/{_POINTERS[dataset]}", detail, _FIXES[reason])


def _cut(sizes: Sizes) -> Iterator[Finding]:
    cut = sum(not example.whole for example in sizes.examples)
    if cut and cut < len(sizes.examples):
        yield _finding(
            "warning",
            "completions_cut",
            "#/data/max_completion_tokens",
            f"{cut} of {len(sizes.examples)} completions are cut in SFT; they teach no EOS.",
            "Raise `data.max_completion_tokens`.",
        )


def _response_limit(spec: JobSpec, sizes: Sizes) -> Iterator[Finding]:
    """A finding if PPO's length limit cuts off answers as long as the demonstrations. PPO penalises a cut answer."""
    answers, limit = sorted(sizes.answers), spec.ppo.max_new_tokens
    if "ppo" not in spec.stages or not answers:
        return
    quantiles = _quantiles(answers)
    share = sum(length > limit for length in answers) / len(answers)
    detail = f"{share:.0%} of the demonstrations are longer than `ppo.max_new_tokens` = {limit} (median {quantiles.median}, 95 % ≤ {quantiles.p95} tokens)."
    if share > _LONG_SHARE:
        fix = f"Raise it to {quantiles.p95} or more, or shorten the demonstrations."
        yield _finding("warning", "responses_cut", "#/ppo/max_new_tokens", detail, fix)
    elif share:
        yield _finding("info", "response_length", "#/ppo/max_new_tokens", detail)


def _template(spec: JobSpec, loaded: Data, codec: Codec) -> Iterator[Finding]:
    tokenizer = codec.tokenizer
    for detail in without_roles(spec, loaded, codec):
        fix = 'Use a tokenizer with a `chat_template`, or leave `data.chat_template` at "auto".'
        yield _finding("warning", "no_chat_template", "#/data/chat_template", detail, fix)
    if tokenizer.pad_token_id is None:
        yield _finding("info", "no_pad", "#/model", "The tokenizer has no PAD: its EOS fills up rows, behind masks.")
    elif tokenizer.pad_token_id == tokenizer.eos_token_id:
        yield _finding(
            "info", "pad_is_eos", "#/model", "PAD is EOS: masks come from lengths, so the EOS is learnt all the same."
        )


def _stops(spec: JobSpec, loaded: Data, codec: Codec) -> Iterator[Finding]:
    """The stops of a response, and stops that are probably a mistake."""
    if not {"ppo", "evaluation"} & set(spec.stages):
        return
    detail = f"These end a response: {codec.stops.shown(codec.tokenizer)}."
    yield _finding("info", "stops", "#/ppo/stop", detail)
    for warning in odd_stops(spec, loaded, codec):
        yield _finding("warning", "odd_stops", "#/ppo/stop", warning)


def _margins(spec: JobSpec, loaded: Data) -> Iterator[Finding]:
    for detail in without_margins(spec, loaded):
        yield _finding("warning", "no_margins", "#/reward_model/margin", detail, "Set it to false, or bring margins.")


def _unused(spec: JobSpec) -> Iterator[Finding]:
    for detail in unused(spec):
        fix = "Set `reward_model.loss`, change `stages`, or leave the dataset out."
        yield _finding("warning", "unused_data", "#/data", detail, fix)


def _balance(spec: JobSpec, sizes: Sizes) -> Iterator[Finding]:
    """Findings about the balance of thumbs up and down, and KTO's weights for it, if a stage learns from them."""
    verdicts = sizes.encoded.verdicts
    if not verdicts or not learns_from(spec, "thumbs"):
        return
    up = sum(verdict.up for verdict in verdicts)
    down = len(verdicts) - up
    counted = f"{up} of the {len(verdicts)} thumbs that are trained on are up, {down} down"
    if not up or not down:
        detail = f"{counted}: a model cannot learn the difference."
        yield _finding("error", "one_thumb_only", "#/data/thumbs", detail, "Bring rows with both thumbs.")
        return
    share = max(up, down) / len(verdicts)
    if share > _UNBALANCED:
        detail = f"{counted}: always expecting the more frequent one is right in {share:.0%}."
        fix = "Compare the accuracy with that figure, or look at the AUC, which does not depend on it."
        yield _finding("warning", "unbalanced_thumbs", "#/data/thumbs", detail, fix)
    else:
        yield _finding("info", "thumbs", "#/data/thumbs", f"{counted}.")
    if "kto" in spec.stages:
        yield from _kto_weights(spec.kto, up, down)


def _kto_weights(spec: KTOSpec, up: int, down: int) -> Iterator[Finding]:
    """Ethayarajh et al. 2024, §4.1: λ_D·n_D / (λ_U·n_U) between 1 and 4/3."""
    ratio = spec.desirable_weight * up / (spec.undesirable_weight * down)
    if 1 <= round(ratio, 2) <= 1.34:
        return
    detail = f"The weighted thumbs up are {ratio:.3g} times the weighted thumbs down; KTO's paper advises 1 to 4/3."
    if ratio < 1:
        where, fix = "desirable_weight", f"Set it to {spec.undesirable_weight * down / up:.3g} or somewhat more."
    else:
        where, fix = "undesirable_weight", f"Set it to {spec.desirable_weight * up / down:.3g} or somewhat less."
    yield _finding("warning", "unbalanced_weights", f"#/kto/{where}", detail, fix)


def _held_out(spec: JobSpec, sizes: Sizes) -> Iterator[Finding]:
    if not {"ppo", "evaluation"} & set(spec.stages) or not sizes.encoded.held_out_prompts:
        return
    available, asked = len(sizes.encoded.held_out_prompts), spec.evaluation.prompts
    trained_on = {tuple(prompt.ids) for prompt in sizes.encoded.prompts}
    shared = sum(tuple(prompt.ids) in trained_on for prompt in sizes.encoded.held_out_prompts)
    if shared:
        detail = f"{shared} of {available} held-out prompts come to the same tokens as a prompt that is trained on."
        yield _finding("warning", "leak", "#/data/prompts", detail, "Remove the near-duplicates.")
    own = spec.data.evaluation_prompts is not None
    if available < min(asked, _FEW_HELD_OUT):
        detail = f"Only {available} held-out prompts: the win rate will be uncertain by ± {0.98 / available**0.5:.2f}."
        where, fix = ("evaluation_prompts", "Bring") if own else ("eval_fraction", "Raise it, or bring")
        yield _finding("warning", "few_held_out", f"#/data/{where}", detail, f"{fix} more prompts.")
    elif available < asked and asked != spec.default_held_out_prompts:
        detail = f"{available} held-out prompts, fewer than the {asked} asked for: all of them are used."
        yield _finding("info", "held_out", "#/evaluation/prompts", detail)
    elif own and available > asked:
        detail = f"The first {asked} of the {available} prompts in `data.evaluation_prompts` are used."
        yield _finding("info", "held_out", "#/evaluation/prompts", detail, f"Set it to {available} for all of them.")


def _batches(spec: JobSpec, sizes: Sizes) -> Iterator[Finding]:
    """A warning for each batch size that is larger than its data."""
    rewarded = {"pairwise": sizes.rankings, "pointwise": len(sizes.thumbs), "stepwise": len(sizes.solutions)}
    for stage, batch, count in (
        ("sft", spec.sft.batch_size, len(sizes.examples)),
        ("reward_model", spec.reward_model.batch_size, rewarded[spec.reward_model.loss]),
        ("dpo", spec.dpo.batch_size, len(sizes.pairs)),
        ("kto", spec.kto.batch_size, len(sizes.thumbs)),
    ):
        if stage in spec.stages and 0 < count < batch:
            detail = f"A batch of {batch} is more than the {count} there are: one step takes them all."
            yield _finding("warning", "batch_too_large", f"#/{stage}/batch_size", detail, "Lower it.")
    prompts = spec.ppo.batch_size // spec.ppo.samples_per_prompt
    if "ppo" in spec.stages and 0 < len(sizes.encoded.prompts) < prompts:
        detail = f"A batch takes {prompts} prompts, but there are {len(sizes.encoded.prompts)}: some come several times in it."
        yield _finding("warning", "batch_too_large", "#/ppo/batch_size", detail, "Lower it, or bring more prompts.")


def _repeats(loaded: Data) -> Iterator[Finding]:
    """Repeated demonstrations, and pairs and thumbs with contradictory labels."""
    shown = Counter((prompt_key(d.prompt), d.completion) for d in loaded.demonstrations.train)
    again = sum(count - 1 for count in shown.values())
    if again:
        yield _finding("info", "repeated_demonstrations", "#/data/sft", f"{again} demonstrations repeat another one.")
    labels: dict[tuple[str, frozenset[str]], set[str | None]] = {}
    for pair in loaded.comparisons.train:
        labels.setdefault((prompt_key(pair.prompt), frozenset((pair.a, pair.b))), set()).add(pair.preferred)
    torn = sum(len(preferred) > 1 for preferred in labels.values())
    if torn:
        yield _finding(
            "info", "contradictions", "#/data/preferences", f"{torn} pairs are labelled both ways: annotators disagree."
        )
    thumbs: dict[tuple[str, str], set[bool]] = {}
    for thumb in loaded.thumbs.train:
        thumbs.setdefault((prompt_key(thumb.prompt), thumb.completion), set()).add(thumb.up)
    torn = sum(len(verdicts) > 1 for verdicts in thumbs.values())
    if torn:
        detail = f"{torn} completions have both a thumb up and a thumb down for the same prompt: annotators disagree."
        yield _finding("info", "contradictions", "#/data/thumbs", detail)


def _prompts(spec: JobSpec, loaded: Data) -> Iterator[Finding]:
    """Prompts that are evaluated on and not trained on, and repeated ones."""
    for detail in shared_prompts(loaded):
        fix = "Nothing, if that is meant. Remove them from one of the two datasets to see no warning."
        yield _finding("warning", "shared_prompts", "#/data/evaluation_prompts", detail, fix)
    for detail in nearly_held_out(spec, loaded):
        fix = "Take them out of the training data: figures on the held-out prompts flatter."
        yield _finding("warning", "near_duplicates", "#/data", detail, fix)
    for detail in repeated_prompts(spec, loaded):
        yield _finding("info", "repeated_prompts", "#/data/prompts", detail)


def _end_of_sequence(spec: JobSpec, codec: Codec, sizes: Sizes) -> Iterator[Finding]:
    if "reward_model" in spec.stages and spec.reward_model.loss == "stepwise" and sizes.solutions:
        steps = sum(len(one.ends) for one in sizes.encoded.solutions)
        detail = (
            f"The {len(sizes.solutions)} solutions have {steps} labelled steps. The reward model reads each at the token that "
            f"completes {spec.reward_model.step_delimiter!r} behind it, the last one at the EOS (token {codec.eos_id})."
        )
        yield _finding("info", "steps_seen", "#/reward_model", detail)
        return
    pointwise = spec.reward_model.loss == "pointwise"
    count = len(sizes.thumbs) if pointwise else len(sizes.pairs)
    if "reward_model" in spec.stages and count:
        detail = f"All {count} {'completions' if pointwise else 'pairs'} end with the EOS (token {codec.eos_id}), where the reward model reads its score."
        yield _finding("info", "eos_seen", "#/reward_model", detail)
