"""The loss of SFT, reward model, DPO and KTO at the end of the stage, against its beginning."""

import json
import random
from pathlib import Path

import pytest

from tests.trainer.run.tools import run
from tests.trainer.running import events_of
from trainer.events import Message
from trainer.health.losses import Losses


def of(losses: list[float | None]) -> Losses:
    found = Losses()
    for loss in losses:
        found.add(loss)
    return found


def test_a_rise_is_measured_between_the_ends() -> None:
    assert of([1.0] * 10 + [0.0] * 5 + [1.5] * 10).risen() == (1.0, 1.5)
    assert of([1.0] * 10 + [9.0] * 5 + [0.9] * 10).risen() is None
    assert of([1.0] * 10 + [1.019] * 10).risen() is None  # two hundredths are none
    assert of([1.0] * 10 + [1.03] * 10).risen() == (1.0, pytest.approx(1.03))


def test_noise_of_a_rise_is_that_of_the_two_means() -> None:
    """Each end has variance ¼: the standard error of the difference is √(½ / 10) = .22, and three times that is .67."""
    assert of([1.0, 2.0] * 5 + [2.0, 3.0] * 5).risen() == (1.5, 2.5)
    assert of([1.0, 2.0] * 5 + [1.6, 2.6] * 5).risen() is None


def test_model_ruined_at_once_is_compared_with_its_first_loss() -> None:
    assert of([1.0] + [4.0] * 30).risen() == (1.0, 4.0)
    assert of([1.0] + [1.2, 1.4, 1.1, 1.3, 1.5] * 6).risen() is None  # noise


def test_a_short_stage_is_halved_and_a_shorter_one_not_judged() -> None:
    assert of([1.0, 1.0, 1.0, 7.0, 2.0, 2.0, 2.0]).risen() == (1.0, 2.0)
    assert of([1.0, 1.0, 2.0, 2.0, 2.0]).risen() is None


def test_numbers_that_are_missing_or_not_finite_are_left_out() -> None:
    assert of([None, float("nan"), 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, float("inf")]).risen() == (1.0, 2.0)


def test_a_resumed_stage_finds_the_same_rise() -> None:
    losses: list[float | None] = [1.0 + 0.05 * step for step in range(40)]
    for stop in (1, 5, 15, 39):
        resumed = Losses.from_state(json.loads(json.dumps(of(losses[:stop]).state())))
        for loss in losses[stop:]:
            resumed.add(loss)
        assert resumed == of(losses)
    assert Losses.from_state(None) == Losses()


def test_flat_noisy_losses_are_rarely_called_risen() -> None:
    rng = random.Random("flat")
    risen = [of([rng.gauss(0.7, 0.1) for _ in range(60)]).risen() for _ in range(500)]
    assert sum(rise is not None for rise in risen) <= 5


def test_sft_that_ruins_a_trained_model_ends_with_a_warning(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    run(good, ["sft"], sft={"epochs": 6})
    run(bad, ["sft"], model=str(good / "checkpoints" / "sft"), sft={"learning_rate": 0.9, "epochs": 2})
    for folder, warned in ((good, 0), (bad, 1)):
        texts = [event.text for event in events_of(folder) if isinstance(event, Message) and event.level == "warning"]
        assert sum(text.startswith("The loss of the stage sft rose from") for text in texts) == warned
