"""Responses sampled while the ones before are learnt from: by which policy, for which iteration, and what waits when."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.models.lora.tools import maker, policy_in, stir
from tests.trainer.ppo.tools import PROMPTS, cast_for, spec_of
from tests.trainer.stage_tools import CPU, new_codec
from trainer.rollout.context import PPOModels
from trainer.rollout.producer import RolloutProducer
from trainer.sampling import Response
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]


def rollouts(actors: PPOModels | None = None, asynchronous: bool = True, **changes: Any) -> RolloutProducer:
    spec = spec_of(steps=4, rollout={"asynchronous": asynchronous}, **changes)
    return RolloutProducer(spec, actors or cast_for(spec), new_codec(), ENCODED, 5, CPU)


def ids(responses: list[Response]) -> list[list[int]]:
    return [response.ids for response in responses]


def disturb(model: Any) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)))


def test_they_come_from_the_policy_as_it_was_before_the_update() -> None:
    actors = cast_for(spec_of())
    ahead, now = rollouts(actors), rollouts(actors, asynchronous=False)
    prompts, before, _ = now.of(1)
    with ahead.ahead_of(1):
        disturb(actors.policy)
    asked, found, _ = ahead.of(1)
    assert asked == prompts and ids(found) == ids(before) != ids(now.of(1)[1])
    with ahead.ahead_of(2):  # the copy follows the policy
        pass
    assert ids(ahead.of(2)[1]) == ids(now.of(2)[1])


def test_a_role_on_a_backbone_is_copied_with_it(tmp_path: Path) -> None:
    made = maker(policy_in(tmp_path))
    role = stir(made.policy("policy", tmp_path, "trained"), 0)
    cast = cast_for(spec_of())
    actors = PPOModels(role, cast.reference, cast.initial, None, cast.rewards, None)
    ahead, now = rollouts(actors), rollouts(actors, asynchronous=False)
    before = ids(now.of(1)[1])
    with ahead.ahead_of(1), role.backbone.under(None):  # another role at work meanwhile
        disturb(role)
    assert ids(ahead.of(1)[1]) == before != ids(now.of(1)[1])


def test_what_waits_for_another_iteration_is_not_learnt_from() -> None:
    """As after a roll-back, whose steps keep on counting."""
    ahead = rollouts()
    with ahead.ahead_of(1):
        pass
    assert ids(ahead.of(3)[1]) == ids(rollouts().of(3)[1])
    assert ahead.state() == {}


def test_after_the_last_iteration_nothing_waits() -> None:
    ahead = rollouts()
    with ahead.ahead_of(4):
        pass
    assert ahead.state() == {}


def test_trouble_in_the_update_ends_with_no_thread_at_work_and_nothing_waiting() -> None:
    ahead, threads = rollouts(), torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), ahead.ahead_of(1):
        raise ZeroDivisionError
    assert ahead.state() == {} and torch.get_num_threads() == threads


def test_trouble_in_the_sampling_is_raised() -> None:
    actors = cast_for(spec_of())
    ahead = rollouts(actors)
    actors.policy.model.embed_tokens = None  # and the copy's
    with pytest.raises(TypeError), ahead.ahead_of(1):
        pass


def test_without_it_nothing_is_sampled_before_its_time() -> None:
    now = rollouts(asynchronous=False)
    with now.ahead_of(1):
        pass
    assert now.state() == {}


def test_on_a_gpu_they_are_sampled_on_a_stream_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(RolloutProducer, "_policy_as_it_is", lambda self: asked.append("copied"))
    monkeypatch.setattr(RolloutProducer, "_sampled", sampled)
    monkeypatch.setattr(RolloutProducer, "_gathered", lambda self, own: own)
    spec = spec_of(steps=4, rollout={"asynchronous": True})
    ahead = RolloutProducer(spec, cast_for(spec), new_codec(), ENCODED, 5, torch.device("cuda"))
    for iteration in (1, 2):
        with ahead.ahead_of(iteration):
            pass
    once = ["copied", "own waits for default", "sampled on own", "default waits for own"]
    assert asked == [*once, *once]
    asked.clear()
    ahead.of(3)
    assert asked == ["sampled on default"]
