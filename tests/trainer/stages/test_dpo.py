"""DPO: its gradient against each sequence alone, and that it goes on where it stopped. test_pair_losses.py has the losses."""

import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import tolerance
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec, session_in, stop_after
from tests.trainer.tiny_models import llama
from trainer.errors import Stopped
from trainer.models import Model, load_policy
from trainer.spec import DPOSpec
from trainer.stages import dpo
from trainer.stages.pair_losses import PairLogprobs
from trainer.stages.tokenized_rows import TokenizedPair

PAIRS = [
    TokenizedPair([3, 4], [5, 1], [6, 7, 8, 1], 1.0),
    TokenizedPair([9], [10, 11, 12, 13, 1], [14, 1], 0.0),
    TokenizedPair([15, 16, 17], [18, 1], [19, 20, 1], 0.5),
]


def log_ratio(policy: Model, reference: Model | None, prompt: list[int], answer: list[int]) -> torch.Tensor:
    own = logprobs_alone(policy, prompt, answer).sum()
    return own if reference is None else own - logprobs_alone(reference, prompt, answer).sum().detach()


@pytest.mark.parametrize("micro_batch", [1, 2, 3])
@pytest.mark.parametrize("loss", ["sigmoid", "ipo", "simpo", "orpo"])
def test_dpo_weights_pairs_equally_for_any_micro_batch_size(loss: str, micro_batch: int) -> None:
    spec = DPOSpec.model_validate({"loss": loss} | ({} if loss == "orpo" else {"beta": 0.3}))
    reference = llama(5) if loss in ("sigmoid", "ipo") else None
    expected, model, losses = llama(), llama(), []
    for pair in PAIRS:
        sides = [log_ratio(expected, reference, pair.prompt, side) for side in (pair.a, pair.b)]
        if loss != "sigmoid":
            sides = [value / len(side) for value, side in zip(sides, (pair.a, pair.b), strict=True)]
        losses.append(PairLogprobs(sides[0][None], sides[1][None], torch.tensor([pair.target])).losses(spec).sum())
    (sum(losses) / 3).backward()
    values = dpo.accumulate(dpo.PairPasses(model, reference, new_codec(), spec, micro_batch, CPU), PAIRS)
    assert values["loss"] == pytest.approx(sum(float(one.detach()) for one in losses) / 3, rel=tolerance.largest())
    for got, want in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, **tolerance.gradients())


def test_dpo_figures_use_the_preferred_side_and_skip_ties() -> None:
    parts = [PairLogprobs(torch.tensor([2.0, 1.0, 9.0]), torch.tensor([-2.0, 4.0, 0.0]), torch.tensor([1.0, 0.0, 0.5]))]
    values = dpo.figures([*parts, *parts], DPOSpec(beta=0.5))
    assert (values["rewards/chosen"], values["rewards/rejected"]) == (0.5 * (2 + 4) / 2, 0.5 * (-2 + 1) / 2)
    assert (values["accuracy"], values["margin"]) == (1.0, 0.5 * (4 + 3) / 2)


def test_dpo_training_starts_at_ln_2_and_separates_the_pairs(tmp_path: Path) -> None:
    policy, before = llama(), llama()
    with session_in(tmp_path) as session:
        dpo.train(session, spec(), policy, llama().requires_grad_(False), new_codec(), PAIRS, PAIRS)
    values = metrics_of(tmp_path)
    assert values["dpo", 1]["loss"] == pytest.approx(math.log(2)) and values["dpo", 1]["margin"] == 0
    assert values["dpo", 6]["eval/accuracy"] == 1 and values["dpo", 6]["eval/loss"] < 0.6
    with torch.no_grad():
        assert log_ratio(policy, before, PAIRS[1].prompt, PAIRS[1].b) > log_ratio(
            policy, before, PAIRS[1].prompt, PAIRS[1].a
        )


@pytest.mark.parametrize("changes", [{}, {"loss": "orpo", "beta": 0.1}])
def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path, changes: dict[str, Any]) -> None:
    def go_on(folder: Path, policy: Model, stop: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        with session_in(folder) as session:
            stop_after(session, stop)
            wanted = DPOSpec.model_validate(spec().model_dump() | changes)
            reference = llama().requires_grad_(False) if wanted.traits.has_reference else None
            dpo.train(session, wanted, policy, reference, new_codec(), PAIRS, PAIRS)

    go_on(tmp_path / "whole", llama())
    with pytest.raises(Stopped):
        go_on(tmp_path / "stopped", llama(), stop=3)
    go_on(tmp_path / "stopped", load_policy(tmp_path / "stopped" / "checkpoints" / "dpo-000003"))
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")
    first, second = (
        hashlib.sha256((tmp_path / name / "checkpoints" / "dpo" / "model.safetensors").read_bytes()).hexdigest()
        for name in ("whole", "stopped")
    )
    assert first == second


def spec() -> DPOSpec:
    return DPOSpec(batch_size=2, micro_batch_size=2, epochs=4, learning_rate=3e-3, beta=0.5, save_every=2, eval_rows=1)
