"""PPO: how the policy loss corrects for a sampler that is not the policy right before its update."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.section import Positive, Section

CorrectionName = Literal["none", "truncated", "mask", "sequence_truncated", "sequence_mask"]


@dataclass(frozen=True)
class CorrectionKind:
    """The properties of a kind of correction that other code asks for. Torch-free.

    No code compares the name of a kind. The class in trainer/rollout/correction.py computes the weights.
    """

    formula: str
    """The weight of a token, as the description of `kind` prints it."""
    truncates: bool = False
    """Whether `importance_cap` bounds the weights."""
    masks: bool = False
    """Whether tokens outside `epsilon_low` and `epsilon_high` have no gradient."""


CORRECTION_KINDS: dict[CorrectionName, CorrectionKind] = {
    "none": CorrectionKind("1"),
    "truncated": CorrectionKind(
        "min(r, C), C = `importance_cap` (Ionides 2008; between two engines: Yao et al. 2025)", truncates=True
    ),
    "mask": CorrectionKind("r inside [1 − ε_low, 1 + ε_high], else 0 (DIS, SAO, arXiv 2607.07508; IcePop)", masks=True),
    "sequence_truncated": CorrectionKind("min(s, C), s the geometric mean of r over the response", truncates=True),
    "sequence_mask": CorrectionKind("s inside [1 − ε_low, 1 + ε_high], else 0: whole responses", masks=True),
}
"""Every kind of correction. `CORRECTIONS` in trainer/rollout/correction.py names the implementation of each."""


class CorrectionSpec(Section):
    """The importance correction of the policy loss. r = π_old/π_sampler of a token."""

    kind: CorrectionName | Literal["auto"] = Field(
        default="auto",
        description="The constant that multiplies the policy loss of each token, and a KL in the loss. "
        + "; ".join(f"`{name}`: {kind.formula}" for name, kind in CORRECTION_KINDS.items())
        + ". `auto`: `truncated` if `importance_cap` is a number, and by default where the sampler is not the trainer, else `none`.",
    )
    epsilon_low: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """ε_low of the masks: below 1 − ε_low there is no gradient."""
    epsilon_high: Positive = 1.0
    """ε_high of the masks: above 1 + ε_high there is no gradient."""
    denominator: Literal["old", "sampler", "interpolated"] = "old"
    """The denominator of the loss's ratio. `old`: π_old, and the weight corrects for the sampler (Hilton et al. 2022). `sampler`: π_sampler itself (bypass), so the ratio π/π_sampler is the correction. A mask then reads the ratio of each pass, and its weight is 1 or 0. `interpolated`: π_prox between π_sampler and π of each pass, log π_prox = (log π_sampler + k·log π)/(k + 1) for a response of age k (A-3PO, arXiv 2512.06547). The weight is then that of r = π_prox/π_sampler."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "CorrectionSpec":
        named = f'with `kind` = "{self.kind}"'
        if not self.masks:
            self.refuse_idle(["epsilon_low", "epsilon_high"], named)
        if self.bypasses and self.truncates:
            raise ValueError(
                f'`denominator` = "sampler" {named} corrects twice: π/π_sampler holds the weight already. Set `kind` to '
                '"none" or to a mask, or `denominator` = "old"'
            )
        if self.interpolates and self.kind == "none":
            raise ValueError(
                '`denominator` = "interpolated" with `kind` = "none" leaves the step from π_sampler to π_prox without a weight: '
                'set `kind` = "truncated" or "mask", or leave it out'
            )
        return self

    @property
    def masks(self) -> bool:
        return self.kind != "auto" and CORRECTION_KINDS[self.kind].masks

    @property
    def truncates(self) -> bool:
        """Whether the spec names a kind with a cap."""
        return self.kind != "auto" and CORRECTION_KINDS[self.kind].truncates

    @property
    def bypasses(self) -> bool:
        """Whether the loss's ratio has the sampler as its denominator."""
        return self.denominator == "sampler"

    @property
    def interpolates(self) -> bool:
        """Whether the loss's ratio has a policy between the sampler and the one that learns as its denominator."""
        return self.denominator == "interpolated"
