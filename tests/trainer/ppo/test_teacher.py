"""On-policy distillation: its gradient against enumeration, its metrics, and a run without rewards."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from tests.trainer.ppo.test_toy_gradient import ALL, exact_gradient, gradient_on, spec_of
from tests.trainer.ppo.toy import (
    CODEC,
    PROMPT,
    REPRESENTATIVE,
    SCORES,
    STATES,
    STEPS,
    Table,
    actors,
    log_probabilities,
    path,
    quarters,
)
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import context_of, session_in, train_ppo
from trainer.ppo.experience import build_experience
from trainer.rewards.base import Rewards
from trainer.rollout.batch import sample_and_score
from trainer.rollout.context import PPOModels
from trainer.spec import EvaluationSpec, JobSpec, PPOSpec
from trainer.stages.evaluation import HeldOut

ALONE = {"advantage": {"estimator": "sequence", "normalize": "none"}, "kl": {"coef": 0.0}}


def with_teacher(rewards: bool = False, sureness: float = 1.0) -> PPOModels:
    teacher: Any = Table(2, 3).requires_grad_(False)
    teacher.score.weight.mul_(sureness)
    cast = replace(actors(quarters(0.25)), teacher=teacher)
    return cast if rewards else replace(cast, rewards=Rewards([]))


def step_gradient(cast: PPOModels, **options: Any) -> Tensor:
    spec = spec_of(**(ALONE | {"policy_loss": {"kind": "unclipped"}} | options))
    scored = sample_and_score(context_of(cast, spec, CODEC), [PROMPT] * ALL, REPRESENTATIVE)
    return gradient_on(scored, cast, spec)


def token_kl(cast: PPOModels) -> Tensor:
    """Σ over states of p(state)·KL(π(·|s) ‖ π_teacher(·|s)), the probabilities of the states without a gradient."""
    own, theirs = (torch.log_softmax(model.score.weight.T, -1) for model in (cast.policy, cast.teacher))
    kl_S = (own.exp() * (own - theirs)).sum(-1)
    reached_S = torch.zeros(STATES, dtype=torch.float64)
    reached_S[1] = 1.0
    for state in range(1, 2 ** (STEPS - 1)):
        for token in (0, 1):
            reached_S[2 * state + token] = reached_S[state] * own[state, token].exp().detach()
    return (reached_S[: 2**STEPS] * kl_S[: 2**STEPS]).sum()


def response_kl(cast: PPOModels) -> Tensor:
    own, theirs = log_probabilities(cast.policy).sum(1), log_probabilities(cast.teacher).sum(1)
    return (own.exp() * (own - theirs)).sum()


@pytest.mark.parametrize("loss", [{"kind": "unclipped"}, {"kind": "reinforce"}, {"kind": "clipped"}])
def test_gradient_is_that_of_the_reverse_kl_of_each_token(loss: dict[str, Any]) -> None:
    cast = with_teacher()
    found = step_gradient(cast, teacher={"path": "t"}, policy_loss=loss)
    exact = exact_gradient(token_kl(cast), cast.policy)
    torch.testing.assert_close(found, exact / STEPS, rtol=1e-5, atol=1e-6)
    assert exact.abs().max() > 0.1


def test_discount_of_1_has_the_gradient_of_whole_responses() -> None:
    cast = with_teacher()
    found = step_gradient(cast, teacher={"path": "t", "discount": 1.0, "coef": 0.5})
    exact = exact_gradient(response_kl(cast), cast.policy)
    torch.testing.assert_close(found, 0.5 * exact / STEPS, rtol=1e-5, atol=1e-6)
    assert (exact - exact_gradient(token_kl(cast), cast.policy)).abs().max() > 0.02


def test_teacher_and_rewards_add_their_gradients() -> None:
    cast = with_teacher(rewards=True)
    found = step_gradient(cast, teacher={"path": "t", "coef": 0.25})
    score = (log_probabilities(cast.policy).sum(1).exp() * torch.tensor(SCORES, dtype=torch.float64)).sum()
    exact = exact_gradient(0.25 * token_kl(cast) - score, cast.policy)
    torch.testing.assert_close(found, exact / STEPS, rtol=1e-5, atol=1e-6)


def test_log_ratios_join_after_whitening() -> None:
    """Whitening scales the advantage of the rewards alone, so `coef` keeps its unit."""
    cast, advantage = with_teacher(rewards=True), {"estimator": "sequence", "normalize": "whiten"}
    plain, taught = (
        spec_of(advantage=advantage, kl={"coef": 0.0}, **more) for more in ({}, {"teacher": {"path": "t", "coef": 2.0}})
    )
    scored = sample_and_score(context_of(cast, taught, CODEC), [PROMPT] * ALL, REPRESENTATIVE)
    before, after = (build_experience(context_of(cast, spec, CODEC), scored, kl_coef=0.0) for spec in (plain, taught))
    assert scored.teacher_logprobs_BR is not None
    expected = before.advantages_BR + 2 * (scored.teacher_logprobs_BR - scored.logprobs_BR)
    torch.testing.assert_close(after.advantages_BR, expected)
    torch.testing.assert_close(after.returns_BR, before.returns_BR)


def test_rows_of_a_batch_keep_their_teacher() -> None:
    cast, spec = with_teacher(), spec_of(**ALONE, teacher={"path": "t"})
    scored = sample_and_score(context_of(cast, spec, CODEC), [PROMPT] * ALL, REPRESENTATIVE)
    assert scored.teacher_logprobs_BR is not None and cast.teacher is not None
    chosen = scored.select([5, 2])
    table = torch.log_softmax(cast.teacher.score.weight.T, -1)
    by_hand = [[float(table[state, token]) for state, token in path(chosen.responses[row].ids)] for row in (0, 1)]
    torch.testing.assert_close(
        chosen.teacher_logprobs_BR, torch.tensor(by_hand, dtype=torch.float64), rtol=1e-5, atol=1e-6
    )


def distilled(folder: Path, **changes: Any) -> list[dict[str, float]]:
    """The metrics of each step of a run that distils without rewards."""
    sizes = {
        "steps": 40, "batch_size": 64, "minibatches": 2, "epochs": 2, "max_new_tokens": STEPS, "learning_rate": 0.1,
        "eval_every": 20, "self_test": False, "log_samples": 0, "save_every": 100,
    }  # fmt: skip
    spec = PPOSpec.model_validate(sizes | ALONE | {"teacher": {"path": "t"}} | changes)
    with session_in(folder) as session:
        held_out = HeldOut([PROMPT], None, EvaluationSpec(prompts=1))
        train_ppo(session, spec, with_teacher(sureness=4.0), [PROMPT], held_out, CODEC)
    return list(metrics_of(folder).values())


def test_policy_becomes_its_teacher_without_rewards(tmp_path: Path) -> None:
    steps = distilled(tmp_path)
    last = sum(step["objective/teacher_kl"] for step in steps[-5:]) / 5
    assert steps[1]["objective/teacher_kl"] > 0.2 and abs(last) < 0.03
    scored = {"objective/scores", "objective/raw_scores", "eval/score", "eval/compared"}
    assert not any(scored & step.keys() for step in steps)
    assert {"eval/teacher_kl", "eval/kl"} <= steps[0].keys() and "objective/kl" in steps[-1]


ELSEWHERE = {
    "advantage": ({"advantage": {"estimator": "gae"}}, "a critic has nothing to learn"),
    "whitening": ({"advantage": {"estimator": "sequence"}}, "a normalisation nothing to scale"),
    "baseline": ({"advantage": ALONE["advantage"] | {"baseline": "batch_mean"}}, "`baseline` has no effect without `rewards`"),
    "gamma": ({"advantage": ALONE["advantage"] | {"gamma": 0.9}}, "`gamma` has no effect without `rewards`"),
    "kl": ({"kl": {"coef": 0.1}}, '`ppo.kl.placement` = "reward" has no effect without `rewards`'),
    "shaping": ({"shaping": {"length_penalty": 0.1}}, "`length_penalty` has no effect without `rewards`"),
    "curriculum": ({"curriculum": {}}, "`curriculum` has no effect without `rewards`"),
    "imitation": ({"positive_examples": {}}, "`positive_examples` has no effect without `rewards`"),
    "nothing": ({"teacher": None}, "a teacher"),
}  # fmt: skip


def job(ppo: dict[str, Any], **more: Any) -> JobSpec:
    return JobSpec.model_validate({"model": "m", "data": {"prompts": "p"}, "stages": ["ppo"], "ppo": ppo} | more)


@pytest.mark.parametrize(("changes", "reason"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_fields_without_effect_without_rewards_are_refused(changes: dict[str, Any], reason: str) -> None:
    alone = ALONE | {"teacher": {"path": "t"}}
    assert job(alone).scoring == ()
    assert job({"teacher": {"path": "t"}}, rewards=[{"type": "length", "target": 4}]).ppo.uses_critic
    with pytest.raises(ValidationError, match=reason):
        job(alone | changes)


def test_loss_of_whole_responses_refuses_a_teacher() -> None:
    fitted = {"advantage": ALONE["advantage"] | {"baseline": "optimal_value"}, "policy_loss": {"kind": "least_squares"}}
    with pytest.raises(ValidationError, match="fits whole responses to their scores"):
        PPOSpec.model_validate(ALONE | fitted | {"teacher": {"path": "t"}})


def test_teacher_needs_old_logprobs_before_the_only_step() -> None:
    one_step = ALONE | {"epochs": 1, "minibatches": 1}
    assert PPOSpec.model_validate(one_step).update_gives_old_logprobs(0)
    assert not PPOSpec.model_validate(one_step | {"teacher": {"path": "t"}}).update_gives_old_logprobs(0)


def test_refill_beside_a_teacher_is_refused() -> None:
    """Responses with equal scores still learn from the teacher."""
    group = {
        "samples_per_prompt": 2,
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "none"},
    }
    PPOSpec.model_validate(group | {"rollout": {"refill": {}}})
    with pytest.raises(ValidationError, match="they do against the teacher"):
        PPOSpec.model_validate(group | {"rollout": {"refill": {}}, "teacher": {"path": "t"}})
