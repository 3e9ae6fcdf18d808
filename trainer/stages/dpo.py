"""Direct preference optimisation (DPO): the policy is trained on pairs without a reward model (Rafailov et al. 2023).

The reward that a policy π implies is β·log(π(y|x)/ref(y|x)), up to a term of the prompt. DPO fits differences of that reward
to the preferences. The reference is the policy at the start of the stage, frozen. Its log-probabilities are computed again
for each batch, so a resume needs only the weights.

B counts pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.models import Model, present
from trainer.models.sequences import Batch, completion_logprobs
from trainer.optim.learner import require_finite
from trainer.optim.micro_batches import AtOnce, limits, pair_limits
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint
from trainer.spec import DPOSpec
from trainer.stages.offline_policy import OfflinePolicyStage
from trainer.stages.tokenized_rows import TokenizedPair
from trainer.text.codec import Codec


@dataclass(frozen=True)
class PairLogRatios:
    """log(π/ref) of the two sides of each pair, (B,): of the whole side, or for `ipo` its mean per token."""

    a_B: Tensor
    b_B: Tensor
    targets_B: Tensor

    def losses(self, spec: DPOSpec) -> Tensor:
        return preference_loss(self.a_B - self.b_B, self.targets_B, spec)


def preference_loss(differences_B: Tensor, targets_B: Tensor, spec: DPOSpec) -> Tensor:
    """Loss of each pair, (B,). `differences_B` is Δ = log(π/ref)(A) − log(π/ref)(B), `targets_B` how likely A is preferred.

    sigmoid: −[p log σ(βΔ) + (1 − p) log σ(−βΔ)] (Rafailov et al. 2023, eq. 7), p the target, drawn towards ½ by the share
    of wrong labels ε: p(1 − ε) + (1 − p)ε (Mitchell 2023). ipo: p(Δ − 1/(2β))² + (1 − p)(Δ + 1/(2β))² (Azar et al. 2023,
    eq. 17). A tie, p = ½, counts half each way in both.
    """
    if spec.loss == "ipo":
        goal = 1 / (2 * spec.beta)
        return targets_B * (differences_B - goal) ** 2 + (1 - targets_B) * (differences_B + goal) ** 2
    wrong = spec.label_smoothing
    likely_B = targets_B * (1 - wrong) + (1 - targets_B) * wrong
    logits_B = spec.beta * differences_B
    return -(likely_B * F.logsigmoid(logits_B) + (1 - likely_B) * F.logsigmoid(-logits_B))


def train(
    session: Session,
    spec: DPOSpec,
    policy: Model,
    reference: Model,
    codec: Codec,
    pairs: Sequence[TokenizedPair],
    held_out: Sequence[TokenizedPair],
) -> StageResult:
    """Train `policy` in place from the newest checkpoint on, and save it as the stage's result.

    The pairs of a ranking count separately.
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
    reference: Model
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

    def log_ratios(self, pairs: Sequence[TokenizedPair]) -> PairLogRatios:
        """log(π/ref) of both sides, from one forward pass of each model, the reference first."""
        prompts, sides = [pair.prompt for pair in pairs], [p.a for p in pairs] + [p.b for p in pairs]
        batch = Batch.from_ids(prompts + prompts, sides, self.codec.pad_id).to(self.device)
        with torch.no_grad():
            reference_logprobs_BR, _ = completion_logprobs(self.reference, batch)
        logprobs_BR, _ = completion_logprobs(self.policy, batch)
        log_ratios = (logprobs_BR - reference_logprobs_BR).sum(-1)  # both are 0 outside the mask
        if self.spec.loss == "ipo":
            log_ratios = log_ratios / batch.completion_lengths_B
        a_B, b_B = log_ratios.chunk(2)
        return PairLogRatios(a_B, b_B, self._targets(pairs))

    def gathered(
        self, parts: Sequence[PairLogRatios], rows: Sequence[int], pairs: Sequence[TokenizedPair]
    ) -> Sequence[PairLogRatios]:
        """The log-ratios of all processes; `parts` are those of this process' `rows`."""
        if self.world.size == 1:
            return parts
        local_B2 = (
            torch.stack([torch.cat([p.a_B for p in parts]), torch.cat([p.b_B for p in parts])], 1) if parts else None
        )
        a_B, b_B = self.world.gather_rows(local_B2, rows, len(pairs), self.device).unbind(1)
        return [PairLogRatios(a_B, b_B, self._targets(pairs))]

    def _targets(self, pairs: Sequence[TokenizedPair]) -> Tensor:
        return torch.tensor([pair.target for pair in pairs], device=self.device)


def accumulate(passes: PairPasses, batch: Sequence[TokenizedPair]) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, which does not depend on its division; return its figures."""
    parts: list[PairLogRatios] = []
    micro_batches = passes.micro_batches(batch)
    with passes.world.fail_together(), present(passes.reference):
        for rows in in_step(micro_batches, passes.world, passes.policy):
            ratios = passes.log_ratios([batch[row] for row in rows])
            loss = ratios.losses(passes.spec).sum() / len(batch)
            require_finite(loss, "DPO loss")
            loss.backward()
            parts.append(PairLogRatios(ratios.a_B.detach(), ratios.b_B.detach(), ratios.targets_B))
    return figures(passes.gathered(parts, [*chain(*micro_batches)], batch), passes.spec)


@torch.no_grad()
def evaluate(passes: PairPasses, pairs: Sequence[TokenizedPair]) -> dict[str, float]:
    """The figures of all pairs."""
    micro_batches = passes.micro_batches(pairs)
    with present(passes.policy), present(passes.reference):
        parts = [passes.log_ratios([pairs[row] for row in rows]) for rows in micro_batches]
    return figures(passes.gathered(parts, [*chain(*micro_batches)], pairs), passes.spec)


def figures(parts: Sequence[PairLogRatios], spec: DPOSpec) -> dict[str, float]:
    """Mean loss of all pairs and, over the pairs that are not ties, accuracy and mean rewards β·log(π/ref)."""
    a_B, b_B, targets_B = (torch.cat([getattr(p, name) for p in parts]) for name in ("a_B", "b_B", "targets_B"))
    values = {"loss": float(preference_loss(a_B - b_B, targets_B, spec).mean())}
    decided = targets_B != 0.5
    if not decided.any():
        return values
    chosen = spec.beta * torch.where(targets_B > 0.5, a_B, b_B)[decided]
    rejected = spec.beta * torch.where(targets_B > 0.5, b_B, a_B)[decided]
    return values | {
        "accuracy": float((chosen > rejected).float().mean()),
        "margin": float((chosen - rejected).mean()),
        "rewards/chosen": float(chosen.mean()),
        "rewards/rejected": float(rejected.mean()),
    }
