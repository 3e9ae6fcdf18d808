"""The reward model on single completions with a thumb: its loss, its gradient, its figures, and the stage."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch

from data.statistics import area_under_curve
from tests import tolerance
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import CPU, new_codec, scores_alone, session_in, stop_after
from tests.trainer.tiny_models import scorer
from trainer.errors import Stopped
from trainer.events import ReportCard
from trainer.events.report_card import PointwiseCard
from trainer.models import Model, load_reward_model
from trainer.spec import RewardModelSpec
from trainer.stages.reward_model import pointwise
from trainer.stages.reward_model.pairwise import pointwise_loss
from trainer.stages.reward_model.pointwise import ScoredThumb
from trainer.stages.reward_model.train import train_on_thumbs
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedThumb

VERDICTS = [
    TokenizedThumb([3, 4], [5, 1], True, source="web"),
    TokenizedThumb([9], [10, 11, 12, 13, 1], False),
    TokenizedThumb([15, 16, 17], [19, 20, 1], True, source="app"),
    TokenizedThumb([15, 16, 17], [18, 1], False, source="web"),
    TokenizedThumb([7, 8], [6, 21, 1], True),
]
ANSWERS = [TokenizedDemonstration([3, 4], [5, 6, 1]), TokenizedDemonstration([7], [8, 1])]
SPEC = RewardModelSpec(
    loss="pointwise", batch_size=2, epochs=4, learning_rate=1e-2, save_every=2, eval_rows=2, micro_batch_size=1
)  # fmt: skip


def test_the_loss_by_hand() -> None:
    losses = pointwise_loss(torch.tensor([2.0, 2.0, -1.0, 0.0]), torch.tensor([True, False, False, True]))
    expected = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(2)), math.log(1 + math.exp(-1)), math.log(2)]
    assert losses.tolist() == pytest.approx(expected)


def test_a_certain_mistake_costs_its_score_and_stays_finite() -> None:
    assert pointwise_loss(torch.tensor([500.0]), torch.tensor([False])).tolist() == [500.0]


def test_a_score_of_0_predicts_a_thumb_down() -> None:
    up, down = VERDICTS[:2]
    assert [ScoredThumb(verdict, 0.0).right for verdict in (up, down)] == [0.0, 1.0]


@pytest.mark.parametrize("micro_batch", [1, 2, 5])
def test_pointwise_gradient_is_bce_for_every_micro_batch_size(micro_batch: int) -> None:
    expected, model = scorer(), scorer()
    scores = [scores_alone(expected, v.prompt, v.completion)[-1] - 0.25 for v in VERDICTS]  # the models' bias
    up = torch.tensor([float(v.up) for v in VERDICTS])
    loss = torch.nn.functional.binary_cross_entropy(torch.sigmoid(torch.stack(scores)), up)
    loss.backward()
    values = pointwise.accumulate(model, VERDICTS, new_codec(), micro_batch, CPU)
    assert values["loss"] == pytest.approx(float(loss.detach()), rel=1e-5)
    for got, want in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, **tolerance.gradients())


def judged(score: float, up: bool, source: str | None = None, length: int = 1) -> ScoredThumb:
    return ScoredThumb(TokenizedThumb([2], [5] * length, up, source), score)


def test_the_figures_by_hand() -> None:
    """Four of the six pairs of a thumb up and a thumb down are in order, and one is equal."""
    items = [judged(2.0, True), judged(0.0, True), judged(-1.0, True), judged(0.0, False), judged(-3.0, False)]
    found = pointwise.figures(items)
    assert found["accuracy"] == pytest.approx(3 / 5)  # a score of 0 expects a thumb down
    assert found["auc"] == pytest.approx(4.5 / 6)
    assert found["margin"] == pytest.approx(1 / 3 + 1.5)
    assert found["loss"] == pytest.approx(
        (math.log1p(math.exp(-2)) + 2 * math.log(2) + math.log1p(math.exp(1)) + math.log1p(math.exp(-3))) / 5
    )
    assert "auc" not in pointwise.figures(items[:3])


def test_the_area_under_the_curve_counts_every_pair() -> None:
    ups, downs = [3.0, 1.0, 1.0, -2.0], [1.0, 0.0, -5.0, 1.0, 4.0]
    pairs = [1.0 if up > down else 0.5 if up == down else 0.0 for up in ups for down in downs]
    assert area_under_curve(ups, downs) == sum(pairs) / 20


def test_the_card_holds_what_a_reader_needs_to_judge_an_accuracy() -> None:
    items = [
        judged(math.log(3), True, "web", 2),
        judged(math.log(3), False, "web", 3),
        judged(-math.log(3), False, "app"),
    ]
    card = pointwise.report_card([*items, judged(-math.log(3), False)], {"reference_mean": 0.5}, 7)
    assert card is not None
    assert (card.overall.pairs, card.overall.accuracy, card.overall.confidence) == (4, 0.75, pytest.approx(0.75))
    assert {name: (part.pairs, part.accuracy) for name, part in card.by_thumb.items()} == {
        "up": (1, 1.0),
        "down": (3, 2 / 3),
    }
    assert {name: (part.pairs, part.accuracy) for name, part in card.by_source.items()} == {
        "web": (2, 0.5),
        "app": (1, 1.0),
    }
    assert card.majority_baseline == 0.75 and card.auc == pytest.approx((0.5 + 1 + 1) / 3)
    bins = [(part.low, part.pairs, round(part.predicted, 6), part.observed) for part in card.calibration]
    assert bins == [(0.2, 2, 0.25, 0.0), (0.7, 2, 0.75, 0.5)]
    assert card.calibration_error == pytest.approx(0.25)
    assert (card.references, card.reference_mean, card.reference_std) == (7, 0.5, None)
    assert pointwise.report_card([], {}, 0) is None


def trained(folder: Path, spec: RewardModelSpec = SPEC, model: Model | None = None) -> Model:
    model = model or scorer()
    with session_in(folder) as session:
        train_on_thumbs(session, spec, model, new_codec(), VERDICTS, VERDICTS, ANSWERS)
    return model


def test_pointwise_learns_the_thumbs_and_reports_it_in_the_card(tmp_path: Path) -> None:
    model = trained(tmp_path)
    event = next(event for event in events_of(tmp_path) if isinstance(event, ReportCard))
    assert isinstance(event.card, PointwiseCard) and event.card.auc == 1.0 and event.card.overall.accuracy == 1.0
    saved = json.loads((tmp_path / "checkpoints" / "reward_model" / "report_card.json").read_text())
    assert event.card.model_dump(exclude_none=True) == saved
    last = metrics_of(tmp_path)["reward_model", 10]
    assert (last["eval/auc"], last["eval/majority_baseline"]) == (1.0, 0.6) and last["eval/loss"] < 0.5
    with torch.no_grad():
        raw = [float(scores_alone(model, e.prompt, e.completion)[-1]) for e in ANSWERS]
    assert model.config.score_bias == pytest.approx(sum(raw) / 2, abs=1e-5)  # as after pairs


def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path) -> None:
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    trained(tmp_path / "whole")
    with session_in(tmp_path / "stopped") as session, pytest.raises(Stopped):
        stop_after(session, 3)
        train_on_thumbs(session, SPEC, scorer(), new_codec(), VERDICTS, VERDICTS, ANSWERS)
    trained(tmp_path / "stopped", model=load_reward_model(tmp_path / "stopped" / "checkpoints" / "reward_model-000003"))
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")
    first, second = (
        hashlib.sha256(
            (tmp_path / name / "checkpoints" / "reward_model" / "model.safetensors").read_bytes()
        ).hexdigest()
        for name in ("whole", "stopped")
    )
    assert first == second
