"""The reward-model stage: steps over rankings and pairs, then normalisation and the report card."""

import time

from trainer.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.events import ReportCard
from trainer.learner import Learner
from trainer.models import Model
from trainer.randomness import batch_indices
from trainer.reward_model import report_card
from trainer.reward_model.normalise import REFERENCES, normalise, unscale
from trainer.reward_model.pairs import Pair, pair_limits, pairs_at_once, rankings
from trainer.reward_model.report_card import Judged
from trainer.reward_model.scoring import accumulate_rankings, figures, judge
from trainer.session import Session
from trainer.sft import Example
from trainer.spec import RewardModelSpec
from trainer.stages import ResumePoint, StageRun, run_steps
from trainer.steps import total_steps
from trainer.text import Codec


def train(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    pairs: list[Pair],
    held_out: list[Pair],
    references: list[Example],
) -> StageResult:
    """Train `model` in place from the newest checkpoint on, set its bias and scale, and save it as the stage's result.

    Saved beside it is the report card, report_card.json, where there are held-out pairs.
    """
    point = ResumePoint.of(session, "reward_model")
    together = rankings(pairs)
    steps = total_steps(len(together), spec)
    at_once = pair_limits(spec)
    learner = Learner(model, spec, steps, world=session.world)
    if point.checkpoint:
        learner.restore(load_optimizer(point.checkpoint, "optimizer"))
    unscale(model)

    summary: dict[str, float] = {}
    judged: list[Judged] = []
    """The newest held-out figures and scores; the last step always takes them."""

    def step(index: int) -> dict[str, float]:
        rows = batch_indices(len(together), spec.batch_size, index, session.seed("reward_model"), "order", spec.epochs)
        batch = [together[row] for row in rows]
        values = accumulate_rankings(model, batch, codec, at_once, session.device, spec, session.world)
        values |= {"grad_norm": learner.update(index), "lr": learner.lr(index)}
        if held_out and (index + 1 == steps or (index + 1) % spec.save_every == 0):
            scored = judge(model, held_out, codec, at_once, session.device, session.world)
            judged[:] = map(Judged, scored.pairs, scored.a_P.tolist(), scored.b_P.tolist())
            newest = figures(scored) | report_card.headline(judged)
            summary.update({f"eval/{name}": value for name, value in newest.items()})
            values |= summary
        return values

    session.begin("reward_model", steps, point.step)
    state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
    run = StageRun("reward_model", steps, spec.save_every, model, codec.tokenizer, step, state)
    seconds = run_steps(session, run, point)
    began = time.perf_counter()
    scale = normalise(session, spec, model, codec, references, 2 * pairs_at_once(spec))
    card = report_card.report_card(judged, scale, min(len(references), REFERENCES))
    files = {}
    if card is not None:
        session.emit(ReportCard(stage="reward_model", step=steps, card=card))
        files["report_card.json"] = card.model_dump_json(indent=2, exclude_none=True)
    result = StageResult(steps, seconds + time.perf_counter() - began, summary | scale)
    session.finish("reward_model", model, codec.tokenizer, result, files)
    return result
