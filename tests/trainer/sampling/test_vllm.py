"""vLLM on a GPU as the trainer drives it, where it sleeps between the rollouts.

A fake in its place records what is asked of it, and samples from the weights that it was given. `make test-vllm` tests the
real one on a CPU.
"""

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from tests.trainer.ppo.tools import spec_of
from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec
from tests.trainer.tiny_models import llama
from trainer.errors import ModelError
from trainer.models import Model
from trainer.sampling import Sampler, SamplingOptions, uniforms
from trainer.sampling.sampler import release_engine, sampler_for
from trainer.sampling.vllm import VLLM
from trainer.sampling.vllm_support import require_vllm
from trainer.spec import JobSpec, ModelSpec
from trainer.text.stops import Stops

PROMPTS = [[5, 6, 7], [8]]
LOADED = ["wake weights", "reload_weights", "wake kv_cache", "reset_prefix_cache", "generate"]
KEPT = ["wake weights", "wake kv_cache", "reset_prefix_cache", "generate"]


class FakeLLM:
    """Awake parts are `kv_cache` and `weights`; what is asked of a part that is asleep is an error."""

    made: list["FakeLLM"]

    def __init__(self, **options: Any) -> None:
        self.options, self.asked = options, list[str]()
        shutdown = lambda: self.asked.append("shutdown")  # noqa: E731
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=shutdown))
        self.awake = {"weights", "kv_cache"}
        self.model: Model | None = None
        self.stop_token_ids: list[int] = []
        FakeLLM.made.append(self)

    def sleep(self, level: int) -> None:
        self.asked.append(f"sleep {level}")
        self.awake.clear()
        self.model = self.model if level == 1 else None

    def wake_up(self, tags: list[str]) -> None:
        self.asked.append(f"wake {tags[0]}")
        self.awake.update(tags)

    def collective_rpc(self, method: str, kwargs: dict[str, Iterator[tuple[str, Tensor]]]) -> None:
        assert self.awake == {"weights"}  # a second set of weights beside the cache may not fit
        self.asked.append(method)
        self.model = llama(9)
        self.model.load_state_dict({name: weight.clone() for name, weight in kwargs["weights_iterator"]})

    def reset_prefix_cache(self) -> None:
        self.asked.append("reset_prefix_cache")

    def generate(self, inputs: list[dict[str, list[int]]], how: list[Any], use_tqdm: bool) -> list[Any]:
        assert self.awake == {"weights", "kv_cache"} and self.model is not None
        self.asked.append("generate")
        self.stop_token_ids = how[0].stop_token_ids
        return [self._answer(one["prompt_token_ids"], params) for one, params in zip(inputs, how, strict=True)]

    def _answer(self, prompt: list[int], params: Any) -> Any:
        ids = [2] * params.max_tokens
        assert self.model is not None
        said = logprobs_alone(self.model, prompt, ids, temperature=params.temperature).tolist()
        at = [{token: SimpleNamespace(logprob=value)} for token, value in zip(ids, said, strict=True)]
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, logprobs=at)])


@pytest.fixture(autouse=True)
def _fake_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("vllm")
    fake.__spec__ = ModuleSpec("vllm", None)
    fake.LLM, fake.SamplingParams = FakeLLM, SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    platform = SimpleNamespace(device_type="cpu", is_sleep_mode_available=lambda: True)
    attention = SimpleNamespace(get_supported_head_sizes=lambda: [4, 8])
    for name, parts in (
        ("vllm.platforms", {"current_platform": platform}),
        ("vllm.v1.attention.backends.cpu_attn", {"CPUAttentionBackend": attention}),
    ):
        module = ModuleType(name)
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "")
    FakeLLM.made = []


def engine_for(policy: Model, folder: Path) -> tuple[VLLM, FakeLLM]:
    spec = spec_of(rollout={"engine": "vllm"})
    engine = VLLM(policy, spec, ModelSpec(path="x"), stops=Stops((1,)), context=12, folder=folder, processes=1)
    return engine, FakeLLM.made[-1]


def said(engine: VLLM, policy: Model, more_follow: bool = False) -> list[float]:
    draws = uniforms(torch.Generator().manual_seed(0), len(PROMPTS), 4)
    sampler = Sampler(engine=engine, more_follow=more_follow)
    found = sampler.sample(policy, PROMPTS, draws, SamplingOptions(Stops((1,)), 0, 0.7, CPU))[0].logprobs
    assert found is not None
    return found


def by(policy: Model) -> Any:
    return pytest.approx(logprobs_alone(policy, PROMPTS[0], [2] * 4, temperature=0.7).tolist(), rel=1e-5)


