"""V* of A*-PO: the formula on paper, and who is sampled and scored for it."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests import tolerance
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, spec_of
from tests.trainer.run.tools import LENGTH, run
from tests.trainer.stage_tools import context_of, new_codec, session_in
from trainer.ppo import optimal_value, stage
from trainer.ppo.optimal_value import estimate_optimal_values
from trainer.randomness import generator
from trainer.rollout.batch import sample_responses, to_answers
from trainer.rollout.context import PPOContext
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
BETA = 0.25
"""Not the default."""


def test_by_hand() -> None:
    # β = ½, scores 0 and 1: ½·ln((1 + e²)/2)
    assert optimal_value.optimal_value([0.0, 1.0], 0.5) == pytest.approx(0.5 * math.log((1 + math.e**2) / 2))
    assert optimal_value.optimal_value([3.0, 3.0, 3.0], 0.5) == pytest.approx(3.0)


def test_optimal_value_ranges_from_mean_to_max_without_overflow() -> None:
    assert optimal_value.optimal_value([0.0, 2.0, 7.0], 1e6) == pytest.approx(3.0, abs=1e-4)
    assert optimal_value.optimal_value([0.0, 2000.0, 7000.0], 1e-3) == pytest.approx(7000.0, abs=0.01)


def estimated(folder: Path, **changes: object) -> list[float]:
    advantage = {**NO_CRITIC, "baseline": "optimal_value"}
    spec = spec_of(advantage=advantage, optimal_value={"samples": 3, "beta": BETA}, **changes)
    folder.mkdir()
    with session_in(folder) as session:
        context = PPOContext.from_session(session, cast_for(spec), new_codec(), spec)
        return estimate_optimal_values(session, context, ENCODED)


def test_optimal_value_samples_the_reference_seeded_per_prompt(tmp_path: Path) -> None:
    found = estimated(tmp_path / "run")
    cast, codec = cast_for(spec_of()), new_codec()
    context = context_of(cast, spec_of(), codec)
    with session_in(tmp_path) as session:
        seed = session.seed("ppo")
    for n, prompt in enumerate(ENCODED):
        draws = uniforms(generator(seed, "optimal value", n), 3, 9)
        responses = sample_responses(context, [prompt] * 3, draws, cast.reference)
        answers = to_answers([prompt] * 3, responses, codec)
        totals = cast.rewards.score(answers).totals
        scores = [total if a.finished else total - 1.0 for total, a in zip(totals, answers, strict=True)]
        assert found[n] == pytest.approx(optimal_value.optimal_value(scores, BETA), abs=tolerance.largest(size=8))


def test_how_many_are_sampled_at_once_makes_no_difference(tmp_path: Path) -> None:
    together, apart = estimated(tmp_path / "a"), estimated(tmp_path / "b", batch_size=3, minibatches=1)
    assert together == pytest.approx(apart, abs=tolerance.largest(size=8))


def test_optimal_values_are_estimated_again_after_a_refit(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They depend on the scores of the reward model, which another round has changed."""
    estimates: list[int] = []

    def noted(session: Session, context: PPOContext, prompts: Sequence[TokenizedPrompt], *rest: object) -> list[float]:
        estimates.append(session.step)
        return [0.0] * len(prompts)

    monkeypatch.setattr(stage, "estimate_optimal_values", noted)
    advantage = {"estimator": "sequence", "normalize": "none", "baseline": "optimal_value"}
    online = {"rounds": 2, "prompts": 4, "label_by": LENGTH}
    changes = {"advantage": advantage, "online": online, "steps": 2, "eval_every": 2, "self_test": False}
    run(tmp_path, ["reward_model", "ppo"], model=str(first / "sft"), reward_model={"batch_size": 32}, ppo=changes)
    assert estimates == [0, 1]


def test_optimal_value_scores_are_shaped_as_in_training(tmp_path: Path) -> None:
    shaping = {"clip": 0.05, "missing_eos_penalty": 0.75, "length_penalty": 0.25, "length_free": 2}
    shaping |= {"overlong_tokens": 6, "overlong_penalty": 0.5}
    found = estimated(tmp_path / "run", shaping=shaping)
    cast, codec = cast_for(spec_of()), new_codec()
    context = context_of(cast, spec_of(), codec)
    with session_in(tmp_path) as session:
        seed = session.seed("ppo")
    clipped = 0
    for n, prompt in enumerate(ENCODED):
        draws = uniforms(generator(seed, "optimal value", n), 3, 9)
        responses = sample_responses(context, [prompt] * 3, draws, cast.reference)
        answers = to_answers([prompt] * 3, responses, codec)
        scores = []
        for total, answer in zip(cast.rewards.score(answers).numbers, answers, strict=True):
            length = len(answer.response_ids)
            clipped += abs(total) > 0.05
            score = min(max(total, -0.05), 0.05) - (0.0 if answer.finished else 0.75)
            scores.append(score - 0.25 * max(0, length - 2) - 0.5 * max(0, length - 3) / 6)
        assert found[n] == pytest.approx(optimal_value.optimal_value(scores, BETA), abs=1e-4)
    assert clipped


LEAST_SQUARES = {"policy_loss": {"kind": "least_squares"}, "kl": {"coef": 0.0}}
OPTIMAL = {**NO_CRITIC, "baseline": "optimal_value"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shaping": {"whiten_rewards": True}}, "`shaping.whiten_rewards` .* rescales the returns after V"),
        ({"shaping": {"normalize": "running"}}, '`shaping.normalize` = "running" .* no longer in the same units'),
        ({"advantage": {**OPTIMAL, "gamma": 0.99}}, '`baseline` = "optimal_value" needs `gamma` = 1'),
        ({"reference": {"update": "ema"}}, "V\\* is that of the first reference"),
        ({"reference": {"update": "reanchored", "every": 2}}, "V\\* is that of the first reference"),
    ],
)
@pytest.mark.parametrize("loss", [{}, LEAST_SQUARES], ids=["policy gradient", "least squares"])
def test_optimal_value_refuses_options_that_rescale_the_return(
    loss: dict[str, object], changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
        spec_of(**{"advantage": OPTIMAL, **loss, **changes})
    spec_of(advantage=OPTIMAL, **loss)


@pytest.mark.parametrize("baseline", ["none", "batch_mean"])
def test_least_squares_needs_v(baseline: str) -> None:
    with pytest.raises(ValidationError, match=r"`policy_loss\.kind` .* needs `advantage\.baseline`"):
        spec_of(advantage={**NO_CRITIC, "baseline": baseline}, **LEAST_SQUARES)
