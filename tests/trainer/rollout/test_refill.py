"""Dynamic sampling: which prompts are replaced, when it ends, and what a batch that is not full learns from."""

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from tests.trainer.ppo.test_missing_rewards import holed, without_times
from tests.trainer.ppo.test_resume import cast_of
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, spec_of, weights_of
from tests.trainer.running import events_of, metrics_of, unexplained
from tests.trainer.stage_tools import context_of, session_in, train_ppo
from trainer.errors import Stopped
from trainer.events import RewardMissing
from trainer.models import load_policy
from trainer.ppo.experience import learnable
from trainer.randomness import stream_indices
from trainer.rewards import Missing, RewardInput, Rewards, Scores
from trainer.rewards.base import WeightedReward, one_after_another
from trainer.rollout.context import PPOModels
from trainer.rollout.producer import RolloutProducer
from trainer.rollout.refill import FurtherDraws, Refill, Round, differs, refill
from trainer.sampling import Response
from trainer.session.checkpoint import load_numbers
from trainer.spec import EvaluationSpec, JobSpec, PPOSpec, RefillSpec, ShapingSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
GONE = Missing("crash", "gone")
Totals = list[float | Missing]


def refilled(groups: Sequence[Totals], wanted: int, **spec: Any) -> tuple[Refill, list[tuple[int, int, int]]]:
    """Prompt n of the iteration has the scores `groups[n]`, for responses of n + 1 tokens. Also what was asked for."""
    asked: list[tuple[int, int, int]] = []

    def sample(number: int, first: int, count: int) -> Round:
        asked.append((number, first, count))
        rows = [row for row in range(first, first + count) for _ in groups[0]]
        totals = [total for group in groups[first : first + count] for total in group]
        return Round(rows, [Response([2] * (row + 1), True) for row in rows], Scores(totals, {"a": totals}, {}))

    return refill(sample, wanted, len(groups[0]), RefillSpec.model_validate(spec)), asked


def test_equal_groups_are_replaced_until_the_batch_is_full() -> None:
    """Prompts 1, 2 and 4 are equal: two are lacking after the first round, one after the second, none after the third."""
    found, asked = refilled([[0, 1], [1, 1], [0, 0], [2, 1], [3, 3], [1, 0], [5, 4]], 3)
    assert asked == [(0, 0, 3), (1, 3, 2), (2, 5, 1)]
    assert found.kept == [0, 3, 5] and found.dropped == [1, 2, 4] and found.places == [0, 1, 6, 7, 10, 11]
    assert (found.drawn, found.shortfall, found.rounds) == (6, 0, 3)
    metrics = found.metrics(ShapingSpec())
    assert metrics == pytest.approx({
        "refill/rounds": 3, "refill/dropped": 3, "refill/missing": 0, "refill/shortfall": 0,
        # two responses each of 1, 2, 3, 4, 5 and 6 tokens; of those 2, 3 and 5 are dropped
        "refill/tokens": 42, "refill/tokens_dropped": 20, "objective/equal_groups": 0.5,
        "objective/scores": 13 / 12, "objective/raw_scores": 13 / 12, "reward/a": 13 / 12,
        # squares: 1, 2, 0, 5, 18 and 1
        "objective/raw_scores_std": (27 / 12 - (13 / 12) ** 2) ** 0.5,
    })  # fmt: skip


def test_full_first_round_is_the_batch_as_it_was_sampled() -> None:
    found, asked = refilled([[0, 1], [2, 1]], 2)
    assert asked == [(0, 0, 2)] and found.places == [0, 1, 2, 3] and found.drawn == 2
    assert found.metrics(ShapingSpec())["refill/tokens_dropped"] == 0


