"""What a reward model's scores cost. Tensors in, a loss per pair out."""

import torch
import torch.nn.functional as F
from torch import Tensor


def bradley_terry_loss(scores_a: Tensor, scores_b: Tensor, targets: Tensor, margins: Tensor | float = 0.0) -> Tensor:
    """Loss of each pair, (B,), in nats: −[p log σ(a − b − m) + (1 − p) log σ(b − a − m)], p the probability that A is preferred.

    Without margins, Stiennon et al. 2020, §3.4, and Ouyang et al. 2022, eq. 1; with them, Touvron et al. 2023, eq. 2. A
    tie is p = ½: the two sides should score the same (and its margin be 0).
    """
    difference = scores_a - scores_b
    return -(targets * F.logsigmoid(difference - margins) + (1 - targets) * F.logsigmoid(-difference - margins))


def pointwise_loss(scores: Tensor, up: Tensor) -> Tensor:
    """Loss of each completion, (B,), in nats: −log σ(r) for a thumb up, −log σ(−r) for one down.

    Binary cross-entropy with the score r as the log odds of a thumb up (Cobbe et al. 2021, §4, on solutions found right or
    wrong).
    """
    return -F.logsigmoid(torch.where(up, scores, -scores))


def centring_loss(scores_a: Tensor, scores_b: Tensor) -> Tensor:
    """(a + b)² of each pair, (B,): a difference leaves the level of the scores open, this ties it to 0 (Eisenstein et al. 2023, eq. 2)."""
    return (scores_a + scores_b) ** 2
