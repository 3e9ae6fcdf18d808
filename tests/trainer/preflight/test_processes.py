"""The memory of one of several processes, by hand: a Llama with 3 layers of 25,440 numbers and 86,448 outside of them."""

from typing import Any

import pytest

from tests.trainer.preflight.test_phases import ANSWER, LLAMA, estimated, spec_of
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.processes import Processes
from trainer.preflight.memory.residents import resident
from trainer.preflight.memory.shapes import Shape
from trainer.preflight.render import render
from trainer.preflight.report import MemoryReport, Report

FOUR: dict[str, Any] = {"resources": {"processes": 2, "machines": 2}}
FSDP: dict[str, Any] = FOUR | {"runtime": {"sharding": "fsdp"}}
POLICY, SCORER = 3 * 25_440 + 86_448, 3 * 25_440 + 86_448 - 43_200 + 48
PPO = {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER}


def test_a_share_is_that_of_the_process_with_the_most_tokens() -> None:
    whole = Shape((1, 1, 1, 1), (9, 1, 2, 3))
    assert Processes(2).share(whole) == Shape((1,), (9,))
    assert Processes(2).share(whole, together=2) == Shape((1, 1), (9, 1))
    assert Processes().share(whole) == whole and Processes(3).block(4) == 2 and Processes(8).block(4) == 1


def test_replicated_models_stay_whole_and_rows_are_shared_out() -> None:
    alone, one_of_four = (
        estimated(spec_of(), "llama", counted=False),
        estimated(spec_of(**FOUR), "llama", counted=False),
    )
    for phase, found in one_of_four.items():
        assert found.parts["weights"] == alone[phase].parts["weights"] and "gathered" not in found.parts
    assert one_of_four["sft"].parts["gradients"] == 4 * POLICY
    # keys and values of 3 layers of 24 numbers, of 16 rows or 4, in 12 + 13 columns: the last token is not read again
    caches = [phases["ppo_rollout"].parts["kv_cache"] for phases in (alone, one_of_four)]
    assert caches == [2 * 3 * 24 * 4 * rows * 25 for rows in (16, 4)]


def test_fsdp_estimate_is_a_quarter_plus_gathered_weights() -> None:
    """Each of four processes holds a quarter of weights, gradients and optimizer state."""
    found = estimated(spec_of(**FSDP), "llama", counted=False)
    learning = {"weights": POLICY, "gradients": POLICY, "optimizer": 2 * POLICY}  # 4 bytes each, by 4 processes
    learning["gathered"] = 4 * (2 * 86_448 + 3 * 25_440)
    assert {name: found["sft"].parts[name] for name in learning} == learning
    update = found["ppo_update"].parts
    assert update["weights"] == 2 * POLICY + 2 * SCORER and update["gradients"] == POLICY + SCORER
    assert update["optimizer"] == 2 * (POLICY + SCORER)
    for phase in ("ppo_rollout", "ppo_score", "evaluation"):
        assert found[phase].parts["gathered"] == 4 * POLICY, phase


def test_layers_that_compute_in_bfloat16_are_gathered_in_it() -> None:
    found = estimated(spec_of(**FSDP, model={"path": "unused", "dtype": "bfloat16"}), "llama", counted=False)
    assert found["sft"].parts["gathered"] == 4 * 2 * 86_448 + 2 * 3 * 25_440
    assert found["ppo_rollout"].parts["gathered"] == 4 * 86_448 + 2 * 3 * 25_440


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("bfloat16", 2)])
def test_asynchronous_rollout_estimate_adds_a_policy_copy(dtype: str, size: int) -> None:
    ahead = spec_of(model={"path": "unused", "dtype": dtype}, ppo=PPO | {"rollout": {"asynchronous": True}})
    plain = spec_of(model={"path": "unused", "dtype": dtype}, ppo=PPO)
    blueprint = Blueprint(LLAMA, plain.model, "cpu")
    for phase in ("sft", "ppo_rollout", "ppo_update", "evaluation"):
        more = resident(ahead, phase, blueprint).weights - resident(plain, phase, blueprint).weights
        others = 7 * 48 + 900 * 48  # norms and embedding, which stay in float32
        assert more == (0 if phase == "sft" else size * (POLICY - others) + 4 * others), phase


def test_asynchronous_rollout_keeps_its_cache_during_the_update() -> None:
    ahead = estimated(spec_of(ppo=PPO | {"rollout": {"asynchronous": True}}), "llama", counted=False)
    assert ahead["ppo_update"].parts["kv_cache"] == ahead["ppo_rollout"].parts["kv_cache"] > 0


def test_memory_report_of_several_processes_is_per_process() -> None:
    memory = MemoryReport(device="cpu", processes=4, available=2**30, runtime=0, phases=[])
    assert "per process, of 4" in render(Report(memory=memory))
    assert "per process" not in render(Report(memory=memory.model_copy(update={"processes": 1})))
