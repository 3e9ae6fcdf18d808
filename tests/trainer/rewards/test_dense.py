"""Rewards that stand on tokens: what is asked, what is refused, and what PPO makes of them, by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, scored_by_hand, spec_of
from tests.trainer.rewards.tools import Reply, answer, assert_missing, context, encoded, says, serving
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, session_in, train_ppo
from trainer.events import Samples
from trainer.ppo import optimal_value
from trainer.ppo.experience import Experience, build_experience
from trainer.rewards import Missing, RewardInput, Rewards, RewardValue, Scores, TokenRewards, build
from trainer.rewards.base import WeightedReward, _concatenated
from trainer.rollout.shaping import shaped_tokens
from trainer.spec import EvaluationSpec, HttpReward, PPOSpec, ShapingSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

CODEC = new_codec()


class Gives:
    """The same values every time."""

    def __init__(self, *values: RewardValue) -> None:
        self.values = list(values)

    def score(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        return self.values


class Rising:
    """0.1, 0.2, … for the tokens of a response."""

    def score(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        return [[0.1 * at for at, _ in enumerate(answer.response_ids, 1)] for answer in answers]


def vowels(question: dict[str, Any]) -> Reply:
    """1 for each token that is a vowel, and ¼ for the EOS."""
    rows = question["tokens"] if "tokens" in question else [item["tokens"] for item in question["items"]]
    scores = [[0.25 if token == "<|eos|>" else float(token in list("aeiou")) for token in row] for row in rows]
    return says({"scores" if "items" in question else "rewards": scores})


@pytest.mark.parametrize("protocol", ["proximal", "openrlhf"])
def test_both_protocols_send_tokens_and_take_a_number_for_each(protocol: Any) -> None:
    answers = [encoded(CODEC, "ask ", "ab"), encoded(CODEC, "ask ", "é", finished=False)]
    with serving(vowels) as server:
        spec = HttpReward(type="http", url=server.url, protocol=protocol, send_tokens=True, weight=2)
        scores = build([spec], context(codec=CODEC)).score(answers)
    asked = server.questions[0]
    sent = asked["tokens"] if protocol == "openrlhf" else [item["tokens"] for item in asked["items"]]
    assert sent == [["a", "b", "<|eos|>"], ["", "é"]], "a character of two tokens belongs to the second"
    assert scores.parts == {"http": [1.25, 0.0]} and scores.totals == [2.5, 0.0]
    assert scores.dense == TokenRewards([0.0, 0.0], [[2.0, 0.0, 0.5], [0.0, 0.0]])


def test_tokens_are_not_sent_unasked() -> None:
    with serving(lambda question: says({"scores": [[1, 2, 3]]})) as server:
        scores = build([HttpReward(type="http", url=server.url)], context(codec=CODEC)).score(
            [encoded(CODEC, "ask ", "ab")]
        )
    assert scores.totals == [6.0] and "tokens" not in server.questions[0]["items"][0]


def test_rewards_sum_weighted_response_and_token_scores() -> None:
    rewards = Rewards(
        [
            WeightedReward("whole", 2.0, Gives(1.0, -1.0)),
            WeightedReward("dense", 10.0, Gives([0.5, -0.25, 1.0], 3.0)),
            WeightedReward("more", -1.0, Gives([0.0, 1.0, 0.0], [1.0, 1.0])),
        ]
    )
    scores = rewards.score([answer("ab"), answer("a")])
    assert scores.parts == {"whole": [1.0, -1.0], "dense": [1.25, 3.0], "more": [1.0, 2.0]}
    # 2·1 | 10·(.5, −.25, 1) − (0, 1, 0), and 2·−1 + 10·3 | −(1, 1)
    assert scores.dense == TokenRewards([2.0, 28.0], [[5.0, -3.5, 10.0], [-1.0, -1.0]])
    assert scores.totals == [13.5, 26.0]


def test_blocks_of_several_processes_are_concatenated() -> None:
    joined = _concatenated(
        [Scores([1.0], {"a": [1.0]}, {}), Scores([3.0], {"a": [3.0]}, {}, TokenRewards([1.0], [[2.0, 0.0]]))]
    )
    assert joined == Scores([1.0, 3.0], {"a": [1.0, 3.0]}, {}, TokenRewards([1.0, 1.0], [[], [2.0, 0.0]]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, [1.0, 2.0]], r"a list of 2 numbers for response 2 of 2, which has 3 tokens\. Return one number for the"),
        ([1.0, []], "a list of 0 numbers for response 2 of 2"),
        ([[1.0, float("nan")], 0.0], r"returned nan for token 2 of response 1 of 2; it must be a finite number"),
        ([[1.0, True], 0.0], "returned True for token 2 of response 1 of 2"),
        ([[3e38, 3e38], 0.0], "is too large to be summed"),
    ],
)
def test_lists_that_do_not_fit_are_missing(values: list[Any], said: str) -> None:
    scores = Rewards([WeightedReward("odd", 1.0, Gives(*values))]).score([answer("a"), answer("ab")])
    (missing,) = (total for total in scores.totals if isinstance(total, Missing))
    assert_missing(missing, "bad_output", f"Reward `odd`.*{said}")


def test_dense_endpoint_non_number_in_list_is_missing() -> None:
    with serving(lambda question: says({"scores": [[1, "2"]]})) as server:
        scores = build([HttpReward(type="http", url=server.url)], context(codec=CODEC)).score([answer("a")])
    assert_missing(scores.totals[0], "bad_output", "returned '2' where a number was expected, in `scores`")


def test_missing_response_has_no_tokens_and_no_end() -> None:
    gone = Missing("crash", "gone")
    members = [
        WeightedReward("dense", 1.0, Gives([0.5, 1.0], [1.0, 1.0])),
        WeightedReward("whole", 2.0, Gives(gone, 1.0)),
    ]
    scores = Rewards(members).score([answer("a"), answer("b")])
    assert scores.totals == [gone, 4.0] and scores.parts == {"dense": [1.5, 2.0], "whole": [gone, 1.0]}
    assert scores.dense is not None and scores.dense.tokens == [[], [1.0, 1.0]] and math.isnan(scores.dense.ends[0])
    assert scores.select([1]) == Scores([4.0], {"dense": [2.0], "whole": [1.0]}, {}, TokenRewards([2.0], [[1.0, 1.0]]))


@given(st.text(max_size=30))
def test_the_texts_of_the_tokens_are_the_text(text: str) -> None:
    ids = CODEC.completion_ids([text])[0]
    texts = CODEC.token_texts(ids)
    assert len(texts) == len(ids)
    assert "".join(texts) == CODEC.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


KL = [[0.1, 0.3], [0.2], [-0.2, 0.4], [0.0, 0.1]]
DENSE = TokenRewards([2.0, -1.0, 3.0, 1.0], [[0.5, -0.25], [], [1.0, 0.0], [0.0, 2.0]])
# less the KL, β = 1: (.4, 1.45), (−1.2), (1.2, 2.6), (0, 2.9); from the first token on 1.85, −1.2, 3.8, 2.9


def learnt(advantage: dict[str, object], finished: Sequence[bool] = (True,) * 4, **options: object) -> Experience:
    spec = PPOSpec.model_validate(
        {"batch_size": 4, "samples_per_prompt": 2, "advantage": {**NO_CRITIC, **advantage}, **options}
    )
    totals = [2.25, -1.0, 4.0, 3.0]
    scored = scored_by_hand(KL, totals, list(finished))
    scored = replace(scored, rewards=Scores(totals, {"a": totals}, {}, DENSE))
    return build_experience(
        context_of(cast_for(spec), spec), scored, kl_coef=1.0, score_scale=2.0, optimal_values=[0.5, 0.5, 2.0, 2.0]
    )


def test_dense_rewards_go_to_their_tokens_and_the_rest_to_last() -> None:
    experience = learnt({"baseline": "none"})
    torch.testing.assert_close(experience.rewards_BR, torch.tensor([[0.4, 1.45], [-1.2, 0.0], [1.2, 2.6], [0.0, 2.9]]))
    assert experience.shaped_B.tolist() == [2.25, -1.0, 4.0, 3.0]


@pytest.mark.parametrize(
    ("advantage", "expected"),
    [
        ({"estimator": "sequence"}, [[1.85, 1.85], [-1.2, 0.0], [3.8, 3.8], [2.9, 2.9]]),
        ({"estimator": "reward_to_go"}, [[1.85, 1.45], [-1.2, 0.0], [3.8, 2.6], [2.9, 2.9]]),
        ({"estimator": "reward_to_go", "gamma": 0.5}, [[1.125, 1.45], [-1.2, 0.0], [2.5, 2.6], [1.45, 2.9]]),
        ({"baseline": "leave_one_out"}, [[3.05, 3.05], [-3.05, 0.0], [0.9, 0.9], [-0.9, -0.9]]),
        ({"baseline": "optimal_value"}, [[1.35, 1.35], [-1.7, 0.0], [1.8, 1.8], [0.9, 0.9]]),
        # to go 1.85, 1.45 against −1.2 (ended); 3.8, 2.6 against 2.9, 2.9
        (
            {"estimator": "reward_to_go", "baseline": "leave_one_out"},
            [[3.05, 2.65], [-3.05, 0.0], [0.9, -0.3], [-0.9, 0.3]],
        ),
    ],
)
def test_returns_and_baselines_by_hand(advantage: dict[str, object], expected: list[list[float]]) -> None:
    torch.testing.assert_close(learnt(advantage).advantages_BR, torch.tensor(expected))


@pytest.mark.parametrize(
    ("shaping", "finished", "expected"),
    [
        # ÷ 2, then clipped to ±.4, each number by itself; −.5 for the cut, on the last token
        (
            {"normalize": "running", "clip": 0.4, "missing_eos_penalty": 0.5},
            [True, True, False, True],
            [[0.25, 0.4 - 0.125], [-0.4, 0.0], [0.4, 0.4 - 0.5], [0.0, 0.8]],
        ),
        # replaced: what the tokens earned goes too
        (
            {"missing_eos": "replace", "missing_eos_penalty": 0.5},
            [True, True, False, False],
            [[0.5, 1.75], [-1.0, 0.0], [0.0, -0.5], [0.0, -0.5]],
        ),
    ],
)
def test_shaping_by_hand(shaping: dict[str, object], finished: list[bool], expected: list[list[float]]) -> None:
    experience = learnt({}, finished, shaping=shaping, kl={"placement": "loss"})
    torch.testing.assert_close(experience.rewards_BR, torch.tensor(expected))
    torch.testing.assert_close(experience.shaped_B, torch.tensor(expected).sum(1))


def test_without_options_tokens_keep_their_rewards() -> None:
    values = torch.tensor([[1.0, -2.0]])
    assert torch.equal(shaped_tokens(values, torch.tensor([False]), ShapingSpec(), scale=9.0), values)


def test_gae_truncated_response_keeps_its_dense_rewards() -> None:
    advantage = {"gamma": 0.9, "gae_lambda": 0.5, "normalize": "none", "bootstrap_truncated": True}
    spec = spec_of(advantage=advantage, kl={"coef": 0.0}, shaping={"missing_eos_penalty": 0.0})
    cast = replace(
        cast_for(spec),
        rewards=Rewards([WeightedReward("rising", 1.0, Rising()), WeightedReward("whole", 1.0, Whole())]),
    )
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    assert experience.values_BR is not None
    assert {r.finished for r in experience.scored.responses} == {True, False}
    for row, response in enumerate(experience.scored.responses):
        rewards = [0.1 * at for at, _ in enumerate(response.ids, 1)]
        rewards[-1] += 4.0 * response.finished
        length = len(rewards)
        assert experience.rewards_BR[row, :length].tolist() == pytest.approx(rewards)
        values = experience.values_BR[row, :length].tolist()
        advantages = experience.advantages_BR[row, :length].tolist()
        for t in range(length - 1):
            delta = rewards[t] + 0.9 * values[t + 1] - values[t]
            assert advantages[t] == pytest.approx(delta + 0.45 * advantages[t + 1], abs=1e-5)


class Whole:
    def score(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        return [4.0] * len(answers)


def test_v_star_is_that_of_their_sums_clipped_one_by_one(tmp_path: Path) -> None:
    spec = spec_of(
        advantage={**NO_CRITIC, "baseline": "optimal_value"},
        optimal_value={"samples": 1},
        shaping={"clip": 0.25, "missing_eos_penalty": 0.0},
        temperature=3.0,
    )
    cast = replace(cast_for(spec), rewards=Rewards([WeightedReward("rising", 1.0, Rising())]))
    encoded_prompts = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
    lengths: list[int] = []
    score = cast.rewards.score

    def counted(answers: Sequence[RewardInput]) -> Scores:
        lengths.extend(len(answer.response_ids) for answer in answers)
        return score(answers)

    cast.rewards.score = counted  # type: ignore[method-assign]
    with session_in(tmp_path) as session:
        found = optimal_value.estimate_optimal_values(session, context_of(cast, spec), encoded_prompts)
    # .1, .2, .25, .25, …
    expected = [[0.1, 0.3][length - 1] if length < 3 else 0.3 + 0.25 * (length - 2) for length in lengths]
    assert found == pytest.approx(expected) and len(set(lengths)) > 1


def test_dense_rewards_train_a_run_and_are_logged(tmp_path: Path) -> None:
    spec = spec_of(steps=2, eval_every=1, kl={"coef": 0.0}, self_test=False, log_token_tables=4, log_samples=4)
    prompts = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]

    def by_position(question: dict[str, Any]) -> Reply:
        return says({"scores": [[0.5 * at for at, _ in enumerate(item["tokens"])] for item in question["items"]]})

    with serving(by_position) as server, session_in(tmp_path) as session:
        reward = HttpReward(type="http", name="steps", url=server.url, send_tokens=True)
        cast = replace(cast_for(spec), rewards=build([reward], context(codec=CODEC)))
        held_out = HeldOut(prompts[:2], None, EvaluationSpec(prompts=2, keep_best=False))
        train_ppo(session, spec, cast, prompts, held_out, CODEC)
    tables = [row for event in events_of(tmp_path) if isinstance(event, Samples) for row in event.rows]
    tables = [row for row in tables if row.token_table]
    assert tables
    for row in tables:
        assert row.token_table is not None
        expected = [0.5 * at for at, _ in enumerate(row.token_table)]
        assert [token.reward for token in row.token_table][:-1] == expected[:-1]
        assert row.token_table[-1].reward == expected[-1] - (0.0 if row.finished else 1.0)
    values = metrics_of(tmp_path)["ppo", 1]
    assert values["objective/rlhf_reward"] == pytest.approx(values["objective/scores"])
    cut = 1 - values["val/eos_rate"]
    assert values["objective/scores"] == pytest.approx(values["reward/steps"] - cut)
