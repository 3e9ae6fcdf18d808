"""Trained reward models, on the policy's tokenizer and on others, against transformers' own forward pass one text at a time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from tests import tolerance
from tests.trainer.rewards.tools import answer, context, encoded
from tests.trainer.stage_tools import new_codec
from tests.trainer.tiny_models import gpt2, gpt2_scorer, scorer
from trainer.errors import ModelError, RewardError
from trainer.models import Model
from trainer.models.sequences import Batch, sequence_scores
from trainer.rewards import RewardInput, build
from trainer.rewards.models import TokenScorer, same_tokenizer
from trainer.spec import ClassifierReward, ModelReward
from trainer.text.codec import Tokenizer, train_tokenizer

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<bot>{% endif %}"
)


def saved(folder: Path, tokenizer: Tokenizer, context_length: int = 64) -> Model:
    """A reward model with that tokenizer, in `folder`."""
    torch.manual_seed(5)
    config = LlamaConfig(  # type: ignore[call-arg]
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
    batch = Batch.from_ids([a.prompt_ids for a in answers], [a.response_ids for a in answers], pad_id=0)
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


def test_model_reward_same_tokenizer_scores_sampled_tokens(tmp_path: Path) -> None:
    codec = new_codec()
    model = saved(tmp_path, codec.tokenizer)
    # Ids that have nothing to do with the text: it is not encoded again.
    rewards = build([ModelReward(path=str(tmp_path))], context(codec=codec))
    found = rewards.score([answer("x"), answer("xyz", finished=False)]).totals
    assert found == pytest.approx([alone(model, [5, 6, 7, 1]), alone(model, [5, 6, 7, 7, 7])], abs=tolerance.largest())


@pytest.mark.parametrize("prompt", ["ask me", [{"role": "user", "content": "ask me"}]])
def test_model_reward_other_tokenizer_uses_its_template_and_eos(tmp_path: Path, prompt: Any) -> None:
    theirs = train_tokenizer(["ask me ask me", "an answer"] * 9, 280)
    theirs.eos_token, theirs.chat_template = "<|pad|>", TEMPLATE
    model = saved(tmp_path, theirs)
    ours = new_codec()
    answers = [encoded(ours, prompt, "an answer"), encoded(ours, prompt, "an", finished=False)]
    plain = [theirs(text, add_special_tokens=False)["input_ids"] for text in ("<user>ask me<bot>", "an answer", "an")]
    expected = [alone(model, [*plain[0], *plain[1], theirs.eos_token_id]), alone(model, plain[0] + plain[2])]
    found = build([ModelReward(path=str(tmp_path))], context(codec=ours)).score(answers).totals
    assert found == pytest.approx(expected, abs=tolerance.largest())


def test_model_reward_tokenizer_without_template_uses_plain_text(tmp_path: Path) -> None:
    theirs = train_tokenizer(["Tell me. Yes <|eos|> so"] * 3, 280)
    theirs.pad_token = None  # as GPT-2's
    model, codec = saved(tmp_path, theirs), new_codec()
    ids = theirs("Tell me.")["input_ids"] + theirs(" Yes <|eos|> so", split_special_tokens=True)["input_ids"]
    found = build([ModelReward(path=str(tmp_path))], context(codec=codec)).score(
        [encoded(codec, "Tell me.", " Yes <|eos|> so")]
    )
    assert ids.count(theirs.eos_token_id) == 0  # spelt out in a response, a special token is text
    assert found.totals == pytest.approx([alone(model, [*ids, theirs.eos_token_id])], abs=tolerance.largest())


def test_same_tokenizer_requires_same_template_and_eos(tmp_path: Path) -> None:
    one, other = (train_tokenizer(["abc"], 262) for _ in range(2))
    one.save_pretrained(tmp_path)
    assert same_tokenizer(one, other)
    other.chat_template = TEMPLATE
    assert not same_tokenizer(one, other)
    other.chat_template, other.eos_token = None, "<|pad|>"
    assert not same_tokenizer(one, other)
    assert not same_tokenizer(one, train_tokenizer(["cab" * 9], 262))


def test_model_reward_short_context_error_names_both_lengths(tmp_path: Path) -> None:
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


def test_model_reward_without_a_model_is_refused() -> None:
    with pytest.raises(ModelError, match="trains no reward model"):
        build([ModelReward()], context())


def test_token_scorer_replaces_another_stop_by_the_eos() -> None:
    codec, model = new_codec(), scorer()
    closed = RewardInput("q", [5, 6], [7, 8, 9], "xy", True, None, [7, 8, codec.eos_id])
    as_trained = RewardInput("q", [5, 6], [7, 8, codec.eos_id], "xy", True, None)
    cut_off = RewardInput("q", [5, 6], [7, 8, 9], "xyz", False, None)
    scores = TokenScorer(model, codec.pad_id, None).score([closed, as_trained, cut_off])
    assert scores[0] == scores[1] != scores[2]


# Sequence classifiers of several kinds, against transformers' own forward pass over each text alone.
LABELS = {0: "bad", 1: "so-so", 2: "good"}
ANSWERS = [
    answer("fine words", prompt="what? "),
    answer("no", prompt="what? "),
    answer("ab", prompt="so "),
    answer("ba<|eos|>", prompt=""),
]


def tokenizer(pad: str | None = "<|pad|>") -> Tokenizer:
    made = train_tokenizer(["what? fine words"] * 9, 270)
    made.pad_token = pad
    return made


def decoder(labels: dict[int, str] = LABELS, pad: int | None = None) -> Model:
    config = GPT2Config(  # type: ignore[call-arg]
        vocab_size=270, n_positions=64, n_embd=16, n_layer=2, n_head=4, initializer_range=0.3, bos_token_id=1,
        eos_token_id=1, pad_token_id=pad, id2label=labels, label2id={name: n for n, name in labels.items()},
    )  # fmt: skip
    return GPT2ForSequenceClassification(config).eval()


def encoder(kind: Any = BertForSequenceClassification, config: Any = BertConfig, positions: int = 64) -> Model:
    sizes = config(
        vocab_size=270, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=positions, initializer_range=0.3, pad_token_id=0, id2label=LABELS,
        label2id={name: n for n, name in LABELS.items()},
    )  # fmt: skip
    return kind(sizes).eval()


def save(folder: Path, model: Model, its_tokenizer: Tokenizer) -> str:
    model.save_pretrained(folder)
    its_tokenizer.save_pretrained(folder)
    return str(folder)


def logits_alone(model: Model, text: str, its_tokenizer: Tokenizer) -> torch.Tensor:
    """(L,) of one text in a batch of its own, where no padding can be."""
    ids = its_tokenizer(text, split_special_tokens=True)["input_ids"]
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float()


MODELS: dict[str, Callable[[], Model]] = {
    "decoder without a PAD": decoder,
    "decoder whose PAD is its EOS": lambda: decoder(pad=1),
    "encoder": encoder,
    "encoder with shifted positions": lambda: encoder(RobertaForSequenceClassification, RobertaConfig),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_classifier_reward_score_does_not_depend_on_the_batch(
    tmp_path: Path, kind: str, side: str, batch_size: int | None
) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = MODELS[kind](), tokenizer(None if "PAD" in kind else "<|pad|>")
    its_tokenizer.padding_side = side
    expected = [float(logits_alone(model, a.prompt + a.text, its_tokenizer)[2]) for a in ANSWERS]  # type: ignore[operator]
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer))
    found = build([spec], context(batch_size=batch_size)).score(ANSWERS)
    assert found.totals == pytest.approx(expected, abs=tolerance.largest())
    assert len(set(expected)) == len(expected)


def test_classifier_reward_batches_by_length_and_keeps_order(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = decoder(), tokenizer()
    answers = [answer(text, prompt="") for text in ("ab", "x", "cd", "y", "ef", "zzz")]
    expected = [float(logits_alone(model, a.text, its_tokenizer)[0]) for a in answers]
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer), label="bad", text="response")
    assert build([spec], context(batch_size=2)).score(answers).totals == pytest.approx(
        expected, abs=tolerance.largest()
    )


@pytest.mark.parametrize("label", ["so-so", 1])
def test_classifier_reward_output_is_logit_or_probability(tmp_path: Path, label: str | int) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = encoder(), tokenizer()
    path = save(tmp_path, model, its_tokenizer)
    logits = logits_alone(model, "fine words", its_tokenizer)
    expected = {"logit": logits[1], "probability": logits.softmax(0)[1], "log_probability": logits.log_softmax(0)[1]}
    for output, value in expected.items():
        spec = ClassifierReward.model_validate(
            {"type": "classifier", "path": path, "label": label, "output": output, "text": "response"}
        )
        assert build([spec], context()).score(ANSWERS[:1]).totals == pytest.approx(
            [float(value)], abs=tolerance.largest()
        )


def test_a_single_label_has_a_sigmoid(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = decoder({0: "score"}), tokenizer()
    path = save(tmp_path, model, its_tokenizer)
    logit = logits_alone(model, "fine words", its_tokenizer)[0]
    spec = ClassifierReward(type="classifier", path=path, output="probability", text="response")
    assert build([spec], context()).score(ANSWERS[:1]).totals == pytest.approx(
        [float(logit.sigmoid())], abs=tolerance.largest()
    )


def test_a_chat_template_lays_out_the_whole_conversation(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = decoder(pad=1), tokenizer()
    its_tokenizer.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|eos|>{% endfor %}"
    expected = [
        logits_alone_raw(model, its_tokenizer, f"<user>{a.prompt}<|eos|><assistant>{a.text}<|eos|>")
        for a in ANSWERS[:3]
    ]
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer))
    assert build([spec], context()).score(ANSWERS[:3]).totals == pytest.approx(expected, abs=tolerance.largest())


def logits_alone_raw(model: Model, its_tokenizer: Tokenizer, text: str) -> float:
    ids = its_tokenizer(text, add_special_tokens=False)["input_ids"]
    assert ids[-1] == its_tokenizer.eos_token_id  # where transformers would read, were it not also the PAD
    with torch.no_grad():
        hidden = model.transformer(torch.tensor([ids])).last_hidden_state[0, -1]
        return float(model.score(hidden)[2])


def test_classifier_reward_encodes_a_pair_as_tokenizer_pair(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = encoder(), tokenizer()
    pair: RewardInput = answer("fine", prompt="what?")
    ids = its_tokenizer("what?", "fine")["input_ids"]
    with torch.no_grad():
        expected = float(model(torch.tensor([ids])).logits[0, 2])
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer), text="pair")
    assert build([spec], context()).score([pair]).totals == pytest.approx([expected], abs=tolerance.largest())


@pytest.mark.parametrize("label", ["excellent", 3, -1])
def test_a_label_that_is_none_is_refused_with_those_that_are(tmp_path: Path, label: str | int) -> None:
    path = save(tmp_path, encoder(), tokenizer())
    with pytest.raises(ModelError, match=r"no label .*0 = bad, 1 = so-so, 2 = good"):
        build([ClassifierReward(type="classifier", path=path, label=label)], context())


def test_classifier_smaller_than_its_tokenizer_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, gpt2_scorer(), tokenizer())
    with pytest.raises(ModelError, match=r"its tokenizer has \d+ tokens, the model only 23"):
        build([ClassifierReward(type="classifier", path=path)], context())


def test_a_text_beyond_the_context_ends_the_step(tmp_path: Path) -> None:
    its_tokenizer = tokenizer()
    its_tokenizer.model_max_length = 12
    spec = ClassifierReward(type="classifier", path=save(tmp_path, encoder(), its_tokenizer), text="response")
    rewards = build([spec], context())
    assert len(rewards.score([answer("x" * 12)]).totals) == 1
    with pytest.raises(RewardError, match=r"has 13 tokens there, but the context of this model is 12"):
        rewards.score([answer("x" * 13)])


def test_a_model_without_a_trained_head_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, gpt2(), tokenizer())
    with pytest.raises(ModelError, match=r"lacks the weights score\.weight"):
        build([ClassifierReward(type="classifier", path=path)], context())


def test_weights_of_a_smaller_type_score_nearly_the_same(tmp_path: Path) -> None:
    torch.manual_seed(3)
    spec = ClassifierReward(type="classifier", path=save(tmp_path, decoder(), tokenizer()), output="probability")
    whole, half = (build([spec], replace(context(), dtype=dtype)) for dtype in (torch.float32, torch.bfloat16))
    assert half.members[0].reward.model.dtype == torch.bfloat16  # type: ignore[attr-defined]
    assert half.score(ANSWERS).totals == pytest.approx(whole.score(ANSWERS).totals, abs=0.03)
