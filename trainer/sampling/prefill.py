"""Which prompts are read together: equal ones once, long ones not beside short ones where that would be mostly padding, and
no more tokens at a time than one pass has memory for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_WORTHWHILE = 2048
"""Padding tokens that a further forward pass must save: it has a price of its own, which on a small model is the larger."""

_MOST = 16_384
"""Tokens of one forward pass, padding included: enough to keep a GPU busy, and its activations stay below those of training."""


@dataclass(frozen=True)
class Part:
    """Prompts that one forward pass reads: rows `first` to `last` (exclusive) of the batch."""

    first: int
    last: int
    prompts: list[list[int]]
    """Each different one once."""
    source: list[int] | None
    """Of each row, its place in `prompts`; None: one for one."""

    @property
    def width(self) -> int:
        return max(map(len, self.prompts))

    def left_padded(self, pad_id: int) -> tuple[Tensor, Tensor]:
        """Token ids and the mask of them, (U, P) for U prompts of up to P tokens."""
        width = self.width
        ids = torch.tensor([[pad_id] * (width - len(prompt)) + prompt for prompt in self.prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in self.prompts])
        return ids, mask


def in_parts(prompts: Sequence[list[int]], worthwhile: int = _WORTHWHILE, most: int = _MOST) -> Iterator[Part]:
    """Parts of a batch whose equal prompts stand together, and in which no prompt is shorter than the one before it.

    A part has `most` tokens at most, or one prompt that is longer.
    """
    starts = [n for n, prompt in enumerate(prompts) if n == 0 or prompt != prompts[n - 1]]
    unique, ends = [prompts[n] for n in starts], [*starts[1:], len(prompts)]
    begin = 0
    for n in range(1, len(unique) + 1):
        if n < len(unique):
            # to cut here saves the prompts so far the padding up to the next one's length
            padding = (n - begin) * (len(unique[n]) - len(unique[n - 1]))
            if padding < worthwhile and (n - begin + 1) * len(unique[n]) <= most:
                continue
        repeats = [ends[k] - starts[k] for k in range(begin, n)]
        source = [k for k, count in enumerate(repeats) for _ in range(count)]
        yield Part(starts[begin], ends[n - 1], unique[begin:n], source if len(source) > n - begin else None)
        begin = n
