"""Rows of data as token ids: demonstrations, pairs, and completions with a thumb, and the grouping of pairs by ranking."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.rows import Comparison, Demonstration, Thumb
from trainer.text.codec import Codec


@dataclass(frozen=True)
class TokenizedDemonstration:
    """A demonstration as token ids. A whole completion ends with its EOS."""

    prompt: list[int]
    completion: list[int]


def tokenize_demonstrations(
    demonstrations: list[Demonstration], codec: Codec
) -> tuple[list[TokenizedDemonstration], int, int]:
    """Demonstrations as token ids, the number left out because the prompt is too long, and the number of cut completions."""
    examples, cut = [], 0
    prompts = codec.prompts([item.prompt for item in demonstrations])
    completions = codec.completions([item.completion for item in demonstrations])
    for prompt, (completion, whole) in zip(prompts, completions, strict=True):
        cut += not whole
        if prompt is not None:
            examples.append(TokenizedDemonstration(prompt, completion))
    return examples, len(demonstrations) - len(examples), cut


@dataclass(frozen=True)
class TokenizedThumb:
    """A prompt, a whole completion with its EOS, and whether it has a thumb up."""

    prompt: list[int]
    completion: list[int]
    up: bool
    source: str | None = None

    @property
    def tokens(self) -> int:
        return len(self.prompt) + len(self.completion)


def tokenize_thumbs(thumbs: Sequence[Thumb], codec: Codec) -> tuple[list[TokenizedThumb], int]:
    """Thumbs as token ids, and the number left out because the prompt or the completion is too long."""
    verdicts = []
    prompts = codec.prompts([thumb.prompt for thumb in thumbs])
    completions = codec.completions([thumb.completion for thumb in thumbs])
    for thumb, prompt, (completion, whole) in zip(thumbs, prompts, completions, strict=True):
        if prompt is not None and whole:
            verdicts.append(TokenizedThumb(prompt, completion, thumb.up, thumb.source))
    return verdicts, len(thumbs) - len(verdicts)


_TARGETS = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(frozen=True)
class TokenizedPair:
    """A comparison as token ids; `target` is the probability that A is preferred: 1, 0, or ½ for a tie."""

    prompt: list[int]
    a: list[int]
    b: list[int]
    target: float
    margin: float = 0.0
    """The difference by which the preferred side should score higher; 0 for a tie."""
    group: int | None = None
    """Equal for all pairs of one ranking; None for a single pair."""
    source: str | None = None
    annotator: str | None = None

    @property
    def decided(self) -> bool:
        return self.target != 0.5


def tokenize_pairs(comparisons: Sequence[Comparison], codec: Codec) -> tuple[list[TokenizedPair], int]:
    """Pairs as token ids, and the number left out: too long to keep the EOS, or the same tokens on both sides."""
    pairs = []
    prompts = codec.prompts([item.prompt for item in comparisons])
    sides = (codec.completions([item.a for item in comparisons]), codec.completions([item.b for item in comparisons]))
    for item, prompt, (a, a_whole), (b, b_whole) in zip(comparisons, prompts, *sides, strict=True):
        if prompt is not None and a_whole and b_whole and a != b:
            margin = 0.0 if item.label == "tie" else item.margin or 0.0
            target = _TARGETS[item.label]
            pairs.append(TokenizedPair(prompt, a, b, target, margin, item.group, item.source, item.annotator))
    return pairs, len(comparisons) - len(pairs)


def rankings(pairs: Sequence[TokenizedPair]) -> list[list[TokenizedPair]]:
    """The pairs grouped by ranking, in the order of their first pairs. A single pair is a group of one.

    A group counts as one item of a batch. In separate batches, the pairs of a ranking would show each of its K answers
    K − 1 times, and the model would overfit (Ouyang et al. 2022, §3.5).
    """
    groups: dict[tuple[str, int], list[TokenizedPair]] = {}
    for index, pair in enumerate(pairs):
        key = ("own", index) if pair.group is None else ("group", pair.group)
        groups.setdefault(key, []).append(pair)
    return list(groups.values())