def test_rounds_end_at_the_bound_with_a_shortfall() -> None:
    """The batch keeps its size: dropped prompts stand behind the one that teaches."""
    found, asked = refilled([[1, 1], [0, 1], [2, 2], [3, 3]] + [[4, 4]] * 9, 3, max_rounds=2)
    assert asked == [(0, 0, 3), (1, 3, 2)]
    assert found.kept == [1] and found.places == [2, 3, 0, 1, 4, 5]
    assert found.drawn == 5 and found.metrics(ShapingSpec())["refill/shortfall"] == pytest.approx(2 / 3)


def test_oversampled_prompts_after_a_full_batch_are_drawn_again() -> None:
    """Two prompts are lacking. Three are sampled, and the third one of them is not needed."""
    found, asked = refilled([[1, 1], [0, 1], [2, 2], [0, 3], [5, 4], [1, 0]], 3, oversampling=1.5)
    assert asked == [(0, 0, 3), (1, 3, 3)]
    assert found.kept == [1, 3, 4] and found.drawn == 5 and found.dropped == [0, 2]
    # 2 · (1 + 3) tokens of dropped prompts and 2 · 6 of the one that was not needed
    assert found.metrics(ShapingSpec())["refill/tokens_dropped"] == 20


def test_further_round_has_at_most_the_prompts_of_a_batch() -> None:
    assert refilled([[0, 0]] * 4 + [[0, 1]] * 4, 4, oversampling=3.0)[1] == [(0, 0, 4), (1, 4, 4)]


@pytest.mark.parametrize(
    ("totals", "tolerance", "expected"),
    [
        ([1.0, 1.0, 1.0], 0.0, False),
        ([1.0, 1.0, 2.0], 0.0, True),
        ([1.0, 1.25], 0.25, False),
        ([1.0, 1.5], 0.25, True),
        ([0.1 + 0.2, 0.3], 0.0, False),  # as equal as they are in float32
        ([GONE, 1.0, 2.0], 0.0, True),
        ([GONE, 1.0, 1.0], 0.0, False),
        ([GONE, GONE, 1.0], 0.0, False),
        ([GONE, GONE], 0.0, False),
    ],
)
def test_group_teaches_if_its_values_differ(totals: Totals, tolerance: float, expected: bool) -> None:
    assert differs(totals, tolerance) is expected


def test_group_without_two_values_is_replaced_and_counted() -> None:
    """The last kept group has lost one of its values. The lost ones are in no mean."""
    found, _ = refilled([[GONE, 1, GONE], [GONE, GONE, GONE], [0, GONE, 3], [0, 1, 2]], 2)
    assert found.kept == [2, 3] and found.dropped == [0, 1]
    metrics = found.metrics(ShapingSpec())
    assert metrics["refill/missing"] == 2 and metrics["objective/equal_groups"] == 0
    assert metrics["objective/raw_scores"] == pytest.approx(7 / 6) == metrics["reward/a"]


def test_round_without_any_value_is_the_last_one() -> None:
    found, asked = refilled([[1, 1], [0, 1], [GONE, GONE], [0, 1]], 2, max_rounds=9)
    assert asked == [(0, 0, 2), (1, 2, 1)] and found.kept == [1] and found.shortfall == 1
    nothing, asked = refilled([[GONE, GONE]] * 4, 2)
    assert len(asked) == 1 and nothing.kept == [] and nothing.places == [0, 1, 2, 3]
    assert not {"objective/scores", "objective/equal_groups", "reward/a"} & nothing.metrics(ShapingSpec()).keys()


def test_rewards_of_several_rounds_are_joined_with_their_figures() -> None:
    first = Scores([1.0, 2.0, 3.0], {"a": [1.0, 2.0, 3.0]}, {"reward/a/error_rate": 0.5, "time/reward/a": 2.0})
    second = Scores([4.0], {"a": [4.0]}, {"reward/a/error_rate": 0.1, "time/reward/a": 1.0})
    found = one_after_another([first, second])
    assert found.numbers == [1.0, 2.0, 3.0, 4.0] == found.parts["a"]
    assert found.figures == pytest.approx({"reward/a/error_rate": 0.4, "time/reward/a": 3.0})


