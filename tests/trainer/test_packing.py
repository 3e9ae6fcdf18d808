"""Packed rows compute what padded ones do."""

from pathlib import Path

import pytest
import torch

from tests.trainer.lora.tools import maker, policy_in, stir
from tests.trainer.models import gpt2, llama
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec, session_in
from trainer import packing, sft
from trainer.errors import ModelError
from trainer.models import Model, compute_in
from trainer.packing import Packed, check_packing, packed_logprobs
from trainer.sequences import Batch, completion_logprobs
from trainer.sft import Example
from trainer.spec import SFTSpec

EXAMPLES = [
    Example([3, 4], [5, 1]),
    Example([6], [7, 8, 9, 10, 11, 1]),
    Example([12, 13, 14], [15, 16, 1]),
    Example([17, 18], [19, 1]),
    Example([20], [21, 1]),
]


def packed(examples: list[Example]) -> Packed:
    return Packed.of([e.prompt for e in examples], [e.completion for e in examples], pad_id=0)


def test_rows_are_filled_and_positions_begin_anew() -> None:
    rows = packed([Example([3], [4, 1]), Example([5, 6, 7], [8, 9, 1]), Example([10], [1])])
    assert rows.input_ids_BT.tolist() == [[5, 6, 7, 8, 9, 1], [3, 4, 1, 10, 1, 0]]
    assert rows.position_ids_BT.tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 0]]
    assert rows.targets_N.tolist() == [4, 1, 8, 9, 1, 1]
    assert rows.sources_N.tolist() == [6, 7, 2, 3, 4, 9]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("make", [llama, gpt2])
def test_each_token_is_as_likely_as_in_its_example_alone(make: type[Model], attention: str) -> None:
    model = make()
    model.set_attn_implementation(attention)
    check_packing(model)
    assert packed(EXAMPLES).input_ids_BT.shape == (4, 7)  # 7 | 6 | 4 + 3 | 4
    expected = torch.cat([logprobs_alone(model, e.prompt, e.completion) for e in EXAMPLES])
    torch.testing.assert_close(packed_logprobs(model, packed(EXAMPLES)), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("micro_batch", [2, 5])
def test_the_gradient_is_that_of_padding(micro_batch: int) -> None:
    padded, model = llama(), llama()
    expected = sft.accumulate(padded, EXAMPLES, new_codec(), 5, CPU)
    assert sft.accumulate(model, EXAMPLES, new_codec(), micro_batch, CPU, packing=True) == pytest.approx(expected, 1e-6)
    for got, want in zip(model.parameters(), padded.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-4, atol=1e-6)
    assert sft.evaluate(model, EXAMPLES, new_codec(), 5, CPU, packing=True) == pytest.approx(expected, 1e-6)


@pytest.mark.parametrize(
    ("dropped", "complaint"), [("position_ids", "examples see each other"), ("places", "computes something else")]
)
def test_an_architecture_that_packs_wrongly_is_refused(
    monkeypatch: pytest.MonkeyPatch, dropped: str, complaint: str
) -> None:
    model = gpt2()
    forward = model.transformer.forward

    def blind(position_ids: torch.Tensor | None = None, **inputs: object) -> object:
        if dropped == "position_ids" or position_ids is None:
            return forward(**inputs)
        odd = torch.where(position_ids == 0, 9, position_ids)  # the borders stay
        return forward(position_ids=odd, **inputs)

    monkeypatch.setattr(model.transformer, "forward", blind)
    with pytest.raises(ModelError, match=complaint):
        check_packing(model)


def test_one_that_takes_no_positions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    forward = model.model.forward
    monkeypatch.setattr(model.model, "forward", lambda input_ids, use_cache: forward(input_ids, use_cache=use_cache))
    with pytest.raises(ModelError, match="cannot be packed"):
        check_packing(model)


def test_training_packed_goes_the_same_way(tmp_path: Path) -> None:
    losses = []
    for pack in (False, True):
        folder = tmp_path / str(pack)
        folder.mkdir()
        with session_in(folder) as session:
            spec = SFTSpec(batch_size=3, epochs=3, learning_rate=1e-2, packing=pack)
            sft.train(session, spec, llama(), new_codec(), EXAMPLES, EXAMPLES[:2])
        losses.append([values["loss"] for values in metrics_of(folder).values()])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4) and losses[0][-1] < losses[0][0]


def test_a_role_on_a_shared_backbone_can_be_packed_too(tmp_path: Path) -> None:
    policy = stir(maker(policy_in(tmp_path)).policy("policy", tmp_path, "trained"), 1)
    check_packing(policy)
    padded = Batch.of([e.prompt for e in EXAMPLES], [e.completion for e in EXAMPLES], 0)
    expected = completion_logprobs(policy, padded)[0][padded.mask_BR]
    torch.testing.assert_close(packed_logprobs(policy, packed(EXAMPLES)), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", [llama, gpt2])
def test_a_smaller_type_is_no_reason_to_refuse(make: type[Model]) -> None:
    check_packing(compute_in(make(), torch.bfloat16))
    check_packing(make().to(torch.bfloat16))


def test_the_order_of_rows_is_a_matter_of_lengths_alone() -> None:
    assert packing._first_fit([2, 5, 3, 2, 5], 5) == [[1], [4], [2, 0], [3]]
