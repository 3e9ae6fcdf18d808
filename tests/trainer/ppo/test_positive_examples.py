"""The language-model loss on positive responses: its gradient by enumeration, and its mean over a step."""

from typing import Any

import pytest
import torch

from tests.trainer.ppo.test_toy_gradient import exact_gradient, step_gradient
from tests.trainer.ppo.tools import iterate, spec_of
from tests.trainer.ppo.toy import SCORES, STEPS, Table, actors, log_probabilities, quarters
from trainer.health import Monitor
from trainer.ppo.iteration_log import option_metrics
from trainer.ppo.state import PPOState
from trainer.spec import HealthSpec

KINDS: list[dict[str, Any]] = [
    {},
    {"policy_loss": {"kind": "reinforce"}, "advantage": {"estimator": "sequence"}},
    {"policy_loss": {"aggregation": "fixed_length"}, "kl": {"placement": "loss", "coef": 0.3}},
]


@pytest.mark.parametrize("above", [0.25, 1.9])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_positive_examples_add_their_exact_gradient(options: dict[str, Any], above: float) -> None:
    """− μ·Σᵣ π(r)·∇log π(r) ÷ Σᵣ π(r)·tokens over the responses with a score above the bound; .25 itself is not."""

    def gradient(**more: Any) -> torch.Tensor:
        return step_gradient(actors(quarters(0.25), None if "advantage" in options else Table(1, 5)), **options, **more)

    found = gradient(positive_examples={"coef": 0.7, "above": above}) - gradient()
    policy = quarters(0.25)
    own = log_probabilities(policy).sum(1)
    likely = torch.where(torch.tensor(SCORES) > above, own.exp().detach(), 0.0)
    exact = exact_gradient((likely * own).sum(), policy) / (likely.sum() * STEPS)
    torch.testing.assert_close(found, -0.7 * exact, rtol=0, atol=1e-6)


def test_no_positive_response_changes_no_bit() -> None:
    options: dict[str, Any] = {"kl": {"coef": 0.0}}
    assert torch.equal(
        step_gradient(actors(quarters(0.25), Table(1, 5)), **options, positive_examples={"above": 99.0}),
        step_gradient(actors(quarters(0.25), Table(1, 5)), **options),
    )


def test_loss_is_a_mean_over_the_tokens_of_positive_responses() -> None:
    scores = iterate(spec_of())[1].scored.totals_B
    above = float(scores.median())
    spec = spec_of(positive_examples={"above": above}, minibatches=1, epochs=1)
    _, experience, result = iterate(spec)
    mask = experience.scored.batch.mask_BR & (scores > above)[:, None]
    expected = -result.experience.scored.logprobs_BR[mask].mean()
    assert 0 < int((scores > above).sum()) < len(scores)
    assert result.history[0]["positive_loss"] == pytest.approx(float(expected), rel=1e-5)
    metrics = option_metrics(experience, spec, PPOState.initial(spec, Monitor(HealthSpec(), spec)), 0.1)
    assert metrics["objective/positive_rate"] == pytest.approx(int((scores > above).sum()) / len(scores))
