"""Four roles on one backbone cost little more than the backbone, while they learn and while they are saved."""

import gc
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests import tolerance
from tests.trainer.models.lora.tools import stir
from tests.trainer.stage_tools import CPU, new_codec
from tests.trainer.tiny_models import llama
from trainer.models import Model, builder_for, load_policy, save_result
from trainer.models.sequences import Batch, completion_logprobs, completion_values
from trainer.optim.learner import Learner
from trainer.sampling.vllm import weights_of
from trainer.spec import ModelSpec, OptimizerSpec

BATCH = Batch.from_ids([[5, 6], [7, 8, 9]], [[10, 11, 1], [12, 1]], pad_id=0)


def base_in(folder: Path, hidden: int, tied: bool) -> int:
    """A model's folder; the bytes of its weights."""
    config = LlamaConfig(
        vocab_size=2000, hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=4,
        num_attention_heads=4, tie_word_embeddings=tied, pad_token_id=0, bos_token_id=None, eos_token_id=1,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    new_codec().tokenizer.save_pretrained(folder)
    return sum(weight.nbytes for weight in model.parameters())


def live_bytes() -> int:
    """Bytes of all live tensors, with gradients and optimizer state."""
    gc.collect()
    storages = {}
    for found in gc.get_objects():
        if type(found) in (torch.Tensor, torch.nn.Parameter):
            for tensor in (found, found.grad if found.is_leaf else None):
                if tensor is not None:
                    storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(storages.values())


def learn(policy: Model, critic: Model) -> list[Learner]:
    """One step of each, after which all moments are there; the gradients are taken once more, and stay."""
    learners = [Learner(policy, OptimizerSpec(), 2), Learner(critic, OptimizerSpec(), 2)]
    for last in (False, True):
        (completion_logprobs(policy, BATCH)[0].sum() + completion_values(critic, BATCH).sum()).backward()
        for learner in () if last else learners:
            learner.update(0)
    return learners


@pytest.mark.parametrize(("hidden", "tied"), [(128, True), (192, False)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_four_roles_take_a_third_more_than_one_model_at_most(
    tmp_path: Path, hidden: int, tied: bool, dtype: str
) -> None:
    weights = base_in(tmp_path, hidden, tied) // (2 if dtype == "bfloat16" else 1)
    spec = ModelSpec.model_validate({"path": str(tmp_path), "lora": {"rank": 2}, "dtype": dtype})
    before = live_bytes()
    make = builder_for(spec, CPU, lambda part: 0)
    everyone = [
        make.policy("policy", tmp_path, "trained"),
        make.policy("initial", tmp_path, "frozen"),
        make.scorer("reward_model", tmp_path, "moving", fresh_head=0),
        make.scorer("critic", tmp_path, "trained", fresh_head=1),
    ]
    learners = learn(everyone[0], everyone[3])
    found = live_bytes() - before
    adapters = sum(weight.nbytes for role in everyone for weight in role.parameters())
    learning = sum(weight.nbytes for learner in learners for weight in learner.parameters)
    assert weights + adapters + 3 * learning <= found <= 1.02 * (weights + adapters + 3 * learning)
    assert found - 2 * learning <= 1.3 * weights  # beside what the adapters' optimizers keep


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_merged_result_is_made_on_disk_not_in_memory(tmp_path: Path, dtype: torch.dtype) -> None:
    llama().to(dtype).save_pretrained(tmp_path / "base")
    new_codec().tokenizer.save_pretrained(tmp_path / "base")
    spec = ModelSpec.model_validate(
        {"path": str(tmp_path / "base"), "lora": {"rank": 2}, "dtype": str(dtype).split(".")[1]}
    )
    role = stir(builder_for(spec, CPU, lambda part: 0).policy("policy", tmp_path / "base", "trained"), 1)
    ours = {weight.untyped_storage().data_ptr() for weight in role.backbone.model.parameters()}
    for name, value in role.backbone.merged("policy", tmp_path / "scratch").items():
        storage = value.untyped_storage()
        assert storage.data_ptr() in ours or storage.filename == str(tmp_path / "scratch"), name
    for name, value in weights_of(role):  # as they are handed to a sampler
        assert value.dtype == dtype, name
    save_result(role, tmp_path / "result")
    assert not list(tmp_path.rglob("*.scratch"))
    merged, plain = load_policy(tmp_path / "result"), load_policy(tmp_path / "base")
    layer, before = (model.model.layers[0].self_attn.q_proj.weight for model in (merged, plain))
    handed = dict(weights_of(role))
    assert handed.keys() == plain.state_dict().keys()
    assert torch.allclose(
        handed["model.layers.0.self_attn.q_proj.weight"].float(),
        layer,
        atol=tolerance.largest(),
        rtol=torch.finfo(torch.bfloat16).eps,
    )
    adapter = role.backbone.model.model.layers[0].self_attn.q_proj
    delta = 16 * adapter.lora_B["policy"].weight @ adapter.lora_A["policy"].weight
    assert torch.allclose(layer, before + delta, atol=tolerance.largest()) and not torch.allclose(
        layer, before, atol=1e-2
    )


def test_lora_unmerged_result_is_a_small_adapter_that_resumes(tmp_path: Path) -> None:
    base_in(tmp_path / "base", 128, tied=True)
    spec = ModelSpec.model_validate({"path": str(tmp_path / "base"), "lora": {"rank": 2, "merge": False}})
    role = stir(builder_for(spec, CPU, lambda part: 0).policy("policy", tmp_path / "base", "trained"), 1)
    save_result(role, tmp_path / "result")
    assert {path.suffix for path in (tmp_path / "result").iterdir() if "model" in path.name} == {".safetensors"}
    assert sum(path.stat().st_size for path in (tmp_path / "result").iterdir()) < 200_000
    again = builder_for(spec, CPU, lambda part: 9).policy("policy", tmp_path / "base", "trained", tmp_path / "result")
    for ours, theirs in zip(role.parameters(), again.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    loaded = load_policy(tmp_path / "result")
    assert torch.allclose(
        completion_logprobs(loaded, BATCH)[0], completion_logprobs(role, BATCH)[0], atol=tolerance.largest(size=8)
    )
