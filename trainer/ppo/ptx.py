"""PPO-ptx: a language-model loss on plain texts, added to the policy's loss (Ouyang et al. 2022, eq. 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.errors import DataError
from trainer.models import Model
from trainer.models.sequences import Batch, completion_logprobs, masked_sum
from trainer.optim.learner import require_finite_number
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import BatchLimits
from trainer.randomness import batch_indices
from trainer.rollout.context import PPOContext
from trainer.spec import PtxSpec


@dataclass(frozen=True)
class Pretraining:
    """Texts as token ids. Optimizer steps take them in order from an endless stream of shuffled passes."""

    texts: list[list[int]]
    spec: PtxSpec
    pad_id: int
    seed: int
    steps_per_iteration: int
    at_once: BatchLimits
    device: torch.device
    world: World = SINGLE

    @classmethod
    def build(cls, context: PPOContext, texts: Sequence[list[int]]) -> "Pretraining | None":
        """Return None if the spec has no `ppo.ptx`. Raises DataError if no text has two tokens, so that one is predicted."""
        spec = context.spec
        if spec.ptx is None:
            return None
        usable = [text for text in texts if len(text) > 1]
        if not usable:
            raise DataError("`data.pretraining` has no text of at least two tokens.")
        steps, pad_id = spec.epochs * spec.minibatches, context.codec.pad_id
        return cls(
            usable, spec.ptx, pad_id, context.seed, steps, BatchLimits.from_spec(spec), context.device, context.world
        )

    def accumulate(self, policy: Model, iteration: int, step: int) -> float:
        """Add `coef` × the gradient of the mean loss per predicted token of this step's texts. Return that loss, in nats.

        `step` counts the optimizer steps of the iteration. Raises Diverged on all processes if the loss is not finite.
        """
        position = iteration * self.steps_per_iteration + step
        rows = batch_indices(len(self.texts), self.spec.batch_size, position, self.seed, "ptx")
        texts = [self.texts[row] for row in rows]
        tokens, losses = sum(len(text) - 1 for text in texts), list[Tensor]()
        mine = [texts[row] for row in self.world.balanced_rows([len(text) for text in texts])]
        for part in in_step(self.at_once.split([len(text) for text in mine]), self.world, policy):
            some = [mine[row] for row in part]
            batch = Batch.from_ids([t[:1] for t in some], [t[1:] for t in some], self.pad_id).to(self.device)
            loss = -masked_sum(completion_logprobs(policy, batch)[0], batch.mask_BR) / tokens
            backward(self.spec.coef * loss, policy)
            losses.append(loss.detach())
        total = self.world.sum_number(sum(torch.stack(losses).tolist()) if losses else 0.0)
        require_finite_number(total, "pretraining loss")
        return total
