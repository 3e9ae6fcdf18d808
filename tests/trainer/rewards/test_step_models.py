"""A stepwise reward model as a reward: the score of each step, against a forward pass of one response, and what is refused."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import tolerance
from tests.trainer.rewards.test_models import saved
from tests.trainer.rewards.tools import context, encoded
from tests.trainer.stage_tools import new_codec, scores_alone
from trainer.errors import ModelError
from trainer.models import Model
from trainer.rewards import RewardInput, build
from trainer.rewards.build import check
from trainer.rewards.models import step_reward
from trainer.spec import ModelReward
from trainer.text.codec import Tokenizer, train_tokenizer

CODEC = new_codec()


def stepwise(folder: Path, tokenizer: Tokenizer | None = None, delimiter: str | None = "\n", **config: Any) -> Model:
    """A reward model in `folder` that learnt to score steps."""
    model = saved(folder, tokenizer or CODEC.tokenizer)
    if delimiter is not None:
        model.config.step_delimiter = delimiter
    for name, value in config.items():
        setattr(model.config, name, value)
    model.save_pretrained(folder)
    return model


def spec_of(folder: Path, **changes: Any) -> ModelReward:
    return ModelReward(**({"path": str(folder), "step_delimiter": "\n", "step_output": "logit"} | changes))


def by_hand(model: Model, prompt: list[int], response: list[int]) -> list[float]:
    """The score after each token of the response, less the bias of 0.5."""
    with torch.no_grad():
        return (scores_alone(model, prompt, response)[1:] - 0.5).tolist()


@pytest.mark.parametrize("batch_size", [None, 1])
def test_each_step_is_scored_at_the_token_that_ends_it(tmp_path: Path, batch_size: int | None) -> None:
    """One token per byte: the line break of "ab⏎" is token 2, the EOS of "ab⏎cdef" token 7, and "xy" is cut at token 1."""
    model = stepwise(tmp_path)
    answers = [
        encoded(CODEC, "ask ", "ab\ncdef"), encoded(CODEC, "ask ", ""), encoded(CODEC, "so ", "xy", finished=False),
    ]  # fmt: skip
    found = build([spec_of(tmp_path)], context(codec=CODEC, batch_size=batch_size)).score(answers)
    long, cut = (by_hand(model, a.prompt_ids, a.response_ids) for a in (answers[0], answers[2]))
    assert found.dense is not None
    expected = [[0, 0, long[2], 0, 0, 0, 0, long[7]], [0.0], [0, cut[1]]]
    for own, want in zip(found.dense.tokens, expected, strict=True):
        assert own == pytest.approx(want, abs=tolerance.largest())
    assert found.totals == pytest.approx([long[2] + long[7], 0.0, cut[1]], abs=tolerance.largest())


def test_after_a_stop_string_the_model_reads_an_eos(tmp_path: Path) -> None:
    """The response is "a⏎bEND": PPO takes the second reward on its last token, and the model reads "a⏎b" with an EOS."""
    model = stepwise(tmp_path)
    ids, closed = CODEC.completion_ids(["a\nbEND"])[0], [*CODEC.completion_ids(["a\nb"])[0], CODEC.eos_id]
    answer = RewardInput("q", [5, 6], ids, "a\nb", True, None, closed)
    found = build([spec_of(tmp_path)], context(codec=CODEC)).score([answer])
    read = by_hand(model, [5, 6], closed)
    assert found.dense is not None
    assert found.dense.tokens[0] == pytest.approx([0, read[1], 0, 0, 0, read[3]], abs=tolerance.largest())


def test_model_with_another_tokenizer_reads_its_own_steps(tmp_path: Path) -> None:
    other = train_tokenizer(["abab abab abab"] * 9, 270)
    model = stepwise(tmp_path, other)
    answer = encoded(CODEC, "ask ", "abab\nabab")
    found = build([spec_of(tmp_path)], context(codec=CODEC)).score([answer])
    prompt = other("ask ")["input_ids"]
    response = [*other("abab\nabab")["input_ids"], other.eos_token_id]
    assert len(response) < len(answer.response_ids)
    read = by_hand(model, prompt, response)
    line_break = response.index(other("\n")["input_ids"][0])
    expected = [0, 0, 0, 0, read[line_break], 0, 0, 0, 0, read[-1]]
    assert found.dense is not None and found.dense.tokens[0] == pytest.approx(expected, abs=tolerance.largest())


@pytest.mark.parametrize("score", [-3.0, 0.0, 2.0])
def test_outputs_are_the_probability_its_log_and_the_log_odds(score: float) -> None:
    probability = 1 / (1 + math.exp(-score))
    found = [step_reward(score, output) for output in ("logit", "probability", "log_probability")]
    assert found == pytest.approx([score, probability, math.log(probability)])
    assert step_reward(-1000.0, "log_probability") == -1000.0 and step_reward(-1000.0, "probability") == 0.0


def test_the_log_probabilities_of_the_steps_sum_to_that_of_all(tmp_path: Path) -> None:
    stepwise(tmp_path)
    answer = encoded(CODEC, "ask ", "ab\nc\nd")
    logs, chances = (
        build([spec_of(tmp_path, step_output=output)], context(codec=CODEC)).score([answer])
        for output in ("log_probability", "probability")
    )
    assert chances.dense is not None
    product = math.prod(value for value in chances.dense.tokens[0] if value)
    assert math.exp(logs.numbers[0]) == pytest.approx(product, rel=1e-5)


@pytest.mark.parametrize(
    ("delimiter", "config", "changes", "said"),
    [
        (None, {}, {}, "was trained to score whole responses"),
        (
            "\n",
            {},
            {"step_delimiter": None, "step_output": "probability"},
            r"not the whole one: set `step_delimiter` to '\\n'",
        ),
        ("\n\n", {}, {}, r"learnt to score steps that end at '\\n\\n', and `step_delimiter` is '\\n'"),
        ("\n", {"reward_members": [[0.0, 1.0], [0.0, 1.0]]}, {}, "is an ensemble of 2 members"),
    ],
)
def test_a_model_that_learnt_otherwise_is_refused(
    tmp_path: Path, delimiter: str | None, config: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    stepwise(tmp_path, delimiter=delimiter, **config)
    with pytest.raises(ModelError, match=said):
        check(spec_of(tmp_path, **changes), context(codec=CODEC))
