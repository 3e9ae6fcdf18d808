"""The step loop of DPO and KTO, which train a policy on a dataset without sampling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from trainer.models import Model
from trainer.optim.learner import Learner
from trainer.randomness import batch_indices
from trainer.session.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import DPOSpec, KTOSpec
from trainer.spec.stages import total_steps
from trainer.stages.held_out_rows import evaluated, evaluating
from trainer.text.codec import Codec

Accumulate = Callable[[Sequence[int]], dict[str, float]]
"""Adds the gradient of the loss on these rows, and returns their metrics."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class OfflinePolicyStage:
    """Trains `policy` in place from `start` on, and saves it as the stage's result."""

    session: Session
    stage: Literal["dpo", "kto"]
    start: ResumePoint[DPOSpec] | ResumePoint[KTOSpec]
    policy: Model
    codec: Codec

    def train(
        self,
        count: int,
        accumulate: Accumulate,
        held_out: Sequence[Row],
        evaluate: Callable[[Sequence[Row]], dict[str, float]],
    ) -> StageResult:
        """Train on `count` rows, and evaluate on the held-out ones at each checkpoint, if there are any."""
        session, stage, spec = self.session, self.stage, self.start.spec
        steps = total_steps(count, spec)
        learner = Learner(self.policy, spec, steps, world=session.world)
        if self.start.checkpoint:
            learner.restore(load_optimizer(self.start.checkpoint, "optimizer"))

        summary: dict[str, float] = {}
        """The latest held-out figures. The last step always updates them."""

        def step(index: int) -> dict[str, float]:
            rows = batch_indices(count, spec.batch_size, index, session.seed(stage), "order", spec.epochs)
            values = accumulate(rows)
            values |= learner.measured_update(index) | {"lr": learner.lr(index)}
            if held_out and loop.evaluates(index + 1):
                rows_now = evaluated(held_out, spec.eval_rows, loop.is_last(index + 1))
                with evaluating(loop.is_last(index + 1)):
                    summary.update({f"eval/{name}": value for name, value in evaluate(rows_now).items()})
                values |= summary | {"eval/rows": len(rows_now)}
            return values

        session.begin(stage, steps, self.start.step)
        state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
        tokenizer = self.codec.tokenizer
        loop = StageLoop(
            session, stage, steps, self.start, self.policy, tokenizer, state, learner.retune, bool(held_out)
        )
        result = StageResult(steps, loop.run(step), summary)
        session.finish(stage, self.policy, tokenizer, result)
        return result
