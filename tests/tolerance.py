"""How far two correct computations of one number may lie apart: the one place for the tests' numeric tolerances.

Sums are rounded differently on another processor, for another number of threads, and for another number of rows beside
the same one. A test therefore never asks for equal bits of two passes with different shapes, and takes its tolerance from
the type that the passes compute in. Measured with `OTHER_ROUNDING=1` (tests/trainer/other_rounding.py): log-probabilities
and values of the tests' models differ by at most 20 units in the last place, trained ones' by 64.

Arithmetic of a few steps on given numbers needs none of this: `pytest.approx` allows 1e-6 of the size by default.
"""

import torch

_LARGEST, _MEAN = 32, 8
"""In units in the last place of 1.0. The mean over a batch's tokens moves less than its worst token."""
_STATISTICS = 100 * torch.finfo(torch.float32).eps
"""Sums over the vocabulary and over the tokens are in float32 whatever the models compute in."""


def largest(dtype: torch.dtype = torch.float32, size: float = 1.0) -> float:
    """For single outputs of a model of size `size`: log-probabilities, values, scores, or one weight's gradient."""
    return (_LARGEST * torch.finfo(dtype).eps + _STATISTICS) * size


def outputs(dtype: torch.dtype = torch.float32) -> dict[str, float]:
    """The bounds of `largest`, for torch.testing.assert_close: log-probabilities of many nats, and what is computed from them."""
    return {"rtol": 8 * largest(dtype), "atol": largest(dtype)}


def gradients(dtype: torch.dtype = torch.float32) -> dict[str, float]:
    """For the gradients of whole losses, which are sums of many terms that partly cancel."""
    return {"rtol": 64 * largest(dtype), "atol": largest(dtype)}


def summed(size: float, dtype: torch.dtype = torch.float32) -> float:
    """For what is left when two sums of `size` are subtracted, as a KL is of log-probabilities over whole responses."""
    return torch.finfo(dtype).eps * size


def weights(rate: float, steps: int, eight_bit: bool = False) -> float:
    """For weights after `steps` steps of Adam at most `rate` long: 1 % of the way that they may have come.

    A step is the gradient over its own size, so a gradient near 0 is moved by more than its rounding. Moments in 8 bits are
    rounded to the next of 256 levels, which lie up to 10 % apart.
    """
    return (0.1 if eight_bit else 0.01) * rate * steps


def mean(dtype: torch.dtype = torch.float32, size: float = 1.0) -> float:
    """For means over the tokens of a batch, such as the ratio of a minibatch."""
    return (_MEAN * torch.finfo(dtype).eps + _STATISTICS / 10) * size
