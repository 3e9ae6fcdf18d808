"""Kahneman-Tversky optimisation (KTO): the policy is trained on single completions with a thumb up or down.

Ethayarajh et al. 2024, "KTO: Model Alignment as Prospect Theoretic Optimization", §4.1. The reward that a policy π implies is
r(x, y) = log(π(y|x)/ref(y|x)), as in DPO. A value function compares it with a reference point z₀. It counts gains above z₀
for completions with a thumb up, and losses below z₀ for those with a thumb down. Both saturate. z₀ stands for KL(π ‖ ref).
It is estimated once for each optimizer step, from the whole batch, and has no gradient.

The reference is the policy at the start of the stage, frozen. Its log-probabilities are computed again for each batch, so a
resume needs only the weights.

B counts completions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from data.statistics import area_under_curve
from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.models import Model, present
from trainer.models.sequences import Batch, completion_logprobs
from trainer.optim.learner import require_finite
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import AtOnce, BatchLimits, limits
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint
from trainer.spec import KTOSpec
from trainer.stages.offline_policy import OfflinePolicyStage
from trainer.stages.tokenized_rows import TokenizedThumb
from trainer.text.codec import Codec


def kto_loss(log_ratios_B: Tensor, up_B: Tensor, reference_point: Tensor | float, spec: KTOSpec) -> Tensor:
    """Loss of each completion, (B,): λ_y − v(x, y) (Ethayarajh et al. 2024, eq. 8), with r = `log_ratios_B`.

    up:   λ_D·(1 − σ(β·(r − z₀)))      down: λ_U·(1 − σ(β·(z₀ − r)))

    1 − σ(u) is computed as σ(−u), which is exact where σ(u) is near 1.
    """
    gains_B = spec.beta * (log_ratios_B - reference_point)
    up = spec.desirable_weight * torch.sigmoid(-gains_B)
    down = spec.undesirable_weight * torch.sigmoid(gains_B)
    return torch.where(up_B, up, down)


def mismatched(batch: Sequence[TokenizedThumb]) -> list[TokenizedThumb]:
    """Each prompt with the completion of the next row, cyclically, that has another prompt (ibid., §4.1: y of other x).

    Empty where all rows have the same prompt.
    """
    if all(verdict.prompt == batch[0].prompt for verdict in batch):
        return []
    thumbs: list[TokenizedThumb] = []
    after = next(row for row in batch if row.prompt != batch[-1].prompt)
    for verdict, following in zip(reversed(batch), [batch[0], *reversed(batch[1:])], strict=True):
        after = following if following.prompt != verdict.prompt else after
        thumbs.append(replace(verdict, completion=after.completion))
    return thumbs[::-1]


def reference_point(log_ratios_M: Tensor) -> Tensor:
    """z₀ = max(0, mean r(xᵢ, yⱼ)) over mismatched pairs, (): an estimate of KL(π ‖ ref), which is never negative.

    0 without pairs. The estimate is biased, and noisy for few pairs, but needs no sampling (ibid., §4.1).
    """
    return log_ratios_M.mean().clamp(min=0) if len(log_ratios_M) else log_ratios_M.new_zeros(())


def train(
    session: Session,
    spec: KTOSpec,
    policy: Model,
    reference: Model,
    codec: Codec,
    verdicts: Sequence[TokenizedThumb],
    held_out: Sequence[TokenizedThumb],
) -> StageResult:
    """Train `policy` in place from the newest checkpoint on, and save it as the stage's result."""
    start = ResumePoint.newest(session, "kto", spec)
    spec = start.spec
    at_once = BatchLimits.from_spec(spec, spec.batch_size)
    passes = ThumbPasses(policy, reference, codec, at_once, session.device, session.world)
    return OfflinePolicyStage(session, "kto", start, policy, codec).train(
        len(verdicts),
        lambda rows: accumulate(passes, [verdicts[row] for row in rows], spec),
        held_out,
        lambda rows: evaluate(passes, rows, spec),
    )


