"""The stage: what it leaves behind, and that it goes on where it stopped."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import CPU, new_codec, scores_alone, session_in, stop_after
from tests.trainer.tiny_models import scorer
from trainer.errors import Stopped
from trainer.events import ReportCard
from trainer.models import Model, load_reward_model
from trainer.spec import RewardModelSpec
from trainer.stages.reward_model.pairwise import score_pairs
from trainer.stages.reward_model.train import raw_scores, train_on_pairs
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair

ANSWERS = [
    TokenizedDemonstration([3, 4], [5, 6, 1]),
    TokenizedDemonstration([7], [8, 1]),
    TokenizedDemonstration([9], [10, 11, 12, 1]),
]
PAIRS = [
    TokenizedPair([3, 4], [5, 1], [6, 7, 8, 1], 1.0, group=1, source="web"),
    TokenizedPair([3, 4], [5, 1], [9, 1], 1.0, group=1),
    TokenizedPair([3, 4], [6, 7, 8, 1], [9, 1], 0.5, group=1),
    TokenizedPair([9], [10, 11, 12, 13, 1], [14, 1], 0.0, margin=0.5),
    TokenizedPair([15, 16, 17], [18, 1], [19, 20, 1], 0.5),
]


def trained(folder: Path, spec: RewardModelSpec, model: Model | None = None) -> Model:
    model = model or scorer()
    with session_in(folder) as session:
        train_on_pairs(session, spec, model, new_codec(), PAIRS, PAIRS, ANSWERS)
    return model


def raw_scores_alone(model: Model) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([scores_alone(model, e.prompt, e.completion)[-1] for e in ANSWERS])


def test_reward_model_mean_bias_gives_references_score_0() -> None:
    model = scorer()
    raw = float(raw_scores(model, ANSWERS, new_codec(), 2, CPU).mean())
    assert abs(raw) > 1e-3
    model.config.score_bias = raw
    scores = [float(score_pairs(model, [p], new_codec(), 1, CPU).a_P) for p in as_pairs()]
    assert sum(scores) == pytest.approx(0, abs=tolerance.largest())
    assert float(raw_scores(model, ANSWERS, new_codec(), 3, CPU).mean()) == pytest.approx(raw, abs=1e-6)


def as_pairs() -> list[TokenizedPair]:
    return [TokenizedPair(e.prompt, e.completion, [22, 1], 1.0) for e in ANSWERS]


@pytest.mark.parametrize(("normalize", "scaled"), [("none", False), ("mean", False), ("mean_and_std", True)])
def test_reward_model_normalisation_follows_the_spec(tmp_path: Path, normalize: str, scaled: bool) -> None:
    spec = RewardModelSpec.model_validate({"batch_size": 2, "learning_rate": 1e-2, "normalize": normalize})
    config = trained(tmp_path, spec).config
    saved = load_reward_model(tmp_path / "checkpoints" / "reward_model")
    raw = raw_scores_alone(saved)
    expected = (0.25, 1.0) if normalize == "none" else (float(raw.mean()), float(raw.std(correction=0)))
    assert saved.config.score_bias == config.score_bias == pytest.approx(expected[0], abs=tolerance.largest())
    assert saved.config.score_scale == pytest.approx(expected[1] if scaled else 1.0, rel=1e-4)


def test_reward_model_training_ignores_the_score_scale(tmp_path: Path) -> None:
    plain, scaled = scorer(), scorer()
    scaled.config.score_scale = 7.0
    spec = RewardModelSpec(batch_size=2, learning_rate=1e-2)
    for name, model in (("plain", plain), ("scaled", scaled)):
        (tmp_path / name).mkdir()
        trained(tmp_path / name, spec, model)
    assert all(map(torch.equal, plain.parameters(), scaled.parameters()))


def test_report_card_is_an_event_and_a_file_with_the_weights(tmp_path: Path) -> None:
    trained(tmp_path, RewardModelSpec(batch_size=2))
    event = next(event for event in events_of(tmp_path) if isinstance(event, ReportCard))
    saved = json.loads((tmp_path / "checkpoints" / "reward_model" / "report_card.json").read_text())
    assert event.card.model_dump(exclude_none=True) == saved
    assert (event.card.overall.pairs, event.card.ties, event.card.references) == (3, 2, 3)
    last = metrics_of(tmp_path)["reward_model", 2]
    assert last["eval/accuracy"] == pytest.approx(event.card.overall.accuracy)
    assert last["eval/calibration_error"] == event.card.calibration_error
    assert last["eval/length_baseline"] == event.card.length_baseline.accuracy == pytest.approx(1 / 6)


def test_report_card_covers_all_rows_with_bounded_evaluation(tmp_path: Path) -> None:
    trained(tmp_path, RewardModelSpec(batch_size=2, epochs=2, save_every=1, eval_rows=1))
    card = next(event for event in events_of(tmp_path) if isinstance(event, ReportCard)).card
    assert (card.overall.pairs, card.ties) == (3, 2)


def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path) -> None:
    spec = RewardModelSpec(
        batch_size=2, epochs=4, learning_rate=1e-2, margin=True, center_coef=0.01, save_every=2, eval_rows=2,
        normalize="mean_and_std", micro_batch_size=4,
    )  # fmt: skip
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    trained(tmp_path / "whole", spec)
    with session_in(tmp_path / "stopped") as session, pytest.raises(Stopped):
        stop_after(session, 3)
        train_on_pairs(session, spec, scorer(), new_codec(), PAIRS, PAIRS, ANSWERS)
    resumed = load_reward_model(tmp_path / "stopped" / "checkpoints" / "reward_model-000003")
    trained(tmp_path / "stopped", spec, resumed)
    assert digest(tmp_path / "stopped") == digest(tmp_path / "whole")
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")


def digest(folder: Path) -> list[str]:
    final = folder / "checkpoints" / "reward_model"
    config = json.loads((final / "config.json").read_text())
    weights = hashlib.sha256((final / "model.safetensors").read_bytes()).hexdigest()
    return [weights, config["score_bias"], config["score_scale"], (final / "report_card.json").read_text()]


def test_raw_scores_ignore_bias_and_scale() -> None:
    model = scorer()
    expected = float(raw_scores_alone(model).mean())
    assert float(raw_scores(model, ANSWERS, new_codec(), 2, CPU).mean()) == pytest.approx(
        expected, abs=tolerance.largest()
    )
    model.config.score_bias, model.config.score_scale = 1.5, 4.0
    assert float(raw_scores(model, ANSWERS, new_codec(), 2, CPU).mean()) == pytest.approx(
        expected, abs=tolerance.largest()
    )
