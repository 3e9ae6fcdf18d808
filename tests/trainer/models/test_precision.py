"""`model.dtype` = "auto": the type that it selects and logs, and that a run keeps on another machine."""

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.models.lora.tools import BATCH, maker, stir
from tests.trainer.preflight.checked_jobs import ByFormula
from tests.trainer.run.tools import LENGTH, contents, crashing, run, spec_of
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import CPU, new_codec
from trainer.errors import ModelError
from trainer.events import Message
from trainer.models import check_quantization, load_policy, load_reward_model, precision, save_result
from trainer.models.adapters import is_adapter
from trainer.models.sequences import completion_logprobs, sequence_scores
from trainer.preflight import own_model
from trainer.preflight.check import check
from trainer.preflight.own_model import Device
from trainer.session.session import Session
from trainer.spec import ModelSpec

STAGES = ["sft", "ppo"]
CHANGES: dict[str, Any] = {"rewards": [LENGTH], "ppo": {"critic": {"initial": "policy"}}}


def gpu(monkeypatch: pytest.MonkeyPatch, has_bfloat16: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: has_bfloat16)


def told(folder: Path) -> list[tuple[str, str]]:
    found = [event for event in events_of(folder) if isinstance(event, Message)]
    return [(event.level, event.text.split(";")[0]) for event in found if event.text.startswith("Computing in")]


def test_auto_precision_is_bfloat16_on_capable_gpu_else_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (precision.auto("cpu"), precision.auto("cuda")) == ("float32", "bfloat16")  # the latter is not here
    gpu(monkeypatch, has_bfloat16=True)
    assert (precision.auto("cpu"), precision.auto("cuda")) == ("float32", "bfloat16")
    gpu(monkeypatch, has_bfloat16=False)
    assert precision.auto("cuda") == "float32"


def test_a_type_that_is_named_stays() -> None:
    spec = ModelSpec(path="some/model", dtype="bfloat16")
    assert precision.resolved(spec, "cuda").dtype == precision.resolved(spec, "cpu", "float32").dtype == "bfloat16"


def test_run_reports_dtype_only_where_it_is_auto(tmp_path: Path) -> None:
    run(tmp_path / "auto", ["sft"])
    assert told(tmp_path / "auto") == [("info", 'Computing in float32 (`model.dtype` = "auto").')]
    named = spec_of(["sft"]).model_dump(mode="json")["model"] | {"dtype": "float32"}
    run(tmp_path / "named", ["sft"], model=named)
    assert told(tmp_path / "named") == [] and contents(tmp_path / "named") == contents(tmp_path / "auto")


@pytest.mark.slow
def test_a_run_that_moves_to_another_machine_keeps_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It began on one whose "auto" is float32, and goes on where it would be bfloat16: the same bits come out."""
    whole, moved = tmp_path / "whole", tmp_path / "moved"
    run(whole, STAGES, **CHANGES)
    with crashing(monkeypatch, "ppo", 3):
        run(moved, STAGES, **CHANGES)
    monkeypatch.setattr(precision, "auto", lambda device: "bfloat16")
    run(moved, STAGES, **CHANGES)
    assert contents(moved) == contents(whole) and metrics_of(moved) == metrics_of(whole)
    assert told(moved)[1:] == [("warning", "Computing in float32, in which this run began")]
    run(tmp_path / "other", STAGES, **CHANGES)  # as a check of the check: begun there, it is another run
    assert contents(tmp_path / "other") != contents(whole)


def test_a_run_that_began_in_bfloat16_keeps_it_on_a_cpu(tmp_path: Path) -> None:
    (tmp_path / precision.RECORD).write_text("bfloat16")
    session = Session(spec_of(["sft"]), tmp_path, None)
    session.compute_on(CPU)
    assert session.spec.model.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("tf32", "device", "expected"), [(True, "cuda", "high"), (True, "cpu", "highest"), (False, "cuda", "highest")]
)
def test_tf32_is_enabled_on_a_gpu_when_the_spec_sets_it(tf32: bool, device: str, expected: str) -> None:
    try:
        precision.multiply_float32(ModelSpec(path="some/model", tf32=tf32), device)
        assert torch.get_float32_matmul_precision() == expected
    finally:
        torch.set_float32_matmul_precision("highest")


def test_the_preflight_counts_what_auto_would_be_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU is here, so one is asked about; half of a frozen model's linear layers is saved there."""
    monkeypatch.setattr("trainer.preflight.check.Passes", ByFormula)

    @cache
    def memory(dtype: str | None, device: str) -> tuple[dict[str, int], list[str], str]:
        model = spec_of(["sft"]).model_dump(mode="json")["model"] | ({"dtype": dtype} if dtype else {})
        report = check(spec_of(STAGES, model=model, runtime={"device": device}, **CHANGES))
        assert report.memory is not None and report.model is not None
        warned = [finding.detail for finding in report.findings if finding.code == "dtype"]
        return {phase.phase: phase.parts["weights"] for phase in report.memory.phases}, warned, report.model.dtype

    found, warned, dtype = memory(None, "cuda")
    assert (found, warned, dtype) == memory("bfloat16", "cuda") and not warned and dtype == "bfloat16"
    slow, warned, _ = memory("float32", "cuda")
    assert slow["ppo_score"] > found["ppo_score"] and warned == [
        "Computing in float32 on a GPU (float32 products) is several times slower than in bfloat16."
    ]
    assert memory(None, "cpu") == memory("float32", "cpu") and not memory(None, "cpu")[1]


