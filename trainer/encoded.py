"""The run's data as token ids, encoded once, and said aloud what was left out."""

from dataclasses import dataclass

from trainer import data, prompts, reward_model, sft
from trainer.errors import DataError
from trainer.prompts import EncodedPrompt
from trainer.reward_model import Pair
from trainer.session import Session
from trainer.sft import Example
from trainer.text import Codec


@dataclass(frozen=True)
class Encoded:
    """Token ids for every stage; `references` are the training answers that are whole, EOS and all."""

    examples: list[Example]
    held_out_examples: list[Example]
    references: list[Example]
    pairs: list[Pair]
    held_out_pairs: list[Pair]
    prompts: list[EncodedPrompt]
    held_out_prompts: list[EncodedPrompt]

    def longest_prompt(self) -> int:
        return max(len(prompt.ids) for prompt in (*self.prompts, *self.held_out_prompts))

    def longest_demonstration(self) -> int:
        return max(len(e.prompt) + len(e.completion) for e in (*self.examples, *self.held_out_examples))

    def longest_side(self) -> int:
        """The longest prompt with one of its two answers, over all pairs."""
        return max(len(p.prompt) + max(len(p.a), len(p.b)) for p in (*self.pairs, *self.held_out_pairs))


def encode(session: Session, loaded: data.Data, codec: Codec) -> Encoded:
    """Encode everything. Raises DataError when a stage would have nothing to learn from."""
    examples, long_prompts, cut = sft.encode(loaded.demonstrations.train, codec)
    held_out_examples, _, _ = sft.encode(loaded.demonstrations.held_out, codec)
    pairs, left_out_pairs = reward_model.encode(loaded.comparisons.train, codec)
    held_out_pairs, left_out_held_out = reward_model.encode(loaded.comparisons.held_out, codec)
    train_prompts, long_train = prompts.encode(loaded.prompts.train, codec)
    held_out_prompts, long_held_out = prompts.encode(loaded.prompts.held_out, codec)
    references = [example for example in examples if example.completion[-1] == codec.eos_id]
    for count, what in (
        (long_prompts, "demonstrations left out: their prompt is longer than `data.max_prompt_tokens`"),
        (cut, "SFT completions cut to `data.max_completion_tokens`; they teach no EOS"),
        (left_out_pairs + left_out_held_out, "pairs left out: too long, or the same tokens on both sides"),
        (long_train + long_held_out, "prompts left out: longer than `data.max_prompt_tokens`"),
    ):
        if count:
            session.say(f"{count} {what}.", warning=True)
    _require(examples, "demonstrations", "`data.max_prompt_tokens`")
    _require(references, "demonstrations that fit with their EOS", "`data.max_completion_tokens`")
    _require(pairs, "pairs", "`data.max_prompt_tokens` or `data.max_completion_tokens`")
    _require(train_prompts, "prompts", "`data.max_prompt_tokens`")
    _require(held_out_prompts, "held-out prompts", "`data.max_prompt_tokens`")
    return Encoded(examples, held_out_examples, references, pairs, held_out_pairs, train_prompts, held_out_prompts)


def _require(items: list[Example] | list[Pair] | list[EncodedPrompt], what: str, knob: str) -> None:
    if not items:
        raise DataError(f"No {what} are left after tokenising: all are too long. Raise {knob}.")
