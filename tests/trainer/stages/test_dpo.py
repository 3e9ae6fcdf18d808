"""DPO: its loss on paper, its gradient against each sequence alone, and that it goes on where it stopped."""

import hashlib
import math
from pathlib import Path

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
from trainer.stages.tokenized_rows import TokenizedPair

PAIRS = [
    TokenizedPair([3, 4], [5, 1], [6, 7, 8, 1], 1.0),
    TokenizedPair([9], [10, 11, 12, 13, 1], [14, 1], 0.0),
    TokenizedPair([15, 16, 17], [18, 1], [19, 20, 1], 0.5),
]


def test_the_sigmoid_loss_by_hand() -> None:
    differences, targets = torch.tensor([5.0, 5.0, 5.0]), torch.tensor([1.0, 0.0, 0.5])
    right, wrong = math.log(1 + math.exp(-0.5)), math.log(1 + math.exp(0.5))  # β·Δ = 0.5
    plain = dpo.preference_loss(differences, targets, DPOSpec(beta=0.1))
    assert plain.tolist() == pytest.approx([right, wrong, (right + wrong) / 2])
    smooth = dpo.preference_loss(differences, targets, DPOSpec(beta=0.1, label_smoothing=0.1))
    assert smooth.tolist() == pytest.approx([right + 0.05, wrong - 0.05, (right + wrong) / 2])  # wrong − right = 0.5


def test_the_ipo_loss_by_hand() -> None:
    targets = torch.tensor([1.0, 0.0, 0.5])
    losses = dpo.preference_loss(torch.tensor([3.0, 3.0, 3.0]), targets, DPOSpec(beta=0.5, loss="ipo"))
    assert losses.tolist() == [4.0, 16.0, 10.0]  # (3 − 1)², (3 + 1)², half of each


def test_the_gradient_is_the_papers() -> None:
    """Rafailov et al. 2023, §4: −β·σ(−βΔ) on the preferred side's log-ratio, the opposite on the other's."""
    ratios = torch.tensor([2.0, -3.0], requires_grad=True)
    dpo.preference_loss((ratios[0] - ratios[1])[None], torch.ones(1), DPOSpec(beta=0.1)).sum().backward()
    pull = 0.1 / (1 + math.exp(0.5))
    assert ratios.grad is not None and ratios.grad.tolist() == pytest.approx([-pull, pull])


def log_ratio(policy: Model, reference: Model, prompt: list[int], answer: list[int]) -> torch.Tensor:
    return (logprobs_alone(policy, prompt, answer) - logprobs_alone(reference, prompt, answer).detach()).sum()


@pytest.mark.parametrize("micro_batch", [1, 2, 3])
@pytest.mark.parametrize("loss", ["sigmoid", "ipo"])
def test_dpo_weights_pairs_equally_for_any_micro_batch_size(loss: str, micro_batch: int) -> None:
    spec = DPOSpec.model_validate({"beta": 0.3, "loss": loss})
    expected, model, reference, losses = llama(), llama(), llama(5), []
    for pair in PAIRS:
        sides = [log_ratio(expected, reference, pair.prompt, side) for side in (pair.a, pair.b)]
        if loss == "ipo":
            sides = [value / len(side) for value, side in zip(sides, (pair.a, pair.b), strict=True)]
        losses.append(dpo.preference_loss((sides[0] - sides[1])[None], torch.tensor([pair.target]), spec).sum())
    (sum(losses) / 3).backward()
    values = dpo.accumulate(dpo.PairPasses(model, reference, new_codec(), spec, micro_batch, CPU), PAIRS)
    assert values["loss"] == pytest.approx(sum(float(one.detach()) for one in losses) / 3, rel=tolerance.largest())
    for got, want in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, **tolerance.gradients())


def test_dpo_figures_use_the_preferred_side_and_skip_ties() -> None:
    parts = [
        dpo.PairLogRatios(torch.tensor([2.0, 1.0, 9.0]), torch.tensor([-2.0, 4.0, 0.0]), torch.tensor([1.0, 0.0, 0.5]))
    ]
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


def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path) -> None:
    def go_on(folder: Path, policy: Model, stop: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        with session_in(folder) as session:
            stop_after(session, stop)
            dpo.train(session, spec(), policy, llama().requires_grad_(False), new_codec(), PAIRS, PAIRS)

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
