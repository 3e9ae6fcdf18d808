"""Sequence classifiers of several kinds, against transformers' own forward pass over each text alone."""

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
    RobertaConfig,
    RobertaForSequenceClassification,
)

from tests import tolerance
from tests.trainer.rewards.tools import answer, context
from tests.trainer.tiny_models import gpt2, gpt2_scorer
from trainer.errors import ModelError, RewardError
from trainer.models import Model
from trainer.rewards import Answer, build
from trainer.spec import ClassifierReward
from trainer.text.codec import Tokenizer, train_tokenizer

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
    config = GPT2Config(
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
def test_every_text_scores_as_it_does_alone(tmp_path: Path, kind: str, side: str, batch_size: int | None) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = MODELS[kind](), tokenizer(None if "PAD" in kind else "<|pad|>")
    its_tokenizer.padding_side = side
    expected = [float(logits_alone(model, a.prompt + a.text, its_tokenizer)[2]) for a in ANSWERS]  # type: ignore[operator]
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer))
    found = build([spec], context(batch_size=batch_size)).score(ANSWERS)
    assert found.totals == pytest.approx(expected, abs=tolerance.largest())
    assert len(set(expected)) == len(expected)


def test_rows_of_one_length_are_scored_together_and_come_back_in_order(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = decoder(), tokenizer()
    answers = [answer(text, prompt="") for text in ("ab", "x", "cd", "y", "ef", "zzz")]
    expected = [float(logits_alone(model, a.text, its_tokenizer)[0]) for a in answers]
    spec = ClassifierReward(type="classifier", path=save(tmp_path, model, its_tokenizer), label="bad", text="response")
    assert build([spec], context(batch_size=2)).score(answers).totals == pytest.approx(
        expected, abs=tolerance.largest()
    )


@pytest.mark.parametrize("label", ["so-so", 1])
def test_what_is_read_of_a_label(tmp_path: Path, label: str | int) -> None:
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


def test_a_pair_of_texts_is_the_tokenizers_own_pair(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model, its_tokenizer = encoder(), tokenizer()
    pair: Answer = answer("fine", prompt="what?")
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


def test_a_tokenizer_larger_than_its_model_is_refused(tmp_path: Path) -> None:
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