@dataclass(frozen=True)
class ThumbPasses:
    """Forward passes of policy and reference over single completions, divided among processes."""

    policy: Model
    reference: Model
    codec: Codec
    at_once: AtOnce
    device: torch.device
    world: World = SINGLE

    def parts(self, verdicts: Sequence[TokenizedThumb]) -> list[list[int]]:
        """This process' rows, in micro-batches."""
        mine = self.world.balanced_rows([verdict.tokens for verdict in verdicts])
        parts = limits(self.at_once).split([verdicts[row].tokens for row in mine])
        return [[mine[index] for index in part] for part in parts]

    def log_ratios(self, verdicts: Sequence[TokenizedThumb]) -> Tensor:
        """log(π(y|x)/ref(y|x)) of each whole completion, (B,). Only the policy gets a gradient."""
        prompts, completions = [v.prompt for v in verdicts], [v.completion for v in verdicts]
        batch = Batch.from_ids(prompts, completions, self.codec.pad_id).to(self.device)
        with torch.no_grad():
            reference_BR, _ = completion_logprobs(self.reference, batch)
        logprobs_BR, _ = completion_logprobs(self.policy, batch)
        return (logprobs_BR - reference_BR).sum(-1)  # both are 0 outside the mask

    @torch.no_grad()
    def all_log_ratios(self, verdicts: Sequence[TokenizedThumb]) -> Tensor:
        """The same for the rows of all processes, without a gradient."""
        parts = self.parts(verdicts)
        with present(self.policy), present(self.reference):
            mine = [self.log_ratios([verdicts[row] for row in rows]) for rows in parts]
        return self.gathered(mine, parts, len(verdicts))

    def gathered(self, local: Sequence[Tensor], parts: Sequence[Sequence[int]], total: int) -> Tensor:
        """(total,) the values of all processes in row order. `local` are those of this process' `parts`."""
        if not total:
            return torch.zeros(0, device=self.device)
        rows = [row for part in parts for row in part]
        values = torch.cat(list(local)) if local else None
        if self.world.size == 1 and values is not None:
            return torch.empty_like(values).index_copy_(0, torch.tensor(rows, device=self.device), values)
        return self.world.gather_rows(values, rows, total, self.device)


def accumulate(passes: ThumbPasses, batch: Sequence[TokenizedThumb], spec: KTOSpec) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, which does not depend on its division; return its figures."""
    with passes.world.fail_together(), present(passes.reference):
        point = reference_point(passes.all_log_ratios(mismatched(batch)))
        require_finite(point, "KTO reference point")
        parts, ratios = passes.parts(batch), []
        for rows in in_step(parts, passes.world, passes.policy):
            some = [batch[row] for row in rows]
            log_ratios_B = passes.log_ratios(some)
            loss = kto_loss(log_ratios_B, _up(some, passes.device), point, spec).sum() / len(batch)
            require_finite(loss, "KTO loss")
            backward(loss, passes.policy)
            ratios.append(log_ratios_B.detach())
    return figures(passes.gathered(ratios, parts, len(batch)), _up(batch, passes.device), point, spec)


@torch.no_grad()
def evaluate(passes: ThumbPasses, verdicts: Sequence[TokenizedThumb], spec: KTOSpec) -> dict[str, float]:
    """The figures of all rows, with one reference point."""
    point = reference_point(passes.all_log_ratios(mismatched(verdicts)))
    log_ratios_B = passes.all_log_ratios(verdicts)
    return figures(log_ratios_B, _up(verdicts, passes.device), point, spec)


def figures(log_ratios_B: Tensor, up_B: Tensor, point: Tensor, spec: KTOSpec) -> dict[str, float]:
    """Mean loss, z₀, the mean rewards β·r of the rows with each thumb and, if both thumbs occur, margin and AUC of r.

    The share of rows above z₀ is not reported. The policy can make all completions less likely and still rank them right.
    """
    values = {"loss": float(kto_loss(log_ratios_B, up_B, point, spec).mean()), "kl": float(point)}
    for name, rows_B in (("chosen", up_B), ("rejected", ~up_B)):
        if rows_B.any():
            values[f"rewards/{name}"] = spec.beta * float(log_ratios_B[rows_B].mean())
    if "rewards/chosen" in values and "rewards/rejected" in values:
        values["margin"] = values["rewards/chosen"] - values["rewards/rejected"]
        values["auc"] = area_under_curve(log_ratios_B[up_B].tolist(), log_ratios_B[~up_B].tolist())
    return values


def _up(verdicts: Sequence[TokenizedThumb], device: torch.device) -> Tensor:
    return torch.tensor([verdict.up for verdict in verdicts], device=device)
