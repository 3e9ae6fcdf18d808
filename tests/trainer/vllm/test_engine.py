"""The engine in this process: its log-probabilities are the trainer's, it leaves the process as it was, and it can be closed."""

import gc
import random
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import tolerance
from tests.trainer.stage_tools import logprobs_alone
from tests.trainer.vllm.tools import VOCABULARY, engine_for, llama
from trainer.errors import EngineFailed, ModelError, OutOfMemory
from trainer.models import Model, builder_for
from trainer.sampling import uniforms
from trainer.sampling.vllm import VLLM
from trainer.sampling.vllm_support import why_refused
from trainer.spec import ModelSpec

pytestmark = pytest.mark.filterwarnings("ignore")
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15]]


def gap(engine: VLLM, policy: Model, temperature: float = 0.7) -> float:
    """The largest difference between vLLM's log-probability of a token and the trainer's."""
    draws = uniforms(torch.Generator().manual_seed(0), len(PROMPTS), 12)
    responses = engine.sample(PROMPTS, draws, temperature)
    ours = [
        logprobs_alone(policy, prompt, response.ids, temperature=temperature)
        for prompt, response in zip(PROMPTS, responses, strict=True)
    ]
    assert sum(map(len, ours)) > 12
    theirs = [torch.tensor(response.logprobs) for response in responses]
    return max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("tied", "dtype"), [(False, torch.float32), (True, torch.float32), (True, torch.bfloat16)])
def test_logprobs_are_the_trainers_after_each_update(tmp_path: Path, tied: bool, dtype: torch.dtype) -> None:
    policy = llama(tied=tied, dtype=dtype)
    engine = engine_for(policy, tmp_path)
    bound = tolerance.largest(dtype, size=8)
    assert gap(engine, policy) < bound
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.1)
    assert gap(engine, policy) > 10 * bound or dtype != torch.float32  # vLLM still has the weights from before
    engine.policy_moved()
    assert gap(engine, policy) < bound
    engine.close()


@pytest.mark.parametrize("tied", [False, True])
def test_adapters_are_merged_into_vllm_weights(tmp_path: Path, tied: bool) -> None:
    llama(tied=tied).save_pretrained(tmp_path / "base")
    spec = ModelSpec.model_validate({"path": str(tmp_path / "base"), "lora": {"rank": 2, "alpha": 4}})
    policy = builder_for(spec, torch.device("cpu"), lambda part: 0).policy("policy", tmp_path / "base", "trained")
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.2, generator=torch.Generator().manual_seed(1))
    engine = engine_for(policy, tmp_path / "vllm", spec)
    assert gap(engine, policy) < tolerance.largest(size=8)
    engine.close()


def test_engine_leaves_random_states_and_threads_alone(tmp_path: Path) -> None:
    policy = llama()
    threads, set_threads = torch.get_num_threads(), torch.set_num_threads
    before = torch.get_rng_state(), random.getstate(), str(np.random.get_state())
    engine_for(policy, tmp_path).close()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), str(np.random.get_state())) == before[1:]
    assert torch.get_num_threads() == threads and torch.set_num_threads is set_threads


def test_closed_engine_frees_its_model_and_another_one_starts(tmp_path: Path) -> None:
    policy = llama()
    engine = engine_for(policy, tmp_path)
    gap(engine, policy)
    theirs = engine._llm.llm_engine.model_executor.driver_worker.worker.model_runner.model
    model, ours = weakref.ref(theirs), weakref.ref(policy)
    del theirs
    engine.close()
    del policy, engine
    gc.collect()
    assert model() is None and ours() is None and gc.get_freeze_count() == 0
    assert not torch.distributed.is_initialized()
    other = llama(1)
    again = engine_for(other, tmp_path)
    assert gap(again, other) < tolerance.largest(size=8)
    again.close()


def test_console_stays_free_of_vllm_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    policy = llama()
    engine = engine_for(policy, tmp_path)
    gap(engine, policy)
    engine.close()
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "engine.log").exists()


def test_same_draws_give_the_same_tokens_again(tmp_path: Path) -> None:
    policy = llama()
    engine = engine_for(policy, tmp_path)
    draws = uniforms(torch.Generator().manual_seed(0), len(PROMPTS), 12)
    first = engine.sample(PROMPTS, draws, 1.0)
    engine.sample(PROMPTS, uniforms(torch.Generator().manual_seed(9), len(PROMPTS), 12), 1.0)
    assert [one.ids for one in engine.sample(PROMPTS, draws, 1.0)] == [one.ids for one in first]
    engine.close()


def test_head_size_that_vllm_refuses_is_named(tmp_path: Path) -> None:
    from tests.trainer.tiny_models import llama as small

    policy = small()
    with pytest.raises(ModelError, match=r"attention heads of 32, 64, .* or 512 numbers, and the model's have 4\."):
        engine_for(policy, tmp_path)
    assert why_refused(llama().config, "cpu") is None
    assert why_refused(llama().config, "cuda") == (
        'The installed vLLM works on cpu, and the policy is on "cuda". Install the vLLM for it, '
        'or set `ppo.rollout.engine` to "built_in".'
    )


def test_engine_without_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "100000")
    with pytest.raises(OutOfMemory, match=r"vLLM did not start, because the memory does not suffice: Available memory"):
        engine_for(llama(), tmp_path)


def test_engine_that_fails_while_it_samples_is_named(tmp_path: Path) -> None:
    policy = llama()
    engine = engine_for(policy, tmp_path)
    draws = uniforms(torch.Generator().manual_seed(0), 1, 12)
    with pytest.raises(EngineFailed, match=r"vLLM failed while it sampled: .* Its output is in .*engine\.log"):
        engine.sample([[VOCABULARY + 5] * 60], draws, 0.7)  # longer than the context
    engine.close()
