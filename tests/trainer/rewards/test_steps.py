"""Rewards of the steps of a response: where a step ends, what is asked and refused, and what PPO makes of it, by hand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.trainer.ppo.tools import cast_for, scored_by_hand, spec_of
from tests.trainer.rewards.tools import Reply, assert_missing, context, encoded, says, serving
from tests.trainer.stage_tools import context_of, new_codec
from trainer.ppo.experience import build_experience
from trainer.rewards import Missing, RewardInput, Rewards, Scores, TokenRewards, build
from trainer.rewards.base import WeightedReward
from trainer.rewards.plugin import PluginScorer
from trainer.rewards.steps import steps_of
from trainer.spec import HttpReward, JobSpec, RegexReward

CODEC = new_codec()


def response(text: str, finished: bool = True) -> RewardInput:
    """One token per byte, and an EOS."""
    return encoded(CODEC, "ask ", text, finished)


@pytest.mark.parametrize(
    ("text", "finished", "texts", "last"),
    [
        ("ab\ncd", True, ["ab", "cd"], [2, 5]),  # the line break closes the first step, the EOS the last one
        ("ab\ncd", False, ["ab", "cd"], [2, 4]),
        (
            "ab\n\n  \ncd\n",
            True,
            ["ab", "cd"],
            [2, 10],
        ),  # blank lines are no steps, and the last step ends with the response
        ("ab", True, ["ab"], [2]),
        ("é\nb", True, ["é", "b"], [2, 4]),  # é has two tokens
        ("", True, [], []),
        (" \n ", True, [], []),
    ],
)
def test_steps_end_with_their_delimiter(text: str, finished: bool, texts: list[str], last: list[int]) -> None:
    found = steps_of(response(text, finished), "\n", CODEC)
    assert (found.texts, found.last_tokens) == (texts, last)


def test_delimiter_may_be_longer_than_a_token() -> None:
    found = steps_of(response("a. b. c"), ". ", CODEC)
    assert (found.texts, found.last_tokens) == (["a", "b", "c"], [2, 5, 7])


def test_steps_inside_one_token_share_it() -> None:
    """A tokenizer with long tokens: both steps end with the second token, where their scores are summed."""

    class Long:
        class tokenizer:
            all_special_ids = (9,)

        def token_texts(self, ids: list[int]) -> list[str]:
            return [{1: "a", 2: "b\nc\n", 3: "d", 9: "<eos>"}[token] for token in ids]

    answer = RewardInput("q", [5], [1, 2, 3, 9], "ab\nc\nd", True, None)
    found = steps_of(answer, "\n", Long())  # type: ignore[arg-type]
    assert (found.texts, found.last_tokens) == (["ab", "c", "d"], [1, 1, 3])
    assert found.on_tokens([1.0, 0.25, 4.0], 4) == [0.0, 1.25, 0.0, 4.0]


def test_stop_string_is_no_step() -> None:
    ids = CODEC.completion_ids(["a\nb\nEND"])[0]
    found = steps_of(RewardInput("q", [5], ids, "a\nb", True, None), "\n", CODEC)
    assert (found.texts, found.last_tokens) == (["a", "b"], [1, 6])


@given(st.text(alphabet="ab \né", max_size=20))
def test_every_text_between_delimiters_is_a_step(text: str) -> None:
    found = steps_of(response(text), "\n", CODEC)
    assert found.texts == [part for part in text.split("\n") if part.strip()]
    assert found.last_tokens == sorted(found.last_tokens) and len(found.last_tokens) == len(found.texts)


def scores_lines(question: dict[str, Any]) -> Reply:
    """Half the number of characters of each step."""
    rows = question["steps"] if "steps" in question else [item["steps"] for item in question["items"]]
    return says({"scores" if "items" in question else "rewards": [[len(step) / 2 for step in row] for row in rows]})


@pytest.mark.parametrize("protocol", ["proximal", "openrlhf"])
def test_endpoint_gets_steps_and_scores_each(protocol: Any) -> None:
    with serving(scores_lines) as server:
        spec = HttpReward(type="http", url=server.url, protocol=protocol, step_delimiter="\n", weight=2)
        scores = build([spec], context(codec=CODEC)).score([response("ab\ncdef"), response("")])
    asked = server.questions[0]
    assert (asked["steps"] if protocol == "openrlhf" else [item["steps"] for item in asked["items"]]) == [
        ["ab", "cdef"],
        [],
    ]
    assert scores.totals == [6.0, 0.0] and scores.parts == {"http": [3.0, 0.0]}
    # 2·1 on the line break, 2·2 on the EOS
    assert scores.dense == TokenRewards([0.0, 0.0], [[0, 0, 2.0, 0, 0, 0, 0, 4.0], [0.0]])


@pytest.mark.parametrize(
    ("values", "cause", "said"),
    [
        ([1.0], "bad_output", "a list of 1 scores for a response of 2 steps"),
        ([1.0, {"missing": "time_out", "reason": "slow verifier"}], "time_out", "slow verifier"),
        ([1.0, None], "bad_output", "returned None where a number was expected"),
    ],
)
def test_response_with_a_step_without_score_is_missing(values: list[Any], cause: str, said: str) -> None:
    """A step without a value is not worth 0: the sum of the response is unknown."""
    with serving(lambda question: says({"scores": [values, 0.5]})) as server:
        spec = HttpReward(type="http", url=server.url, step_delimiter="\n")
        scores = build([spec], context(codec=CODEC)).score([response("ab\ncd"), response("a\nb")])
    assert_missing(scores.totals[0], cause, said)
    assert scores.totals[1] == 0.5 and scores.dense is None  # one number is for the whole response


def test_pattern_is_matched_with_each_step() -> None:
    spec = RegexReward(type="regex", pattern=r"\d+", whole=True, step_delimiter="\n", weight=-1)
    scores = build([spec], context(codec=CODEC)).score([response("12\nb\n3"), response("x")])
    assert scores.totals == [-2.0, 0.0]
    assert scores.dense is not None and scores.dense.tokens[0] == [0, 0, -1.0, 0, 0, 0, -1.0]


def test_plugin_gets_the_texts_of_the_steps() -> None:
    def score(prompts: Any, responses: Any, finished: Any, answers: Any, steps: list[list[str]]) -> list[Any]:
        return [[float(len(step)) for step in row] for row in steps]

    found = PluginScorer(score, CODEC, step_delimiter="\n").score([response("ab\nc")])
    assert found == [[0, 0, 2.0, 0, 1.0]]


def test_plugin_states_the_cause_of_one_step() -> None:
    def score(*columns: Any) -> Sequence[Any]:
        return [[1.0, {"missing": "crash", "reason": "no proof"}], [1.0, 2.0]]

    found = PluginScorer(score, CODEC, step_delimiter="\n").score([response("a\nb"), response("a\nb")])
    assert isinstance(found[0], Missing) and (found[0].cause, found[0].reason) == ("crash", "no proof")
    assert found[1] == [0, 1.0, 0, 2.0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"rewards": [{"type": "http", "url": "http://a/", "step_delimiter": "\n", "send_tokens": True}]},
            "`send_tokens` has no effect with `step_delimiter`",
        ),
        ({"rewards": [{"type": "http", "url": "http://a/", "step_delimiter": ""}]}, "at least 1 character"),
        ({"rewards": [{"type": "length", "target": 3, "step_delimiter": "\n"}]}, "step_delimiter"),
        (
            {
                "rewards": [{"type": "regex", "pattern": "a", "step_delimiter": "\n"}],
                "evaluation": {"pass_at": {"k": [1], "samples": 2, "reward": "regex"}},
            },
            "counts the steps that match",
        ),
    ],
)
def test_step_rewards_that_mean_something_else_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        JobSpec.model_validate({"model": "m", "data": {"preferences": "p"}, "ppo": {}} | changes)


class Lines:
    """Scores of steps that were placed on tokens."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def score(self, answers: Sequence[RewardInput]) -> list[Any]:
        return self.rows


