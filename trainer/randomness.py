"""Randomness as a function of (seed, purpose, step).

No generator state lives from one step to the next, so a resumed run has none to restore: step 17 draws what step 17
always draws. A checkpoint needs weights, optimizer moments and a step number, and nothing else can be forgotten.
"""

import hashlib

import torch
from torch import Tensor


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A 63-bit seed for one purpose, independent of the others."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A CPU generator for one purpose. Draws happen on the CPU so that every device sees the same ones."""
    return torch.Generator().manual_seed(derive_seed(seed, *purpose))


def batch_indices(
    count: int, batch_size: int, step: int, seed: int, purpose: str, epochs: int | None = None
) -> list[int]:
    """Indices of batch `step` (0-based) in a stream of shuffled passes over `count` items.

    The stream is endless, or ends after `epochs` passes: then the last batch is what remains.
    """
    first = step * batch_size
    end = first + batch_size if epochs is None else min(first + batch_size, count * epochs)
    return stream_indices(count, first, end, seed, purpose)


def stream_indices(count: int, first: int, end: int, seed: int, purpose: str) -> list[int]:
    """Indices at the places `first` to `end` − 1 of an endless stream of shuffled passes over `count` items."""
    picked = []
    permutations: dict[int, Tensor] = {}
    for position in range(first, end):
        epoch, offset = divmod(position, count)
        if epoch not in permutations:
            permutations[epoch] = torch.randperm(count, generator=generator(seed, purpose, epoch))
        picked.append(int(permutations[epoch][offset]))
    return picked
