"""The weights, masks and metrics of a sampler that is not the policy, by hand."""

from math import log
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer.rollout.correction import CORRECTIONS, Correction, correction_for, gap_metrics
from trainer.spec import RolloutSpec
from trainer.spec.ppo_correction import CORRECTION_KINDS

OWN = torch.tensor([[0.5, 0.24, 0.9, 1.0], [0.3, 0.6, 1.0, 1.0]], dtype=torch.float64).log()
SAMPLER = torch.tensor([[0.4, 0.4, 0.1, 1.0], [0.75, 0.2, 1.0, 1.0]], dtype=torch.float64).log()
RATIOS = [[1.25, 0.6, 9.0], [0.4, 3.0]]
MASK = torch.tensor([[True, True, True, False], [True, True, False, False]])
S1, S2 = (1.25 * 0.6 * 9) ** (1 / 3), 1.2**0.5
"""1.890 and 1.095: the geometric means."""


def correction(kind: str, cap: float | None = None, **options: Any) -> Correction:
    spec: dict[str, Any] = {"correction": {"kind": kind, **options}} | ({"importance_cap": cap} if cap else {})
    found = correction_for(RolloutSpec.model_validate(spec))
    assert found is not None
    return found


def weights(found: Correction) -> list[list[float]]:
    _, weights_BR, _ = found.apply(OWN, OWN, SAMPLER, MASK)
    assert isinstance(weights_BR, Tensor)
    return [row[inside].tolist() for row, inside in zip(weights_BR, MASK, strict=True)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (correction("truncated"), [[1.25, 0.6, 2.0], [0.4, 2.0]]),
        (correction("truncated", 4.0), [[1.25, 0.6, 4.0], [0.4, 3.0]]),
        (correction("mask", epsilon_low=0.3, epsilon_high=2.5), [[1.25, 0, 0], [0, 3.0]]),
        (correction("mask", epsilon_low=0.7, epsilon_high=0.2), [[0, 0.6, 0], [0.4, 0]]),
        (correction("sequence_truncated", 1.5), [[1.5] * 3, [S2] * 2]),
        (correction("sequence_mask", epsilon_high=0.5), [[0.0] * 3, [S2] * 2]),
        (correction("sequence_mask", epsilon_high=0.9), [[S1] * 3, [S2] * 2]),
    ],
    ids=lambda value: f"{type(value).__name__} {value.cap}" if isinstance(value, Correction) else "",
)
def test_weights_of_each_kind_are_those_by_hand(found: Correction, expected: list[list[float]]) -> None:
    for row, by_hand in zip(weights(found), expected, strict=True):
        assert row == pytest.approx(by_hand, abs=1e-12)


def test_bypass_reads_the_ratio_of_the_pass_and_weighs_1_or_0() -> None:
    moved = OWN + torch.tensor([[0.0, log(2), 0.0, 0.0], [0.0, log(0.5), 0.0, 0.0]], dtype=torch.float64)
    found = correction("mask", denominator="sampler")  # ratios 1.25, 1.2, 9 and 0.4, 1.5, of which [0.5, 2] holds three
    denominator_BR, weights_BR, kept_BR = found.apply(moved, OWN, SAMPLER, MASK)
    assert torch.equal(denominator_BR, SAMPLER) and weights_BR is kept_BR
    assert isinstance(weights_BR, Tensor)
    assert weights_BR[MASK].tolist() == [1, 1, 0, 0, 1]


def test_bypass_alone_has_no_weight_and_no_mask() -> None:
    found = correction("none", denominator="sampler").apply(OWN, OWN, SAMPLER, MASK)
    assert found.denominator_BR is SAMPLER and (found.weights_BR, found.kept_BR) == (1.0, 1.0)


