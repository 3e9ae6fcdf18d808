"""Trained reward models, on the policy's tokenizer and on others, against transformers' own forward pass one text at a time."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForSequenceClassification

from tests import tolerance
from tests.trainer.rewards.tools import answer, context, encoded
from tests.trainer.stage_tools import new_codec
from tests.trainer.tiny_models import gpt2, scorer
from trainer.errors import ModelError, RewardError
from trainer.models import Model, load_tokenizer
from trainer.models.sequences import Batch, sequence_scores
from trainer.rewards import Answer, build
from trainer.rewards.model import TokenScorer, same_tokenizer
from trainer.spec import ModelReward
from trainer.text.codec import Tokenizer, train_tokenizer

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<bot>{% endif %}"
)


def saved(folder: Path, tokenizer: Tokenizer, context_length: int = 64) -> Model:
    """A reward model with that tokenizer, in `folder`."""
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=context_length, initializer_range=0.3, num_labels=1, pad_token_id=None,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, score_bias=0.5,
    )  # fmt: skip
    model = LlamaForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def alone(model: Model, ids: list[int]) -> float:
    """The head's output at the last token, by transformers' own way, less the bias."""
    with torch.no_grad():
        return float(model(torch.tensor([ids])).logits[0, 0]) - float(model.config.score_bias)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_the_runs_own_model_scores_as_the_rollout_always_has(batch_size: int | None) -> None:
    model, answers = scorer(), [answer("abc"), answer("a"), answer("abcdef", finished=False)]
    found = build([ModelReward()], context(own_model=model, batch_size=batch_size)).score(answers)
    batch = Batch.of([a.prompt_ids for a in answers], [a.response_ids for a in answers], pad_id=0)
    rows = torch.arange(3).split(batch_size or 3)
    expected = torch.cat([sequence_scores(model, batch.select(part.tolist())) for part in rows])
    assert found.totals == found.parts["model"] == pytest.approx(expected.tolist(), abs=tolerance.largest())
    assert found.totals == pytest.approx(
        [alone(model, a.prompt_ids + a.response_ids) for a in answers], abs=tolerance.largest()
    )


def test_the_runs_own_model_is_read_as_it_is_now() -> None:
    model = scorer()
    rewards = build([ModelReward()], context(own_model=model))
    before = rewards.score([answer("abc")]).totals[0]
    model.config.score_bias += 1.0
    assert rewards.score([answer("abc")]).totals[0] == pytest.approx(before - 1.0)


def test_a_model_with_the_same_tokenizer_scores_the_tokens_as_they_were_sampled(tmp_path: Path) -> None:
    codec = new_codec()
    model = saved(tmp_path, codec.tokenizer)
    # Ids that have nothing to do with the text: it is not encoded again.
    rewards = build([ModelReward(path=str(tmp_path))], context(codec=codec))
    found = rewards.score([answer("x"), answer("xyz", finished=False)]).totals
    assert found == pytest.approx([alone(model, [5, 6, 7, 1]), alone(model, [5, 6, 7, 7, 7])], abs=tolerance.largest())


@pytest.mark.parametrize("prompt", ["ask me", [{"role": "user", "content": "ask me"}]])
def test_another_tokenizer_reads_the_text_with_its_own_template_and_eos(tmp_path: Path, prompt: Any) -> None:
    theirs = train_tokenizer(["ask me ask me", "an answer"] * 9, 280)
    theirs.eos_token, theirs.chat_template = "<|pad|>", TEMPLATE
    model = saved(tmp_path, theirs)
    ours = new_codec()
    answers = [encoded(ours, prompt, "an answer"), encoded(ours, prompt, "an", finished=False)]
    plain = [theirs(text, add_special_tokens=False)["input_ids"] for text in ("<user>ask me<bot>", "an answer", "an")]
    expected = [alone(model, [*plain[0], *plain[1], theirs.eos_token_id]), alone(model, plain[0] + plain[2])]
    found = build([ModelReward(path=str(tmp_path))], context(codec=ours)).score(answers).totals
    assert found == pytest.approx(expected, abs=tolerance.largest())


def test_another_tokenizer_without_a_template_reads_the_prompt_as_it_stands(shared_data: Path, tmp_path: Path) -> None:
    theirs = load_tokenizer(shared_data / "tok_gpt2")  # its PAD is missing, and its EOS 50256
    model, codec = saved(tmp_path, theirs), new_codec()
    ids = theirs("Tell me.")["input_ids"] + theirs(" Yes <|endoftext|> so", split_special_tokens=True)["input_ids"]
    found = build([ModelReward(path=str(tmp_path))], context(codec=codec)).score(
        [encoded(codec, "Tell me.", " Yes <|endoftext|> so")]
    )
    assert ids.count(50256) == 0  # spelt out in a response, a special token is text
    assert found.totals == pytest.approx([alone(model, [*ids, 50256])], abs=tolerance.largest())


def test_tokenizers_are_the_same_only_with_the_same_template_and_eos(tmp_path: Path) -> None:
    one, other = (train_tokenizer(["abc"], 262) for _ in range(2))
    one.save_pretrained(tmp_path)
    assert same_tokenizer(one, other)
    other.chat_template = TEMPLATE
    assert not same_tokenizer(one, other)
    other.chat_template, other.eos_token = None, "<|pad|>"
    assert not same_tokenizer(one, other)
    assert not same_tokenizer(one, train_tokenizer(["cab" * 9], 262))


def test_a_context_too_short_for_a_response_is_told_with_its_lengths(tmp_path: Path) -> None:
    codec = new_codec()
    saved(tmp_path, codec.tokenizer, context_length=8)
    rewards = build([ModelReward(path=str(tmp_path), name="small")], context(codec=codec))
    assert len(rewards.score([answer("12345")]).totals) == 1  # 2 + 5 + EOS
    with pytest.raises(RewardError, match=r"`small`: .* has 9 tokens there, but the context of this model is 8"):
        rewards.score([answer("123456")])


def test_a_language_model_is_no_reward_model(tmp_path: Path) -> None:
    model = gpt2()
    model.config.num_labels = 1
    model.save_pretrained(tmp_path)
    train_tokenizer(["x"], 260).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"Reward `model`: .* lacks the weights score.weight"):
        build([ModelReward(path=str(tmp_path))], context())


def test_a_tokenizer_larger_than_its_model_is_refused(tmp_path: Path) -> None:
    scorer().save_pretrained(tmp_path)
    train_tokenizer(["x"], 260).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="its tokenizer has 258 tokens, the model only 23"):
        build([ModelReward(path=str(tmp_path))], context())


def test_a_reward_without_a_model_to_ask() -> None:
    with pytest.raises(ModelError, match="no reward model of its own"):
        build([ModelReward()], context())


def test_a_response_with_another_stop_is_scored_with_the_eos_in_its_place() -> None:
    codec, model = new_codec(), scorer()
    closed = Answer("q", [5, 6], [7, 8, 9], "xy", True, None, [7, 8, codec.eos_id])
    as_trained = Answer("q", [5, 6], [7, 8, codec.eos_id], "xy", True, None)
    cut_off = Answer("q", [5, 6], [7, 8, 9], "xyz", False, None)
    scores = TokenScorer(model, codec.pad_id, None).score([closed, as_trained, cut_off])
    assert scores[0] == scores[1] != scores[2]
