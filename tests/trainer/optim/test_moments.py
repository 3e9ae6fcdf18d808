"""Numbers in 8 bits, block by block."""

import pytest
import torch
from torch import Tensor

from trainer.optim import moments
from trainer.optim.moments import (
    SMALL,
    AdamWRule,
    EightBitEntry,
    advance_together,
    codes,
    decode,
    encode,
    encode_unbiased,
    fresh,
)

CPU = torch.device("cpu")


def test_the_tree_of_codes() -> None:
    """Seven decades: 1, 2, … 64 middles in each (128 with both signs, or twice as many), and 0 and 1."""
    for signed, smallest in ((True, 0.55e-6), (False, 0.325e-6)):
        tree = codes(signed, CPU)
        assert len(tree) == len(set(tree.tolist())) == 256 and bool((tree.diff() > 0).all())
        assert tree[-1] == 1 and 0.0 in tree.tolist()
        assert torch.isclose(tree[tree > 0][0], torch.tensor(smallest))
    assert codes(True, CPU)[0] > -1 and codes(False, CPU)[0] == 0


def test_blocks_do_not_spoil_each_other() -> None:
    """Half a code's distance is 0.45/64 of a block's largest number at most; an outlier spoils its own block alone."""
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    values[700] = 1e6
    numbers, scales = encode(values, signed=True)
    back = decode(numbers, scales, signed=True)
    assert numbers.dtype == torch.uint8 and len(scales) == 4
    for first in (0, 256, 768):
        block = slice(first, first + 256)
        assert float((back - values)[block].abs().max()) <= 0.45 / 64 * float(values[block].abs().max()) * 1.01
    assert torch.equal(decode(*encode(torch.zeros(300), True), True), torch.zeros(300))
    assert back[700] == 1e6


def test_encode_unbiased_mean_is_exact_and_never_rounds_to_zero() -> None:
    draws = torch.Generator().manual_seed(1)
    values = torch.rand(256, generator=draws) ** 4
    values[0], values[1], values[2] = 1.0, 0.0, 1e-12
    found = torch.stack(
        [decode(*encode_unbiased(values, torch.rand(256, generator=draws)), False) for _ in range(2000)]
    )
    assert torch.allclose(found.mean(0), values, rtol=0.02, atol=1e-6)
    assert bool((found[:, 1] == 0).all()) and bool((found[:, 2] > 0).all())


def test_rounding_draws_differ_by_step_and_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal draws at each step would round the same numbers up every time. A resumed run has the same draws."""
    seen: list[Tensor] = []

    def noted(values: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        seen.append(draws)
        return encode_unbiased(values, draws)

    monkeypatch.setattr(moments, "encode_unbiased", noted)
    for seed, steps in ((3, 2), (4, 1), (3, 2)):
        weight = torch.zeros(SMALL)
        entry = EightBitEntry(fresh(weight, eight_bit=True), weight, torch.ones(SMALL))
        for _ in range(steps):
            advance_together([entry], AdamWRule(0.1, (0.9, 0.999), 1e-8, 0.0), seed)
    first, second, other, *again = seen
    assert not first.equal(second) and not first.equal(other)
    assert [draws.equal(before) for draws, before in zip(again, (first, second), strict=True)] == [True, True]