@pytest.mark.parametrize(
    ("device", "capability", "expected"),
    [
        ("cpu", (8, 0), [("warning", "Computing in float16 on a CPU is slower than in float32.")]),
        ("cuda", (7, 0), []),
        ("cuda", (5, 3), []),
        ("cuda", (5, 2), [("error", "This GPU does not compute in float16.")]),
    ],
)
def test_preflight_looks_whether_the_device_computes_in_float16(
    monkeypatch: pytest.MonkeyPatch, device: Device, capability: tuple[int, int], expected: list[tuple[str, str]]
) -> None:
    gpu(monkeypatch, has_bfloat16=False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    spec = spec_of(["sft"], model={"path": "some/model", "dtype": "float16"})
    found = [finding for finding in own_model._machine(spec, device, False) if finding.code == "dtype"]
    assert [(finding.level, finding.detail) for finding in found] == expected


# Backbones in 8 or 4 bits: refused by name without bitsandbytes; with it, every stage leaves an adapter to start from.
INSTALLED = find_spec("bitsandbytes") is not None


def wide_policy_in(folder: Path) -> Path:
    """Its matrices are multiples of the blocks that are quantized together."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    LlamaForCausalLM(LlamaConfig(vocab_size=64, initializer_range=0.1, **sizes)).save_pretrained(folder)
    new_codec().tokenizer.save_pretrained(folder)
    return folder


def test_quantization_without_bitsandbytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)  # as if it were not installed
    spec = ModelSpec.model_validate({"path": "x", "lora": {}, "quantization": "4bit"})
    with pytest.raises(ModelError, match=r"`model.quantization` needs bitsandbytes.*pip install"):
        check_quantization(spec)
    check_quantization(spec.model_copy(update={"quantization": None}))


@pytest.mark.skipif(not INSTALLED, reason="bitsandbytes has no build for this machine")
@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_quantized_backbone_saves_adapters_that_runs_start_from(tmp_path: Path, bits: str) -> None:
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


@pytest.mark.skipif(not INSTALLED, reason="bitsandbytes has no build for this machine")
@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_gradients_pass_a_quantized_backbone_after_it_sampled(tmp_path: Path, bits: str) -> None:
    """bitsandbytes packs 4-bit weights for processors with AVX512-BF16 in a forward pass without gradients.

    Products of packed weights give no gradient: all adapters but the last layer's would stay as they were.
    """
    policy = stir(maker(wide_policy_in(tmp_path), quantization=bits).policy("policy", tmp_path, "trained"), 1)
    with torch.no_grad():
        before = completion_logprobs(policy, BATCH)[0]
    (found,) = completion_logprobs(policy, BATCH)[:1]
    found.sum().backward()
    assert torch.allclose(found, before, atol=1e-2)
    trained = {name: part.grad for name, part in policy.named_parameters() if part.requires_grad}
    assert trained and all(grad is not None and grad.abs().sum() > 0 for grad in trained.values())
