"""transformers' continuous batching, for real: what it draws, how likely it says that was, and from what seed."""

from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.models.lora.tools import maker, policy_in
from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec
from tests.trainer.tiny_models import llama
from trainer.errors import ModelError
from trainer.sampling import Sampler, uniforms
from trainer.sampling.continuous import ContinuousBatching
from trainer.sampling.engine import check_engine
from trainer.spec import JobSpec
from trainer.text.stops import Stops

PROMPTS = [[5, 6, 7], [8], [9, 10], [8]]


def test_it_samples_the_policy_at_its_temperature_from_a_seed_in_the_draws() -> None:
    policy = llama()
    engine = ContinuousBatching(policy, stops=Stops((1,)), pad_id=0, rows_at_once=2)
    sampler, before = Sampler(engine=engine), policy.config._attn_implementation
    how = {"stops": Stops((1,)), "pad_id": 0, "temperature": 0.7, "device": CPU}
    first, second = (uniforms(torch.Generator().manual_seed(seed), len(PROMPTS), 8) for seed in (0, 1))
    found = sampler.sample(policy, PROMPTS, first, **how)
    for prompt, response in zip(PROMPTS, found, strict=True):
        assert response.finished == (response.ids[-1] == 1) and 1 not in response.ids[:-1] and len(response.ids) <= 8
        expected = logprobs_alone(policy, prompt, response.ids, temperature=0.7).detach()
        torch.testing.assert_close(torch.tensor(response.logprobs), expected, **tolerance.outputs())
    assert sampler.sample(policy, PROMPTS, first, **how) == found != sampler.sample(policy, PROMPTS, second, **how)
    assert policy.config._attn_implementation == before


def test_it_stops_at_several_tokens_and_is_cut_at_a_string() -> None:
    policy, tokenizer = llama(), new_codec().tokenizer
    stops = Stops.for_tokenizer(tokenizer, [9, 12], [tokenizer.decode([15]), tokenizer.decode([17, 5])])
    draws = uniforms(torch.Generator().manual_seed(3), 16, 12)
    prompts = [[n] for n in range(2, 18)]
    found = ContinuousBatching(policy, stops=stops, pad_id=0).sample(prompts, draws, 1.0)
    for response in found:
        assert stops.end(response.ids) == (len(response.ids) if response.finished else None)
        assert response.finished or len(response.ids) == 12
        assert response.logprobs is not None and len(response.logprobs) == len(response.ids)
    assert {9, 12, 15} & {response.ids[-1] for response in found if response.finished} == {9, 12, 15}


def test_it_follows_the_policys_weights_and_leaves_other_models_to_the_built_in_engine() -> None:
    policy, other = llama(), llama(3)
    sampler = Sampler(engine=ContinuousBatching(policy, stops=Stops((1,)), pad_id=0))
    how = {"stops": Stops((1,)), "pad_id": 0, "temperature": 0.05, "device": CPU}
    draws = uniforms(torch.Generator().manual_seed(0), 2, 6)
    wanted = Sampler().sample(other, PROMPTS[:2], draws, **how)
    assert sampler.sample(other, PROMPTS[:2], draws, **how) == wanted
    policy.load_state_dict(other.state_dict())
    assert [r.ids for r in sampler.sample(policy, PROMPTS[:2], draws, **how)] == [r.ids for r in wanted]


def test_adapters_and_engines_that_are_not_there_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    def spec(engine: str, **model: object) -> JobSpec:
        told = {"model": {"path": "x"} | model, "data": {"preferences": "x"}, "ppo": {"rollout": {"engine": engine}}}
        return JobSpec.model_validate(told)

    with pytest.raises(ModelError, match=r"model\.lora"):
        check_engine(spec("continuous_batching", lora={"rank": 2}))
    with pytest.raises(ModelError, match="not installed"):
        check_engine(spec("vllm"))
    check_engine(spec("built_in", lora={"rank": 2}))
    with pytest.raises(ModelError, match="whole models"):
        ContinuousBatching(
            maker(policy_in(tmp_path)).policy("policy", tmp_path, "trained"), stops=Stops((1,)), pad_id=0
        )
