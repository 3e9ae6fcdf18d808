"""Conversations: each turn is trained as it will be asked for, whatever the template does to earlier ones."""

import json
from pathlib import Path

import pytest

from data.rows import Demonstration
from tests.trainer.running import events_of
from tests.trainer.stage_tools import session_in
from trainer import run_data
from trainer.events import Message
from trainer.spec import DataSpec
from trainer.stages.tokenize import _log_template
from trainer.stages.tokenized_rows import tokenize_demonstrations
from trainer.text.codec import Codec, train_tokenizer

TALK = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "[hm] Hello"},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": "[well] Fine"},
]
FORGETFUL = (
    "{% for m in messages %}<{{ m.role }}>"
    "{{ m.content if loop.last or m.role == 'user' else m.content.split('] ')[-1] }}<|eos|>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
"""Leaves the thoughts of earlier turns out, as the templates of reasoning models do."""


THOUGHTFUL = (
    "{% for m in messages %}<{{ m.role }}>\n"
    "{{ '<think>\n\n</think>\n\n' if m.role == 'assistant' else '' }}{{ m.content }}<|eos|>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n<think>\n\n</think>\n\n{% endif %}"
)


def codec_with(template: str) -> Codec:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.chat_template = template
    return Codec.for_tokenizer(tokenizer, DataSpec(preferences="-"))


def examples(codec: Codec, turns: list[Demonstration]) -> list[tuple[str, str]]:
    found, _, _ = tokenize_demonstrations(turns, codec)
    return [(codec.tokenizer.decode(e.prompt), codec.tokenizer.decode(e.completion)) for e in found]


def test_the_last_turn_alone_or_each_one(tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps({"messages": TALK}) + "\n")
    last = run_data.load(DataSpec(sft=str(path)), ["sft"]).demonstrations.train
    assert last == [Demonstration(TALK[:3], "[well] Fine")]
    both = run_data.load(DataSpec(sft=str(path), eval_fraction=1e-9), ["sft"], turns="all").demonstrations
    assert [*both.train, *both.held_out] == [Demonstration(TALK[:1], "[hm] Hello"), *last]


def test_conversation_template_that_rewrites_keeps_trained_turn() -> None:
    turns = list(Demonstration(TALK[:3], "[well] Fine").turns())
    assert examples(codec_with(FORGETFUL), turns) == [
        ("<user>Hi<|eos|><assistant>", "[hm] Hello<|eos|>"),
        ("<user>Hi<|eos|><assistant>Hello<|eos|><user>And?<|eos|><assistant>", "[well] Fine<|eos|>"),
    ]


def test_tokens_equal_those_of_a_template_with_thoughts() -> None:
    """MiniMind and Qwen have such templates: an empty thought before every answer, and a newline after every turn."""
    codec = codec_with(THOUGHTFUL)
    tokenizer = codec.tokenizer
    for at, example in zip(
        (2, 4), tokenize_demonstrations(list(Demonstration(TALK[:3], "[well] Fine").turns()), codec)[0], strict=True
    ):
        rendered = tokenizer.apply_chat_template(TALK[:at], tokenize=False)
        assert tokenizer.decode(example.prompt + example.completion) + "\n" == rendered
        assert example.prompt + example.completion == tokenizer(rendered.removesuffix("\n"))["input_ids"]
        assert example.prompt == codec.prompt(TALK[: at - 1])  # as generation begins
        assert tokenizer.decode(example.completion) == TALK[at - 1]["content"] + "<|eos|>"
    assert codec.closing_token() == tokenizer.eos_token


@pytest.mark.parametrize(("end", "warned"), [("<|pad|>", True), ("<|eos|>", False), ("\n", False)])
def test_a_template_with_another_end_of_turn_is_named(tmp_path: Path, end: str, warned: bool) -> None:
    codec = codec_with("{% for m in messages %}<{{ m.role }}>{{ m.content }}" + end + "{% endfor %}")
    with session_in(tmp_path) as session:
        _log_template(session, codec)
    texts = [event.text for event in events_of(tmp_path) if isinstance(event, Message)]
    assert (
        any("ends an assistant's turn with <|pad|>, but the tokenizer's EOS is <|eos|>" in t for t in texts) == warned
    )
    assert len(texts) == int(warned)
