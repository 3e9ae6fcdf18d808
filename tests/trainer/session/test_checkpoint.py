from pathlib import Path

import pytest
import torch

from tests.trainer.tiny_models import llama
from trainer.session.checkpoint import Checkpoints, StageResult, TrainerState, load_numbers, load_optimizer
from trainer.text.codec import train_tokenizer

TOKENIZER = train_tokenizer(["x"], 260)


def state(step: int) -> TrainerState:
    return TrainerState(
        {"optimizer": {"0.exp_avg": torch.tensor([1.5, float(step)])}}, {"critic": llama(2)}, {"step": step}
    )


def test_checkpoint_saved_state_is_restored(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path, keep_last=1).save("ppo", 7, llama(), TOKENIZER, state(7))
    assert load_optimizer(path, "optimizer")["0.exp_avg"].tolist() == [1.5, 7.0]
    assert load_numbers(path)["step"] == 7
    assert (path / "trainer_state" / "critic" / "model.safetensors").exists()


def test_only_the_newest_are_kept_and_stages_do_not_mix(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    checkpoints.save("sft", 4, llama(), TOKENIZER, state(4))
    for step in (2, 10, 9):
        checkpoints.save("ppo", step, llama(), TOKENIZER, state(step))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ppo-000009", "ppo-000010", "sft-000004"]
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000010", 10)
    assert checkpoints.newest("reward_model") is None


def test_a_save_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    broken = TrainerState({}, {}, {"step": object()})
    with pytest.raises(TypeError):
        checkpoints.save("ppo", 1, llama(), TOKENIZER, broken)
    assert list(tmp_path.iterdir()) == [] and checkpoints.newest("ppo") is None


def test_checkpoint_left_half_written_is_deleted(tmp_path: Path) -> None:
    (tmp_path / ".tmp-ppo-000003").mkdir()
    assert Checkpoints(tmp_path, keep_last=2).newest("ppo") is None
    assert list(tmp_path.iterdir()) == []


def test_a_stage_is_finished_when_its_result_is_there(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    assert checkpoints.result("sft") is None
    checkpoints.save_final("sft", llama(), TOKENIZER, StageResult(5, 1.25, {"eval/loss": 2.0}))
    assert checkpoints.result("sft") == StageResult(5, 1.25, {"eval/loss": 2.0})


def test_the_best_is_one_is_replaced_and_is_no_intermediate_one(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    assert checkpoints.best("ppo") is None
    checkpoints.save("ppo", 5, llama(), TOKENIZER, state(5))
    checkpoints.save_best("ppo", 10, llama(), TOKENIZER, {"win_rate": 0.7}, state(10))
    checkpoints.save_best("ppo", 20, llama(), TOKENIZER, {"win_rate": 0.8}, None)
    assert checkpoints.best("ppo") == (tmp_path / "ppo-best", 20)
    assert not (tmp_path / "ppo-best" / "trainer_state").exists() and (tmp_path / "ppo-best" / "config.json").exists()
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000005", 5)


def test_put_back_makes_a_newest_copy_and_keeps_the_original(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    best = checkpoints.save_best("ppo", 10, llama(), TOKENIZER, {"win_rate": 0.7}, state(10))
    checkpoints.save("ppo", 30, llama(1), TOKENIZER, state(30))
    path = checkpoints.restore("ppo", best, 34, {"step": 34, "halved": 1})
    assert checkpoints.newest("ppo") == (path, 34) and not (tmp_path / "ppo-000030").exists()
    assert load_numbers(path) == {"step": 34, "halved": 1}
    assert load_optimizer(path, "optimizer")["0.exp_avg"].tolist() == [1.5, 10.0]
    assert (path / "model.safetensors").read_bytes() == (best / "model.safetensors").read_bytes()
    assert not (path / "best.json").exists()  # its step is 34
    assert load_numbers(best) == {"step": 10} and checkpoints.best("ppo") == (best, 10)
