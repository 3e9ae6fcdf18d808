"""KTO: its loss on paper, its reference point, its gradient against each sequence alone, and that it goes on where it stopped."""

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
from trainer.optim.micro_batches import BatchLimits
from trainer.spec import KTOSpec
from trainer.stages import kto
from trainer.stages.tokenized_rows import TokenizedThumb

VERDICTS = [
    TokenizedThumb([3, 4], [5, 1], True),
    TokenizedThumb([3, 4], [6, 7, 8, 1], False),
    TokenizedThumb([9], [10, 11, 12, 13, 1], False),
    TokenizedThumb([15, 16, 17], [19, 20, 1], True),
    TokenizedThumb([15, 16, 17], [18, 1], False),
]

CLAMPED, POSITIVE = (0, 5), (5, 0)
"""Seeds of a policy and a reference: the mean over the mismatched pairs is negative for the first two models."""


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_the_loss_by_hand() -> None:
    """λ_y − v: β·(r − z₀) is 0.5·(3 − 1) = 1 for the first two rows and 0.5·(−1 − 1) = −1 for the others."""
    ratios, up = torch.tensor([3.0, 3.0, -1.0, -1.0]), torch.tensor([True, False, True, False])
    spec = KTOSpec(beta=0.5, desirable_weight=2.0, undesirable_weight=3.0)
    losses = kto.kto_loss(ratios, up, torch.tensor(1.0), spec)
    expected = [2 - 2 * sigmoid(1), 3 - 3 * sigmoid(-1), 2 - 2 * sigmoid(-1), 3 - 3 * sigmoid(1)]
    assert losses.tolist() == pytest.approx(expected)


def test_the_gradient_is_the_papers() -> None:
    """Ethayarajh et al. 2024, §4.1: −λ_D·β·σ(u)·σ(−u) on r for a thumb up, the opposite with λ_U for one down; none on z₀."""
    ratios = torch.tensor([2.0, 2.0], requires_grad=True)
    point = kto.reference_point(torch.tensor([1.0, 3.0]))
    kto.kto_loss(
        ratios, torch.tensor([True, False]), point - 1, KTOSpec(beta=0.1, undesirable_weight=4.0)
    ).sum().backward()
    pull = 0.1 * sigmoid(0.1) * sigmoid(-0.1)  # u = β·(2 − 1)
    assert ratios.grad is not None and ratios.grad.tolist() == pytest.approx([-pull, 4 * pull])


def test_the_reference_point_is_a_mean_and_never_negative() -> None:
    assert float(kto.reference_point(torch.tensor([1.0, 4.0, -2.0]))) == 1.0
    assert float(kto.reference_point(torch.tensor([1.0, -4.0]))) == 0.0
    assert float(kto.reference_point(torch.zeros(0))) == 0.0


def test_kto_mismatched_takes_next_completion_of_another_prompt() -> None:
    found = [(pair.prompt, pair.completion) for pair in kto.mismatched(VERDICTS)]
    assert found == [
        ([3, 4], [10, 11, 12, 13, 1]),
        ([3, 4], [10, 11, 12, 13, 1]),
        ([9], [19, 20, 1]),
        ([15, 16, 17], [5, 1]),
        ([15, 16, 17], [5, 1]),
    ]
    assert kto.mismatched(VERDICTS[:2]) == kto.mismatched(VERDICTS[:1]) == kto.mismatched([]) == []


def log_ratio(policy: Model, reference: Model, prompt: list[int], answer: list[int]) -> torch.Tensor:
    return (logprobs_alone(policy, prompt, answer) - logprobs_alone(reference, prompt, answer).detach()).sum()


def reference_loss(policy: Model, reference: Model, spec: KTOSpec) -> tuple[torch.Tensor, float]:
    """The batch's mean loss and z₀ in plain torch, one sequence at a time, the pairs of z₀ written out."""
    crossed = [(0, 2), (1, 2), (2, 3), (3, 0), (4, 0)]  # prompt of the one row, completion of the other
    with torch.no_grad():
        pairs = [log_ratio(policy, reference, VERDICTS[i].prompt, VERDICTS[j].completion) for i, j in crossed]
        z = max(0.0, float(sum(pairs) / 5))
    losses = []
    for verdict in VERDICTS:
        gap = log_ratio(policy, reference, verdict.prompt, verdict.completion) - z
        weight, sign = (spec.desirable_weight, 1) if verdict.up else (spec.undesirable_weight, -1)
        losses.append(weight * (1 - torch.sigmoid(sign * spec.beta * gap)))
    return torch.stack(losses).mean(), z