class ByTokens:
    """0 or 1 by the first token of a response, so that some groups are equal and others are not."""

    def __init__(self, gone: Callable[[RewardInput], bool] = lambda answer: False) -> None:
        self.gone, self.asked = gone, 0

    def score(self, answers: Sequence[RewardInput]) -> list[float | Missing]:
        self.asked += len(answers)
        return [GONE if self.gone(a) else float(a.response_ids[0] % 3 == 0) for a in answers]


def scored_with(cast: PPOModels, reward: ByTokens) -> PPOModels:
    return replace(cast, rewards=Rewards([WeightedReward("model", 1.0, reward)]))


def groups_of_two(**changes: Any) -> PPOSpec:
    """Three prompts, two responses each."""
    advantage = {**NO_CRITIC, "baseline": "group_mean"}
    common = {"self_test": False, "samples_per_prompt": 2, "advantage": advantage, "rollout": {"refill": {}}}
    return spec_of(**common | {"kl": {"placement": "loss", "estimator": "k3"}, "max_new_tokens": 4} | changes)


def producer_of(spec: PPOSpec, further: FurtherDraws | None = None) -> RolloutProducer:
    return RolloutProducer(context_of(scored_with(cast_for(spec), ByTokens()), spec, seed=5), ENCODED, further)


def test_prompts_are_those_of_one_stream_without_a_gap() -> None:
    """Each iteration goes on after the last prompt that the one before has used up, dropped prompts included."""
    spec, further = groups_of_two(steps=5), FurtherDraws()
    producer, drawn, responses = producer_of(spec, further), list[int](), 0
    for iteration in range(5):
        found = producer.take(iteration)
        assert found.refill is not None and not found.refill.shortfall
        drawn += found.refill.rows[: 2 * found.refill.drawn : 2]
        responses += len(found.refill.rows)
        assert found.rows == [found.refill.rows[place] for place in found.refill.places]
        assert [response.ids[0] % 3 == 0 for response in found.responses] == found.rewards.numbers  # type: ignore[union-attr]
        assert all(len(set(found.rewards.numbers[at : at + 2])) == 2 for at in (0, 2, 4))  # type: ignore[union-attr]
    assert drawn == stream_indices(6, 0, len(drawn), 5, "order") and len(drawn) > 3 * 5
    assert (further.prompts, further.responses) == (len(drawn) - 15, responses - 30)
    assert max(Counter(drawn).values()) - min(Counter(drawn).values()) <= 1  # whole passes over the six prompts


def test_rounds_of_an_iteration_have_their_own_draws() -> None:
    """One prompt only, so that the rounds differ by their draws alone."""
    spec = groups_of_two(steps=1)
    context = context_of(scored_with(cast_for(spec), ByTokens()), spec, seed=5)
    found = RolloutProducer(context, ENCODED[:1]).take(0).refill
    assert found is not None and found.rounds > 1
    plain = RolloutProducer(context_of(context.models, groups_of_two(rollout={}), seed=5), ENCODED[:1]).take(0)
    assert [one.ids for one in found.responses[:6]] == [one.ids for one in plain.responses]
    again = found.responses[6:]
    assert [one.ids for one in again] != [one.ids for one in found.responses[: len(again)]]
    assert again[0].logprobs != found.responses[0].logprobs or again[0].ids != found.responses[0].ids


def test_dropped_groups_that_fill_the_batch_are_not_learned_from() -> None:
    spec = groups_of_two(rollout={"refill": {"tolerance": 0.5}})
    found = learnable(holed([1.0, 1.5, GONE, 3.0, 2.0, 4.0]), spec)
    assert found is not None and found.rows == [4, 5]
    assert learnable(holed([1.0, 1.0, 2.0, 2.0]), spec) is None


