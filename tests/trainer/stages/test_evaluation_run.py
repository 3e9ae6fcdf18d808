"""Policies on held-out prompts: who answers, by which draws, who decides, and what is shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from data.statistics import wilson_interval
from tests import tolerance
from tests.trainer.running import events_of
from tests.trainer.stage_tools import context_of, four_models, logprobs_alone, new_codec, scores_alone, session_in
from tests.trainer.tiny_models import llama
from trainer import sampling
from trainer.errors import Stopped
from trainer.events import Message, Sample, Samples
from trainer.models import Model
from trainer.models.sequences import Batch
from trainer.rewards.base import RewardInput, Rewards, Scores
from trainer.rewards.judges import Judge
from trainer.rollout.batch import ScoredBatch
from trainer.sampling import Response
from trainer.session.checkpoint import StageResult
from trainer.spec import EvaluationSpec, PPOSpec, ShapingSpec
from trainer.stages import evaluation
from trainer.stages.evaluation import (
    Completion,
    Evaluation,
    HeldOut,
    HeldOutResponses,
    judge_scores,
    judged_completions,
)
from trainer.text.codec import TokenizedPrompt

PROMPTS = [
    TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate([[5], [6, 7, 8], [9, 10], [11, 12, 13, 14], [3]])
]
PPO = PPOSpec(max_new_tokens=6, temperature=1.0, shaping={"missing_eos_penalty": 0})


class Longest:
    """A judge that scores."""

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        raise AssertionError("scores decide where there are some")

    def scores(self, answers: Sequence[RewardInput]) -> list[float]:
        return [float(len(answer.response_ids)) for answer in answers]


class Comparing:
    """A judge that only compares."""

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        return [1.0 if new.prompt in ("prompt 0", "prompt 3") else 0.5 for _, new in zip(before, after, strict=True)]

    def scores(self, answers: Sequence[RewardInput]) -> None:
        return None


def evaluated(
    folder: Path, temperature: float = 1.0, judge: Judge | None = None, against: Model | None = None, **options: int
) -> tuple[dict[str, float], list[Sample]]:
    folder.mkdir(exist_ok=True)
    spec = EvaluationSpec.model_validate({"batch_size": 2, "temperature": temperature, **options})
    held_out = HeldOut(PROMPTS, judge, spec)
    with session_in(folder) as session:
        result = evaluation.run(session, context_of(four_models(), PPO), held_out, {"extra": 0.5}, against)
    return result.summary, [row for event in events_of(folder) if isinstance(event, Samples) for row in event.rows]


def greedy(model: Model, prompt: list[int]) -> list[int]:
    generated = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False, max_new_tokens=6,
        eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return generated[0, len(prompt) :].tolist()


def test_evaluation_compares_reference_and_policy_greedily(tmp_path: Path) -> None:
    models, codec = four_models(), new_codec()
    summary, rows = evaluated(tmp_path, temperature=1e-4)
    before = [greedy(models.reference, prompt.ids) for prompt in PROMPTS]
    after = [greedy(models.policy, prompt.ids) for prompt in PROMPTS]
    assert [row.reference for row in rows] == [codec.decode(ids) for ids in before]
    assert [row.response for row in rows] == [codec.decode(ids) for ids in after]
    assert before != after
    with torch.no_grad():
        old, new = (
            [
                float(scores_alone(models.reward_model, p.ids, ids)[-1]) - 0.25
                for p, ids in zip(PROMPTS, side, strict=True)
            ]
            for side in (before, after)
        )
    assert (summary["score_before"], summary["score_after"]) == pytest.approx(
        (sum(old) / 5, sum(new) / 5), abs=tolerance.largest(size=8)
    )
    assert summary["rm_win_rate"] == summary["win_rate"] == sum(a > b for b, a in zip(old, new, strict=True)) / 5
    interval = wilson_interval(summary["win_rate"], 5)
    assert (summary["win_rate_low"], summary["win_rate_high"]) == interval


def test_evaluation_is_deterministic_and_keeps_extra_figures(tmp_path: Path) -> None:
    results = [evaluated(tmp_path / name) for name in ("one", "two")]
    assert results[0] == results[1]
    assert results[0][0]["extra"] == 0.5


def test_how_many_are_sampled_at_once_changes_nothing(tmp_path: Path) -> None:
    texts = [
        [(row.response, row.reference) for row in evaluated(tmp_path / str(size), batch_size=size)[1]]
        for size in (1, 2, 5)
    ]
    assert texts[0] == texts[1] == texts[2]


def test_evaluation_draws_follow_seed_and_place(tmp_path: Path) -> None:
    """All five prompts are equal, so only the draws differ."""
    models, held_out = four_models(), HeldOut([PROMPTS[0]] * 5, None, EvaluationSpec(temperature=1.0))
    found = []
    for seed in (0, 1):
        with session_in(tmp_path) as session:
            session.spec = session.spec.model_copy(update={"seed": seed})
            answers = Evaluation(session, context_of(models, PPO), held_out).respond(models.policy, "ppo").answers
        found.append([tuple(answer.response_ids) for answer in answers])
    assert len(set(found[0])) > 1 and found[0] != found[1]


def test_evaluation_uses_its_own_max_new_tokens(tmp_path: Path) -> None:
    _, rows = evaluated(tmp_path / "short", max_new_tokens=2)
    assert max(row.tokens or 0 for row in rows) == 2
    assert max(row.tokens or 0 for row in evaluated(tmp_path / "as PPO")[1]) == 6


def test_against_another_model(tmp_path: Path) -> None:
    other, codec = llama(7), new_codec()
    _, rows = evaluated(tmp_path, temperature=1e-4, against=other)
    assert [row.reference for row in rows] == [codec.decode(greedy(other, prompt.ids)) for prompt in PROMPTS]


def test_a_judge_that_scores_decides_by_its_scores(tmp_path: Path) -> None:
    summary, rows = evaluated(tmp_path, judge=Longest())
    assert [row.judge for row in rows] == [row.tokens for row in rows]
    wins = [(row.judge > row.reference_judge) + 0.5 * (row.judge == row.reference_judge) for row in rows]  # type: ignore[operator]
    assert summary["win_rate"] == sum(wins) / 5 != summary["rm_win_rate"]
    assert summary["judge_after"] == summary["length_after"]


def test_a_judge_that_compares_decides_by_comparing(tmp_path: Path) -> None:
    summary, rows = evaluated(tmp_path, judge=Comparing())
    assert summary["win_rate"] == pytest.approx((1 + 0.5 + 0.5 + 1 + 0.5) / 5)
    assert "judge_after" not in summary and rows[0].judge is None


def test_a_judge_alone_will_do(tmp_path: Path) -> None:
    actors = replace(four_models(), rewards=Rewards([]), reward_model=None)
    with session_in(tmp_path) as session:
        summary = evaluation.run(
            session, context_of(actors, PPO), HeldOut(PROMPTS, Longest(), EvaluationSpec()), {}
        ).summary
    assert "win_rate" in summary and "score_after" not in summary and "rm_win_rate" not in summary


class Counting(Rewards):
    """How many answers it was asked about, in all and at once."""

    asked = 0

    def score(self, answers: Sequence[RewardInput]) -> Scores:
        self.asked += len(answers)
        vars(self).setdefault("parts", []).append(len(answers))
        return super().score(answers)


def in_the_loop(folder: Path, spec: PPOSpec) -> tuple[Counting, list[dict[str, float]]]:
    actors = four_models()
    rewards = Counting(actors.rewards.members)
    with session_in(folder) as session:
        held_out = HeldOut(PROMPTS, None, EvaluationSpec(batch_size=2))
        found = Evaluation(session, context_of(replace(actors, rewards=rewards), spec), held_out)
        return rewards, [found.metrics(), found.metrics()]


def test_evaluation_in_loop_samples_the_initial_policy_once(tmp_path: Path) -> None:
    rewards, (first, second) = in_the_loop(tmp_path, PPO)
    assert rewards.asked == 15 and first == second
    assert set(first) == {
        "eval/score", "eval/kl", "eval/sqrt_kl", "eval/response_length", "eval/eos_rate", "eval/win_rate",
        "eval/win_rate_low", "eval/win_rate_high",
    }  # fmt: skip
    assert first["eval/sqrt_kl"] == max(0.0, first["eval/kl"]) ** 0.5


def test_evaluation_rescores_initial_responses_if_model_learns(tmp_path: Path) -> None:
    rewards, (first, second) = in_the_loop(tmp_path, PPO.model_copy(update={"online": object()}))
    assert rewards.asked == 20 and first == second
    # before and after, then the same again: sums over other parts would end in other bits than those of a resume
    assert vars(rewards)["parts"] == [2, 2, 1] * 4


def test_evaluation_kl_is_to_initial_policy_not_moved_reference(tmp_path: Path) -> None:
    """The reference of an EMA run differs from the initial policy."""
    actors = replace(four_models(), reference=llama(5))
    with session_in(tmp_path) as session:
        found = Evaluation(session, context_of(actors, PPO), HeldOut(PROMPTS, None, EvaluationSpec()))
        played: HeldOutResponses = found.respond(actors.policy, "ppo")
    answer = played.answers[1]
    with torch.no_grad():
        own, initial = (
            logprobs_alone(m, answer.prompt_ids, answer.response_ids).sum() for m in (actors.policy, actors.initial)
        )
    assert played.completions[1].kl == pytest.approx(float(own - initial), abs=tolerance.largest(size=8))


def test_evaluation_completions_carry_their_own_figures() -> None:
    batch = Batch.from_ids([[5], [6, 7]], [[8, 1], [9, 10, 11]], pad_id=0)
    responses = [Response([8, 1], True), Response([9, 10, 11], False)]
    answers = [
        RewardInput("ab", [5], [8, 1], "one", True, None),
        RewardInput([{"role": "user", "content": "abc"}], [6, 7], [9, 10, 11], "two", False, None),
    ]
    kl = torch.tensor([[0.25, 0.5, 9.0], [1.0, 2.0, -0.5]])  # the 9 stands on a pad
    scores = torch.tensor([1.5, -2.0])
    said = Scores([1.5, -2.0], {"model": [1.5, -2.0]}, {})
    scored = ScoredBatch(batch, responses, answers, kl, torch.zeros(2, 3), None, said, scores, {})
    first, second = judged_completions(scored, judge_scores(Longest(), answers))
    assert (first.prompt, first.response, first.score, first.kl) == ("ab", "one", 1.5, 0.75)
    assert (first.tokens, first.finished, first.judge) == (2, True, 2)
    assert (second.response, second.score, second.kl) == ("two", -2.0, 2.5)
    assert (second.tokens, second.finished, second.judge) == (3, False, 3)
    assert judged_completions(scored, judge_scores(None, answers[:1])) == [replace(first, judge=None)]


OF_PPO = {"best_step": 4.0, "selection_win_rate": 0.9, "entropy_kept": 0.6}


def after_ppo(
    folder: Path, best: Callable[[], Model] | None, ppo: dict[str, float] = OF_PPO, **changes: object
) -> dict[str, float]:
    """The evaluation of a run whose PPO took 10 iterations."""
    folder.mkdir(exist_ok=True)
    with session_in(folder) as session:
        session.checkpoints.save_final("ppo", None, None, StageResult(10, 1.0, ppo))
        held_out = HeldOut(PROMPTS, None, EvaluationSpec())
        actors = replace(four_models(), **changes)
        return evaluation.run(session, context_of(actors, PPO), held_out, {}, best=best).summary


def test_best_checkpoint_is_evaluated_again_with_separate_draws(tmp_path: Path) -> None:
    """Neither the selection nor the final evaluation uses these draws."""
    chosen = llama(9)
    summary = after_ppo(tmp_path, lambda: chosen)
    assert (summary["best_step"], summary["selection_win_rate"], summary["entropy_kept"]) == (4, 0.9, 0.6)
    with session_in(tmp_path) as session:
        found = Evaluation(session, context_of(four_models(), PPO), HeldOut(PROMPTS, None, EvaluationSpec()))
        before, fresh = found.respond(four_models().initial, "initial"), found.respond(chosen, "best")
        seen = [found.respond(chosen, purpose) for purpose in ("ppo", "after")]
    responses = [[c.response for c in played.completions] for played in (fresh, *seen)]
    assert responses[0] != responses[1] and responses[0] != responses[2]
    scores = [[c.score for c in played.completions] for played in (before, fresh)]
    rate = sum(new > old for old, new in zip(*scores, strict=True)) / 5  # type: ignore[operator]
    low, high = wilson_interval(rate, 5)
    assert (summary["best_win_rate"], summary["best_win_rate_low"], summary["best_win_rate_high"]) == (rate, low, high)
    assert summary["best_score"] == pytest.approx(sum(scores[1]) / 5)  # type: ignore[arg-type]
    assert summary["best_kl"] == pytest.approx(sum(c.kl for c in fresh.completions) / 5)
    assert summary["best_response_length"] == sum(c.tokens for c in fresh.completions) / 5


def test_best_checkpoint_draws_differ_from_selection_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On either side: a checkpoint is chosen for beating certain responses of the initial policy, too."""
    drawn: list[list[float]] = []
    uniforms = sampling.uniforms

    def noted(*args: Any) -> torch.Tensor:
        found = uniforms(*args)
        drawn.append(found.flatten().tolist())
        return found

    monkeypatch.setattr(evaluation, "uniforms", noted)
    folder = tmp_path / "ppo"
    folder.mkdir()
    with session_in(folder) as session:
        Evaluation(session, context_of(four_models(), PPO), HeldOut(PROMPTS, None, EvaluationSpec())).metrics()
    choosing = [tuple(draws) for draws in drawn]
    drawn.clear()
    after_ppo(tmp_path / "run", lambda: llama(5))
    assert len(choosing) == 10 and len(drawn) == 15 and not {*choosing} & {tuple(draws) for draws in drawn}