def test_interpolation_lies_between_sampler_and_pass_by_age() -> None:
    """At age 1 π_prox is the geometric mean of μ and π: its ratio to μ is the root of π/μ."""
    spec = RolloutSpec.model_validate({"staleness": 2, "correction": {"denominator": "interpolated"}})
    fresh, old = correction_for(spec, 0), correction_for(spec, 1)
    assert fresh is not None and old is not None
    at_once, later = (found.apply(OWN, OWN - 5, SAMPLER, MASK) for found in (fresh, old))
    assert torch.equal(at_once.denominator_BR, SAMPLER) and at_once.weights_BR[MASK].tolist() == [1] * 5  # type: ignore[index]
    expected = [value**0.5 for row in RATIOS for value in row]
    assert (later.denominator_BR - SAMPLER)[MASK].exp().tolist() == pytest.approx(expected)
    assert later.weights_BR[MASK].tolist() == pytest.approx([min(value, 2.0) for value in expected])  # type: ignore[index]


def test_every_kind_has_a_class_and_its_traits() -> None:
    assert CORRECTIONS.keys() == CORRECTION_KINDS.keys()
    ones = torch.ones(2, 2)
    for name, traits in CORRECTION_KINDS.items():
        found = CORRECTIONS[name](RolloutSpec.model_validate({"importance_cap": 2.0}))
        assert (found.truncates(ones) is not None, found.keeps(ones) is not None) == (traits.truncates, traits.masks)


def test_truncated_spelling_of_before_means_the_same() -> None:
    for old in ({"importance_cap": 1.5}, {"asynchronous": True}, {"engine": "vllm"}):
        found = correction_for(RolloutSpec.model_validate(old))
        assert type(found) is CORRECTIONS["truncated"] and found.cap == old.get("importance_cap", 2.0)
    for off in ({}, {"asynchronous": True, "importance_cap": None}, {"asynchronous": True, "importance_cap": False}):
        assert correction_for(RolloutSpec.model_validate(off)) is None


def test_weights_of_equal_logprobs_are_exactly_1() -> None:
    logprobs, mask = torch.randn(3, 5), torch.ones(3, 5, dtype=torch.bool)
    for kind in CORRECTIONS:
        found = CORRECTIONS[kind](RolloutSpec.model_validate({"importance_cap": 1.0}))
        assert torch.equal(found.weight(found.ratio(logprobs - logprobs, mask)), torch.ones(3, 5))


def test_metrics_of_the_gap_are_those_by_hand() -> None:
    found = gap_metrics(OWN, SAMPLER, MASK, correction("mask"), rounding=0.5)
    logs = [log(ratio) for row in RATIOS for ratio in row]
    assert found == pytest.approx(
        {
            "sampling/logp_difference/mean": sum(map(abs, logs)) / 5,
            "sampling/logp_difference/max": log(9),
            "sampling/logp_difference/signed": sum(logs) / 5,
            "sampling/ratio/mean": (1.25 + 0.6 + 9 + 0.4 + 3) / 5,
            "sampling/ratio/above": 2 / 5,
            "sampling/ratio/below": 1 / 5,
            "sampling/ratio/outside": 3 / 5,
            "sampling/ratio/beyond_rounding": 4 / 5,
            "sampling/importance_sampling_ratio/min": 0.0,
            "sampling/importance_sampling_ratio/mean": 1.85 / 5,
            "sampling/importance_sampling_ratio/max": 1.25,
            "sampling/effective_sample_size": 1.85**2 / (5 * (1.25**2 + 0.6**2)),
            "sampling/masked": 3 / 5,
        }
    )


def test_metrics_of_a_wholly_masked_batch_are_numbers() -> None:
    found = gap_metrics(OWN, SAMPLER, MASK, correction("mask", epsilon_low=1e-3, epsilon_high=1e-3))
    assert (found["sampling/effective_sample_size"], found["sampling/masked"]) == (0.0, 1.0)


def test_metrics_of_truncation_count_the_cut_tokens() -> None:
    found = gap_metrics(OWN, SAMPLER, MASK, correction("truncated", 2.0))
    assert found["sampling/truncated"] == pytest.approx(2 / 5) and "sampling/masked" not in found
    assert found["sampling/importance_sampling_ratio/mean"] == pytest.approx((1.25 + 0.6 + 2 + 0.4 + 2) / 5)
