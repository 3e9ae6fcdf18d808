"""The bytes counted on fake tensors equal those of the trainer's passes on real ones."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    GPT2Config,
    LlamaConfig,
    MixtralConfig,
)

from tests.trainer.stage_tools import CPU, new_codec
from trainer.models import Model, compute_in, precision
from trainer.models.attention import pack_as, packs
from trainer.models.backbone import Backbone
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.roles import Role
from trainer.models.sequences import Batch, completion_logprobs, completion_values
from trainer.optim.learner import Learner
from trainer.preflight.memory.fake_models import Blueprint, tensors_of
from trainer.preflight.memory.live_bytes import LiveBytes
from trainer.preflight.memory.passes import Pass, Passes
from trainer.preflight.memory.shapes import Shape
from trainer.sampling import SamplingOptions, sample
from trainer.spec import ModelSpec, SFTSpec
from trainer.stages import sft
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.stops import NO_STOPS

LLAMA = LlamaConfig(
    vocab_size=300, hidden_size=32, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, tie_word_embeddings=False, pad_token_id=0, bos_token_id=None, eos_token_id=1,
)  # fmt: skip
GPT2 = GPT2Config(vocab_size=300, n_embd=32, n_layer=3, n_head=4, n_positions=96, bos_token_id=1, eos_token_id=1)
CONFIGS = {"llama": LLAMA, "gpt2": GPT2}
EXAMPLES = [TokenizedDemonstration([2] * 20, [3] * 40) for _ in range(6)]
SHAPE = Shape((20,) * 6, (40,) * 6)
FEW = Shape((20,) * 2, (40,) * 2)
"""Where depth is in question, not rows, of which each is an operation in each layer."""


def blueprint(config: str, **changes: Any) -> Blueprint:
    return Blueprint(CONFIGS[config], ModelSpec.model_validate({"path": "unused", **changes}), "cpu")


def real(config: str, spec: ModelSpec) -> Model:
    dtype = getattr(torch, precision.resolved(spec, "cpu").dtype)
    if spec.lora is not None:
        base = AutoModelForCausalLM.from_config(CONFIGS[config], dtype=dtype)
        return compute_in(Role(Backbone(base, "x", spec.lora, spec.gradient_checkpointing), "policy"), dtype)
    model = compute_in(AutoModelForCausalLM.from_config(CONFIGS[config]).eval(), dtype)
    if spec.gradient_checkpointing:
        recompute_layers(model)
    return model


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gradient_checkpointing": True},
        {"dtype": "bfloat16"},
        {"lora": {"rank": 2}, "gradient_checkpointing": True},
    ],
)
def test_a_training_pass_peaks_as_counted(config: str, changes: dict[str, Any]) -> None:
    plan = blueprint(config, **changes)
    model = real(config, plan.spec)
    peaks = []
    with LiveBytes(tensors_of(model)) as bytes_:
        for _ in range(2):
            bytes_.peak = bytes_.live
            sft.accumulate(model, EXAMPLES, new_codec(), len(EXAMPLES), CPU)
            peaks.append(bytes_.peak)
    counted = Passes(plan).training("logprobs", SHAPE)
    assert [counted.first, counted.later] == pytest.approx(peaks, rel=0.02)


@pytest.mark.parametrize("packing", [True, False, "auto"])
def test_ragged_rows_peak_as_counted_packed_and_padded(packing: bool | str) -> None:
    prompts, completions = (5, 9, 3, 12), (7, 2, 14, 9)
    model = pack_as(real("llama", ModelSpec(path="unused")), packing)
    batch = Batch.from_ids([[1] * n for n in prompts], [[2] * n for n in completions], 0)
    packs(model)  # tried before, as in a run
    with LiveBytes(tensors_of(model)) as bytes_:
        completion_logprobs(model, batch)[0].sum().backward()
    plan = Blueprint(LLAMA, ModelSpec(path="unused"), "cpu", packing)
    assert Passes(plan).training("logprobs", Shape(prompts, completions)).first == pytest.approx(bytes_.peak, rel=0.01)


def test_passes_critic_training_and_forward_peak_match_measured() -> None:
    config = LlamaConfig(**LLAMA.to_dict() | {"num_labels": 1})
    model = AutoModelForSequenceClassification.from_config(config).eval()
    batch = Batch.from_ids([e.prompt for e in EXAMPLES], [e.completion for e in EXAMPLES], 0)
    with LiveBytes(tensors_of(model)) as bytes_:
        completion_values(model, batch).sum().backward()
    passes = Passes(blueprint("llama"))
    assert passes.training("values", SHAPE).first == pytest.approx(bytes_.peak, rel=0.02)
    policy = real("llama", passes.blueprint.spec)
    with LiveBytes(tensors_of(policy)) as bytes_:
        sft.evaluate(policy, EXAMPLES, new_codec(), len(EXAMPLES), CPU)
    assert passes.forward("logprobs", True, SHAPE) == pytest.approx(bytes_.peak, rel=0.02)


def test_what_a_llama_keeps_for_its_backward_pass_by_hand() -> None:
    """Numbers kept per token and layer.

    - Both norms keep their input, the normalised and the weighed one (6·H).
    - Attention keeps queries, keys, values, its output, a copy of it, and the logarithm of each head's sum.
    - The feed-forward part keeps its gate before and after silu, the other branch and the product (4·F).
    """
    hidden, feed, heads, head_size, key_heads = 32, 80, 4, 8, 2
    inside = 6 * hidden + 2 * key_heads * head_size + 3 * heads * head_size + heads + 4 * feed + 2

    def kept(layers: int) -> int:
        config = LlamaConfig(**LLAMA.to_dict() | {"num_hidden_layers": layers, "layer_types": None})
        model = AutoModelForCausalLM.from_config(config).eval()
        weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
        sizes: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            hidden_BTH = model.base_model(input_ids=torch.zeros(6, 60, dtype=torch.long), use_cache=False)
        assert hidden_BTH is not None
        return sum(size for address, size in sizes.items() if address not in weights)

    measured = (kept(3) - kept(2)) / (6 * 60 * 4)
    assert measured == pytest.approx(inside, rel=0.1)
    checked = Passes(blueprint("llama")).training("logprobs", SHAPE)
    assert checked.first > 3 * 6 * 60 * 4 * measured


@pytest.mark.parametrize("config", CONFIGS)
def test_passes_cache_holds_key_and_value_per_head_and_position(config: str) -> None:
    key_heads = {"llama": 2, "gpt2": 4}[config]
    assert Passes(blueprint(config)).sampling((9, 12, 17), 8).cache == 2 * 3 * key_heads * 8 * 3 * (17 + 7) * 4


def test_weights_gradients_and_moments_are_exact() -> None:
    plan = blueprint("gpt2")
    model = real("gpt2", plan.spec)
    learner = Learner(model, SFTSpec(), 10)
    sft.accumulate(model, EXAMPLES, new_codec(), 6, CPU)
    gradients = sum(weight.grad.nbytes for weight in model.parameters())
    learner.update(0)
    moments = sum(value.nbytes for name, value in learner.state().items() if not name.endswith("step"))
    assert plan.trained_bytes("policy") == gradients == sum(weight.nbytes for weight in model.parameters())
    assert moments == 2 * gradients


def test_blueprint_lora_trains_the_adapter_and_freezes_backbone() -> None:
    plan = blueprint("llama", lora={"rank": 2, "target_modules": ["q_proj", "down_proj"]}, dtype="bfloat16")
    assert plan.trained_parameters("policy") == 3 * 2 * ((32 + 32) + (80 + 32))
    assert plan.trained_parameters("scalar") == plan.trained_parameters("policy") + 32
    weights = 2 * 300 * 32 + 3 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 32 * 80 + 2 * 32) + 32
    assert plan.frozen_bytes("policy") == 2 * weights


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("limit", [2, 40])
def test_sampling_peaks_as_counted(config: str, limit: int) -> None:
    """No response ends early, because the EOS does not exist. Prompts of several lengths are read in parts."""
    model, prompts = real(config, ModelSpec(path="unused")), [[3, 4] * 10, [5] * 20, [6] * 20, [7] * 9]
    with LiveBytes(tensors_of(model)) as bytes_:
        sample(model, prompts, SamplingOptions(NO_STOPS, 0, 1.0, CPU), limit, torch.Generator().manual_seed(0))
    counted = Passes(blueprint(config)).sampling((9, 20, 20, 20), limit)
    assert counted.peak == pytest.approx(bytes_.peak, rel=0.05)


def test_passes_formula_is_close_to_the_count() -> None:
    large = LlamaConfig(**LLAMA.to_dict() | {"num_hidden_layers": 8, "layer_types": None})
    counted = Passes(Blueprint(large, ModelSpec(path="unused"), "cpu"))
    formula = Passes(counted.blueprint)
    formula.uncounted = "for the sake of it"
    for what in ("logprobs", "scores"):
        expected, found = counted.training(what, SHAPE), formula.training(what, SHAPE)
        assert found.first == pytest.approx(expected.first, rel=0.25)
        assert found.later == pytest.approx(expected.later, rel=0.25)
    assert formula.sampling((17,) * 5, 8).cache == counted.sampling((17,) * 5, 8).cache


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"gradient_checkpointing": True}, marks=pytest.mark.slow),
        {"lora": {"rank": 2}},
    ],
)
def test_a_deep_model_is_counted_from_shallow_ones(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> None:
    deep = LlamaConfig(**LLAMA.to_dict() | {"num_hidden_layers": 9, "layer_types": None})
    plan = Blueprint(deep, ModelSpec.model_validate({"path": "unused", **changes}), "cpu")
    grown = Passes(plan)
    monkeypatch.setattr("trainer.preflight.memory.passes.DEEP", 9)
    whole = Passes(plan)
    for what in ("logprobs", "values"):
        found, expected = grown.training(what, FEW), whole.training(what, FEW)
        assert [found.first, found.later] == pytest.approx([expected.first, expected.later], rel=0.03)
    assert grown.forward("logprobs", True, FEW) == pytest.approx(whole.forward("logprobs", True, FEW), rel=0.01)
    found_, expected_ = grown.sampling((9, 20), 8), whole.sampling((9, 20), 8)
    assert found_.cache == expected_.cache and found_.peak == pytest.approx(expected_.peak, rel=0.01)


def test_passes_mixture_of_experts_uses_formula_and_is_flagged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "torch._subclasses.fake_tensor")
    experts = MixtralConfig(
        vocab_size=300, hidden_size=32, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
    )  # fmt: skip
    passes = Passes(Blueprint(experts, ModelSpec(path="unused"), "cpu"))
    found = passes.training("logprobs", SHAPE)
    assert passes.uncounted
    kept = 3 * (6 * 32 + 2 * 16 + 3 * 32 + 4 * 160) * 360 * 4 + 2 * 240 * 300 * 4
    assert found.later == kept + passes.blueprint.trained_bytes("policy")


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("what", ["logprobs", "scores"])
def test_a_frozen_copy_in_float32_needs_what_the_trained_does(config: str, what: Pass) -> None:
    passes = Passes(blueprint(config))

    assert passes.blueprint.frozen_as_trained
    assert passes._count_forward(what, False, SHAPE) == passes._count_forward(what, True, SHAPE)
    assert passes.forward(what, False, SHAPE) == passes._count_forward(what, False, SHAPE)


@pytest.mark.parametrize(
    "changes", [{"dtype": "bfloat16"}, {"lora": {"rank": 2}}, {"gradient_checkpointing": True}], ids=str
)
def test_a_frozen_copy_that_differs_is_counted_itself(changes: dict[str, Any]) -> None:
    passes = Passes(blueprint("llama", **changes))

    assert passes.forward("logprobs", False, SHAPE) == passes._count_forward("logprobs", False, SHAPE)
