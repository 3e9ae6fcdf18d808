"""The run's data as token counts, by the stages' own encoders: what each would use, what it leaves out, and why."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from trainer.run_data import Data
from trainer.spec import JobSpec
from trainer.stages import reward_model, sft, thumbs
from trainer.stages.tokenize import LONG_PROMPT, Encoded, why_left_out, why_thumbs_left_out
from trainer.text import prompts
from trainer.text.codec import Codec
from trainer.text.prompts import EncodedPrompt

TOO_SHORT = "fewer than two tokens"


@dataclass(frozen=True)
class Example:
    """Token counts of a demonstration; `whole`: its EOS fits."""

    prompt: int
    completion: int
    whole: bool


@dataclass(frozen=True)
class Pair:
    """Token counts of a comparison."""

    prompt: int
    a: int
    b: int


@dataclass(frozen=True)
class Sizes:
    """Every usable row's token counts."""

    examples: list[Example]
    held_out_examples: list[Example]
    pairs: list[Pair]
    held_out_pairs: list[Pair]
    rankings: int
    """What the training pairs count as in a batch: a ranking with all of its pairs is one."""
    prompts: list[EncodedPrompt]
    held_out_prompts: list[EncodedPrompt]
    texts: list[int]
    left_out: dict[str, Counter[str]]
    """By dataset, then by reason."""
    encoded: Encoded
    """The rows themselves, as the run would encode them."""
    thumbs: list[Example] = field(default_factory=list)
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
    (examples, _, _), (held_out_examples, _, _) = sft.encode(train, codec), sft.encode(kept, codec)
    comparisons = [*loaded.comparisons.train, *loaded.comparisons.held_out]
    pairs, _ = reward_model.encode(loaded.comparisons.train, codec)
    held_out_pairs, _ = reward_model.encode(loaded.comparisons.held_out, codec)
    asked, long_prompts = prompts.encode(loaded.prompts.train, codec)
    held_out_prompts, long_held_out = prompts.encode(loaded.prompts.held_out, codec)
    verdicts, _ = thumbs.encode(loaded.thumbs.train, codec)
    held_out_verdicts, _ = thumbs.encode(loaded.thumbs.held_out, codec)
    texts = [codec.text(text, spec.ppo.ptx.max_tokens) for text in loaded.texts] if spec.ppo.ptx else []
    usable = [ids for ids in texts if len(ids) > 1]
    reasons = why_left_out(comparisons, codec) if len(pairs) + len(held_out_pairs) < len(comparisons) else Counter()
    demonstrations_left = len(train) + len(kept) - len(examples) - len(held_out_examples)
    return Sizes(
        _examples(examples, codec),
        _examples(held_out_examples, codec),
        _pairs(pairs),
        _pairs(held_out_pairs),
        len(reward_model.rankings(pairs)),
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
        Encoded(
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
        [Example(len(verdict.prompt), len(verdict.completion), True) for verdict in verdicts],
    )


def _examples(examples: Iterable[sft.Example], codec: Codec) -> list[Example]:
    return [Example(len(e.prompt), len(e.completion), e.completion[-1] == codec.eos_id) for e in examples]


def _pairs(pairs: Iterable[reward_model.Pair]) -> list[Pair]:
    return [Pair(len(pair.prompt), len(pair.a), len(pair.b)) for pair in pairs]
