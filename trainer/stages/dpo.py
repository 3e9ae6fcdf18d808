"""Direct preference optimisation: the policy itself as the reward model (Rafailov et al. 2023).

The reward that a policy π implies is β·log(π(y|x)/ref(y|x)) up to a term of the prompt; DPO fits its differences to the
preferences, with no reward model and no sampling. The reference is the policy as the stage began, frozen; its
log-probabilities are computed again for each batch, so nothing but the weights has to be kept for a resume.

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
from trainer.optim.learner import Learner, require_finite, total_steps
from trainer.optim.micro_batches import AtOnce, limits, pair_limits
from trainer.randomness import batch_indices
from trainer.session.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import DPOSpec
from trainer.stages.tokenized_rows import TokenizedPair
from trainer.text.codec import Codec


@dataclass(frozen=True)
class PairLogRatios:
    """Pairs with log(π/ref) of their two sides, (B,) each: of the whole side, or for `ipo` its mean per token."""

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

    The pairs of a ranking count one by one, like any others.
    """
    point = ResumePoint.newest(session, "dpo")
    steps = total_steps(len(pairs), spec)
    at_once = pair_limits(spec)
    learner = Learner(policy, spec, steps, world=session.world)
    if point.checkpoint:
        learner.restore(load_optimizer(point.checkpoint, "optimizer"))

    summary: dict[str, float] = {}
    """The newest held-out figures; the last step always takes them."""

    def step(index: int) -> dict[str, float]:
        rows = batch_indices(len(pairs), spec.batch_size, index, session.seed("dpo"), "order", spec.epochs)
        batch = [pairs[row] for row in rows]
        values = accumulate(policy, reference, batch, codec, at_once, session.device, spec, session.world)
        values |= {"grad_norm": learner.update(index), "lr": learner.lr(index)}
        if held_out and (index + 1 == steps or (index + 1) % spec.save_every == 0):
            newest = evaluate(policy, reference, held_out, codec, at_once, session.device, spec, session.world)
            summary.update({f"eval/{name}": value for name, value in newest.items()})
            values |= summary
        return values

    session.begin("dpo", steps, point.step)
    state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
    loop = StageLoop(session, "dpo", steps, spec.save_every, point, policy, codec.tokenizer, state)
    seconds = loop.run(step)
    result = StageResult(steps, seconds, summary)
    session.finish("dpo", policy, codec.tokenizer, result)
    return result


def accumulate(
    policy: Model,
    reference: Model,
    batch: Sequence[TokenizedPair],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    spec: DPOSpec,
    world: World = SINGLE,
) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, whatever the split into `micro_batch` pairs; return its figures."""
    parts: list[PairLogRatios] = []
    parts_of_mine = _split(batch, _share(batch, world), micro_batch)
    with world.fail_together(), present(reference):
        for rows in in_step(parts_of_mine, world, policy):
            some = compare(policy, reference, [batch[row] for row in rows], codec, device, spec)
            loss = some.losses(spec).sum() / len(batch)
            require_finite(loss, "DPO loss")
            loss.backward()
            parts.append(PairLogRatios(some.a_B.detach(), some.b_B.detach(), some.targets_B))
    return figures(_everyones(parts, [*chain(*parts_of_mine)], batch, device, world), spec)


@torch.no_grad()
def evaluate(
    policy: Model,
    reference: Model,
    pairs: Sequence[TokenizedPair],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    spec: DPOSpec,
    world: World = SINGLE,
) -> dict[str, float]:
    """The figures of all pairs, so many pairs at once."""
    parts_of_mine = _split(pairs, _share(pairs, world), at_once)
    with present(policy), present(reference):
        parts = [
            compare(policy, reference, [pairs[row] for row in rows], codec, device, spec) for rows in parts_of_mine
        ]
    return figures(_everyones(parts, [*chain(*parts_of_mine)], pairs, device, world), spec)


def _share(pairs: Sequence[TokenizedPair], world: World) -> list[int]:
    return world.balanced_rows([2 * len(pair.prompt) + len(pair.a) + len(pair.b) for pair in pairs])


def _split(pairs: Sequence[TokenizedPair], rows: Sequence[int], at_once: AtOnce) -> list[list[int]]:
    """Those pairs in parts; the longer side of a pair stands for both."""
    lengths = [2 * (len(pairs[row].prompt) + max(len(pairs[row].a), len(pairs[row].b))) for row in rows]
    return [[rows[at] for at in part] for part in limits(at_once).split(lengths)]


def _everyones(
    parts: Sequence[PairLogRatios],
    mine: Sequence[int],
    pairs: Sequence[TokenizedPair],
    device: torch.device,
    world: World,
) -> Sequence[PairLogRatios]:
    """All pairs, of which `parts` are this process' own."""
    if world.size == 1:
        return parts
    own_B2 = torch.stack([torch.cat([p.a_B for p in parts]), torch.cat([p.b_B for p in parts])], 1) if parts else None
    a_B, b_B = world.gather_rows(own_B2, mine, len(pairs), device).unbind(1)
    return [PairLogRatios(a_B, b_B, torch.tensor([pair.target for pair in pairs], device=device))]


def compare(
    policy: Model, reference: Model, pairs: Sequence[TokenizedPair], codec: Codec, device: torch.device, spec: DPOSpec
) -> PairLogRatios:
    """log(π/ref) of both sides of each pair; they go through one forward pass of each model, the reference first."""
    prompts = [pair.prompt for pair in pairs]
    batch = Batch.from_ids(prompts + prompts, [p.a for p in pairs] + [p.b for p in pairs], codec.pad_id).to(device)
    with torch.no_grad():
        reference_logprobs_BR, _ = completion_logprobs(reference, batch)
    logprobs_BR, _ = completion_logprobs(policy, batch)
    log_ratios = (logprobs_BR - reference_logprobs_BR).sum(-1)  # both are 0 outside the mask
    if spec.loss == "ipo":
        log_ratios = log_ratios / batch.completion_lengths_B
    a_B, b_B = log_ratios.chunk(2)
    return PairLogRatios(a_B, b_B, torch.tensor([pair.target for pair in pairs], device=device))


def figures(parts: Sequence[PairLogRatios], spec: DPOSpec) -> dict[str, float]:
    """Mean loss of all pairs; of those that are no ties, accuracy and means of the rewards β·log(π/ref)."""
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
