"""The reward model: Bradley-Terry on preference pairs, one scalar per sequence, read at its EOS.

Loss per pair (Stiennon et al. 2020, §3.4; Ouyang et al. 2022, eq. 1): −log σ(r(preferred) − r(other)); a tie counts
half each way. After training, `config.score_bias` is set so that the SFT reference answers score 0 on average.
"""

import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from trainer.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.data import Comparison
from trainer.learner import Learner, require_finite
from trainer.models import Model
from trainer.randomness import batch_indices
from trainer.sequences import Batch, sequence_scores
from trainer.session import Session
from trainer.sft import Example
from trainer.spec import RewardModelSpec
from trainer.stages import ResumePoint, StageRun, run_steps, total_steps
from trainer.text import Codec

BIAS_EXAMPLES = 2048
"""SFT reference answers over which the bias is taken, at most."""
_TARGETS = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(frozen=True)
class Pair:
    """A comparison as token ids; `target` is the probability that A is preferred: 1, 0, or ½ for a tie."""

    prompt: list[int]
    a: list[int]
    b: list[int]
    target: float


def encode(comparisons: list[Comparison], codec: Codec) -> tuple[list[Pair], int]:
    """Pairs, and how many were left out: too long to keep their EOS, or the same tokens on both sides."""
    pairs = []
    for item in comparisons:
        prompt, (a, a_whole), (b, b_whole) = (
            codec.prompt(item.prompt),
            codec.completion(item.a),
            codec.completion(item.b),
        )
        if prompt is not None and a_whole and b_whole and a != b:
            pairs.append(Pair(prompt, a, b, _TARGETS[item.label]))
    return pairs, len(comparisons) - len(pairs)


def _pairs_at_once(spec: RewardModelSpec) -> int:
    """Pairs per forward pass: `micro_batch_size` counts sequences, and a pair is two."""
    return spec.batch_size if spec.micro_batch_size is None else max(1, spec.micro_batch_size // 2)


def bradley_terry_loss(scores_a: Tensor, scores_b: Tensor, targets: Tensor) -> Tensor:
    """Loss of each pair, (B,): −[p log σ(a − b) + (1 − p) log σ(b − a)], with p the probability that A is preferred."""
    difference = scores_a - scores_b
    return -(targets * F.logsigmoid(difference) + (1 - targets) * F.logsigmoid(-difference))


def train(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    pairs: list[Pair],
    held_out: list[Pair],
    references: list[Example],
) -> StageResult:
    """Train `model` in place from the newest checkpoint on, set its bias, and save it as the stage's result."""
    point = ResumePoint.of(session, "reward_model")
    steps = total_steps(len(pairs), spec)
    at_once = _pairs_at_once(spec)
    learner = Learner(model, spec, steps)
    if point.checkpoint:
        learner.restore(load_optimizer(point.checkpoint, "optimizer"))

    summary: dict[str, float] = {}
    """The newest held-out figures; the last step always takes them."""

    def step(index: int) -> dict[str, float]:
        rows = batch_indices(len(pairs), spec.batch_size, index, session.seed("reward_model"), "order", spec.epochs)
        batch = [pairs[row] for row in rows]
        values = accumulate(model, batch, codec, at_once, session.device)
        values |= {"grad_norm": learner.update(index), "lr": learner.lr(index)}
        if held_out and (index + 1 == steps or (index + 1) % spec.save_every == 0):
            figures = evaluate(model, held_out, codec, at_once, session.device)
            summary.update({f"eval/{name}": value for name, value in figures.items()})
            values |= summary
        return values

    session.begin("reward_model", steps, point.step)
    state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
    run = StageRun("reward_model", steps, spec.save_every, model, codec.tokenizer, step, state)
    seconds = run_steps(session, run, point)
    began = time.perf_counter()
    model.config.score_bias = mean_score(model, references[:BIAS_EXAMPLES], codec, 2 * at_once, session.device)
    result = StageResult(
        steps, seconds + time.perf_counter() - began, summary | {"score_bias": model.config.score_bias}
    )
    session.finish("reward_model", model, codec.tokenizer, result)
    return result


def accumulate(
    model: Model, batch: list[Pair], codec: Codec, micro_batch: int, device: torch.device
) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, whatever the split; return loss, accuracy and margin."""
    differences, targets = [], []
    for first in range(0, len(batch), micro_batch):
        a, b, target = _scores(model, batch[first : first + micro_batch], codec, device)
        loss = bradley_terry_loss(a, b, target).sum() / len(batch)
        require_finite(loss, "reward-model loss")
        loss.backward()
        differences.append((a - b).detach())
        targets.append(target)
    return _figures(torch.cat(differences), torch.cat(targets))


@torch.no_grad()
def evaluate(model: Model, pairs: list[Pair], codec: Codec, batch_size: int, device: torch.device) -> dict[str, float]:
    """Loss, accuracy and margin over all pairs; nothing where there are none."""
    if not pairs:
        return {}
    parts = [_scores(model, pairs[i : i + batch_size], codec, device) for i in range(0, len(pairs), batch_size)]
    return _figures(torch.cat([a - b for a, b, _ in parts]), torch.cat([target for _, _, target in parts]))


@torch.no_grad()
def mean_score(model: Model, examples: list[Example], codec: Codec, batch_size: int, device: torch.device) -> float:
    """Mean raw score (bias left out) of whole answers."""
    batches = (examples[i : i + batch_size] for i in range(0, len(examples), batch_size))
    scores = [
        sequence_scores(model, Batch.of([e.prompt for e in b], [e.completion for e in b], codec.pad_id).to(device))
        for b in batches
    ]
    return float(torch.cat(scores).mean()) + float(model.config.score_bias)


def _scores(model: Model, pairs: list[Pair], codec: Codec, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of A and of B, and the targets, (B,) each; both sides go through one forward pass."""
    prompts = [pair.prompt for pair in pairs]
    batch = Batch.of(prompts + prompts, [p.a for p in pairs] + [p.b for p in pairs], codec.pad_id).to(device)
    a, b = sequence_scores(model, batch).chunk(2)
    return a, b, torch.tensor([pair.target for pair in pairs], device=device)


def _figures(differences: Tensor, targets: Tensor) -> dict[str, float]:
    """Mean loss over all pairs; accuracy and margin over those that are no ties."""
    loss = bradley_terry_loss(differences, torch.zeros_like(differences), targets).mean()
    decided = targets != 0.5
    signed = torch.where(targets > 0.5, differences, -differences)[decided]
    figures = {"loss": float(loss)}
    if len(signed):
        figures |= {"accuracy": float((signed > 0).float().mean()), "margin": float(signed.mean())}
    return figures
