"""The value loss by classification: target distributions, values, the gradient, and the models that hold the bins."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.trainer.ppo.test_toy_gradient import step_gradient
from tests.trainer.ppo.tools import iterate, spec_of
from tests.trainer.ppo.toy import RESPONSES, SCORES, STEPS, Table, actors, log_probabilities, path, quarters
from tests.trainer.preflight.test_layers import blueprint
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import llama, scorer
from trainer.errors import ModelError
from trainer.models import Model, builder_for, load_reward_model
from trainer.models.sequences import Batch, completion_values
from trainer.models.value_bins import bin_targets, bin_values, give_bins
from trainer.ppo.iteration_log import update_metrics
from trainer.spec import CriticSpec, ModelSpec, PPOSpec, ValueClassificationSpec

BINS: dict[str, Any] = {"low": -2, "high": 2, "bins": 9}
KINDS = ["hl_gauss", "two_hot"]


def bins_of(**options: Any) -> ValueClassificationSpec:
    return ValueClassificationSpec.model_validate(options)


def test_two_hot_targets_by_hand() -> None:
    # values −1, −.5, 0, .5, 1: .3 = .4·0 + .6·.5, and beyond the range all is on the nearest end
    found = bin_targets(torch.tensor([0.3, -9.0, 1.0, -0.5]), bins_of(low=-1, high=1, bins=5, target="two_hot"))
    expected = torch.tensor([[0, 0, 0.4, 0.6, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 0, 0]])
    torch.testing.assert_close(found, expected)


def test_hl_gauss_targets_by_hand() -> None:
    # bins [0, 2], [2, 4], [4, 6], σ = 2: Φ(1.5) = .9331928, Φ(.5) = .6914625, Φ(3) = .9986501, Φ(2) = .9772499, Φ(1) = .8413447
    found = bin_targets(torch.tensor([3.0, 0.0, -7.0]), bins_of(low=0, high=6, bins=3, sigma=1))
    middle, side = 0.382925 / 0.8663856, 0.2417303 / 0.8663856
    at_the_end = [0.3413447 / 0.4986501, 0.1359052 / 0.4986501, 0.0214002 / 0.4986501]
    torch.testing.assert_close(found, torch.tensor([[side, middle, side], at_the_end, at_the_end]), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("target", "value"), [("hl_gauss", 3.6), ("two_hot", 3.9)])
def test_value_is_the_mean_of_the_distribution(target: str, value: float) -> None:
    # ¼, ⅕ and 11/20 of the middles 1, 3 and 5, or of the values 0, 3 and 6
    logits = torch.tensor([[0.25, 0.2, 0.55]]).log() + 7
    assert bin_values(logits, bins_of(low=0, high=6, bins=3, target=target)).tolist() == pytest.approx([value])


def distribution(value: float, low: float, high: float, count: int, sigma: float | None) -> list[float]:
    """The target distribution as the papers write it. `sigma`: in widths of a bin; None: two-hot."""
    value = min(max(value, low), high)
    if sigma is None:
        places = [low + (high - low) * k / (count - 1) for k in range(count)]
        right = next(k for k in range(1, count) if value <= places[k] or k == count - 1)
        share = (value - places[right - 1]) / (places[right] - places[right - 1])
        return [share if k == right else 1 - share if k == right - 1 else 0.0 for k in range(count)]
    edges = [low + (high - low) * k / count for k in range(count + 1)]
    below = [0.5 * (1 + math.erf((edge - value) / (sigma * (edges[1] - edges[0]) * math.sqrt(2)))) for edge in edges]
    return [(b - a) / (below[-1] - below[0]) for a, b in pairwise(below)]


@given(
    st.floats(-60, 60), st.floats(-50, 50), st.floats(0.01, 100), st.integers(2, 40),
    st.one_of(st.none(), st.floats(0.05, 10)),
)  # fmt: skip
def test_targets_equal_their_definition(value: float, low: float, size: float, count: int, sigma: float | None) -> None:
    kind = {"target": "two_hot"} if sigma is None else {"sigma": sigma}
    bins = bins_of(low=low, high=low + size, bins=count, **kind)
    found = bin_targets(torch.tensor(value, dtype=torch.float64), bins)
    assert found.tolist() == pytest.approx(distribution(value, low, low + size, count, sigma), abs=1e-9)
    single = bin_targets(torch.tensor(value), bins)
    assert float(single.sum()) == pytest.approx(1, abs=1e-5) and float(single.min()) >= 0
    mean = float(bin_values(found.clamp(min=1e-300).log(), bins))
    if sigma is None:  # exact, and for a Gaussian up to a hundred-thousandth of a bin inside the range
        assert mean == pytest.approx(min(max(value, low), low + size), abs=1e-9)
    assert low - 1e-9 <= mean <= low + size + 1e-9


def test_mean_of_a_gaussian_inside_the_range_is_its_target() -> None:
    values = torch.linspace(-1.5, 1.5, 37, dtype=torch.float64)
    bins = bins_of(low=-2, high=2)
    torch.testing.assert_close(
        bin_values(bin_targets(values, bins).clamp(min=1e-300).log(), bins), values, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("target", KINDS)
def test_gradient_of_the_value_loss_is_exact(target: str) -> None:
    """Against the enumeration of all responses: Σₛ π(s)·(q(s) − E[p(return) | s]) of each logit, in float64."""
    bins = {"low": -3, "high": 3.5, "bins": 7, "target": target}
    critic = Table(1, None)
    give_bins(critic, bins_of(**bins))
    critic.score.weight.data.normal_(generator=torch.Generator().manual_seed(5))
    cast = actors(quarters(0.75), critic)
    advantage = {"normalize": "none", "gamma": 0.6, "critic_lambda": 1.0}
    step_gradient(cast, advantage=advantage, critic={"classification": bins}, kl={"coef": 0.0})
    own, exact = log_probabilities(cast.policy).sum(1).exp().detach(), torch.zeros_like(critic.score.weight)
    q = critic.score.weight.detach().softmax(0)
    for response, score, likely in zip(RESPONSES, SCORES, own, strict=True):
        for t, (state, _) in enumerate(path(response)):
            sigma = 0.75 if target == "hl_gauss" else None
            p = distribution(0.6 ** (STEPS - 1 - t) * score, -3, 3.5, 7, sigma)
            exact[:, state] += likely * (q[:, state] - torch.tensor(p, dtype=torch.float64)) / STEPS
    assert critic.score.weight.grad is not None
    torch.testing.assert_close(critic.score.weight.grad, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["separate", "value_head"])
def test_update_learns_and_counts_returns_outside_the_bins(kind: str) -> None:
    classification = BINS | {"low": -0.1, "high": 0.1}
    spec = spec_of(critic={"kind": kind, "classification": classification}, epochs=1)
    _, experience, result = iterate(spec)
    mask = experience.scored.batch.mask_BR
    outside = experience.returns_BR[mask].abs() > 0.1
    metrics = update_metrics(result.history)
    assert 0 < float(outside.float().mean()) < 1 and "val/clipfrac_avg" not in metrics
    shares = [step["outside_bins"] for step in result.history]
    assert 0 < metrics["val/returns_outside_bins"] == pytest.approx(sum(shares) / len(shares))
    assert experience.values_BR is not None and float(experience.values_BR.abs().max()) <= 0.1
    assert metrics["loss/value_avg"] > 0


def lora(rank: int = 2) -> ModelSpec:
    return ModelSpec.model_validate({"path": "unused", "lora": {"rank": rank}})


def critic_in(folder: Path, model: ModelSpec, saved: Path | None = None, **options: Any) -> Model:
    """The critic that a run builds on the reward model in `folder`."""
    critic = CriticSpec.model_validate({"classification": BINS | options})
    return builder_for(model, CPU, lambda part: 7).scorer("critic", folder, "trained", saved, None, critic)


BATCH = Batch.from_ids([[5], [6, 7, 8]], [[3, 4, 2], [9, 2]], 0)


@pytest.mark.parametrize("model", [ModelSpec(path="unused"), lora()], ids=["whole", "lora"])
def test_critic_with_bins_starts_on_reward_model_and_is_saved(tmp_path: Path, model: ModelSpec) -> None:
    """Its first values are the middle of the range, and a checkpoint has its distribution."""
    scorer(1).save_pretrained(tmp_path / "rm")
    critic = critic_in(tmp_path / "rm", model, low=-1)
    mask = BATCH.mask_BR
    torch.testing.assert_close(completion_values(critic, BATCH)[mask], torch.full((int(mask.sum()),), 0.5))
    hidden = [one.base_model(input_ids=torch.tensor([[5, 6]])).last_hidden_state for one in (critic, scorer(1))]
    torch.testing.assert_close(hidden[0], hidden[1])  # the trunk is the reward model's
    critic.score.weight.data.normal_(generator=torch.Generator().manual_seed(3))
    assert critic.score.weight.requires_grad
    critic.save_pretrained(tmp_path / "critic")
    back = critic_in(tmp_path / "rm", model, tmp_path / "critic", low=-1)
    assert torch.equal(completion_values(back, BATCH), completion_values(critic, BATCH))
    with pytest.raises(ModelError, match=r"has 9 outputs, but `ppo\.critic\.classification\.bins` is 5"):
        critic_in(tmp_path / "rm", model, tmp_path / "critic", low=-1, bins=5)


def test_saved_critic_with_bins_is_no_reward_model(tmp_path: Path) -> None:
    critic = give_bins(scorer(1), bins_of(**BINS))
    critic.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"needs a `score` head with one output\. This one has 9"):
        load_reward_model(tmp_path)


def test_head_on_adapter_of_a_reward_model_is_new(tmp_path: Path) -> None:
    """The adapter is the reward model's, its scalar head is not."""
    llama(0).save_pretrained(tmp_path / "base")
    make = builder_for(lora(), CPU, lambda part: 7)
    reward_model = make.scorer("reward_model", tmp_path / "base", "trained", fresh_head=3)
    for weight in reward_model.parameters():
        weight.data += 0.1
    reward_model.save_pretrained(tmp_path / "rm")
    critic = CriticSpec.model_validate({"classification": BINS})
    found = builder_for(lora(), CPU, lambda part: 7).scorer(
        "critic", tmp_path / "base", "trained", tmp_path / "rm", 3, critic
    )
    assert found.score.weight.shape[0] == 9 and not found.score.weight.any()
    ids = torch.tensor([[5, 6]])
    ours, theirs = (one.base_model(input_ids=ids).last_hidden_state for one in (found, reward_model))
    torch.testing.assert_close(ours, theirs)