@pytest.mark.parametrize("limits", [BatchLimits(1), BatchLimits(2), BatchLimits(5), BatchLimits(None, 9)])
@pytest.mark.parametrize("seeds", [CLAMPED, POSITIVE])
def test_kto_step_matches_plain_torch_for_any_micro_batch_size(limits: BatchLimits, seeds: tuple[int, int]) -> None:
    spec = KTOSpec(beta=0.3, desirable_weight=1.5)
    expected, model, reference = llama(seeds[0]), llama(seeds[0]), llama(seeds[1])
    loss, z = reference_loss(expected, reference, spec)
    loss.backward()
    values = kto.accumulate(kto.ThumbPasses(model, reference, new_codec(), limits, CPU), VERDICTS, spec)
    assert values["loss"] == pytest.approx(float(loss.detach()), rel=1e-5)
    assert values["kl"] == pytest.approx(z, rel=1e-5, abs=1e-5)
    for got, want in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, **tolerance.gradients())


def test_both_sides_of_the_clamp_are_tried() -> None:
    points = [
        reference_loss(llama(policy), llama(reference), KTOSpec())[1] for policy, reference in (CLAMPED, POSITIVE)
    ]
    assert points[0] == 0 < points[1]


def test_the_figures_by_hand() -> None:
    ratios, up = torch.tensor([2.0, 0.5, -3.0, 4.0]), torch.tensor([True, True, False, False])
    values = kto.figures(ratios, up, torch.tensor(1.0), KTOSpec(beta=0.5))
    assert (values["rewards/chosen"], values["rewards/rejected"], values["margin"]) == (0.625, 0.25, 0.375)
    assert (values["auc"], values["kl"]) == (0.5, 1.0)  # both are above −3, and below 4
    assert "margin" not in kto.figures(ratios[:2], up[:2], torch.tensor(1.0), KTOSpec())


def test_kto_training_starts_at_half_and_separates_the_thumbs(tmp_path: Path) -> None:
    policy, before = llama(), llama()
    with session_in(tmp_path) as session:
        kto.train(session, spec(), policy, llama().requires_grad_(False), new_codec(), VERDICTS, VERDICTS)
    values = metrics_of(tmp_path)
    assert values["kto", 1]["loss"] == 0.5 and values["kto", 1]["kl"] == 0  # the policy is its reference: r = z₀ = 0
    assert values["kto", 7]["eval/margin"] > 1 and values["kto", 7]["eval/loss"] < 0.3
    with torch.no_grad():
        ratios = [float(log_ratio(policy, before, v.prompt, v.completion)) for v in VERDICTS]
    assert min(ratios[0], ratios[3]) > max(ratios[1], ratios[2], ratios[4])


def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path) -> None:
    def go_on(folder: Path, policy: Model, stop: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        with session_in(folder) as session:
            stop_after(session, stop)
            kto.train(session, spec(), policy, llama().requires_grad_(False), new_codec(), VERDICTS, VERDICTS)

    go_on(tmp_path / "whole", llama())
    with pytest.raises(Stopped):
        go_on(tmp_path / "stopped", llama(), stop=3)
    go_on(tmp_path / "stopped", load_policy(tmp_path / "stopped" / "checkpoints" / "kto-000003"))
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")
    first, second = (
        hashlib.sha256((tmp_path / name / "checkpoints" / "kto" / "model.safetensors").read_bytes()).hexdigest()
        for name in ("whole", "stopped")
    )
    assert first == second


def spec() -> KTOSpec:
    return KTOSpec(batch_size=3, micro_batch_size=2, epochs=4, learning_rate=3e-3, beta=0.5, save_every=2, eval_rows=2)
