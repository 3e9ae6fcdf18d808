"""PopArt: the running moments, a head whose values stay while they move, the loss in units of σ, and saved critics."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import nn

from tests.trainer.ppo.test_toy_gradient import ALL
from tests.trainer.ppo.test_toy_gradient import spec_of as toy_spec
from tests.trainer.ppo.tools import PROMPTS, cast_for, spec_of
from tests.trainer.ppo.toy import (
    CODEC,
    PROMPT,
    REPRESENTATIVE,
    RESPONSES,
    SCORES,
    STEPS,
    Table,
    actors,
    log_probabilities,
    path,
    quarters,
)
from tests.trainer.preflight.test_layers import blueprint
from tests.trainer.spec.test_carry_over import spec as job_spec
from tests.trainer.stage_tools import CPU, context_of, new_codec, respond_and_learn
from tests.trainer.tiny_models import llama, scorer
from trainer.errors import ModelError
from trainer.health import Monitor
from trainer.models import Model, builder_for, load_reward_model
from trainer.models.heads import ValueHead, scalar_head
from trainer.models.sequences import Batch, completion_values
from trainer.models.value_units import ValueUnits, change_units, give_units
from trainer.ppo.experience import build_experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import MicroBatch, Minibatch
from trainer.ppo.state import PPOState
from trainer.ppo.update import update
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rollout.batch import sample_and_score
from trainer.rollout.context import PPOModels
from trainer.spec import CriticSpec, HealthSpec, ModelSpec, PPOSpec

NORMALIZED: dict[str, Any] = {"normalization": {}}


def test_moments_of_two_batches_by_hand() -> None:
    # β is 1, then ½/(1 − ¼) = ⅔: μ = 2/3 + 12/3, ν = 5/3 + 80/3 with ν = σ² + μ² of 1 + 4 and 4 + 36
    one = ValueUnits().with_batch(2.0, 1.0, 0.5)
    two = one.with_batch(6.0, 4.0, 0.5)
    assert one == ValueUnits(2.0, 1.0, 1) and two.batches == 2
    assert two.mean == pytest.approx(14 / 3) and two.variance == pytest.approx(85 / 3 - (14 / 3) ** 2)
    assert two.deviation == pytest.approx((59 / 9) ** 0.5)


@given(st.lists(st.lists(st.floats(-50, 50), min_size=1, max_size=5), min_size=1, max_size=6), st.floats(0.01, 1))
def test_moments_equal_their_definition(batches: list[list[float]], rate: float) -> None:
    """Weighted means of R and R², in which the k-th of n batches has a weight in proportion to (1 − rate)ⁿ⁻ᵏ."""
    units = ValueUnits()
    for batch in batches:
        mean = sum(batch) / len(batch)
        units = units.with_batch(mean, sum((x - mean) ** 2 for x in batch) / len(batch), rate)
    shares = [(1 - rate) ** (len(batches) - 1 - k) for k in range(len(batches))]
    first, second = (
        sum(share * sum(x**power for x in batch) / len(batch) for share, batch in zip(shares, batches, strict=True))
        / sum(shares)
        for power in (1, 2)
    )
    assert units.mean == pytest.approx(first, abs=1e-9)
    assert units.variance == pytest.approx(second - first**2, abs=1e-7)


def test_equal_targets_have_the_unit_one() -> None:
    units = ValueUnits().with_batch(7.0, 0.0, 0.1)
    assert (units.mean, units.deviation) == (7.0, 1.0)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_move_no_moment(number: float) -> None:
    units = ValueUnits(1.0, 2.0, 3)
    assert units.with_batch(number, 1.0, 0.1) == units == units.with_batch(1.0, number, 0.1)


class Head(nn.Module):
    """A scalar head by itself, with the level of a reward model."""

    def __init__(self, bias: float, scale: float) -> None:
        super().__init__()
        self.score = nn.Linear(2, 1, bias=False)
        self.score.weight.data = torch.tensor([[2.0, -4.0]])
        self.config = type("Config", (), {"score_bias": bias, "score_scale": scale})()


def test_rescaled_head_by_hand() -> None:
    # V = (2x − 4y − 1)/2 = x − 2y − ½; with μ = 3 and σ = 4: w = ¼, −½ and b = (−½ − 3)/4
    head = give_units(Head(1.0, 2.0), True)
    assert head.score.weight.tolist() == [[1.0, -2.0]] and head.score.bias.tolist() == [-0.5]
    change_units(head, ValueUnits(), ValueUnits(3.0, 16.0, 1))
    assert head.score.weight.tolist() == [[0.25, -0.5]] and head.score.bias.tolist() == [-0.875]
    assert scalar_head(head, torch.tensor([[6.0, 1.0]])).tolist() == [3.5]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 9)), min_size=1, max_size=5), st.integers(0, 99))
def test_values_stay_while_the_moments_move(batches: list[tuple[float, float]], seed: int) -> None:
    """To 1e-6, of values and levels of the size 1 to 10."""
    head = give_units(Head(0.3, 1.7), True)
    inputs = torch.randn(9, 2, generator=torch.Generator().manual_seed(seed))
    before, units = scalar_head(head, inputs).detach(), ValueUnits()
    for mean, variance in batches:
        moved = units.with_batch(mean, variance, 0.1)
        change_units(head, units, moved)
        units = moved
        largest = max(1.0, float(before.abs().max()), abs(units.mean))
        torch.testing.assert_close(scalar_head(head, inputs).detach(), before, rtol=0, atol=1e-6 * largest)


def state_of(spec: PPOSpec) -> PPOState:
    return PPOState.initial(spec, Monitor(HealthSpec(), spec))


def test_gradient_of_the_normalised_loss_is_exact() -> None:
    """Against the enumeration of all responses: Σₛ π(s)·(w·s + b − (G − μ)/σ) of each weight, in float64."""
    critic = give_units(Table(1, 5), True)
    advantage = {"normalize": "none", "gamma": 0.6, "critic_lambda": 1.0}
    spec = toy_spec(advantage=advantage, critic=NORMALIZED | {"value_clip_range": None}, kl={"coef": 0.0})
    cast = actors(quarters(0.75), critic)
    context, state = context_of(cast, spec, CODEC), state_of(spec)
    likely = log_probabilities(cast.policy).sum(1).exp().detach()
    visits = [
        (float(p) / STEPS, at, 0.6 ** (STEPS - 1 - t) * score)
        for response, score, p in zip(RESPONSES, SCORES, likely, strict=True)
        for t, (at, _) in enumerate(path(response))
    ]
    mean = sum(p * reward for p, _, reward in visits)
    deviation = sum(p * (reward - mean) ** 2 for p, _, reward in visits) ** 0.5
    before = critic.score.weight.detach().clone()
    experience = build_experience(context, sample_and_score(context, [PROMPT] * ALL, REPRESENTATIVE), kl_coef=0.0)
    experience = state.in_value_units(experience, context)
    assert (state.value_units.mean, experience.value_scale) == pytest.approx((mean, deviation))
    own_bias = float(critic.score.bias.detach())
    torch.testing.assert_close(critic.score.weight * deviation, before)
    Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.0, 1.0)).accumulate(
        Learners.build(cast, spec), only_critic=False
    )
    exact = torch.zeros_like(before)
    for p, at, reward in visits:
        exact[0, at] += p * (float(before[0, at]) / deviation + own_bias - (reward - mean) / deviation)
    assert critic.score.weight.grad is not None and critic.score.bias.grad is not None
    torch.testing.assert_close(critic.score.weight.grad, exact, rtol=0, atol=1e-6)
    torch.testing.assert_close(critic.score.bias.grad, exact.sum(1), rtol=0, atol=1e-6)


def test_clip_range_counts_in_deviations() -> None:
    # σ = 2, so ±¼ is ±½: from the old 1 the new 3 counts as 1½, and ½·(1½ − 4)²/4 = .78125 is more than ½·1/4
    spec = spec_of(critic=NORMALIZED | {"value_clip_range": 0.25}, batch_size=1, minibatches=1)
    experience = respond_and_learn(cast_for(spec), [PROMPTS[0]], new_codec(), spec, seed=3)
    like = experience.returns_BR
    experience = replace(
        experience, values_BR=torch.ones_like(like), returns_BR=torch.full_like(like, 4.0), value_scale=2.0
    )
    minibatch, part = (
        Minibatch.select(experience, [0], spec, KLCoefficients(0.0, 1.0)),
        MicroBatch.select(experience, [0]),
    )
    loss, metrics = minibatch._value_terms(torch.full_like(like, 3.0), part, torch.tensor([0]))
    assert float(loss) == pytest.approx(0.78125) and float(metrics["value_clipfrac"]) == 1


@pytest.mark.parametrize("kind", ["separate", "value_head"])
def test_returns_in_other_units_teach_the_same_weights(kind: str) -> None:
    """Rewards a thousand times as large give values a thousand times as large, from the same weights of the critic."""
    found = []
    for factor in (1.0, 1000.0):
        spec = spec_of(critic={"kind": kind} | NORMALIZED, kl={"coef": 0.0}, shaping={"missing_eos_penalty": 0.0})
        cast = cast_for(spec)
        cast = replace(cast, rewards=weighted(cast, factor))
        for weight in cast.critic.score.parameters():
            nn.init.zeros_(weight)
        context, state = context_of(cast, spec), state_of(spec)
        experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        experience = state.in_value_units(experience, context)
        update(context, experience, Learners.build(cast, spec), KLCoefficients(0.0, 1.0), 0)
        values = completion_values(cast.critic, experience.scored.batch)
        found.append((values.detach() / factor, cast.critic.score.weight.detach(), state.value_units.mean / factor))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(torch.as_tensor(other), torch.as_tensor(one), rtol=1e-3, atol=1e-5)
    assert found[0][1].any()


def weighted(cast: PPOModels, factor: float) -> Rewards:
    (member,) = cast.rewards.members
    return Rewards([WeightedReward(member.name, factor, member.reward)])


def test_update_without_normalization_has_the_unit_one() -> None:
    spec = spec_of()
    experience = respond_and_learn(cast_for(spec), PROMPTS, new_codec(), spec, seed=3)
    state = state_of(spec)
    assert state.in_value_units(experience, context_of(cast_for(spec), spec)) is experience
    assert experience.value_scale == 1 and state.value_units == ValueUnits()


LORA = ModelSpec.model_validate({"path": "unused", "lora": {"rank": 2}})
BATCH = Batch.from_ids([[5], [6, 7, 8]], [[3, 4, 2], [9, 2]], 0)


def critic_in(folder: Path, model: ModelSpec, saved: Path | None = None) -> Model:
    """The critic that a run builds on the reward model in `folder`."""
    critic = CriticSpec.model_validate(NORMALIZED)
    return builder_for(model, CPU, lambda part: 7).scorer("critic", folder, "trained", saved, None, critic)


@pytest.mark.parametrize("model", [ModelSpec(path="unused"), LORA], ids=["whole", "lora"])
def test_critic_on_a_reward_model_is_saved_with_its_units(tmp_path: Path, model: ModelSpec) -> None:
    """It begins with the values of the reward model, whatever its level, and a checkpoint has its bits."""
    reward_model = scorer(1)
    reward_model.config.score_bias, reward_model.config.score_scale = 0.7, 2.5
    reward_model.save_pretrained(tmp_path / "rm")
    critic = critic_in(tmp_path / "rm", model)
    torch.testing.assert_close(completion_values(critic, BATCH), completion_values(reward_model, BATCH))
    change_units(critic, ValueUnits(), ValueUnits(3.0, 4.0, 1))
    critic.score.bias.data += 0.25
    assert critic.score.bias.requires_grad and any(one is critic.score.bias for one in critic.parameters())
    critic.save_pretrained(tmp_path / "critic")
    values = completion_values(critic, BATCH)
    back = critic_in(tmp_path / "rm", model, tmp_path / "critic")
    assert torch.equal(completion_values(back, BATCH), values)
    loaded = load_reward_model(tmp_path / "critic")  # also apart from its run
    torch.testing.assert_close(completion_values(loaded, BATCH), values)


def test_value_head_gets_units_and_keeps_its_bias() -> None:
    head = give_units(ValueHead(llama(0)), True)
    change_units(head, ValueUnits(), ValueUnits(3.0, 4.0, 1))
    assert not head.score.weight.any() and head.score.bias.tolist() == [-1.5]
    torch.testing.assert_close(scalar_head(head, torch.ones(1, head.score.in_features)), torch.zeros(1))


def test_saved_critic_without_its_bias_is_refused(tmp_path: Path) -> None:
    critic = scorer(1)
    critic.config.value_units = True
    critic.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"the head of this critic has no `score\.bias`"):
        load_reward_model(tmp_path)


def test_memory_of_a_normalised_critic_counts_its_bias() -> None:
    plain = blueprint("gpt2")
    critic = plain.for_critic(CriticSpec.model_validate(NORMALIZED))
    assert critic.trained_bytes("scalar") == plain.trained_bytes("scalar") + 4


@pytest.mark.parametrize(
    ("ppo", "said"),
    [
        ({"critic": NORMALIZED | {"classification": {"low": -1, "high": 1}}}, "leave out one of the two"),
        ({"critic": {"normalization": {"rate": 0}}}, "greater than 0"),
        ({"critic": NORMALIZED, "advantage": {"estimator": "sequence"}}, "`critic` has no effect"),
    ],
)
def test_normalization_that_cannot_be_is_refused(ppo: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PPOSpec.model_validate(ppo)


@pytest.mark.parametrize(
    ("critic", "refused"),
    [({}, True), ({"kind": "value_head"}, False), ({"train": "adapters"}, False)],
    ids=["whole", "value head", "adapters"],
)
def test_normalised_critic_in_bfloat16_is_refused(critic: dict[str, Any], refused: bool) -> None:
    def build() -> None:
        narrow = {"dtype": "bfloat16", "trained_weights": "bfloat16"}
        found = job_spec(ppo={"critic": NORMALIZED | critic}).model_dump(exclude_unset=True)
        type(job_spec()).model_validate(found | {"model": found["model"] | narrow})

    if not refused:
        return build()
    with pytest.raises(ValidationError, match="the rescaled head would be rounded"):
        build()