def test_memory_of_a_critic_counts_the_outputs_of_its_head() -> None:
    plain = blueprint("gpt2")
    critic = plain.for_critic(CriticSpec.model_validate({"classification": BINS | {"bins": 300}}))
    more = 4 * 299 * plain.hidden_size
    assert critic.trained_bytes("scalar") == plain.trained_bytes("scalar") + more
    assert critic.own_bytes("scalar") == sum(p.nbytes for p in critic.trained("scalar").parameters())


@pytest.mark.parametrize(
    ("critic", "said"),
    [
        ({"classification": BINS, "value_clip_range": 0.2}, "`value_clip_range` clips a value"),
        ({"classification": {"low": 1, "high": 1}}, r"`high` \(1.0\) must be above `low` \(1.0\)"),
        ({"classification": BINS | {"target": "two_hot", "sigma": 1.0}}, "`sigma` has no effect with `target`"),
        ({"classification": BINS | {"bins": 1}}, "greater than or equal to 2"),
        ({"classification": {"low": 0}}, "high\n  Field required"),
    ],
)
def test_classification_that_cannot_be_is_refused(critic: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PPOSpec.model_validate({"critic": critic})


def test_classification_leaves_no_value_clipping() -> None:
    spec = CriticSpec.model_validate({"classification": BINS})
    assert spec.value_clip_range is None
    assert CriticSpec.model_validate(spec.model_dump()) == spec  # as it is stored
    assert CriticSpec.model_validate({"classification": {"null": True}}).value_clip_range == 0.2
    with_false = {"classification": BINS, "value_clip_range": False}
    assert CriticSpec.model_validate(with_false).value_clip_range is None
