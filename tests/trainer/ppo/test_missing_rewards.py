"""Responses without a reward take part in nothing: no mean, baseline, normalisation or gradient."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.ppo.test_resume import cast_of
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, scored_by_hand, spec_of, weights_of
from tests.trainer.running import events_of, metrics_of, unexplained
from tests.trainer.stage_tools import context_of, session_in, stop_after, train_ppo
from trainer.errors import Paused, Stopped
from trainer.events import RewardMissing, RunStopped, Samples
from trainer.ppo import optimal_value
from trainer.ppo.experience import Experience, build_experience, learnable
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import update
from trainer.rewards import Missing, RewardInput, Rewards, Scores
from trainer.rewards.base import WeightedReward
from trainer.rewards.missing import MissingWatch
from trainer.rollout.batch import ScoredBatch, sample_and_score
from trainer.rollout.context import PPOModels
from trainer.sampling import uniforms
from trainer.session.checkpoint import load_numbers
from trainer.spec import EvaluationSpec, JobSpec, MissingCause, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
GONE = Missing("crash", "gone")
GROUPS = {**NO_CRITIC, "baseline": "group_mean"}
SPECS: dict[str, dict[str, Any]] = {
    "gae, whitened": {"shaping": {"whiten_rewards": True, "normalize": "running"}},
    "gae, value head, sequence mean": {
        "critic": {"kind": "value_head"},
        "policy_loss": {"aggregation": "sequence_mean"},
    },
    "batch mean": {"advantage": {**NO_CRITIC, "baseline": "batch_mean", "normalize": "whiten"}},
    "reward to go": {"advantage": {**NO_CRITIC, "estimator": "reward_to_go", "baseline": "batch_mean"}},
    "fixed length, KL in the loss": {
        "policy_loss": {"aggregation": "fixed_length"},
        "kl": {"placement": "loss", "estimator": "k3"},
    },
}


def sampled(spec: PPOSpec, cast: PPOModels, rows: Sequence[int]) -> ScoredBatch:
    """These rows of one batch, scored by themselves."""
    draws_BR = uniforms(torch.Generator().manual_seed(3), len(PROMPTS), spec.max_new_tokens)
    return sample_and_score(context_of(cast, spec), [ENCODED[row] for row in rows], draws_BR[list(rows)])


def learned(scored: ScoredBatch, spec: PPOSpec, cast: PPOModels) -> tuple[Experience, dict[str, float]]:
    """The experience, and the losses and gradient norms of its first step."""
    context, learners = context_of(cast, spec), Learners.build(cast, spec)
    experience = build_experience(context, scored, kl_coef=spec.kl.coef, score_scale=2.0)
    result = update(context, experience, learners, KLCoefficients(spec.kl.coef, 1.0), 0)
    return experience, result.history[0]


@pytest.mark.parametrize("case", SPECS)
def test_learning_is_that_of_a_batch_of_the_others(case: str) -> None:
    spec, rows = spec_of(**SPECS[case], minibatches=1, epochs=2), [0, 2, 3, 5]
    whole, alone = cast_for(spec), cast_for(spec)
    scored = sampled(spec, whole, range(6))
    totals = [total if row in rows else GONE for row, total in enumerate(scored.rewards.totals)]
    holed = replace(scored, rewards=Scores(totals, {"model": totals}, {}))
    assert holed.rewards.complete == rows
    found, metrics = learned(holed.select(rows), spec, whole)
    expected, expected_metrics = learned(sampled(spec, alone, rows), spec, alone)
    # the passes over six and over four rows round differently
    assert torch.allclose(found.advantages_BR, expected.advantages_BR, atol=1e-5)
    assert torch.allclose(found.returns_BR, expected.returns_BR, atol=1e-5)
    assert metrics == pytest.approx(expected_metrics, rel=1e-4, abs=1e-6) and metrics["grad_norm"] > 0


def holed(scores: list[float | Missing]) -> ScoredBatch:
    """One token each, without a KL."""
    numbers = [math.nan if isinstance(score, Missing) else score for score in scores]
    scored = scored_by_hand([[0.0]] * len(scores), numbers, [True] * len(scores))
    return replace(scored, rewards=Scores(scores, {"a": scores}, {}))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # {1, 3} and {2, 4, 9}: means 2 and 5, others' means (3, 1) and (6.5, 5.5, 3), deviations √2 and √13
        ({"baseline": "group_mean"}, [-1.0, 1.0, -3.0, -1.0, 4.0]),
        ({"baseline": "leave_one_out"}, [-2.0, 2.0, -4.5, -1.5, 6.0]),
        (
            {"baseline": "group_mean", "normalize": "group_std"},
            [-1 / (2**0.5 + 1e-4), 1 / (2**0.5 + 1e-4), -3 / (13**0.5 + 1e-4), -1 / (13**0.5 + 1e-4), 4 / (13**0.5 + 1e-4)],
        ),
    ],
)  # fmt: skip
def test_group_baseline_is_that_of_the_others_with_a_value(changes: dict[str, str], expected: list[float]) -> None:
    spec = spec_of(advantage=NO_CRITIC | changes, samples_per_prompt=3)
    scored = holed([1.0, GONE, 3.0, 2.0, 4.0, 9.0])
    experience = build_experience(context_of(cast_for(spec), spec), scored.select([0, 2, 3, 4, 5]), kl_coef=0.0)
    assert experience.advantages_BR[:, 0].tolist() == pytest.approx(expected, abs=1e-6)


class Holes:
    """A reward by the length of a response that has no value where `gone` is true."""

    def __init__(self, gone: Any, cause: MissingCause = "time_out") -> None:
        self.gone, self.cause, self.calls = gone, cause, 0

    def score(self, answers: Sequence[RewardInput]) -> list[float | Missing]:
        self.calls += 1
        return [Missing(self.cause, "late") if self.gone(a) else float(len(a.response_ids)) for a in answers]


def by_tokens(answer: RewardInput) -> bool:
    """A third of the responses, whenever they are scored."""
    return sum(answer.response_ids) % 3 == 0


def with_holes(cast: PPOModels, gone: Any = by_tokens) -> PPOModels:
    return replace(cast, rewards=Rewards([WeightedReward("model", 1.0, Holes(gone))]))


def trained(
    folder: Path, spec: PPOSpec, cast: PPOModels, stop: int | None = None, max_missing: float = 1.0
) -> dict[str, Any]:
    """Run the stage with one reward `model`. Return all metrics but times, by stage and step."""
    folder.mkdir(exist_ok=True)
    with session_in(folder) as session:
        session.spec = JobSpec.model_validate(
            session.spec.model_dump(exclude_unset=True) | {"rewards": [{"type": "model", "max_missing": max_missing}]}
        )
        stop_after(session, stop)
        held_out = HeldOut(ENCODED[:3], None, EvaluationSpec())
        train_ppo(session, spec, cast, ENCODED, held_out)
    return {str(at): without_times(values) for at, values in metrics_of(folder).items()}


def without_times(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if not name.startswith(("time/", "memory/"))}


@pytest.mark.parametrize(
    "changes",
    [
        {"kl": {"controller": "adaptive", "target": 0.5, "horizon": 20}, "shaping": {"normalize": "running"}},
        {"advantage": GROUPS, "samples_per_prompt": 2},
        {"epochs": 1, "minibatches": 1, "kl": {"placement": "loss"}},
        {"rollout": {"asynchronous": True}},
    ],
    ids=["adaptive KL, running scale", "pairs of one prompt", "one optimizer step", "asynchronous"],
)
def test_run_with_missing_rewards_counts_and_resumes_exactly(changes: dict[str, Any], tmp_path: Path) -> None:
    spec = spec_of(self_test=False, steps=4, save_every=1, eval_every=2, log_samples=6, **changes)
    whole = trained(tmp_path / "whole", spec, with_holes(cast_of(spec, None)))
    with pytest.raises(Stopped):
        trained(tmp_path / "broken", spec, with_holes(cast_of(spec, None)), stop=2)
    checkpoint = tmp_path / "broken" / "checkpoints" / "ppo-000002"
    window = load_numbers(checkpoint)["history"]["missing"]["windows"]["model"]
    mended = trained(tmp_path / "broken", spec, with_holes(cast_of(spec, checkpoint)))
    assert mended == whole and sum(missing for _, missing in window) > 0
    events = [event for event in events_of(tmp_path / "whole") if isinstance(event, RewardMissing)]
    training = [event for event in events if not event.held_out]
    rows = [row for e in events_of(tmp_path / "whole") if isinstance(e, Samples) for row in e.rows if not row.held_out]
    gone = [row for row in rows if row.score_missing is not None]
    assert gone and all((row.score, row.score_missing, row.token_table) == (None, "time_out", None) for row in gone)
    assert sum(event.missing["time_out"] for event in training) == len(gone)  # every response of a batch is logged
    steps = [values for values in whole.values() if "reward/model/missing" in values]
    assert sum(values["reward/model/missing"] for values in steps) == len(gone)
    assert sum(values["reward/model/time_out"] for values in steps) == len(gone)
    assert len(rows) - len(gone) >= sum(
        values.get("val/responses", 6) for values in whole.values() if "episode" in values
    )
    assert unexplained(tmp_path / "whole") == set()


def test_mean_of_the_batch_is_that_of_the_responses_with_a_value(tmp_path: Path) -> None:
    spec = spec_of(self_test=False, steps=1, log_samples=6, shaping={"missing_eos_penalty": 0.0})
    metrics = trained(tmp_path, spec, with_holes(cast_for(spec)))["('ppo', 1)"]
    (event,) = (e for e in events_of(tmp_path) if isinstance(e, Samples) and e.step == 1)
    scores = [row.score for row in event.rows if row.score is not None and not row.held_out]
    lengths = [row.tokens or 0 for row in event.rows if row.score is not None and not row.held_out]
    assert 0 < len(scores) < 6 and metrics["val/responses"] == len(scores)
    assert metrics["objective/scores"] == pytest.approx(sum(scores) / len(scores), rel=1e-6)
    assert metrics["val/response_length"] == pytest.approx(sum(lengths) / len(scores), rel=1e-6)
    held = [row for row in event.rows if row.held_out]
    missing = sum(row.score_missing is not None for row in held)
    values = [row.score for row in held if row.score is not None]
    assert metrics.get("eval/missing", 0) == missing
    if values:
        assert metrics["eval/score"] == pytest.approx(sum(values) / len(values), rel=1e-6)


def test_batch_without_any_value_moves_nothing(tmp_path: Path) -> None:
    spec = spec_of(self_test=False, steps=1, log_samples=6)
    cast = with_holes(cast_for(spec), gone=lambda answer: True)
    before = weights_of(cast.policy), weights_of(cast.critic)  # type: ignore[arg-type]  # there is one
    metrics = trained(tmp_path, spec, cast)["('ppo', 1)"]
    assert torch.equal(weights_of(cast.policy), before[0]) and torch.equal(weights_of(cast.critic), before[1])  # type: ignore[arg-type]
    assert (metrics["reward/model/time_out"], metrics["val/responses"], metrics["episode"]) == (6, 0, 6)
    assert metrics["eval/missing"] == 3 and metrics["eval/compared"] == 0
    assert not {"objective/scores", "reward/model", "eval/score", "eval/win_rate", "loss/policy_avg"} & metrics.keys()


def test_value_pretraining_goes_on_after_a_batch_without_values(tmp_path: Path) -> None:
    pretraining = {"iterations": 3, "patience": 3}
    spec = spec_of(self_test=False, steps=1, critic={"pretraining": pretraining}, shaping={"normalize": "running"})
    cast = cast_for(spec)
    reward: Holes = Holes(lambda answer: reward.calls == 3)  # two calls are those of the first evaluation
    cast = replace(cast, rewards=Rewards([WeightedReward("model", 1.0, reward)]))
    metrics = trained(tmp_path, spec, cast)
    assert metrics["('ppo', 1)"]["val/responses"] == 0 and "val/explained_var" not in metrics["('ppo', 1)"]
    since = [metrics[f"('ppo', {step})"]["pretraining/since_best"] for step in (1, 2)]
    assert since[0] == 1 and math.isfinite(metrics["('ppo', 2)"]["val/explained_var"])
    assert "pretraining/since_best" not in metrics["('ppo', 4)"] and "val/explained_var" in metrics["('ppo', 4)"]


def test_too_many_missing_rewards_pause_and_resume_counts_anew(tmp_path: Path) -> None:
    spec = spec_of(self_test=False, steps=4, eval_every=4)

    class Away(Holes):
        down = True

    reward = Away(lambda answer: Away.down)
    cast = replace(cast_for(spec), rewards=Rewards([WeightedReward("model", 1.0, reward)]))
    with pytest.raises(Paused, match=r"Reward `model` gave no value for 15 of its last 15 responses, more than its"):
        trained(tmp_path, spec, cast, max_missing=0.05)
    stopped = events_of(tmp_path)[-1]
    assert isinstance(stopped, RunStopped) and (stopped.reason, stopped.step) == ("rewards", 2)
    assert stopped.message is not None and "The newest reason: late" in stopped.message
    checkpoint = tmp_path / "checkpoints" / "ppo-000002"
    assert load_numbers(checkpoint)["history"]["missing"]["windows"] == {}
    Away.down = False
    resumed = replace(cast_of(spec, checkpoint), rewards=cast.rewards)
    assert trained(tmp_path, spec, resumed)["('ppo', 4)"]["reward/model"] > 0


def test_lower_limit_of_a_branch_counts_anew(tmp_path: Path) -> None:
    spec = spec_of(self_test=False, steps=3, save_every=1, eval_every=3)
    with pytest.raises(Stopped):
        trained(tmp_path, spec, with_holes(cast_of(spec, None), gone=lambda answer: True), stop=2)
    checkpoint = tmp_path / "checkpoints" / "ppo-000002"
    assert load_numbers(checkpoint)["history"]["missing"]["windows"]["model"] != []
    mended = with_holes(cast_of(spec, checkpoint), gone=lambda answer: False)
    assert trained(tmp_path, spec, mended, max_missing=0.01)["('ppo', 3)"]["reward/model"] > 0


def test_window_of_a_reward_that_a_branch_lacks_is_forgotten() -> None:
    watch = MissingWatch({"old": [[200, 2]], "above": [[200, 80]], "below": [[200, 2]]}, {"old": "gone"})
    watch.follow({"above": 0.05, "below": 0.05})
    assert watch.windows == {"below": [[200, 2]]} and watch.exceeded({"below": 0.05}) is None


def test_pause_in_the_first_evaluation_makes_it_again(tmp_path: Path) -> None:
    spec, down = spec_of(self_test=False, steps=1), [True]
    cast = with_holes(cast_for(spec), gone=lambda answer: down[0])
    with pytest.raises(Paused, match="after step 0"):
        trained(tmp_path, spec, cast, max_missing=0.0)
    assert not list((tmp_path / "checkpoints").glob("ppo-*")) and "eval/score" not in metrics_of(tmp_path)["ppo", 0]
    down[0] = False
    assert trained(tmp_path, spec, cast, max_missing=0.0)["('ppo', 0)"]["eval/score"] > 0


@pytest.mark.parametrize(
    ("advantage", "rows"),
    [
        ({"baseline": "leave_one_out"}, [2, 3]),
        ({"baseline": "group_mean"}, [2, 3]),
        ({"baseline": "none", "normalize": "group_std"}, [2, 3]),
        ({"baseline": "batch_mean"}, [1, 2, 3]),
    ],
)
def test_lone_response_of_a_pair_is_left_out_with_it(advantage: dict[str, str], rows: list[int]) -> None:
    """The first pair has lost one response and the last pair both."""
    spec = spec_of(advantage=NO_CRITIC | advantage, samples_per_prompt=2)
    found = learnable(holed([GONE, 2.0, 3.0, 4.0, GONE, GONE]), spec)
    assert found is not None and found.rows == rows and found.totals_B.tolist() == [float(row + 1) for row in rows]


def test_response_without_v_star_is_left_out() -> None:
    spec, nan = spec_of(advantage=NO_CRITIC | {"baseline": "optimal_value"}, kl={"coef": 0.0}), math.nan
    found = learnable(holed([1.0, 2.0, GONE]), spec, [nan, 0.5, 0.5])
    assert found is not None and found.rows == [1] and found.of([7, 8, 9]) == [8]
    assert learnable(holed([1.0, GONE]), spec, [nan, 0.5]) is None


def test_prompt_without_any_value_has_no_v_star(tmp_path: Path) -> None:
    spec = spec_of(
        advantage={**NO_CRITIC, "baseline": "optimal_value"},
        optimal_value={"samples": 4, "beta": 1.0},
        kl={"coef": 0.0},
    )
    cast = with_holes(cast_for(spec), gone=lambda answer: answer.prompt == "prompt 2")
    with session_in(tmp_path) as session:
        found = optimal_value.estimate_optimal_values(session, context_of(cast, spec), ENCODED)
    whole = with_holes(cast_for(spec), gone=lambda answer: False)
    with session_in(tmp_path) as session:
        expected = optimal_value.estimate_optimal_values(session, context_of(whole, spec), ENCODED)
    assert found == [value if n != 2 else None for n, value in enumerate(expected)] and None not in expected