def test_best_checkpoint_that_is_the_last_has_the_run_figures(tmp_path: Path) -> None:
    summary = after_ppo(tmp_path, None, OF_PPO | {"best_step": 10.0})
    for name in ("win_rate", "win_rate_low", "win_rate_high", "kl"):
        assert summary[f"best_{name}"] == summary[name]
    assert summary["best_score"] == summary["score_after"] and summary["selection_win_rate"] == 0.9


def test_best_checkpoint_missing_is_reported_without_figures(tmp_path: Path) -> None:
    summary = after_ppo(tmp_path, None)
    assert "best_win_rate" not in summary and summary["selection_win_rate"] == 0.9
    said = [event.text for event in events_of(tmp_path) if isinstance(event, Message)]
    assert said == ["PPO's best checkpoint is not on this machine, so it is not evaluated again."]


def test_best_checkpoint_evaluation_resumes_to_same_figures(tmp_path: Path) -> None:
    def killed() -> Model:
        raise Stopped("killed")

    with pytest.raises(Stopped):
        after_ppo(tmp_path / "broken", killed)
    assert after_ppo(tmp_path / "broken", lambda: llama(9)) == after_ppo(tmp_path / "whole", lambda: llama(9))


def test_without_ppo_there_is_no_best(tmp_path: Path) -> None:
    assert not any("best" in name or "selection" in name for name in evaluated(tmp_path)[0])


