"""The comparison at the end: who answers, at what temperature, and what is shown."""

from pathlib import Path

import pytest
import torch

from tests.trainer.running import events_of
from tests.trainer.stage_tools import four_models, new_codec, scores_alone, session_in
from trainer import evaluation
from trainer.completions import completions
from trainer.evaluation import HeldOut
from trainer.events import Sample, Samples
from trainer.models import Model
from trainer.ppo.rollout import Scored
from trainer.ppo.sampling import Response
from trainer.rewards.base import Scores
from trainer.prompts import EncodedPrompt
from trainer.sequences import Batch
from trainer.spec import EvaluationSpec, PPOSpec

PROMPTS = [EncodedPrompt(f"prompt {n}", ids) for n, ids in enumerate([[5], [6, 7, 8], [9, 10], [11, 12, 13, 14], [3]])]
PPO = PPOSpec(max_new_tokens=6, temperature=1.0, shaping={"missing_eos_penalty": 0})


def evaluated(folder: Path, temperature: float) -> tuple[dict[str, float], list[Sample]]:
    held_out = HeldOut(PROMPTS, None, EvaluationSpec(batch_size=2, temperature=temperature))
    with session_in(folder) as session:
        result = evaluation.run(session, held_out, four_models(), new_codec(), PPO, {"extra": 0.5})
    return result.summary, [row for event in events_of(folder) if isinstance(event, Samples) for row in event.rows]


def greedy(model: Model, prompt: list[int]) -> list[int]:
    generated = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False, max_new_tokens=6,
        eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return generated[0, len(prompt) :].tolist()


def test_at_the_evaluations_own_temperature_before_is_the_reference_and_after_the_policy(tmp_path: Path) -> None:
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
    assert (summary["score_before"], summary["score_after"]) == pytest.approx((sum(old) / 5, sum(new) / 5), abs=1e-4)
    assert summary["rm_win_rate"] == sum(a > b for b, a in zip(old, new, strict=True)) / 5


def test_a_comparison_repeats_itself_and_carries_what_it_was_given(tmp_path: Path) -> None:
    results = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        results.append(evaluated(tmp_path / name, temperature=1.0))
    assert results[0] == results[1]
    assert results[0][0]["extra"] == 0.5


def test_every_completion_shows_its_own_figures() -> None:
    batch = Batch.of([[5], [6, 7]], [[8, 1], [9, 10, 11]], pad_id=0)
    responses = [Response([8, 1], True), Response([9, 10, 11], False)]
    kl = torch.tensor([[0.25, 0.5, 9.0], [1.0, 2.0, -0.5]])  # the 9 stands on a pad
    scores = torch.tensor([1.5, -2.0])
    scored = Scored(batch, responses, [], kl, torch.zeros(2, 3), None, Scores([1.5, -2.0], {}, {}), scores, {})
    codec = new_codec()
    judge = lambda prompt, response, finished: float(len(prompt) + 10 * len(response) + 100 * finished)  # noqa: E731
    first, second = completions(scored, [EncodedPrompt("ab", [5]), EncodedPrompt("abc", [6, 7])], codec, judge)
    assert (first.prompt, first.response, first.score, first.kl) == ("ab", codec.decode([8]), 1.5, 0.75)
    assert (first.tokens, first.finished, first.judge) == (2, True, 112)
    assert (second.prompt, second.response, second.score, second.kl) == ("abc", codec.decode([9, 10, 11]), -2.0, 2.5)
    assert (second.tokens, second.finished, second.judge) == (3, False, 33)
