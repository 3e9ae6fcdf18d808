"""Groups of prompts that one forward pass reads.

Equal prompts are read once. Prompts of very different lengths are read apart if padding would cost more than a pass. A pass
has a maximum of tokens, which bounds its memory. P is the length of the longest prompt.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_WORTHWHILE = 2048
"""Padding tokens that a further forward pass must save. On a small model, the cost of a pass exceeds that of padding."""

_MOST = 16_384
"""Tokens of one forward pass, padding included: a GPU is busy, and its activations take less memory than those of training."""


@dataclass(frozen=True)
class PromptGroup:
    """Prompts that one forward pass reads: rows `first` to `last` (exclusive) of the batch."""

    first: int
    last: int
    prompts: list[list[int]]
    """Without repetition."""
    source: list[int] | None
    """The index in `prompts` of each row; None: row by row."""

    @property
    def width(self) -> int:
        return max(map(len, self.prompts))

    def left_padded(self, pad_id: int) -> tuple[Tensor, Tensor]:
        """Return the token ids and their mask, (U, P) each."""
        width = self.width
        ids = torch.tensor([[pad_id] * (width - len(prompt)) + prompt for prompt in self.prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in self.prompts])
        return ids, mask


def prompt_groups(
    prompts: Sequence[list[int]], worthwhile: int = _WORTHWHILE, most: int = _MOST
) -> Iterator[PromptGroup]:
    """Split a batch in which equal prompts stand together and no prompt is shorter than the one before it.

    A group has at most `most` tokens, or one longer prompt.
    """
    starts = [n for n, prompt in enumerate(prompts) if n == 0 or prompt != prompts[n - 1]]
    unique, ends = [prompts[n] for n in starts], [*starts[1:], len(prompts)]
    begin = 0
    for n in range(1, len(unique) + 1):
        if n < len(unique):
            # a cut here saves the prompts so far the padding up to the length of the next one
            padding = (n - begin) * (len(unique[n]) - len(unique[n - 1]))
            if padding < worthwhile and (n - begin + 1) * len(unique[n]) <= most:
                continue
        repeats = [ends[k] - starts[k] for k in range(begin, n)]
        source = [k for k, count in enumerate(repeats) for _ in range(count)]
        yield PromptGroup(starts[begin], ends[n - 1], unique[begin:n], source if len(source) > n - begin else None)
        begin = n
