"""Rows of data as token ids: demonstrations, pairs, completions with a thumb and labelled steps, and the grouping of pairs by ranking."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from data.rows import Comparison, Demonstration, Solution, Thumb
from trainer.rewards.steps import steps_in
from trainer.spec import RewardModelSpec
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


@dataclass(frozen=True)
class TokenizedSolution:
    """A prompt and a whole solution with its EOS, the last token of each step, and the label of each."""

    prompt: list[int]
    completion: list[int]
    ends: list[int]
    """The last token of each step with a label, counted from 0 in the completion. That of the last step is the EOS."""
    good: list[bool]
    """The label at each of `ends`."""
    source: str | None = None

    @property
    def tokens(self) -> int:
        return len(self.prompt) + len(self.completion)


LONG_PROMPT = "prompt too long"
LONG_COMPLETION = "completion too long"
SPLIT_STEP = "delimiter inside a step"
ONLY_NEUTRAL = "neutral steps only"


def solution_text(steps: Sequence[str], delimiter: str) -> str:
    """The steps with the delimiter between them, where a step does not end with it already. That behind the last one stays."""
    return delimiter.join([*(step.removesuffix(delimiter) for step in steps[:-1]), steps[-1]])


def tokenize_solutions(
    solutions: Sequence[Solution], codec: Codec, spec: RewardModelSpec
) -> tuple[list[TokenizedSolution], Counter[str]]:
    """Solutions as token ids, and the number left out by reason.

    The text is the steps with `spec.step_delimiter` between them. Their ends are found as in a response of PPO
    (trainer/rewards/steps.py), so that a step is read at the same token in both.
    """
    found: list[TokenizedSolution] = []
    left_out: Counter[str] = Counter()
    delimiter = spec.step_delimiter
    texts = [solution_text(row.steps, delimiter) for row in solutions]
    prompts, completions = codec.prompts([row.prompt for row in solutions]), codec.completions(texts)
    for row, text, prompt, (completion, whole) in zip(solutions, texts, prompts, completions, strict=True):
        labels = [spec.neutral if label == "neutral" else label for label in row.labels]
        if prompt is None or not whole:
            left_out[LONG_PROMPT if prompt is None else LONG_COMPLETION] += 1
            continue
        ends = steps_in(completion, text, delimiter, codec).last_tokens
        if len(ends) != len(labels):
            left_out[SPLIT_STEP] += 1
        elif labelled := [(end, label == "good") for end, label in zip(ends, labels, strict=True) if label != "skip"]:
            places, good = ([*column] for column in zip(*labelled, strict=True))
            found.append(TokenizedSolution(prompt, completion, places, good, row.source))
        else:
            left_out[ONLY_NEUTRAL] += 1
    return found, left_out


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