def test_gae_takes_each_step_on_its_last_token() -> None:
    """γ = 1, λ = ½, values 0, KL 0: rewards 0, 1, 0, −2 give advantages ⅛·(−2) + ½, 1 − ½, −1, −2."""
    spec = spec_of(
        batch_size=2,
        minibatches=1,
        advantage={"gamma": 1.0, "gae_lambda": 0.5, "normalize": "none"},
        critic={"initial": "policy"},
    )
    answers = [response("a\nb"), response("a")]
    steps = [steps_of(answer, "\n", CODEC) for answer in answers]
    rows = [own.on_tokens(list(values), 4) for own, values in zip(steps, ([1.0, -2.0], [3.0]), strict=True)]
    scores = Rewards([WeightedReward("steps", 1.0, Lines([rows[0]]))]).score(answers[:1])
    assert scores.dense is not None and scores.dense.tokens == [[0.0, 1.0, 0.0, -2.0]]
    scored = scored_by_hand([[0.0] * 4, [0.0]], [-1.0, 3.0], [True, True])
    dense = TokenRewards([0.0, 3.0], [scores.dense.tokens[0], []])
    scored = replace(scored, rewards=Scores([-1.0, 3.0], {"steps": [-1.0, 3.0]}, {}, dense))
    cast = cast_for(spec)
    cast.critic.score.weight.data.zero_()  # type: ignore[union-attr]
    cast.critic.config.score_bias = 0.0  # type: ignore[union-attr]
    experience = build_experience(context_of(cast, spec), scored, kl_coef=0.0)
    expected = torch.tensor([[0.25, 0.5, -1.0, -2.0], [3.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(experience.advantages_BR, expected)
