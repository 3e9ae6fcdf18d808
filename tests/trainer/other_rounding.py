"""Matrix products that round as on another processor: in parts of the sum over K, cut at a place that the batch decides.

Tensor cores and AMX tiles do so (PyTorch adds the parts in bfloat16 unless `allow_bf16_reduced_precision_reduction` is
off), and a library takes another kernel for another number of rows. Here a product of M rows is cut at a K that is a
function of M. Equal shapes therefore give equal bits, and a row that moves to another batch rounds differently there.

    OTHER_ROUNDING=1 pytest tests/trainer       runs the tests on such products
"""

import os
import warnings

import torch
from torch import Tensor

VARIABLE = "OTHER_ROUNDING"
_library: list[torch.library.Library] = []


def install_if_asked() -> None:
    """Replace the products of this process where the environment asks for it; once."""
    if os.environ.get(VARIABLE) and not _library:
        _install()


def _install() -> None:
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that the CPU's own kernels are replaced
        library.impl("mm", _mm, "CPU", allow_override=True)
        library.impl("addmm", _addmm, "CPU", allow_override=True)
    _library.append(library)


def _mm(a_MK: Tensor, b_KN: Tensor) -> Tensor:
    cut = _cut(a_MK)
    if not cut:
        return torch.bmm(a_MK[None], b_KN[None])[0]
    return torch.bmm(a_MK[None, :, :cut], b_KN[None, :cut])[0] + torch.bmm(a_MK[None, :, cut:], b_KN[None, cut:])[0]


def _addmm(c: Tensor, a_MK: Tensor, b_KN: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    product = _mm(a_MK, b_KN)
    product = product if alpha == 1 else product * alpha
    return product + (c if beta == 1 else c * beta) if beta else product


def _cut(a_MK: Tensor) -> int:
    """Where the sum over K is cut; 0: it is not."""
    rows, terms = a_MK.shape
    return rows * 7919 % terms if terms else 0
