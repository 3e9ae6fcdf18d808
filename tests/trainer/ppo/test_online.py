"""Online iterative RLHF: when the reward model is refitted, on which pairs, and what it learns."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.ppo.tools import PROMPTS, cast_for, spec_of, weights_of
from tests.trainer.stage_tools import new_codec, session_in
from trainer.optim.learner import Learner
from trainer.ppo import online
from trainer.ppo.online import Feedback, refit_reward_model, round_beginning_at
from trainer.randomness import batch_indices
from trainer.rewards.base import RewardInput, Rewards, WeightedReward
from trainer.rewards.judges import ScoringJudge
from trainer.rewards.rules import Length
from trainer.rollout.context import PPOContext, PPOModels
from trainer.spec import LengthReward
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
SHORT = ScoringJudge(Rewards([WeightedReward("length", 1.0, Length(LengthReward(type="length", target=1)))]))
OLD = [TokenizedPair([5], [6, 1], [7, 8, 1], 1.0), TokenizedPair([9], [6, 1], [7, 1], 0.5)]
REFERENCES = [TokenizedDemonstration([5], [7, 1]), TokenizedDemonstration([6], [8, 9, 1])]
FEEDBACK = Feedback(SHORT, OLD, REFERENCES)


def refitted(
    folder: Path,
    feedback: Feedback = FEEDBACK,
    number: int = 1,
    prompts: Sequence[TokenizedPrompt] = ENCODED,
    scale: float = 1.0,
    count: int = 6,
    seed: int = 0,
    **online: Any,
) -> tuple[PPOModels, dict[str, float], list[TokenizedPair]]:
    spec = spec_of(steps=9, online={"rounds": 3, "prompts": count, "learning_rate": 1e-2, **online})
    cast, earlier = cast_for(spec), [TokenizedPair([3], [4, 1], [5, 1], 0.0)]
    cast.reward_model.config.score_scale = scale
    folder.mkdir()
    with session_in(folder) as session:
        context = replace(PPOContext.from_session(session, cast, new_codec(), spec), seed=seed)
        figures, fresh = refit_reward_model(session, context, prompts, feedback, earlier, number)
    return cast, figures, fresh


def test_the_steps_are_divided_into_rounds() -> None:
    spec = spec_of(steps=10, online={"rounds": 3})
    found = {iteration: number for iteration in range(10) if (number := round_beginning_at(iteration, spec))}
    assert found == {3: 1, 6: 2}
    assert round_beginning_at(3, spec_of(steps=10)) is None


def test_online_two_responses_per_prompt_are_labelled_by_judge(tmp_path: Path) -> None:
    _, figures, fresh = refitted(tmp_path / "run")
    assert figures["online/pairs"] == len(fresh) == 6 and figures["online/round"] == 1
    assert sorted(pair.prompt for pair in fresh) == sorted(PROMPTS)
    for pair in fresh:
        length_a, length_b = (len([t for t in side if t != 1]) for side in (pair.a, pair.b))
        assert pair.target == (0.5 if length_a == length_b else float(abs(length_a - 1) < abs(length_b - 1)))
    assert figures["online/ties"] == sum(pair.target == 0.5 for pair in fresh) / 6


def test_noise_turns_a_share_of_the_labels_around(tmp_path: Path) -> None:
    _, _, plain = refitted(tmp_path / "plain", count=40)
    _, _, noisy = refitted(tmp_path / "noisy", count=40, noise=0.4)
    assert [(p.a, p.b) for p in plain] == [(p.a, p.b) for p in noisy]
    turned = [new.target == 1 - old.target for old, new in zip(plain, noisy, strict=True) if old.target != 0.5]
    assert 0.15 < sum(turned) / len(turned) < 0.65
    assert all(old.target == new.target for old, new in zip(plain, noisy, strict=True) if old.target == 0.5)


def test_online_every_round_draws_new_samples(tmp_path: Path) -> None:
    _, _, first = refitted(tmp_path / "1", number=1)
    _, _, second = refitted(tmp_path / "2", number=2)
    assert {tuple(p.a) for p in first} != {tuple(p.a) for p in second}


def test_online_trains_only_the_reward_model_and_resets_its_bias(tmp_path: Path) -> None:
    before = cast_for(spec_of())
    cast, figures, _ = refitted(tmp_path / "run", count=40, epochs=8)
    assert torch.equal(weights_of(cast.policy), weights_of(before.policy))
    assert torch.equal(weights_of(cast.critic), weights_of(before.critic))
    assert not torch.equal(weights_of(cast.reward_model), weights_of(before.reward_model))
    assert not any(parameter.requires_grad for parameter in cast.reward_model.parameters())
    assert figures["online/accuracy"] > figures["online/accuracy_before"]
    assert cast.reward_model.config.score_bias == figures["online/score_bias"] != 0.25


def test_as_many_old_pairs_as_new_ones_are_learnt_beside_them(tmp_path: Path) -> None:
    outcomes = []
    for name, old in (("none", []), ("few", OLD), ("many", OLD * 20)):
        cast, figures, fresh = refitted(tmp_path / name, Feedback(SHORT, old, REFERENCES))
        outcomes.append((weights_of(cast.reward_model), figures["online/old_pairs"], fresh))
    assert [count for _, count, _ in outcomes] == [1, 3, 6]  # one is of an earlier round; 6 new ones bound them
    assert outcomes[0][2] == outcomes[1][2] == outcomes[2][2]
    assert not torch.equal(outcomes[0][0], outcomes[1][0]) and not torch.equal(outcomes[1][0], outcomes[2][0])


def test_online_chunks_of_one_prompt_get_answers_of_their_own(tmp_path: Path) -> None:
    """Six answers to the prompt are sampled at once. Equal draws in each chunk would give equal answers."""
    _, _, fresh = refitted(tmp_path / "run", Feedback(SecondIsBetter(), OLD, REFERENCES), prompts=ENCODED[:1], count=12)
    sides = [(tuple(pair.a), tuple(pair.b)) for pair in fresh]
    assert len(sides) > 9 and len(set(sides)) == len(sides)


@pytest.mark.parametrize(("rate", "peak"), [(1e-2, 1e-2), (None, 1e-5)])
def test_online_refit_passes_several_times_at_its_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None, peak: float
) -> None:
    """40 fresh pairs and 3 old ones, 8 times, in batches of 64: 6 steps. Without a rate, it is the reward model's."""
    taken: list[tuple[int, float]] = []
    update = Learner.update

    def noted(learner: Learner, step: int, factor: float = 1.0) -> float:
        taken.append((step, learner.peak))
        return update(learner, step, factor)

    monkeypatch.setattr(Learner, "update", noted)
    _, figures, _ = refitted(tmp_path / "run", count=40, epochs=8, learning_rate=rate)
    assert figures["online/pairs"] + figures["online/old_pairs"] == 43
    assert taken == [(step, peak) for step in range(6)]


