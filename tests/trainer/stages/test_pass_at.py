"""pass@k: the estimator against its definition, and the responses that the evaluation stage verifies for it."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.running import events_of
from tests.trainer.stage_tools import context_of, four_models, session_in
from tests.trainer.stages.test_evaluation_run import OF_PPO, PPO, PROMPTS
from tests.trainer.tiny_models import llama
from trainer.events import RewardMissing, Samples
from trainer.models import Model
from trainer.rewards.base import RewardInput, RewardOutcome, Rewards, WeightedReward
from trainer.rewards.missing import Missing
from trainer.session.checkpoint import StageResult
from trainer.spec import EvaluationSpec, PassAtSpec
from trainer.stages import evaluation
from trainer.stages.evaluation import HeldOut
from trainer.stages.pass_at import Verified, pass_at_k


@pytest.mark.parametrize("samples", range(1, 7))
def test_estimator_is_the_share_of_subsets_with_a_correct_one(samples: int) -> None:
    for correct, k in product(range(samples + 1), range(1, samples + 1)):
        drawn = [any(one < correct for one in subset) for subset in combinations(range(samples), k)]
        assert pass_at_k(samples, correct, k) == pytest.approx(sum(drawn) / len(drawn), abs=1e-15)


def test_estimator_by_hand_and_for_many_samples() -> None:
    assert pass_at_k(4, 1, 2) == 0.5  # 1 − C(3, 2)/C(4, 2)
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)  # 1 − 3/10
    assert (pass_at_k(10, 3, 1), pass_at_k(3, 3, 3), pass_at_k(3, 0, 3)) == (pytest.approx(0.3), 1, 0)
    assert pass_at_k(10_000, 1, 5_000) == 0.5  # no float holds C(10000, 5000)


def test_estimator_is_unbiased() -> None:
    """Over all outcomes of 4 responses that are correct with chance .3, its mean is 1 − .7ᵏ."""
    for k in (1, 2, 3, 4):
        mean = sum(
            0.3 ** sum(one) * 0.7 ** (4 - sum(one)) * pass_at_k(4, sum(one), k) for one in product((0, 1), repeat=4)
        )
        assert mean == pytest.approx(1 - 0.7**k, abs=1e-12)


def test_figures_leave_out_missing_values_and_short_prompts() -> None:
    lost = Missing("crash", "it crashed")
    verified = Verified([[1.0, 0.0, 0.5, 0.0], [lost, 1.0, lost, lost]], PassAtSpec(k=(1, 2, 4), samples=4))
    # the first prompt has 1 of 4 correct, the second 1 of 1, which is too few for k = 2
    assert verified.figures() == {"pass_at_1": 0.625, "pass_at_2": 0.5, "pass_at_4": 1.0, "unverified": 3.0}
    assert replace(verified, spec=PassAtSpec(k=(2,), samples=4, threshold=0.5)).figures()["pass_at_2"] == (
        pytest.approx(1 - 1 / 6)  # 2 of 4
    )
    nothing = Verified([[lost, lost]], PassAtSpec(k=(1,), samples=2))
    assert nothing.figures() == {"unverified": 2.0} and nothing.counts.missing == nothing.counts.asked == 2


class Short:
    """1 for a response of at most `limit` tokens. Fails about the prompt `broken`."""

    def __init__(self, limit: int = 3, broken: str = "") -> None:
        self.limit, self.broken = limit, broken
        self.seen: list[tuple[str, tuple[int, ...]]] = []

    def score(self, answers: list[RewardInput]) -> list[RewardOutcome]:
        self.seen += [(str(answer.prompt), tuple(answer.response_ids)) for answer in answers]
        return [
            Missing("time_out", "too slow") if answer.prompt == self.broken else float(len(answer.response_ids) <= self.limit)
            for answer in answers
        ]  # fmt: skip


def evaluated(folder: Path, reward: Short, best: Model | None = None, **options: Any) -> dict[str, float]:
    folder.mkdir(exist_ok=True)
    spec = EvaluationSpec.model_validate({"batch_size": 4, "pass_at": {"k": [1, 3], "samples": 3}} | options)
    actors = four_models()
    members = [WeightedReward("short", 0.5, reward), *actors.rewards.members]
    context = context_of(replace(actors, rewards=Rewards(members)), PPO)
    with session_in(folder) as session:
        if best is not None:
            session.checkpoints.save_final("ppo", None, None, StageResult(10, 1.0, OF_PPO))
        held_out = HeldOut(PROMPTS, None, spec, "short")
        return evaluation.run(session, context, held_out, {}, best=None if best is None else lambda: best).summary


def test_evaluation_verifies_further_responses_of_each_policy(tmp_path: Path) -> None:
    reward = Short()
    summary = evaluated(tmp_path / "run", reward, best=llama(9))
    # 5 compared and 15 further responses of each of three policies
    sides = {name: reward.seen[first + 5 : first + 20] for name, first in (("before", 0), ("after", 20), ("best", 40))}
    assert len(reward.seen) == 60 and [prompt for prompt, _ in sides["after"]] == [
        p.prompt for p in PROMPTS for _ in range(3)
    ]
    for side, rows in sides.items():
        correct = [[len(ids) <= 3 for _, ids in rows[first : first + 3]] for first in range(0, 15, 3)]
        name = "best_pass_at_{}" if side == "best" else "pass_at_{}_" + side
        assert summary[name.format(1)] == pytest.approx(sum(map(sum, correct)) / 15)
        assert summary[name.format(3)] == sum(map(any, correct)) / 5
    assert len(set(sides["after"])) > 5, "each response has draws of its own"


def test_other_figures_and_draws_do_not_depend_on_pass_at(tmp_path: Path) -> None:
    with_it, at_once = (evaluated(tmp_path / str(size), Short(), batch_size=size) for size in (4, 64))
    plain = evaluated(tmp_path / "plain", Short(), pass_at=None)
    passed = {name: value for name, value in with_it.items() if "pass_at" in name}
    assert with_it == plain | passed and passed.items() <= at_once.items() and len(passed) == 4
    shown = [[e.rows for e in events_of(tmp_path / name) if isinstance(e, Samples)] for name in ("4", "plain")]
    assert shown[0] == shown[1]


def test_reward_without_a_value_is_counted_and_named(tmp_path: Path) -> None:
    summary = evaluated(tmp_path, Short(broken="prompt 2"), best=llama(9))
    assert summary["unverified_before"] == summary["unverified_after"] == summary["best_unverified"] == 3
    [event] = [event for event in events_of(tmp_path) if isinstance(event, RewardMissing)]
    assert (event.reward, event.asked, event.missing) == ("short", 40, {"time_out": 8})
