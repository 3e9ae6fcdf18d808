"""The metrics that PPO's loop reports, and its learning rates."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from tests.trainer.ppo.test_resume import CASES, run
from tests.trainer.ppo.tools import spec_of
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import four_models, new_codec, respond_and_learn, session_in, train_ppo
from trainer.metrics import METRICS
from trainer.models import Model
from trainer.models.sequences import Batch
from trainer.ppo import iteration_log
from trainer.ppo.experience import Experience
from trainer.ppo.iteration_log import experience_metrics, spread_metrics, token_tables, token_texts, update_metrics
from trainer.ppo.minibatch import PerToken
from trainer.ppo.update import UpdateResult
from trainer.rewards.base import Scores
from trainer.rollout.batch import ScoredBatch
from trainer.rollout.context import PPOModels
from trainer.sampling import Response
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt, train_tokenizer

PROMPTS = [TokenizedPrompt(f"prompt {n}", [3 + n] * (1 + n % 3)) for n in range(6)]


def trained(folder: Path, **changes: object) -> PPOModels:
    defaults = {"batch_size": 4, "epochs": 1, "minibatches": 1, "max_new_tokens": 5, "warmup_ratio": 0}
    defaults["self_test"] = False  # the reference is another model from the start, which it would not let pass
    spec = PPOSpec.model_validate({**defaults, "lr_schedule": "constant", **changes})
    models, held_out = four_models(), HeldOut(PROMPTS[:2], None, EvaluationSpec())
    with session_in(folder) as session:
        train_ppo(session, spec, models, PROMPTS, held_out)
    return models


def moved(new: Model, old: Model) -> float:
    """The longest way that a single weight went."""
    return max(float((a - b).detach().abs().max()) for a, b in zip(new.parameters(), old.parameters(), strict=True))


def test_sums_are_per_response_and_pads_count_nowhere() -> None:
    batch = Batch.from_ids([[5], [6, 7]], [[8, 1], [9]], pad_id=0)  # the second response is cut off after one token
    responses, scores = [Response([8, 1], True), Response([9], False)], torch.tensor([1.0, -2.0])
    kl, logprobs = torch.tensor([[0.1, 0.2], [0.6, 77.0]]), torch.tensor([[-1.0, -2.0], [-4.0, -77.0]])
    rewards = torch.tensor([[-0.05, 0.9], [-2.3, 77.0]])  # β = .5: 1 − .5·.3 = .85 and −2 − .5·.6 = −2.3 a response
    values, returns = torch.tensor([[1.0, 2.0], [3.0, 77.0]]), torch.tensor([[2.0, 3.0], [1.0, -77.0]])
    said = Scores([1.0, -1.0], {"a": [3.0, 4.0]}, {"reward/a/error_rate": 0.5})
    scored = ScoredBatch(batch, responses, [], logprobs, logprobs - kl, None, said, scores, {"time/score": 0.5})
    found = experience_metrics(Experience(scored, scores, rewards, values, torch.zeros(2, 2), returns))
    assert found == pytest.approx(
        {
            "objective/scores": -0.5,
            "objective/kl": 0.45,  # (.1 + .2 + .6) / 2
            "objective/rlhf_reward": -0.725,  # (.85 − 2.3) / 2
            "objective/non_score_reward": -0.225,  # −.5 · .45
            "objective/entropy": 3.5,  # (1 + 2 + 4) / 2
            "val/explained_var": -2.0,  # R − V = 1, 1, −2 has variance 2; R = 2, 3, 1 has ⅔
            "val/num_eos_tokens": 1,
            "val/eos_rate": 0.5,
            "val/response_length": 1.5,
            "reward/a": 3.5,
            "reward/a/error_rate": 0.5,
            "time/score": 0.5,
        }
    )


def test_moved_reference_and_shaped_scores_have_own_figures() -> None:
    batch = Batch.from_ids([[5], [6, 7]], [[8, 1], [9]], pad_id=0)
    responses, scores = [Response([8, 1], True), Response([9], False)], torch.tensor([1.0, -2.0])
    logprobs, kl = torch.tensor([[-1.0, -2.0], [-4.0, -77.0]]), torch.tensor([[0.1, 0.2], [0.6, 77.0]])
    initial, shaped = torch.tensor([[-1.5, -2.5], [-5.0, 5.0]]), torch.tensor([2.0, -5.0])
    said = Scores([1.0, -1.0], {}, {})
    scored = ScoredBatch(batch, responses, [], logprobs, logprobs - kl, initial, said, scores, {})
    rewards = torch.tensor([[-0.05, 0.9], [-2.3, 77.0]])
    found = experience_metrics(Experience(scored, shaped, rewards, None, torch.zeros(2, 2), torch.zeros(2, 2)))
    assert found["objective/kl_initial"] == pytest.approx(1.0)  # (.5 + .5 + 1) / 2
    assert found["objective/kl"] == pytest.approx(0.45)  # to the reference, as before
    assert found["objective/non_score_reward"] == pytest.approx(0.775)  # −.725 − (2 − 5) / 2
    assert found["objective/scores"] == -0.5 and "val/explained_var" not in found


@pytest.mark.parametrize(("size", "expected"), [(1, None), (2, 0.0)])
def test_equal_groups_are_counted_if_groups_are_compared(size: int, expected: float | None) -> None:
    batch, zeros = Batch.from_ids([[5], [5]], [[8, 1], [9]], pad_id=0), torch.zeros(2, 2)
    responses = [Response([8, 1], True), Response([9], False)]
    scored = ScoredBatch(batch, responses, [], zeros, zeros, None, Scores([1.0, -1.0], {}, {}), torch.zeros(2), {})
    group = {"estimator": "sequence", "baseline": "leave_one_out" if size > 1 else "none"}
    found = spread_metrics(scored, spec_of(advantage=group, samples_per_prompt=size), kl_coef=0.5, score_scale=1.0)
    assert found.get("objective/equal_groups") == expected


@pytest.mark.parametrize(("placement", "penalty"), [("reward", {"objective/kl_penalty_std": 0.075}), ("loss", {})])
def test_spreads_are_over_whole_responses(placement: str, penalty: dict[str, float]) -> None:
    """Raw scores 1 and −1, the −1 for a missing EOS left out; KL .3 and .6 nats, which differ from their mean by .15."""
    batch = Batch.from_ids([[5], [6, 7]], [[8, 1], [9]], pad_id=0)
    kl = torch.tensor([[0.1, 0.2], [0.6, 77.0]])
    said, zeros = Scores([1.0, -1.0], {}, {}), torch.zeros(2, 2)
    responses = [Response([8, 1], True), Response([9], False)]
    scored = ScoredBatch(batch, responses, [], zeros, zeros - kl, None, said, torch.tensor([1.0, -2.0]), {})
    found = spread_metrics(scored, spec_of(kl={"placement": placement}), kl_coef=0.5, score_scale=8.0)
    assert found == pytest.approx({"objective/raw_scores": 0.0, "objective/raw_scores_std": 1.0} | penalty)
    if placement == "reward":  # a nat costs .5 scores ÷ 8: as much as 4 raw ones
        scaled = spec_of(kl={"placement": placement}, shaping={"normalize": "running"})
        found = spread_metrics(scored, scaled, kl_coef=0.5, score_scale=8.0)
        assert found["objective/kl_penalty_std"] == pytest.approx(0.6)


def test_policy_and_critic_have_separate_learning_rates(tmp_path: Path) -> None:
    models, before = trained(tmp_path, steps=1, learning_rate=1e-3, critic={"learning_rate": 4e-3}), four_models()
    # Adam's first step takes no weight further than the rate, and one with a fair gradient nearly that far
    assert 0.9e-3 < moved(models.policy, before.policy) < 1.01e-3
    assert 3.6e-3 < moved(models.critic, before.critic) < 4.04e-3
    reported = metrics_of(tmp_path)["ppo", 1]
    assert (reported["lr"], reported["critic_lr"]) == pytest.approx((1e-3, 4e-3))


def test_episodes_count_responses_and_evaluations_come_when_due(tmp_path: Path) -> None:
    trained(tmp_path, steps=5, eval_every=2, save_every=100)
    metrics = metrics_of(tmp_path)
    episodes = {step: values["episode"] for (_, step), values in metrics.items() if step}
    assert episodes == {1: 4, 2: 8, 3: 12, 4: 16, 5: 20}
    assert [step for (_, step), values in metrics.items() if "eval/score" in values] == [0, 2, 4, 5]


@pytest.mark.parametrize("name", [*CASES, "guarded"])
def test_every_figure_has_its_row_in_the_table(tmp_path: Path, name: str) -> None:
    options = CASES.get(name, {"guards": {"target_kl": 0.1}, "shaping": {"clip": 1.0}, "kl": {"placement": "loss"}})
    run(tmp_path, spec_of(**options, steps=4, save_every=9, eval_every=4, max_new_tokens=6, self_test=False))
    known = {metric.name for metric in METRICS if metric.stage == "ppo"}
    seen = {metric for values in metrics_of(tmp_path).values() for metric in values}
    assert {metric.replace("reward/model", "reward/<name>") for metric in seen} - known == set()


SPECIAL = set(new_codec().tokenizer.all_special_tokens)
SHORT_PROMPTS = [[5], [6, 7, 8], [9, 10]]


def tables(policy_learned: bool = True, **changes: Any) -> tuple[Experience, list[list[dict[str, Any]]]]:
    spec = PPOSpec.model_validate({"max_new_tokens": 6, "log_token_tables": 2, **changes})
    actors = four_models()
    experience = respond_and_learn(actors, SHORT_PROMPTS, new_codec(), spec, seed=3)
    old_BR = experience.scored.logprobs_BR
    clipped_BR, entropy_BR = torch.zeros_like(old_BR, dtype=torch.bool), torch.full_like(old_BR, 1.5)
    clipped_BR[1, 0], entropy_BR[1, 1] = True, torch.nan
    last_pass = PerToken(clipped_BR, old_BR, old_BR + math.log(2), entropy_BR) if policy_learned else None
    result = UpdateResult(experience, [], last_pass, 0, 1.0, False, 0.0)
    found = token_tables(result, new_codec().tokenizer, spec)
    return experience, [[row.model_dump() for row in table] for table in found]


def test_a_row_has_what_the_update_saw_of_the_token() -> None:
    experience, found = tables()
    scored = experience.scored
    assert [len(table) for table in found] == [len(response.ids) for response in scored.responses[:2]]
    for response, table in enumerate(found):
        for position, row in enumerate(table):
            own, reference = (x[response, position] for x in (scored.logprobs_BR, scored.reference_logprobs_BR))
            assert (row["logprob"], row["reference_logprob"]) == (float(own), float(reference))
            assert row["kl"] == pytest.approx(float(own - reference))
            for name, values in (("value", experience.values_BR), ("advantage", experience.advantages_BR)):
                assert values is not None and row[name] == float(values[response, position])
            assert row["reward"] == float(experience.rewards_BR[response, position])
            assert row["clipped"] is ((response, position) == (1, 0))
            assert row["entropy"] == (None if (response, position) == (1, 1) else 1.5)
            assert row["ratio"] == pytest.approx(2)
            sampler = scored.responses[response].logprobs
            assert sampler is not None
            assert row["sampler_gap"] == pytest.approx(float(own) - sampler[position], abs=1e-6)
            assert row["special"] is (row["text"] in SPECIAL)


def test_token_table_of_the_samplers_own_logprobs_has_no_gap() -> None:
    _, found = tables(rollout={"logprobs": "sampler"})
    assert found[0][0]["sampler_gap"] is None


def test_token_table_omits_clipping_where_none_is_possible() -> None:
    _, warming_up = tables(policy_learned=False)
    _, unclipped = tables(policy_loss={"kind": "unclipped"})
    assert warming_up[1][0]["clipped"] is None and unclipped[1][0]["clipped"] is None
    assert warming_up[1][0]["ratio"] is None and warming_up[1][0]["entropy"] is None
    assert tables(log_token_tables=0)[1] == []


def test_token_tables_have_a_limited_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    experience, both = tables()
    first = len(experience.scored.responses[0].ids)
    monkeypatch.setattr(iteration_log, "MOST_TOKEN_ROWS", first + len(experience.scored.responses[1].ids) - 1)
    assert tables()[1] == both[:1]
    monkeypatch.setattr(iteration_log, "MOST_TOKEN_ROWS", first - 1)
    assert tables()[1] == []


def test_token_texts_show_byte_names_for_partial_characters() -> None:
    tokenizer = train_tokenizer(["x"], 260)  # bytes alone: é is two tokens, € three
    text = "a é € b<|eos|>"
    ids = tokenizer(text)["input_ids"]
    texts = token_texts(tokenizer, ids)
    assert texts == ["a", " ", "Ã", "©", " ", "â", "Ĥ", "¬", " ", "b", "<|eos|>"]


def test_spaces_before_words_are_kept(pretrained: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(pretrained)
    ids = tokenizer("Once upon a time", add_special_tokens=False)["input_ids"]
    assert "".join(token_texts(tokenizer, ids)).strip() == "Once upon a time"


def test_update_figures_by_hand() -> None:
    """A skipped minibatch is empty, and the last one took no step."""
    history = [{"ratio": 1.0, "approxkl": 0.0, "grad_norm": 2.0}, {}, {"ratio": 1.2, "approxkl": 0.3}]
    assert update_metrics(history) == pytest.approx(
        {
            "val/ratio": 1.1,
            "val/ratio_var": 0.01,
            "val/first_minibatch_ratio": 1.0,
            "val/first_minibatch_approxkl": 0.0,
            "policy/approxkl_avg": 0.15,
            "grad_norm": 2.0,
        }
    )
