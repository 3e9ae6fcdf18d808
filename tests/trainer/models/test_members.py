"""An ensemble of reward models as heads of one trunk: its scores, its files, and the critic that begins with its mean."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests import tolerance
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import llama, scorer
from trainer.errors import ModelError
from trainer.models import Model, builder_for, load_reward_model, new_reward_model, save_result
from trainer.models.members import levels_of, members_of, set_levels, with_members
from trainer.models.sequences import Batch, completion_values, member_scores, sequence_scores
from trainer.spec import CriticSpec, ModelSpec

WHOLE, LORA = ModelSpec(path="unused"), ModelSpec.model_validate({"path": "unused", "lora": {"rank": 2}})
BATCH = Batch.from_ids([[5], [6, 7, 8]], [[3, 4, 2], [9, 2]], 0)
LEVELS = [(0.5, 2.0), (-0.25, 1.0), (0.0, 0.5)]


def policy_in(folder: Path) -> Path:
    llama(0).save_pretrained(folder / "policy")
    return folder / "policy"


def ensemble(folder: Path, model: ModelSpec = WHOLE, **changes: Any) -> Model:
    """A fresh ensemble of three members whose levels differ."""
    made = builder_for(model, CPU, lambda part: 7).scorer(
        "reward_model", policy_in(folder), "trained", fresh_head=5, members=3, **changes
    )
    set_levels(made.config, LEVELS)
    return made


def test_score_of_an_ensemble_is_the_mean_of_levelled_members(tmp_path: Path) -> None:
    model = ensemble(tmp_path)
    ids = torch.tensor([[5, 3, 4, 2]])
    raw = model(input_ids=ids).logits[0].tolist()  # transformers' own head, at the last token
    expected = [(raw[0] - 0.5) / 2, raw[1] + 0.25, raw[2] * 2]
    near = tolerance.largest()
    assert member_scores(model, BATCH)[0].tolist() == pytest.approx(expected, abs=near)
    assert sequence_scores(model, BATCH)[0].item() == pytest.approx(sum(expected) / 3, abs=near)


def test_members_begin_with_different_heads_and_one_as_before(tmp_path: Path) -> None:
    heads = ensemble(tmp_path).score.weight
    assert torch.equal(heads[:1], new_reward_model(tmp_path / "policy", 5).score.weight)
    assert not torch.equal(heads[0], heads[1]) and not torch.equal(heads[1], heads[2])
    assert heads.std().item() == pytest.approx(1 / 17**0.5, rel=0.25)


@pytest.mark.parametrize("model", [WHOLE, LORA], ids=["whole", "lora"])
def test_saved_ensemble_has_the_scores_of_each_member(tmp_path: Path, model: ModelSpec) -> None:
    made = ensemble(tmp_path, model)
    made.save_pretrained(tmp_path / "saved")
    build = builder_for(model, CPU, lambda part: 7).scorer
    back = build("reward_model", tmp_path / "policy", "frozen", tmp_path / "saved", 5, members=3)
    assert torch.equal(member_scores(back, BATCH), member_scores(made, BATCH))
    save_result(made, tmp_path / "result")
    loaded = load_reward_model(tmp_path / "result")  # merged, as another job and other tools load it
    assert members_of(loaded.config) == 3 and levels_of(loaded.config) == LEVELS
    torch.testing.assert_close(member_scores(loaded, BATCH), member_scores(made, BATCH))


@pytest.mark.parametrize("model", [WHOLE, LORA], ids=["whole", "lora"])
@pytest.mark.parametrize("more", [{}, {"heads": {"count": 2}}, {"normalization": {}}], ids=["one", "two", "normalised"])
def test_critic_begins_as_the_mean_of_an_ensemble(tmp_path: Path, model: ModelSpec, more: dict[str, Any]) -> None:
    made = ensemble(tmp_path, model)
    made.save_pretrained(tmp_path / "rm")
    critic = builder_for(model, CPU, lambda part: 7).scorer(
        "critic", tmp_path / "policy", "trained", tmp_path / "rm", 5, CriticSpec.model_validate(more), 1
    )
    values = completion_values(critic, Batch.from_ids([[5, 3, 4, 2]], [[9]], 0))  # the state after the first answer
    assert values[0, 0].item() == pytest.approx(sequence_scores(made, BATCH)[0].item(), abs=1e-5)
    critic.save_pretrained(tmp_path / "critic")
    back = builder_for(model, CPU, lambda part: 7).scorer(
        "critic", tmp_path / "policy", "trained", tmp_path / "critic", 5, CriticSpec.model_validate(more), 1
    )
    assert torch.equal(completion_values(back, BATCH), completion_values(critic, BATCH))


def test_critic_with_bins_takes_no_head_of_an_ensemble(tmp_path: Path) -> None:
    ensemble(tmp_path, LORA).save_pretrained(tmp_path / "rm")
    critic = CriticSpec.model_validate({"classification": {"low": -2, "high": 2, "bins": 9}})
    made = builder_for(LORA, CPU, lambda part: 7).scorer(
        "critic", tmp_path / "policy", "trained", tmp_path / "rm", 5, critic, 1
    )
    assert made.score.out_features == 9 and members_of(made.config) == 1


def test_other_number_of_members_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has 3 members, but `reward_model\.members` is 2"):
        with_members(ensemble(tmp_path), 2)
    with pytest.raises(ModelError, match=r"has 1 member, but `reward_model\.members` is 2"):
        with_members(scorer(), 2)


def test_single_reward_model_is_saved_as_before(tmp_path: Path) -> None:
    build = builder_for(WHOLE, CPU, lambda part: 7).scorer
    build("reward_model", policy_in(tmp_path), "trained", fresh_head=5, members=1).save_pretrained(tmp_path / "saved")
    assert "reward_members" not in (tmp_path / "saved" / "config.json").read_text()