def test_online_refit_trains_raw_scores(tmp_path: Path) -> None:
    """A reward model that was normalised to another deviation is trained on raw differences, and then scaled anew."""
    cast, _, _ = refitted(tmp_path / "run", scale=4.0)
    plain, _, _ = refitted(tmp_path / "plain")
    assert cast.reward_model.config.score_scale == 1.0
    assert torch.equal(weights_of(cast.reward_model), weights_of(plain.reward_model))


def test_online_equal_responses_train_no_weight(tmp_path: Path) -> None:
    spec = spec_of(steps=9, temperature=1e-4, online={"rounds": 3, "prompts": 6})
    cast = cast_for(spec)
    with session_in(tmp_path) as session:
        context = PPOContext.from_session(session, cast, new_codec(), spec)
        figures, fresh = refit_reward_model(session, context, ENCODED, FEEDBACK, [], 1)
    assert (figures, fresh) == ({"online/round": 1, "online/pairs": 0, "online/old_pairs": 0}, [])
    assert cast.reward_model.config.score_bias == 0.25


class SecondIsBetter:
    """A judge without ties, so that a target of 1 is a flipped label."""

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        return [1.0] * len(after)

    def scores(self, answers: Sequence[RewardInput]) -> None:
        return None


def test_online_each_chunk_of_prompts_has_flips_of_its_own(tmp_path: Path) -> None:
    """Six prompts are sampled at once. Equal flips in each chunk would be the first chunk's, used again."""
    _, figures, fresh = refitted(tmp_path / "run", Feedback(SecondIsBetter(), OLD, REFERENCES), count=42, noise=0.4)
    assert figures["online/pairs"] == 42  # no pair of equal answers is left out
    chunks = [tuple(pair.target for pair in fresh[first : first + 6]) for first in range(0, 42, 6)]
    assert len(set(chunks)) > 1
    later = [target for chunk in chunks[1:] for target in chunk]
    assert set(later) == {0.0, 1.0} and 0.2 < sum(later) / 36 < 0.6