def trained(folder: Path, spec: PPOSpec, reward: ByTokens) -> dict[str, Any]:
    """Run or resume the stage. Return all metrics but times, by step."""
    folder.mkdir(exist_ok=True)
    with session_in(folder) as session, session.listening():
        session.spec = JobSpec.model_validate(
            session.spec.model_dump(exclude_unset=True) | {"rewards": [{"type": "model", "max_missing": 1.0}]}
        )
        session.checkpoints.keep_last = 9
        newest = session.checkpoints.newest("ppo")
        cast = scored_with(cast_of(spec, newest[0] if newest else None), reward)
        train_ppo(session, spec, cast, ENCODED, HeldOut(ENCODED[:2], None, EvaluationSpec(prompts=2)))
    return {str(step): without_times(values) for (_, step), values in metrics_of(folder).items()}


def test_killed_refill_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """Killed at every step, and at each with a different number of further draws."""
    spec = groups_of_two(steps=4, save_every=1, eval_every=4, rollout={"refill": {"oversampling": 1.5}})
    expected = trained(tmp_path / "whole", spec, ByTokens())
    weights = (tmp_path / "whole" / "checkpoints" / "ppo" / "model.safetensors").read_bytes()
    further = []
    for step in (1, 2, 3):
        folder, name = tmp_path / f"{step}", f"ppo-00000{step}"
        shutil.copytree(tmp_path / "whole" / "checkpoints" / name, folder / "checkpoints" / name)
        further.append(load_numbers(folder / "checkpoints" / name)["history"]["further"]["prompts"])
        found = trained(folder, spec, ByTokens())
        assert found == {at: values for at, values in expected.items() if int(at) > step}
        assert (folder / "checkpoints" / "ppo" / "model.safetensors").read_bytes() == weights
    assert len(set(further)) == 3
    assert unexplained(tmp_path / "whole") == set()
    sampled = [values["refill/tokens"] for values in expected.values() if "refill/tokens" in values]
    assert len(sampled) == 4 and all(values["val/eos_rate"] <= 1 for at, values in expected.items() if at != "0")


class Signalled(ByTokens):
    """Sends the process SIGTERM when it is called for the `call`-th time."""

    def __init__(self, call: int | None = None) -> None:
        super().__init__()
        self.call, self.calls = call, list[int]()

    def score(self, answers: Sequence[RewardInput]) -> list[float | Missing]:
        self.calls.append(len(answers))
        if len(self.calls) == self.call:
            signal.raise_signal(signal.SIGTERM)
        return super().score(answers)


def test_stop_between_rounds_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """After the two calls of the evaluation, the first step has three rounds, and the second one seven."""
    spec = groups_of_two(steps=3, save_every=3, eval_every=3, rollout={"refill": {"max_rounds": 9}})
    whole, final = Signalled(), "checkpoints/ppo/model.safetensors"
    expected = trained(tmp_path / "whole", spec, whole)
    assert whole.calls == [2, 2, *[6, 2, 2], *[6, 6, 6, 4, 4, 4, 2], 6, 2]
    for call, done in ((3, 0), (7, 1)):
        folder, stopped = tmp_path / f"{call}", Signalled(call)
        with pytest.raises(Stopped, match=rf"\(signal\) in stage ppo after step {done}"):
            trained(folder, spec, stopped)
        assert len(stopped.calls) == call, "no further round begins"
        assert trained(folder, spec, ByTokens()) == expected
        assert (folder / final).read_bytes() == (tmp_path / "whole" / final).read_bytes()


