"""Direct preference optimisation (DPO): the policy is trained on pairs without a reward model (Rafailov et al. 2023).

The reward that a policy π implies is β·log(π(y|x)/ref(y|x)), up to a term of the prompt. DPO fits differences of that reward
to the preferences. The reference is the policy at the start of the stage, frozen. Its log-probabilities are computed again
for each batch, so a resume needs only the weights. SimPO and ORPO compare log-probabilities of the policy alone, without a
reference. trainer/stages/pair_losses.py has the formulas.

B counts pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.models import Model, present
from trainer.models.sequences import Batch, completion_logprobs
from trainer.optim.learner import require_finite
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import AtOnce, limits, pair_limits
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint
from trainer.spec import DPOSpec
from trainer.stages.offline_policy import OfflinePolicyStage
from trainer.stages.pair_losses import PairLogprobs
from trainer.stages.tokenized_rows import TokenizedPair
from trainer.text.codec import Codec


def train(
    session: Session,
    spec: DPOSpec,
    policy: Model,
    reference: Model | None,
    codec: Codec,
    pairs: Sequence[TokenizedPair],
    held_out: Sequence[TokenizedPair],
) -> StageResult:
    """Train `policy` in place from the newest checkpoint on, and save it as the stage's result.

    The pairs of a ranking count separately. `reference`: None for a loss without one.
    """
    start = ResumePoint.newest(session, "dpo", spec)
    spec = start.spec
    passes = PairPasses(policy, reference, codec, spec, pair_limits(spec), session.device, session.world)
    return OfflinePolicyStage(session, "dpo", start, policy, codec).train(
        len(pairs),
        lambda rows: accumulate(passes, [pairs[row] for row in rows]),
        held_out,
        lambda rows: evaluate(passes, rows),
    )


@dataclass(frozen=True)
class PairPasses:
    """Forward passes of policy and reference over pairs, `at_once` pairs at a time, divided among processes."""

    policy: Model
    reference: Model | None
    """None for a loss without a reference."""
    codec: Codec
    spec: DPOSpec
    at_once: AtOnce
    device: torch.device
    world: World = SINGLE

    def micro_batches(self, pairs: Sequence[TokenizedPair]) -> list[list[int]]:
        """This process' rows in micro-batches. The longer side of a pair counts for both."""
        rows = self.world.balanced_rows([2 * len(pair.prompt) + len(pair.a) + len(pair.b) for pair in pairs])
        lengths = [2 * (len(pairs[row].prompt) + max(len(pairs[row].a), len(pairs[row].b))) for row in rows]
        return [[rows[index] for index in part] for part in limits(self.at_once).split(lengths)]

    def logprobs(self, pairs: Sequence[TokenizedPair]) -> PairLogprobs:
        """log(π/ref) or log π of both sides, from one forward pass of each model, the reference first."""
        prompts, sides = [pair.prompt for pair in pairs], [p.a for p in pairs] + [p.b for p in pairs]
        batch = Batch.from_ids(prompts + prompts, sides, self.codec.pad_id).to(self.device)
        reference_BR: Tensor | float = 0.0
        if self.reference is not None:
            with torch.no_grad():
                reference_BR, _ = completion_logprobs(self.reference, batch)
        logprobs_BR, _ = completion_logprobs(self.policy, batch)
        values_B = (logprobs_BR - reference_BR).sum(-1)  # both are 0 outside the mask
        if self.spec.traits.per_token:
            values_B = values_B / batch.completion_lengths_B
        a_B, b_B = values_B.chunk(2)
        return PairLogprobs(a_B, b_B, self._targets(pairs))

    def gathered(
        self, parts: Sequence[PairLogprobs], rows: Sequence[int], pairs: Sequence[TokenizedPair]
    ) -> Sequence[PairLogprobs]:
        """The log-probabilities of all processes; `parts` are those of this process' `rows`."""
        if self.world.size == 1:
            return parts
        local_B2 = (
            torch.stack([torch.cat([p.a_B for p in parts]), torch.cat([p.b_B for p in parts])], 1) if parts else None
        )
        a_B, b_B = self.world.gather_rows(local_B2, rows, len(pairs), self.device).unbind(1)
        return [PairLogprobs(a_B, b_B, self._targets(pairs))]

    def _targets(self, pairs: Sequence[TokenizedPair]) -> Tensor:
        return torch.tensor([pair.target for pair in pairs], device=self.device)


def accumulate(passes: PairPasses, batch: Sequence[TokenizedPair]) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, which does not depend on its division; return its figures."""
    parts: list[PairLogprobs] = []
    micro_batches = passes.micro_batches(batch)
    with passes.world.fail_together(), present(passes.reference):
        for rows in in_step(micro_batches, passes.world, passes.policy):
            sides = passes.logprobs([batch[row] for row in rows])
            loss = sides.losses(passes.spec).sum() / len(batch)
            require_finite(loss, "DPO loss")
            backward(loss, passes.policy)
            parts.append(PairLogprobs(sides.a_B.detach(), sides.b_B.detach(), sides.targets_B))
    return figures(passes.gathered(parts, [*chain(*micro_batches)], batch), passes.spec)


@torch.no_grad()
def evaluate(passes: PairPasses, pairs: Sequence[TokenizedPair]) -> dict[str, float]:
    """The figures of all pairs."""
    micro_batches = passes.micro_batches(pairs)
    with present(passes.policy), present(passes.reference):
        parts = [passes.logprobs([pairs[row] for row in rows]) for rows in micro_batches]
    return figures(passes.gathered(parts, [*chain(*micro_batches)], pairs), passes.spec)


def figures(parts: Sequence[PairLogprobs], spec: DPOSpec) -> dict[str, float]:
    """Mean loss of all pairs and, over the pairs that are not ties, accuracy and mean rewards.

    Without a reference also the negative log-likelihood per token of the preferred sides, in which a tie counts half each way.
    """
    pairs = PairLogprobs.joined(parts)
    values = {"loss": float(pairs.losses(spec).mean())}
    if not spec.traits.has_reference:
        values["nll"] = float(pairs.nlls().mean())
    decided, prefers_a_B = pairs.targets_B != 0.5, pairs.targets_B > 0.5
    if not decided.any():
        return values
    a_B, b_B = pairs.rewards(spec)
    chosen, rejected = torch.where(prefers_a_B, a_B, b_B)[decided], torch.where(prefers_a_B, b_B, a_B)[decided]
    return values | {
        "accuracy": float((chosen > rejected).float().mean()),
        "margin": float((chosen - rejected).mean()),
        "rewards/chosen": float(chosen.mean()),
        "rewards/rejected": float(rejected.mean()),
    }
