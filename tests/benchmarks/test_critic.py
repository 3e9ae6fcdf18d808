"""The benchmark of the critic: its tasks and exact values by hand, equal samples, and a small rehearsal."""

import itertools
import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from benchmarks.critic import __main__ as critic
from benchmarks.critic.specs import Setting, spec_of
from benchmarks.critic.starts import ready
from benchmarks.critic.tasks import MAKERS, OPTIMUM
from benchmarks.critic.values import critic_error, exact_values, squared_error
from trainer.models import load_policy, new_reward_model
from trainer.models.sequences import Batch, completion_logprobs
from trainer.spec import JobSpec


@pytest.mark.parametrize(
    ("name", "text", "score"),
    [
        ("delayed", "adadbb", 4 / 6),  # a and d are good
        ("delayed", "bcbccb", 0),
        ("distractors", "cdcdac", 1 / 2),  # of the keys a and b
        ("distractors", "cbcdac", 1),
        ("sparse", "abbbca", 0),  # d, of the keys b, c and d, is missing
        ("sparse", "abbdca", 1),
    ],
)
def test_scores_by_hand(name: str, text: str, score: float) -> None:
    assert MAKERS[name](4, 6).score("aaaaaa=", text) == pytest.approx(score)


@pytest.mark.parametrize("name", MAKERS)
def test_optimum_and_chance_by_enumeration(name: str) -> None:
    task = MAKERS[name](4, 6)
    scores = [task.score("", "".join(letters)) for letters in itertools.product(task.letters, repeat=6)]
    assert max(scores) == OPTIMUM == task.score("", task.best)
    assert sum(scores) / len(scores) == pytest.approx(task.chance)


@pytest.mark.parametrize("name", MAKERS)
def test_held_out_prompts_are_no_training_prompts(name: str) -> None:
    train, held_out = MAKERS[name](4, 6).prompts(192, 64)
    assert len({*train, *held_out}) == 192 + 64


def test_exact_values_of_two_letters_and_two_tokens_by_hand() -> None:
    """Responses aa, ab, ba, bb with scores 0, 1, 2, 4; π(a) = ¼, π(a | a) = ½, π(a | b) = ¾."""
    logprobs_NT = torch.tensor([[0.25, 0.5], [0.25, 0.5], [0.75, 0.75], [0.75, 0.25]]).log()
    exact_NT = exact_values(logprobs_NT, torch.tensor([0.0, 1.0, 2.0, 4.0]), 2)
    # V(a) = ½, V(b) = ¾·2 + ¼·4 = 5/2, V of the prompt = ¼·½ + ¾·5/2 = 2
    expected_NT = torch.tensor([[2.0, 0.5], [2.0, 0.5], [2.0, 2.5], [2.0, 2.5]], dtype=torch.float64)
    torch.testing.assert_close(exact_NT, expected_NT, atol=1e-6, rtol=0)
    # an error of 1 in the prompt, 2 in the state a, which a quarter of the responses visit: (1 + ¼·4) / 2
    values_NT = expected_NT + torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0], [1.0, 0.0]])
    assert squared_error(values_NT, exact_NT, logprobs_NT) == pytest.approx(1.0)


def test_error_of_a_critic_without_weights_is_that_of_zero(tmp_path: Path) -> None:
    """V̂ = 0, so the error is the root mean square of V, here estimated from responses that the policy draws."""
    task = MAKERS["delayed"](4, 2)
    start = ready(task, 0, tmp_path)
    policy, tokenizer = load_policy(start / "policy"), AutoTokenizer.from_pretrained(start / "policy")
    critic_model = new_reward_model(start / "policy", "zero")
    found = critic_error(policy, critic_model, tokenizer, task, ["abcdab="])
    with torch.no_grad():
        texts = ["".join(letters) for letters in itertools.product("abcd", repeat=2)]
        prompt, responses = tokenizer("abcdab=")["input_ids"], [tokenizer(text)["input_ids"] for text in texts]
        logprobs_NT = completion_logprobs(policy, Batch.from_ids([prompt] * 16, responses, 0))[0]
    weights_XX = logprobs_NT.sum(1).exp().view(4, 4)
    assert float(weights_XX.sum()) == pytest.approx(1, abs=1e-6)  # nothing but letters is sampled
    scores_XX = torch.tensor([task.score("", text) for text in texts]).view(4, 4)
    first_X = (weights_XX * scores_XX).sum(1) / weights_XX.sum(1)
    squares = (weights_XX * scores_XX).sum() ** 2, (weights_XX.sum(1) * first_X**2).sum()
    assert found == pytest.approx(math.sqrt(float(sum(squares)) / 2), abs=1e-6)


@pytest.mark.parametrize("staleness", [0, 4])
def test_both_algorithms_take_equal_samples_and_steps(staleness: int) -> None:
    specs = [
        JobSpec.model_validate(
            spec_of(Setting("sparse", 24, 24, algorithm, 1e-3, staleness, 60, 0), Path("start"), "http://127.0.0.1:1/s")
        ).ppo
        for algorithm in ("ppo", "grpo")
    ]
    assert [one.most_steps * one.batch_size for one in specs] == [960, 960]
    assert [one.epochs * one.minibatches for one in specs] == [4, 4]
    assert [one.rollout.staleness_bound for one in specs] == [staleness, staleness]
    assert specs[0].critic.epochs == 2 and specs[0].critic_lambda == 1 != specs[0].advantage.gae_lambda


def test_advantage_counts_standard_errors_by_hand() -> None:
    """Means .9 and .6, standard errors .1/√3 each: .3 ÷ (.1·√(2/3))."""
    assert critic.advantage([0.8, 0.9, 1.0], [0.5, 0.6, 0.7]) == pytest.approx(0.3 / (0.1 * math.sqrt(2 / 3)))
    assert critic.advantage([1.0, 1.0], [1.0, 1.0]) == 0
    assert critic.advantage([1.0, 1.0], [0.9, 0.9]) == math.inf


@pytest.mark.slow  # four runs of the trainer
def test_critic_rehearsal_writes_its_file_and_is_cached(tmp_path: Path) -> None:
    options = ["--tasks", "sparse", "--seeds", "1", "--iterations", "10", "--save-every", "4"]
    options += ["--cache", str(tmp_path), "--json", str(tmp_path / "f.json")]
    figures = critic.main(options)
    assert json.loads((tmp_path / "f.json").read_text()) == figures
    assert set(figures) == {"tasks", "critic_error_ratio"} and figures["critic_error_ratio"] > 0
    assert {name: len(ends) for name, ends in figures["tasks"]["sparse"].items()} == {"ppo": 1, "grpo": 1}
    lines = (tmp_path / "critic" / "runs.jsonl").read_text()
    assert len(lines.splitlines()) == 4
    assert critic.main(options) == figures and (tmp_path / "critic" / "runs.jsonl").read_text() == lines