def test_two_sides_of_one_policy_have_different_draws(tmp_path: Path) -> None:
    """With the same draws, a policy against itself would give equal answers and only ties."""
    _, rows = evaluated(tmp_path / "stage", against=four_models().policy)
    assert any(row.response != row.reference for row in rows)
    actors = replace(four_models(), initial=four_models().policy)
    (tmp_path / "loop").mkdir()
    with session_in(tmp_path / "loop") as session:
        loop = Evaluation(session, context_of(actors, PPO), HeldOut(PROMPTS, None, EvaluationSpec()))
        loop.metrics()
    assert any(row.response != row.reference for row in loop.samples(5))


def test_rescored_responses_keep_the_rule_for_a_missing_eos(tmp_path: Path) -> None:
    spec = PPO.model_copy(update={"online": object(), "shaping": ShapingSpec(missing_eos_penalty=50.0)})
    with session_in(tmp_path) as session:
        loop = Evaluation(session, context_of(four_models(), spec), HeldOut(PROMPTS, None, EvaluationSpec()))
        loop.metrics()
        first = [row.reference_score for row in loop.samples(5)]
        loop.metrics()
    assert [row.reference_score for row in loop.samples(5)] == first
    assert min(score for score in first if score is not None) < -40  # some were cut off


class WithKL(Evaluation):
    """Every policy gives one response with this KL."""

    kl = 0.0

    def respond(self, policy: Model, purpose: str) -> HeldOutResponses:
        return HeldOutResponses([Completion("p", "r", 1.0, self.kl, 3, True, None)], [])


@pytest.mark.parametrize(("kl", "root"), [(4.0, 2.0), (0.0, 0.0), (-4.0, 0.0)])
def test_root_of_a_negative_kl_estimate_is_0(tmp_path: Path, kl: float, root: float) -> None:
    with session_in(tmp_path) as session:
        loop = WithKL(session, context_of(four_models(), PPO), HeldOut(PROMPTS[:1], None, EvaluationSpec()))
        loop.kl = kl
        assert loop.metrics()["eval/sqrt_kl"] == root