def test_run_without_equal_groups_is_that_without_refill(tmp_path: Path) -> None:
    class Lengths(ByTokens):
        def score(self, answers: Sequence[RewardInput]) -> list[float | Missing]:
            return [float(sum(a.response_ids) + row / 7) for row, a in enumerate(answers)]

    found, plain = (
        trained(tmp_path / name, groups_of_two(steps=2, rollout=rollout), Lengths())
        for name, rollout in (("refill", {"refill": {}}), ("plain", {}))
    )
    for step, values in plain.items():
        own = {name: value for name, value in found[step].items() if not name.startswith("refill/")}
        assert own == pytest.approx(values, rel=1e-6)
    files = [tmp_path / name / "checkpoints" / "ppo" / "model.safetensors" for name in ("refill", "plain")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert found["2"]["refill/rounds"] == 1 and found["2"]["refill/shortfall"] == 0


@pytest.mark.parametrize("one_step", [False, True], ids=["several steps", "one step"])
def test_shortfall_learns_from_the_prompts_that_it_has(one_step: bool, tmp_path: Path) -> None:
    """Two rounds do not fill the batch. One optimizer step would otherwise get π_old from the update's own pass."""
    steps = {"epochs": 1, "minibatches": 1} if one_step else {}
    spec = groups_of_two(steps=3, eval_every=3, log_samples=6, rollout={"refill": {"max_rounds": 2}}, **steps)
    found = trained(tmp_path, spec, ByTokens())
    short = [values for at, values in found.items() if at != "0" and values["refill/shortfall"] > 0]
    assert short and len(short) == sum(values.get("val/responses", 6) < 6 for values in found.values())
    for values in short:
        assert values["val/responses"] == 6 - 6 * values["refill/shortfall"]
        assert values.get("refill/batch_scores", 0.5) == 0.5  # of pairs of 0 and 1
    assert unexplained(tmp_path) == set()


def test_batch_of_equal_groups_moves_nothing_and_is_visible(tmp_path: Path) -> None:
    class Equal(ByTokens):
        def score(self, answers: Sequence[RewardInput]) -> list[float | Missing]:
            self.asked += len(answers)
            return [1.0] * len(answers)

    spec, reward = groups_of_two(steps=1, log_samples=6, rollout={"refill": {"max_rounds": 3}}), Equal()
    found = trained(tmp_path, spec, reward)["1"]
    plain = weights_of(cast_for(spec).policy)
    assert torch.equal(weights_of(load_policy(tmp_path / "checkpoints" / "ppo")), plain)
    assert (found["refill/rounds"], found["refill/dropped"], found["refill/shortfall"]) == (3, 9, 1)
    assert (found["val/responses"], found["episode"]) == (0, 18)
    assert found["refill/tokens"] == found["refill/tokens_dropped"] and found["objective/raw_scores"] == 1


def test_missing_rewards_of_all_rounds_are_counted(tmp_path: Path) -> None:
    reward = ByTokens(lambda answer: sum(answer.response_ids) % 4 == 0)
    found = trained(tmp_path, groups_of_two(steps=3, save_every=1), reward)
    events = [e for e in events_of(tmp_path) if isinstance(e, RewardMissing) and not e.held_out]
    assert [event.asked for event in events] == [
        found[str(event.step)]["episode"] - found.get(str(event.step - 1), {}).get("episode", 0) for event in events
    ]
    assert events and max(event.asked for event in events) > 6
    assert all(found[str(event.step)]["reward/model/missing"] == event.missing["crash"] for event in events)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"advantage": {}}, "but they do against the critic"),
        ({"advantage": {**NO_CRITIC, "baseline": "batch_mean"}}, '`advantage.baseline` = "batch_mean"'),
        ({"advantage": {**NO_CRITIC, "normalize": "group_std"}}, '`advantage.baseline` = "none"'),
        ({"samples_per_prompt": 1}, "`samples_per_prompt` must be at least 2"),
        ({"rollout": {"refill": {}, "asynchronous": True}}, "`refill` with `asynchronous`"),
        ({"rollout": {"refill": {}, "staleness": 2}}, "`refill` with `asynchronous`"),
        ({"rollout": {"refill": {"max_rounds": 1}}}, "greater than or equal to 2"),
        ({"rollout": {"refill": {"oversampling": 0.5}}}, "greater than or equal to 1"),
    ],
)
def test_refill_without_effect_or_order_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        groups_of_two(**changes)