def test_online_without_noise_flips_no_label(tmp_path: Path) -> None:
    _, _, fresh = refitted(tmp_path / "run", Feedback(SecondIsBetter(), OLD, REFERENCES), count=14)
    assert {pair.target for pair in fresh} == {0.0}


def test_online_rounds_take_the_prompts_one_after_the_other(tmp_path: Path) -> None:
    """Two rounds of three prompts go once through all six."""
    rounds = [refitted(tmp_path / str(number), number=number, count=3)[2] for number in (1, 2)]
    assert sorted(pair.prompt for fresh in rounds for pair in fresh) == sorted(PROMPTS)


@pytest.mark.parametrize("changes", [{"number": 2}, {"seed": 2}])
def test_online_prompts_and_flips_follow_round_and_seed(tmp_path: Path, changes: dict[str, int]) -> None:
    feedback, start = Feedback(SecondIsBetter(), OLD, REFERENCES), {"number": 1, "seed": 1}
    choices = {"one": start, "other": start | changes}
    one, other = (refitted(tmp_path / name, feedback, count=42, noise=0.4, **own)[2] for name, own in choices.items())
    assert len(one) == len(other) == 42
    assert [pair.prompt for pair in one] != [pair.prompt for pair in other]
    assert [pair.target for pair in one] != [pair.target for pair in other]


@pytest.mark.parametrize("changes", [{"number": 2}, {"seed": 2}])
def test_online_answers_follow_the_round_and_the_seed(tmp_path: Path, changes: dict[str, int]) -> None:
    """With a single prompt, only the draws differ."""
    _, _, one = refitted(tmp_path / "one", prompts=ENCODED[:1], number=1, seed=1)
    _, _, other = refitted(tmp_path / "other", prompts=ENCODED[:1], **{"number": 1, "seed": 1, **changes})
    assert [pair.a for pair in one] != [pair.a for pair in other]


def test_online_each_round_learns_from_other_old_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = [TokenizedPair([5], [6, 1], [7] * n + [1], 1.0) for n in range(1, 41)]
    learnt: list[list[int]] = []

    def noted(model: Any, pairs: Sequence[TokenizedPair], *_: Any) -> None:
        learnt.append([old.index(pair) for pair in pairs if pair in old])
        raise InterruptedError

    monkeypatch.setattr(online, "accumulate_pairs", noted)
    for number in (1, 2):
        with pytest.raises(InterruptedError):
            refitted(tmp_path / str(number), Feedback(SHORT, old, REFERENCES), number=number)
    assert set(learnt[0]) != set(learnt[1]) and all(len(set(rows)) >= 5 for rows in learnt)


def test_online_each_round_has_a_new_order_of_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[list[int]] = []

    def noted(count: int, *arguments: Any) -> list[int]:
        orders.append(batch_indices(count, *arguments))
        return orders[-1]

    monkeypatch.setattr(online, "batch_indices", noted)
    for number in (1, 2):
        refitted(tmp_path / str(number), number=number)
    _, first, _, second = orders  # of prompts, then of the nine pairs in one batch, in each round
    assert sorted(first) == sorted(second) == list(range(9)) and first != second
