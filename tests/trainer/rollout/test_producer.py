"""Responses sampled while the ones before are learnt from: by which policy, for which iteration, and what waits when."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.models.lora.tools import maker, policy_in, stir
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, spec_of
from tests.trainer.stage_tools import context_of
from trainer.rollout.context import PPOModels
from trainer.rollout.producer import RolloutProducer
from trainer.sampling import Response
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]


def rollouts(actors: PPOModels | None = None, asynchronous: bool = True, **changes: Any) -> RolloutProducer:
    spec = spec_of(steps=4, rollout={"asynchronous": asynchronous}, **changes)
    return RolloutProducer(context_of(actors or cast_for(spec), spec, seed=5), ENCODED)


def ids(responses: list[Response]) -> list[list[int]]:
    return [response.ids for response in responses]


def disturb(model: Any) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)))


def test_producer_samples_with_the_policy_before_the_update() -> None:
    actors = cast_for(spec_of())
    ahead, now = rollouts(actors), rollouts(actors, asynchronous=False)
    first = now.take(1)
    prompts, before = first.prompts, first.responses
    with ahead.sample_ahead(0, 4):
        disturb(actors.policy)
    second = ahead.take(1)
    asked, found = second.prompts, second.responses
    assert asked == prompts and ids(found) == ids(before) != ids(now.take(1).responses)
    with ahead.sample_ahead(1, 4):  # the copy follows the policy
        pass
    assert ids(ahead.take(2).responses) == ids(now.take(2).responses)


def test_a_role_on_a_backbone_is_copied_with_it(tmp_path: Path) -> None:
    made = maker(policy_in(tmp_path))
    role = stir(made.policy("policy", tmp_path, "trained"), 0)
    cast = cast_for(spec_of())
    actors = PPOModels(role, cast.reference, cast.initial, None, cast.rewards, None)
    ahead, now = rollouts(actors), rollouts(actors, asynchronous=False)
    before = ids(now.take(1).responses)
    with ahead.sample_ahead(0, 4), role.backbone.under(None):  # another role at work meanwhile
        disturb(role)
    assert ids(ahead.take(1).responses) == before != ids(now.take(1).responses)


def test_after_the_last_iteration_nothing_waits() -> None:
    ahead = rollouts()
    with ahead.sample_ahead(3, 4):
        pass
    assert ahead.state() == {}


def test_producer_error_in_update_leaves_no_thread_or_batch() -> None:
    ahead, threads = rollouts(), torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), ahead.sample_ahead(0, 4):
        raise ZeroDivisionError
    assert ahead.state() == {} and torch.get_num_threads() == threads


def test_producer_error_in_sampling_is_raised() -> None:
    actors = cast_for(spec_of())
    ahead = rollouts(actors)
    actors.policy.model.embed_tokens = None  # and the copy's
    with pytest.raises(TypeError), ahead.sample_ahead(0, 4):
        pass


def test_producer_synchronous_samples_nothing_ahead() -> None:
    now = rollouts(asynchronous=False)
    with now.sample_ahead(0, 4):
        pass
    assert now.state() == {}


def test_producer_on_gpu_samples_on_a_separate_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes record what is asked of CUDA. The stream waits for the copy of the policy, not for the update; the update's
    stream waits for it before the copy is written again."""
    asked: list[str] = []

    class Stream:
        def __init__(self, name: object) -> None:
            self.name = name if isinstance(name, str) else "own"

        def wait_stream(self, other: "Stream") -> None:
            asked.append(f"{self.name} waits for {other.name}")

    @contextmanager
    def on(stream: Stream) -> Iterator[None]:
        current.append(stream)
        yield
        current.pop()

    def sampled(self: RolloutProducer, model: object, iteration: int) -> list[Response]:
        asked.append(f"sampled on {current[-1].name}")
        return []

    current = [Stream("default")]
    for name, fake in (("Stream", Stream), ("stream", on), ("current_stream", lambda device: current[0])):
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(RolloutProducer, "_copy_of_policy", lambda self: asked.append("copied"))
    monkeypatch.setattr(RolloutProducer, "_sampled", sampled)
    monkeypatch.setattr(RolloutProducer, "_gathered", lambda self, own: own)
    spec = spec_of(steps=4, rollout={"asynchronous": True})
    ahead = RolloutProducer(replace(context_of(cast_for(spec), spec), device=torch.device("cuda")), ENCODED)
    for iteration in (0, 1):
        with ahead.sample_ahead(iteration, 4):
            pass
    once = ["copied", "own waits for default", "sampled on own", "default waits for own"]
    assert asked == [*once, *once]
    asked.clear()
    ahead.take(3)
    assert asked == ["sampled on default"]


def test_producer_each_iteration_and_row_has_its_own_draws() -> None:
    """With a single prompt, only the draws differ."""
    spec = spec_of(steps=4)
    producer = RolloutProducer(context_of(cast_for(spec), spec, seed=5), ENCODED[1:2])
    first, second = producer.take(0), producer.take(1)
    assert first.rows == second.rows == [0] * 6
    assert ids(first.responses) != ids(second.responses)
    assert len({tuple(own) for own in ids(first.responses)}) > 1
    assert ids(producer.take(0).responses) == ids(first.responses)


def test_producer_order_and_draws_follow_the_seed() -> None:
    spec = spec_of(steps=4)
    orders, drawn = [], []
    for seed in (5, 6):
        context = context_of(cast_for(spec), spec, seed=seed)
        orders.append(RolloutProducer(context, ENCODED).take(0).rows)
        drawn.append(ids(RolloutProducer(context, ENCODED[1:2]).take(0).responses))
    assert orders[0] != orders[1] and drawn[0] != drawn[1]


def test_producer_responses_to_one_prompt_stand_side_by_side() -> None:
    """Three prompts an iteration, two responses each: two iterations go once through all six."""
    spec = spec_of(steps=4, samples_per_prompt=2, advantage={**NO_CRITIC, "baseline": "leave_one_out"})
    producer = RolloutProducer(context_of(cast_for(spec), spec, seed=5), ENCODED)
    rollouts = [producer.take(iteration) for iteration in (0, 1)]
    assert [len(rollout.responses) for rollout in rollouts] == [6, 6]
    rows = [row for rollout in rollouts for row in rollout.rows]
    assert rows[::2] == rows[1::2] and sorted(rows[::2]) == [0, 1, 2, 3, 4, 5]
    assert rollouts[0].prompts == [ENCODED[row] for row in rows[:6]]
