"""The losses on preference pairs that the stage `dpo` can minimise, with the properties that other code asks for. Torch-free."""

from dataclasses import dataclass
from typing import Literal

PairLossName = Literal["sigmoid", "ipo", "simpo", "orpo"]


@dataclass(frozen=True)
class PairLossKind:
    """The properties of a loss on pairs.

    No code compares the name of a kind: it reads `DPOSpec.traits`. trainer/stages/pair_losses.py computes the loss.
    """

    formula: str
    """The loss, as the description of `dpo.loss` prints it."""
    options: tuple[str, ...]
    """The fields that this kind reads, of those that only some kinds read. The spec refuses a change of the others."""
    has_reference: bool = True
    """Whether the policy is compared with the policy before the stage. Otherwise that model is not loaded."""
    per_token: bool = False
    """Whether the log-probability of a side is its mean per token, not its sum."""
    needs_beta: bool = False
    """Whether the spec must name `beta`, because its default is of another scale."""


PAIR_LOSSES: dict[PairLossName, PairLossKind] = {
    "sigmoid": PairLossKind(
        "−log σ(β·Δ), Δ the difference of the two log-ratios (Rafailov et al. 2023, eq. 7)",
        options=("beta", "label_smoothing"),
    ),
    "ipo": PairLossKind(
        "(Δ − 1/(2β))² on mean log-ratios per token (Azar et al. 2023, eq. 17)", options=("beta",), per_token=True
    ),
    "simpo": PairLossKind(
        "−log σ(β·Δ − `target_margin`), Δ the difference of the mean log-probabilities per token, without a reference "
        "(Meng et al. 2024, eq. 6)",
        options=("beta", "label_smoothing", "target_margin"),
        has_reference=False,
        per_token=True,
        needs_beta=True,
    ),
    "orpo": PairLossKind(
        "−log p(preferred) − `odds_ratio_weight`·log σ(log odds(preferred) − log odds(other)), p the geometric mean per "
        "token and odds = p/(1 − p), without a reference (Hong et al. 2024, eq. 6)",
        options=("odds_ratio_weight",),
        has_reference=False,
        per_token=True,
    ),
}
"""Every loss on pairs. `LOSSES` in trainer/stages/pair_losses.py names the implementation of each."""
OPTIONS = frozenset(name for kind in PAIR_LOSSES.values() for name in kind.options)
"""The fields that only some kinds read."""
