"""Supervised fine-tuning: cross-entropy on completions, the prompt masked out (Ouyang et al. 2022, step 1).

Each assistant turn of a conversation is an example. Its prompt is everything before the turn, rendered by the chat template
for generation. Its completion is the turn and its EOS. Training and sampling then render prompts the same way, also where a
template rewrites earlier turns, and no mask must be derived from a rendered text.
"""

import math
import time
from collections.abc import Sequence

import torch

from trainer.distributed import SINGLE, World
from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.distributed.sharding import in_step
from trainer.models import Model, present
from trainer.models.sequences import Batch, completion_logprobs, masked_sum
from trainer.optim.halves import accumulate_halves, divides, halves
from trainer.optim.learner import Learner, require_finite
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import AtOnce, BatchLimits, limits
from trainer.randomness import batch_indices
from trainer.session.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import SFTSpec
from trainer.spec.stages import total_steps
from trainer.stages.held_out_rows import evaluated, evaluating
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import Codec


def train(
    session: Session,
    spec: SFTSpec,
    model: Model,
    codec: Codec,
    examples: list[TokenizedDemonstration],
    held_out: list[TokenizedDemonstration],
    pair: PairedExecutor = SEQUENTIAL,
) -> StageResult:
    """Train `model` in place from the newest checkpoint on, and save it as the stage's result.

    `pair` computes the two halves of a batch.
    """
    point = ResumePoint.newest(session, "sft", spec)
    spec = point.spec
    steps = total_steps(len(examples), spec)
    at_once = BatchLimits.from_spec(spec, spec.batch_size)
    learner = Learner(model, spec, steps, world=session.world)
    if point.checkpoint:
        learner.restore(load_optimizer(point.checkpoint, "optimizer"))

    summary: dict[str, float] = {}
    """The latest held-out figures. The last step always updates them."""

    def step(index: int) -> dict[str, float]:
        began = time.perf_counter()
        rows = batch_indices(len(examples), spec.batch_size, index, session.seed("sft"), "order", spec.epochs)
        batch = [examples[row] for row in rows]
        loss = accumulate(model, batch, codec, at_once, session.device, session.world, pair)
        stepped = learner.measured_update(index)
        tokens = sum(len(e.prompt) + len(e.completion) for e in batch)
        speed = tokens / (time.perf_counter() - began)
        values = {"loss": loss, "lr": learner.lr(index), **stepped, "time/tokens_per_second": speed}
        if held_out and loop.evaluates(index + 1):
            rows_now = evaluated(held_out, spec.eval_rows, loop.is_last(index + 1))
            with evaluating(loop.is_last(index + 1)):
                summary["eval/loss"] = evaluate(model, rows_now, codec, at_once, session.device, session.world)
            values |= summary | {"eval/rows": len(rows_now)}
        return values

    session.begin("sft", steps, point.step)
    state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
    loop = StageLoop(session, "sft", steps, point, model, codec.tokenizer, state, learner.retune, bool(held_out))
    seconds = loop.run(step)
    result = StageResult(steps, seconds, summary)
    session.finish("sft", model, codec.tokenizer, result)
    return result


def accumulate(
    model: Model,
    batch: list[TokenizedDemonstration],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    world: World = SINGLE,
    pair: PairedExecutor = SEQUENTIAL,
) -> float:
    """Add the gradient of the batch's mean loss per completion token, which does not depend on its division; return the loss."""
    tokens = sum(len(example.completion) for example in batch)
    total = 0.0
    mine = [batch[row] for row in world.balanced_rows(_lengths(batch))]
    parts = limits(micro_batch).split(_lengths(mine))

    def loss_of(rows: Sequence[int]) -> tuple[torch.Tensor, float]:
        loss = _negative_logprob(model, [mine[row] for row in rows], codec, device) / tokens
        require_finite(loss, "SFT loss")
        return loss, float(loss.detach())

    if divides(pair, parts, len(mine)):
        one, other = halves(_lengths(mine))
        return sum(accumulate_halves(pair, model, lambda: loss_of(one), lambda: loss_of(other)))
    with world.fail_together():
        for rows in in_step(parts, world, model):
            loss, value = loss_of(rows)
            backward(loss, model)
            total += value
    return world.sum_number(total)


@torch.no_grad()
def evaluate(
    model: Model,
    examples: Sequence[TokenizedDemonstration],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> float:
    """Mean loss per completion token, in nats."""
    mine = [examples[row] for row in world.balanced_rows(_lengths(examples))]
    parts = ([mine[row] for row in rows] for rows in limits(at_once).split(_lengths(mine)))
    with present(model):
        losses = [float(_negative_logprob(model, part, codec, device)) for part in parts]
    return world.sum_number(math.fsum(losses)) / sum(len(example.completion) for example in examples)


def _lengths(examples: Sequence[TokenizedDemonstration]) -> list[int]:
    return [len(example.prompt) + len(example.completion) for example in examples]


def _negative_logprob(
    model: Model, examples: list[TokenizedDemonstration], codec: Codec, device: torch.device
) -> torch.Tensor:
    """The sum of −log p over the completion tokens of all examples."""
    prompts, completions = [e.prompt for e in examples], [e.completion for e in examples]
    batch = Batch.from_ids(prompts, completions, codec.pad_id).to(device)
    logprobs, _ = completion_logprobs(model, batch)
    return -masked_sum(logprobs, batch.mask_BR)
