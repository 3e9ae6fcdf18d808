from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec
from tests.trainer.tiny_models import gpt2, llama
from trainer.models import Model
from trainer.sampling import Response, SamplingOptions, draw, sample, sample_with, uniforms
from trainer.sampling.built_in import sample_growing
from trainer.sampling.decoding import sample_in_place
from trainer.text.stops import NO_STOPS, Stops


def respond(model: Model, prompts: list[list[int]], temperature: float = 1.0, tokens: int = 12) -> list[Response]:
    return sample(
        model, prompts, SamplingOptions(Stops((1,)), 1, temperature, CPU), tokens, torch.Generator().manual_seed(3)
    )


def test_draw_inverts_the_cumulative_distribution() -> None:
    logits = torch.tensor([0.2, 0.5, 0.3]).log().expand(4, 3)
    assert draw(logits, torch.tensor([0.0, 0.19, 0.21, 0.71]), 1.0).tolist() == [0, 0, 1, 2]


def test_draw_excludes_tokens_of_probability_zero() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
    assert (
        draw(logits, torch.tensor([0.0]), 1.0).tolist() == draw(logits, torch.tensor([0.99999994]), 1.0).tolist() == [1]
    )


def test_draws_follow_the_probabilities() -> None:
    uniforms = torch.rand(20_000, generator=torch.Generator().manual_seed(0))
    counts = draw(torch.tensor([0.1, 0.6, 0.3]).log().expand(20_000, 3), uniforms, 1.0).bincount(minlength=3)
    torch.testing.assert_close(counts / 20_000, torch.tensor([0.1, 0.6, 0.3]), atol=0.02, rtol=0)


def test_sample_near_temperature_0_equals_transformers_greedy() -> None:
    for model in (llama(), gpt2()):
        prompts = [[5, 6, 7], [8], [9, 10]]
        for prompt, response in zip(prompts, respond(model, prompts, temperature=1e-4), strict=True):
            generated = model.generate(
                torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False, max_new_tokens=12,
                eos_token_id=1, pad_token_id=1,
            )  # fmt: skip
            assert response.ids == generated[0, len(prompt) :].tolist()


def test_sample_row_does_not_depend_on_other_rows() -> None:
    model = llama()
    together = respond(model, [[5, 6], [7, 8, 9, 10, 11], [12]], tokens=30)
    beside_others = respond(model, [[5, 6], [3], [4, 4, 4]], tokens=30)
    assert together[0] == beside_others[0]


def test_sample_finished_is_set_only_by_an_eos() -> None:
    responses = respond(llama(), [[n] for n in range(2, 22)], tokens=8)
    assert {r.finished for r in responses} == {True, False}
    for response in responses:
        assert response.finished == (response.ids[-1] == 1)
        assert 1 not in response.ids[:-1] and len(response.ids) <= 8
        assert response.finished or len(response.ids) == 8


def test_sample_with_logprobs_returns_logprob_of_each_token() -> None:
    prompts, draws, policy = [[2, 3, 4], [5]], uniforms(torch.Generator().manual_seed(3), 2, 6), llama()
    options = SamplingOptions(Stops((1,)), 0, 0.7, CPU)
    responses = sample_with(policy, prompts, draws, replace(options, with_logprobs=True))
    assert [response.ids for response in responses] == [
        response.ids for response in sample_with(policy, prompts, draws, options)
    ]
    for prompt, response in zip(prompts, responses, strict=True):
        expected = logprobs_alone(policy, prompt, response.ids, temperature=0.7).detach()
        torch.testing.assert_close(torch.tensor(response.logprobs), expected)


def stops_within(responses: list[Response]) -> Stops:
    """A token of one of these responses, and a string over two tokens of another that does not hold it before."""
    tokenizer, token = new_codec().tokenizer, responses[0].ids[20]
    another = next(response.ids for response in responses if token not in response.ids[:5])
    return Stops.for_tokenizer(tokenizer, [token], [tokenizer.decode(another[3:5])])


@pytest.mark.parametrize("way", [sample_in_place, sample_growing])
@pytest.mark.parametrize("make", [llama, gpt2])
def test_sample_cuts_each_row_after_its_own_first_stop(way: Any, make: Any) -> None:
    prompts = [[n] for n in range(2, 18)]
    draws = uniforms(torch.Generator().manual_seed(5), len(prompts), 24)
    options = SamplingOptions(NO_STOPS, 0, 1.0, CPU, with_logprobs=True)
    free = way(make(), prompts, draws, options)
    assert all(len(response.ids) == 24 and not response.finished for response in free)
    stops = stops_within(free)
    found = way(make(), prompts, draws, replace(options, stops=stops))
    for response, whole in zip(found, free, strict=True):
        assert whole.logprobs is not None and response.logprobs is not None
        cut = Response.cut(whole.ids, whole.logprobs, stops)
        assert (response.ids, response.finished) == (cut.ids, cut.finished)
        assert cut.logprobs == pytest.approx(response.logprobs, rel=1e-4, abs=1e-5)
    by_token = {response.ids[-1] in stops.ids for response in found if response.finished}
    assert by_token == {True, False}, "each of the two kinds of stop ends some response"
