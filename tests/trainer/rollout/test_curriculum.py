"""The curriculum by measured difficulty: its weights, its order, what it counts, and a resume."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import save_file

from tests.trainer.ppo.tools import NO_CRITIC, spec_of
from tests.trainer.rollout.test_refill import ByTokens, producer_of, trained
from tests.trainer.running import unexplained
from tests.trainer.stage_tools import new_codec
from trainer.rewards import Missing, Rewards
from trainer.rewards.base import WeightedReward
from trainer.rollout.batch import to_answers
from trainer.rollout.curriculum import Curriculum
from trainer.rollout.refill import FurtherDraws
from trainer.spec import CurriculumSpec
from trainer.text.codec import TokenizedPrompt

GONE = Missing("crash", "gone")


def curriculum(count: int = 4, seed: int = 5, **spec: Any) -> Curriculum:
    prompts = [TokenizedPrompt(f"prompt {n}", [n + 3]) for n in range(count)]
    return Curriculum(CurriculumSpec.model_validate(spec), prompts, seed)


def test_weight_is_highest_for_prompts_that_are_sometimes_solved() -> None:
    found = curriculum(floor=0.2)
    found.add([0] * 4 + [1] * 4 + [2] * 4, [1.0] * 4 + [0.0, 1.0, 1.0, 0.0] + [0.0] * 4)
    # p = 5/6, 3/6, 1/6 and, without responses, 1/2: .2 + .8 · 4 · 5/36 = 29/45
    assert found.weights_P.tolist() == pytest.approx([29 / 45, 1.0, 29 / 45, 1.0])


def test_earlier_counts_of_a_prompt_fade_when_it_is_drawn_again() -> None:
    """Only the prompt with new values forgets. A score of exactly the bound is no success."""
    found = curriculum(above=1.0, decay=0.25)
    found.add([0, 0, 1, 1], [2.0, 2.0, 2.0, 1.0])
    found.add([0, 0, 2, 2], [1.5, 0.0, GONE, GONE])
    assert found.successes_P.tolist() == [0.25 * 2 + 1, 1.0, 0.0, 0.0]
    assert found.responses_P.tolist() == [0.25 * 2 + 2, 2.0, 0.0, 0.0]


def test_prompts_are_drawn_in_proportion_to_their_weights() -> None:
    """The first prompt of 20000 orders, and the second one behind it, against draws without replacement."""
    found = curriculum(3, floor=0.1)
    found.successes_P[:] = torch.tensor([0.0, 998.0, 499.0], dtype=torch.float64)
    found.responses_P[:] = 998.0
    weights = found.weights_P.tolist()
    assert weights == pytest.approx([0.1036, 0.1036, 1.0], abs=1e-4)
    orders = [tuple(found.drawn(iteration, 0, 2)) for iteration in range(20_000)]
    total = sum(weights)
    for first in range(3):
        for second in {0, 1, 2} - {first}:
            expected = weights[first] / total * weights[second] / (total - weights[first])
            error = (expected * (1 - expected) / len(orders)) ** 0.5
            assert orders.count((first, second)) / len(orders) == pytest.approx(expected, abs=5 * error)


def test_order_holds_each_prompt_once_and_is_cut_anywhere() -> None:
    found = curriculum(5)
    whole = found.drawn(3, 0, 12)
    assert sorted(whole[:5]) == sorted(whole[5:10]) == list(range(5)) and whole[:5] != whole[5:10]
    assert found.drawn(3, 0, 4) + found.drawn(3, 4, 8) == whole
    assert found.drawn(4, 0, 12) != whole != curriculum(5, seed=6).drawn(3, 0, 12)


def test_metrics_are_the_shares_of_prompts_by_difficulty() -> None:
    found = curriculum(5, decay=1.0)
    found.add([0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    assert found.metrics([0, 0, 1]) == pytest.approx({
        "curriculum/unseen": 0.2, "curriculum/hard": 0.2, "curriculum/medium": 0.4, "curriculum/easy": 0.2,
        "curriculum/success": (0.75 + 0 + 1 + 0.25) / 4, "curriculum/drawn_success": 0.375,
    })  # fmt: skip
    assert curriculum().metrics([0]) == {
        "curriculum/unseen": 1.0, "curriculum/hard": 0.0, "curriculum/medium": 0.0, "curriculum/easy": 0.0,
    }  # fmt: skip


def saved(found: Curriculum, folder: Path) -> Path:
    (folder / "trainer_state").mkdir(parents=True)
    for name, tensors in found.state().items():
        save_file(tensors, folder / "trainer_state" / f"{name}.safetensors")
    return folder


def test_difficulty_is_restored_for_the_same_prompts_and_bound(tmp_path: Path) -> None:
    found = curriculum()
    found.add([0, 1, 1], [1.0, 0.0, 1.0])
    checkpoint = saved(found, tmp_path)
    same = curriculum(floor=0.3, decay=0.1)
    same.restore(checkpoint)
    assert same.successes_P.tolist() == [1, 1, 0, 0] and same.responses_P.tolist() == [1, 2, 0, 0]
    for other in (curriculum(3), curriculum(above=0.4)):
        other.restore(checkpoint)
        assert not other.responses_P.any()
    same.restore(tmp_path / "none")
    assert same.responses_P.any()


def drawn_by_difficulty(**changes: Any) -> Any:
    """Two prompts of six, three responses each."""
    advantage = {**NO_CRITIC, "baseline": "group_mean"}
    common: dict[str, Any] = {"self_test": False, "samples_per_prompt": 3, "advantage": advantage, "max_new_tokens": 4}
    return spec_of(**common | {"curriculum": {}, "kl": {"placement": "loss", "estimator": "k3"}} | changes)


def test_producer_draws_by_the_difficulty_that_it_measures() -> None:
    producer = producer_of(drawn_by_difficulty(steps=3))
    assert producer.curriculum is not None
    first = producer.take(0)
    assert first.rows[::3] == producer.curriculum.drawn(0, 0, 2)
    answers = to_answers(first.prompts, first.responses, new_codec())
    scores = Rewards([WeightedReward("model", 1.0, ByTokens())]).score(answers)
    metrics = producer.measure(first, scores)
    assert metrics["curriculum/unseen"] == pytest.approx(4 / 6)
    assert producer.curriculum.responses_P.sum() == 6
    assert producer.curriculum.successes_P.sum() == sum(scores.numbers)
    assert producer.take(1).rows[::3] == producer.curriculum.drawn(1, 0, 2)


def test_refill_goes_down_the_order_of_the_iteration() -> None:
    """No prompt comes twice before all have come, and every sampled response is measured. The stream of passes stays where it is."""
    further = FurtherDraws()
    producer = producer_of(drawn_by_difficulty(rollout={"refill": {"max_rounds": 4}}, steps=5), further)
    assert producer.curriculum is not None
    for iteration in range(5):
        order = producer.curriculum.drawn(iteration, 0, 8)
        before = producer.curriculum.responses_P.clone()
        found = producer.take(iteration)
        assert found.refill is not None
        asked = found.refill.rows[::3]
        assert asked == order[: len(asked)]
        producer.measure(found, found.rewards)  # type: ignore[arg-type]  # there are some
        expected = torch.zeros(6, dtype=torch.float64).index_add_(
            0, torch.tensor(found.refill.rows), torch.ones(len(found.refill.rows), dtype=torch.float64)
        )
        faded = torch.where(expected > 0, 0.5 * before, before)
        assert torch.equal(producer.curriculum.responses_P, faded + expected)
    assert further.prompts == 0 < further.responses


@pytest.mark.parametrize("rollout", [{}, {"refill": {"max_rounds": 3}}], ids=["alone", "with refill"])
def test_killed_curriculum_resumes_to_the_same_bits(rollout: dict[str, Any], tmp_path: Path) -> None:
    spec = drawn_by_difficulty(steps=4, save_every=1, eval_every=4, rollout=rollout)
    expected = trained(tmp_path / "whole", spec, ByTokens())
    weights = (tmp_path / "whole" / "checkpoints" / "ppo" / "model.safetensors").read_bytes()
    for step in (1, 3):
        folder, name = tmp_path / f"{step}", f"ppo-00000{step}"
        shutil.copytree(tmp_path / "whole" / "checkpoints" / name, folder / "checkpoints" / name)
        assert trained(folder, spec, ByTokens()) == {at: one for at, one in expected.items() if int(at) > step}
        assert (folder / "checkpoints" / "ppo" / "model.safetensors").read_bytes() == weights
    assert unexplained(tmp_path / "whole") == set()
    shares = [
        [expected[step][f"curriculum/{name}"] for name in ("unseen", "hard", "medium", "easy")] for step in "1234"
    ]
    assert all(sum(own) == pytest.approx(1) for own in shares) and shares[0][0] > shares[3][0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rollout": {"asynchronous": True}}, "`curriculum` with `rollout.asynchronous`"),
        ({"rollout": {"staleness": 2}, "steps": 9}, "`curriculum` with `rollout.asynchronous`"),
        ({"curriculum": {"floor": 0.0}}, "greater than 0"),
        ({"curriculum": {"floor": 1.0}}, "less than 1"),
        ({"curriculum": {"decay": 1.5}}, "less than or equal to 1"),
    ],
)
def test_curriculum_without_effect_or_order_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        drawn_by_difficulty(**changes)
