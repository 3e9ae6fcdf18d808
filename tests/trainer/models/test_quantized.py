"""Backbones in 8 or 4 bits: refused by name without bitsandbytes; with it, every stage leaves an adapter to start from."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.models.lora.tools import BATCH, maker, stir
from tests.trainer.stage_tools import new_codec
from trainer.errors import ModelError
from trainer.models import check_quantization, load_policy, load_reward_model, save_result
from trainer.models.adapters import is_adapter
from trainer.models.sequences import completion_logprobs, sequence_scores
from trainer.spec import ModelSpec

INSTALLED = find_spec("bitsandbytes") is not None


def wide_policy_in(folder: Path) -> Path:
    """Its matrices are multiples of the blocks that are quantized together."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    LlamaForCausalLM(LlamaConfig(vocab_size=64, initializer_range=0.1, **sizes)).save_pretrained(folder)
    new_codec().tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.skipif(INSTALLED, reason="bitsandbytes is installed")
def test_without_the_library_it_is_refused_by_name() -> None:
    spec = ModelSpec.model_validate({"path": "x", "lora": {}, "quantization": "4bit"})
    with pytest.raises(ModelError, match=r"`model.quantization` needs bitsandbytes.*pip install"):
        check_quantization(spec)
    check_quantization(spec.model_copy(update={"quantization": None}))


@pytest.mark.skipif(not INSTALLED, reason="needs bitsandbytes")
@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_a_quantized_backbone_leaves_adapters_that_others_start_from(tmp_path: Path, bits: str) -> None:
    base = wide_policy_in(tmp_path / "base")
    first = maker(base, quantization=bits)
    policy = stir(first.policy("policy", base, "trained"), 1)
    save_result(policy, tmp_path / "sft")
    assert is_adapter(tmp_path / "sft") and not (tmp_path / "sft" / "adapter").exists()

    second = maker(tmp_path / "sft", quantization=bits)
    trained = second.policy("policy", tmp_path / "sft", "trained")
    reference = second.policy("reference", tmp_path / "sft", "frozen")
    scorer = second.scorer("reward_model", tmp_path / "sft", "trained", fresh_head=5)
    assert trained.backbone is reference.backbone is scorer.backbone
    with torch.no_grad():
        expected = completion_logprobs(policy, BATCH)[0]
        assert torch.equal(completion_logprobs(trained, BATCH)[0], expected)
        assert torch.equal(completion_logprobs(reference, BATCH)[0], expected)
        save_result(stir(scorer, 2), tmp_path / "rm")
        again = second.scorer("critic", tmp_path / "rm", "trained")
        assert torch.equal(sequence_scores(again, BATCH), sequence_scores(scorer, BATCH))
        # On the base as it was before it was quantized, the same up to the rounding of the bits.
        whole = completion_logprobs(load_policy(tmp_path / "sft"), BATCH)[0]
        assert torch.nn.functional.cosine_similarity(whole.flatten(), expected.flatten(), dim=0) > 0.9
        assert torch.isfinite(sequence_scores(load_reward_model(tmp_path / "rm"), BATCH)).all()
