import pytest
import torch

from tests import tolerance
from tests.trainer.tiny_models import gpt2, gpt2_scorer, llama, scorer
from trainer.models import Model
from trainer.models.sequences import Batch, completion_logprobs, completion_values, sequence_scores

PROMPTS = [[5, 6, 7], [8], [9, 10]]
COMPLETIONS = [[11, 12, 1], [13, 1], [14, 15, 16, 1]]


@pytest.mark.parametrize("model", [llama(), gpt2()], ids=["llama", "gpt2"])
def test_logprobs_equal_those_of_each_sequence_alone(model: Model) -> None:
    got, _ = completion_logprobs(model, Batch.from_ids(PROMPTS, COMPLETIONS, pad_id=1), temperature=0.7)
    for row, (prompt, completion) in enumerate(zip(PROMPTS, COMPLETIONS, strict=True)):
        logits = model(torch.tensor([prompt + completion])).logits[0] / 0.7
        expected = torch.log_softmax(logits, -1)[len(prompt) - 1 : -1][torch.arange(len(completion)), completion]
        torch.testing.assert_close(got[row, : len(completion)], expected, **tolerance.outputs())
        assert not got[row, len(completion) :].any()


@pytest.mark.parametrize(("policy", "critic"), [(llama(), scorer()), (gpt2(), gpt2_scorer())], ids=["llama", "gpt2"])
def test_pad_contents_change_no_bit_of_logprobs(policy: Model, critic: Model) -> None:
    batches = [Batch.from_ids(PROMPTS, COMPLETIONS, pad_id=pad) for pad in (0, 1, 22)]
    for forward in (
        lambda b: completion_logprobs(policy, b)[0],
        lambda b: completion_values(critic, b),
        lambda b: sequence_scores(critic, b),
    ):
        first, *others = [forward(batch) for batch in batches]
        assert all(torch.equal(first, other) for other in others)


def test_the_score_is_read_at_the_last_token_less_the_bias() -> None:
    model = scorer()
    got = sequence_scores(model, Batch.from_ids(PROMPTS, COMPLETIONS, pad_id=0))
    hidden = model.base_model(torch.tensor([PROMPTS[1] + COMPLETIONS[1]])).last_hidden_state
    torch.testing.assert_close(got[1], model.score(hidden[0, 2])[0] - 0.25)


def test_sequence_score_equals_the_head_of_transformers() -> None:
    model = scorer()
    ids = torch.tensor([PROMPTS[0] + COMPLETIONS[0]])
    ours = sequence_scores(model, Batch.from_ids(PROMPTS[:1], COMPLETIONS[:1], pad_id=0))
    torch.testing.assert_close(ours + 0.25, model(ids).logits[:, 0])


def test_state_value_does_not_depend_on_the_next_token() -> None:
    model = scorer()
    values = completion_values(model, Batch.from_ids([[5, 6]], [[7, 8, 1]], pad_id=0))
    changed = completion_values(model, Batch.from_ids([[5, 6]], [[7, 9, 1]], pad_id=0))
    assert torch.equal(values[0, :2], changed[0, :2]) and values[0, 2] != changed[0, 2]


def test_entropy_of_a_uniform_model_is_log_v() -> None:
    model = llama()
    torch.nn.init.zeros_(model.lm_head.weight)
    _, entropy = completion_logprobs(model, Batch.from_ids([[5]], [[6, 1]], pad_id=0), with_entropy=True)
    assert entropy is not None
    torch.testing.assert_close(entropy, torch.full((1, 2), 23.0).log())