def test_vllm_rollout_wakes_loads_samples_and_drops_weights(tmp_path: Path) -> None:
    policy = llama()
    engine, llm = engine_for(policy, tmp_path)
    assert llm.asked == ["sleep 2"] and llm.options["dtype"] == "float32"
    llm.asked.clear()
    assert said(engine, policy) == by(policy)
    assert llm.asked == [*LOADED, "sleep 2"]


def test_vllm_receives_stop_ids_and_is_cut_at_stop_strings(tmp_path: Path) -> None:
    policy, tokenizer = llama(), new_codec().tokenizer
    stops = Stops.for_tokenizer(tokenizer, [9], [tokenizer.decode([2, 2, 2])])
    engine = VLLM(policy, spec_of(), ModelSpec(path="x"), stops=stops, context=12, folder=tmp_path, processes=1)
    found = engine.sample(PROMPTS, uniforms(torch.Generator().manual_seed(0), len(PROMPTS), 6), 0.7)
    assert [(response.ids, response.finished, len(response.logprobs or [])) for response in found] == [
        ([2, 2, 2], True, 3), ([2, 2, 2], True, 3),
    ]  # fmt: skip
    assert FakeLLM.made[-1].stop_token_ids == [1, 9]


def test_weights_are_loaded_once_for_each_update_of_the_policy(tmp_path: Path) -> None:
    """An evaluation in two batches, then the rollout of the same policy, then the update."""
    policy = llama()
    engine, llm = engine_for(policy, tmp_path)
    for _ in range(2):
        llm.asked.clear()
        for more_follow in (True, True, False):
            assert said(engine, policy, more_follow) == by(policy)
        assert llm.asked == [*LOADED, "sleep 1", *KEPT, "sleep 1", *KEPT, "sleep 2"]
        with torch.no_grad():
            policy.lm_head.weight.mul_(1.5)
        engine.policy_moved()


def test_weights_that_waited_are_not_sampled_after_an_update(tmp_path: Path) -> None:
    policy = llama()
    engine, llm = engine_for(policy, tmp_path)
    said(engine, policy, more_follow=True)
    with torch.no_grad():
        policy.lm_head.weight.mul_(1.5)
    Sampler(engine=engine).policy_moved()
    assert said(engine, policy) == by(policy) and llm.asked.count("reload_weights") == 2


def test_a_run_that_goes_back_keeps_its_engine(tmp_path: Path) -> None:
    class FakeSession(SimpleNamespace):
        __hash__ = object.__hash__

    spec = SimpleNamespace(model=ModelSpec(path="x"), evaluation=SimpleNamespace(max_new_tokens=None))
    session: Any = FakeSession(spec=spec, run_dir=tmp_path, world=SimpleNamespace(size=1, rank=0), warn=print)
    codec: Any = SimpleNamespace(stops=Stops((1,)), pad_id=0)
    prompts: Any = [SimpleNamespace(ids=[2, 3])]
    before, after = llama(), llama(3)
    engines = [
        sampler_for(session, spec_of(rollout={"engine": "vllm"}), codec, policy, prompts).engine
        for policy in (before, after)
    ]
    assert engines[0] is engines[1] and len(FakeLLM.made) == 1
    engine: Any = engines[1]
    assert said(engine, after) == by(after) and not engine.serves(before)
    release_engine(session)
    assert FakeLLM.made[0].asked[-1] == "shutdown"
    sampler_for(session, spec_of(rollout={"engine": "vllm"}), codec, after, prompts)
    assert len(FakeLLM.made) == 2


def test_temperature_that_vllm_would_raise_is_refused() -> None:
    with pytest.raises(
        ValidationError, match=r'`temperature` is 0.005, and `ppo.rollout.engine` = "vllm" samples at 0.01'
    ):
        spec_of(temperature=0.005, rollout={"engine": "vllm"})
    assert spec_of(temperature=0.005).temperature == 0.005
    job = {"model": "m", "data": {"preferences": "p"}, "evaluation": {"temperature": 0.001}}
    with pytest.raises(ValidationError, match=r"`evaluation.temperature` is 0.001"):
        JobSpec.model_validate(job | {"ppo": {"rollout": {"engine": "vllm"}}})
    assert JobSpec.model_validate(job).evaluation.temperature == 0.001


def test_vllm_of_another_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.sampling.vllm_support.version", lambda name: "0.33.1+cpu")
    with pytest.raises(ModelError, match=r"vLLM 0\.33\.1 is installed here, .*'vllm>=0\.30,<0\.33'"):
        require_vllm()
