"""The step loop of DPO and KTO, which train a policy on a dataset without sampling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from trainer.models import Model
from trainer.optim.learner import Learner
from trainer.randomness import batch_indices
from trainer.session.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import DPOSpec, KTOSpec
from trainer.spec.stages import total_steps
from trainer.text.codec import Codec

Accumulate = Callable[[Sequence[int]], dict[str, float]]
"""Adds the gradient of the loss on these rows, and returns their metrics."""
Evaluate = Callable[[], dict[str, float]]
"""Returns the figures of the held-out rows."""


@dataclass(frozen=True)
class OfflinePolicyStage:
    """Trains `policy` in place from `start` on, and saves it as the stage's result."""

    session: Session
    stage: Literal["dpo", "kto"]
    start: ResumePoint[DPOSpec] | ResumePoint[KTOSpec]
    policy: Model
    codec: Codec

    def train(self, count: int, accumulate: Accumulate, evaluate: Evaluate | None) -> StageResult:
        """Train on `count` rows, and evaluate at each checkpoint. `evaluate` is None without held-out rows."""
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
            values |= {"grad_norm": learner.update(index), "lr": learner.lr(index)}
            if evaluate is not None and loop.evaluates(index + 1):
                summary.update({f"eval/{name}": value for name, value in evaluate().items()})
                values |= summary
            return values

        session.begin(stage, steps, self.start.step)
        state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
        tokenizer, held_out = self.codec.tokenizer, evaluate is not None
        loop = StageLoop(session, stage, steps, self.start, self.policy, tokenizer, state, learner.retune, held_out)
        result = StageResult(steps, loop.run(step), summary)
        session.finish(stage, self.policy, tokenizer, result)
        return result
