"""The reward of an ensemble of reward models: its combinations, its disagreement, and what is refused."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests import tolerance
from tests.trainer.rewards.test_models import saved
from tests.trainer.rewards.tools import answer, assert_missing, context
from tests.trainer.stage_tools import new_codec
from tests.trainer.tiny_models import scorer
from trainer.errors import ModelError
from trainer.models import Model, set_fresh
from trainer.models.members import new_members, set_levels
from trainer.models.sequences import Batch, member_scores
from trainer.rewards import RewardInput, build
from trainer.rewards.base import Rewards as Sum
from trainer.rewards.base import Scores, WeightedReward
from trainer.rewards.build import check
from trainer.rewards.ensemble import Ensemble, combined
from trainer.spec import ModelReward
from trainer.text.codec import train_tokenizer

ANSWERS = [answer("abc"), answer("a"), answer("abcdef", finished=False)]


def reward(**fields: Any) -> ModelReward:
    return ModelReward.model_validate({"type": "model"} | fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 3 - math.sqrt(2)),  # 1, 3, 3, 5: mean 3, squares of the distances 4, 0, 0, 4
        ({"penalty": 0.5}, 3 - math.sqrt(2) / 2),
        ({"penalty": 0.0}, 3.0),
        ({"combine": "mean_minus_variance", "penalty": 0.5}, 2.0),
        ({"combine": "worst"}, 1.0),
        ({"combine": "mean"}, 3.0),
    ],
)
def test_combination_by_hand(fields: dict[str, Any], expected: float) -> None:
    assert combined([1.0, 3.0, 3.0, 5.0], reward(**fields)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("combine", ["mean_minus_std", "mean_minus_variance", "worst", "mean"])
def test_members_that_agree_cost_nothing(combine: str) -> None:
    assert combined([0.5, 0.5, 0.5], reward(combine=combine)) == 0.5


class Fixed:
    """Members with given scores."""

    def __init__(self, scores: list[list[float]]) -> None:
        self.scores = scores

    def member_scores(self, answers: Any) -> list[list[float]]:
        return self.scores


def test_members_of_several_models_are_one_ensemble() -> None:
    found = Ensemble([Fixed([[1.0, 3.0], [2.0, 2.0]]), Fixed([[2.0], [5.0]])], reward(penalty=2.0))
    assert found.score(ANSWERS[:2]) == pytest.approx([2 - 2 * math.sqrt(2 / 3), 3 - 2 * math.sqrt(2)])
    assert found.disagreement() == pytest.approx([math.sqrt(2 / 3), math.sqrt(2)])


def test_score_that_is_not_finite_is_missing_and_not_a_value() -> None:
    members = Ensemble([Fixed([[1.0, math.nan], [2.0, 4.0]])], reward())
    scores = Sum([WeightedReward("model", 2.0, members)]).score(ANSWERS[:2])
    assert_missing(scores.totals[0], "bad_output", "returned nan")
    assert scores.totals[1] == pytest.approx(2 * (3 - 1)) and scores.disagreement["model"][1] == 1.0


def own_ensemble() -> Model:
    model = new_members(scorer(), 2)
    set_fresh(model.score, 3)
    set_levels(model.config, [(0.5, 2.0), (0.0, 1.0)])
    return model.requires_grad_(False)


def test_own_ensemble_scores_the_mean_less_the_deviation() -> None:
    model = own_ensemble()
    found = build([reward(penalty=0.5)], context(own_model=model, batch_size=2)).score(ANSWERS)
    batch = Batch.from_ids([a.prompt_ids for a in ANSWERS], [a.response_ids for a in ANSWERS], 0)
    rows = member_scores(model, batch).tolist()
    apart = [abs(one - other) / 2 for one, other in rows]
    expected = [sum(row) / 2 - spread / 2 for row, spread in zip(rows, apart, strict=True)]
    near = tolerance.largest()
    assert found.totals == pytest.approx(expected, abs=near) and min(apart) > 0
    assert found.disagreement["model"] == pytest.approx(apart, abs=near)


def test_disagreement_follows_the_rows() -> None:
    scores = Scores([1.0, 2.0], {"a": [1.0, 2.0]}, {}, disagreement={"a": [0.25, 0.5]})
    assert scores.select([1]).disagreement == {"a": [0.5]}


def test_models_of_other_runs_are_an_ensemble(tmp_path: Path) -> None:
    codec = new_codec()
    models = [saved(tmp_path / name, codec.tokenizer) for name in ("one", "other")]
    models[1].score.weight.data *= -1
    models[1].save_pretrained(tmp_path / "other")
    spec = reward(members=[{"path": str(tmp_path / "one")}, {"path": str(tmp_path / "other")}], combine="worst")
    check(spec, context(codec=codec))
    found = build([spec], context(codec=codec)).score(ANSWERS)
    alone = [one_score(tmp_path / name, answer) for answer in ANSWERS for name in ("one", "other")]
    expected = [min(alone[at : at + 2]) for at in (0, 2, 4)]
    assert found.totals == pytest.approx(expected, abs=tolerance.largest())
    assert len(found.disagreement["model"]) == 3


def one_score(path: Path, asked: RewardInput) -> float:
    (total,) = build([reward(path=str(path))], context(codec=new_codec())).score([asked]).numbers
    return total


def test_member_with_another_tokenizer_is_refused_unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, other = new_codec(), train_tokenizer(["another text"], 270)
    saved(tmp_path / "one", codec.tokenizer)
    saved(tmp_path / "other", other)
    spec = reward(members=[{"path": str(tmp_path / "one")}, {"path": str(tmp_path / "other")}])
    loaded: list[str] = []
    monkeypatch.setattr("trainer.rewards.models.load_reward_model", lambda path: loaded.append(path))
    for refuse in (check, lambda spec, where: build([spec], where)):
        with pytest.raises(ModelError, match="other has another tokenizer or chat template than the policy"):
            refuse(spec, context(codec=codec))
    assert not loaded


def test_combination_of_one_reward_model_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, new_codec().tokenizer)
    spec = reward(path=str(tmp_path), combine="worst")
    for refuse in (check, lambda spec, where: build([spec], where)):
        with pytest.raises(ModelError, match="`combine` has no effect on a single reward model"):
            refuse(spec, context(codec=new_codec()))
