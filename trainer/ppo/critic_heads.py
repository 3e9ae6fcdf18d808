"""The values of several critics (`ppo.critic.heads`), and what their disagreement decides: AsyPPO (arXiv 2510.01656).

Shapes: M heads.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.errors import DataError
from trainer.rollout.batch import ScoredBatch
from trainer.spec import CriticHeadsSpec, PPOSpec
from trainer.text.codec import TokenizedPrompt


@dataclass(frozen=True)
class HeadValues:
    """The values of each head before the update, and which of them learns from which response."""

    values_BRM: Tensor
    """0 outside the mask."""
    owners_B: Tensor
    """The head that learns from the response."""

    @property
    def mean_BR(self) -> Tensor:
        """The value of the critic."""
        return self.values_BRM.mean(-1)

    @property
    def own_BR(self) -> Tensor:
        """The value of the head that learns from the response."""
        return of_owners(self.values_BRM, self.owners_B)

    @property
    def disagreement_BR(self) -> Tensor:
        """The population standard deviation over the heads."""
        return self.values_BRM.std(-1, unbiased=False)


def of_owners(outputs_BRM: Tensor, owners_B: Tensor) -> Tensor:
    """The output of each response's own head, (B, R)."""
    return outputs_BRM.gather(2, owners_B[:, None, None].expand(-1, outputs_BRM.shape[1], 1)).squeeze(2)


def owner(prompt_ids: Sequence[int], count: int) -> int:
    """The head that a prompt belongs to. It depends on the tokens alone: not on the batch, the order of the data or the seed."""
    digest = hashlib.sha256(",".join(map(str, prompt_ids)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


def owners(scored: ScoredBatch, spec: PPOSpec, heads: CriticHeadsSpec) -> Tensor:
    """The head that learns from each response, (B,)."""
    batch = scored.batch
    if heads.divide == "responses":
        rows = range(len(batch)) if scored.rows is None else scored.rows
        found = [row % spec.samples_per_prompt % heads.count for row in rows]
    else:
        ids = zip(batch.input_ids_BT.tolist(), batch.prompt_lengths, strict=True)
        found = [owner(row[:length], heads.count) for row, length in ids]
    return torch.tensor(found, device=batch.input_ids_BT.device)


def refuse_idle_heads(prompts: Sequence[TokenizedPrompt], heads: CriticHeadsSpec | None) -> None:
    """Raise DataError if no prompt belongs to some head, which would keep its initial values in the mean for ever."""
    if heads is None or heads.divide == "responses":
        return
    idle = set(range(heads.count)) - {owner(prompt.ids, heads.count) for prompt in prompts}
    if idle:
        raise DataError(
            f"{len(idle)} of the {heads.count} heads of `ppo.critic.heads` would learn from none of the {len(prompts)} prompts, "
            'which a hash divides among them. Use more prompts or fewer heads, or set `ppo.critic.heads.divide` = "responses".'
        )


def lowest(numbers_BR: Tensor, mask_BR: Tensor, share: float) -> Tensor:
    """True at the tokens with the lowest numbers, (B, R): at most this share of the mask.

    The tokens below the (⌊share·n⌋ + 1)-th smallest of the n numbers. Equal numbers are all in or all out, so that critics
    that agree everywhere choose none.
    """
    found_N = numbers_BR[mask_BR].sort().values
    return mask_BR & (numbers_BR < found_N[min(int(share * len(found_N)), len(found_N) - 1)])


def highest(numbers_BR: Tensor, mask_BR: Tensor, share: float) -> Tensor:
    """True at the tokens with the highest numbers, as `lowest`."""
    return lowest(-numbers_BR, mask_BR, share)
