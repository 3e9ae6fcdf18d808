"""How the tokens of one optimizer step are averaged into its loss.

Shapes: B responses of the step, R response positions.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from trainer.models.masking import masked_sum


@dataclass(frozen=True)
class StepMean:
    """Weights of a weighted mean over one whole optimizer step, fixed before it is split into micro-batches.

    Each micro-batch adds its share of the sum over the same divisor, so the split changes nothing but rounding; a mean of
    micro-batch means would weigh short ones too high. The divisor is the only number that several processes would have to
    sum.
    """

    weights_B: Tensor
    divisor: Tensor

    @classmethod
    def over(
        cls, lengths_B: Tensor, kind: Literal["token_mean", "sequence_mean", "fixed_length"], max_new_tokens: int
    ) -> "StepMean":
        """`lengths_B` are the response lengths of the whole step, in its order."""
        equal_B, count = torch.ones_like(lengths_B, dtype=torch.float32), lengths_B.new_full((), len(lengths_B))
        match kind:
            case "token_mean":
                return cls(equal_B, lengths_B.sum())
            case "sequence_mean":
                return cls(1 / lengths_B.float(), count)
            case "fixed_length":
                return cls(equal_B, count * max_new_tokens)

    def share(self, values_BR: Tensor, mask_BR: Tensor, rows: Tensor | slice) -> Tensor:
        """What the responses `rows` of the step add to the mean of `values_BR` (those rows only)."""
        return masked_sum(values_BR * self.weights_B[rows, None], mask_BR) / self.divisor
