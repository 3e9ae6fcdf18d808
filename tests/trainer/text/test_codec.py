from pathlib import Path

import pytest
from transformers import AutoTokenizer

from trainer.errors import DataError, ModelError
from trainer.spec import DataSpec
from trainer.text.codec import Codec, train_tokenizer

SPEC = DataSpec(preferences="-", max_prompt_tokens=16, max_completion_tokens=8)
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


def test_any_text_survives_a_round_trip() -> None:
    codec = Codec.for_tokenizer(train_tokenizer(["some plain words"], 270), SPEC)
    ids, whole = codec.completion("né 日\t!")
    assert not whole or codec.decode(ids) == "né 日\t!"
    long = Codec.for_tokenizer(codec.tokenizer, DataSpec(preferences="-"))
    assert long.decode(long.completion("né 日\t! 🙂")[0]) == "né 日\t! 🙂"


def test_training_a_tokenizer_twice_gives_the_same_one() -> None:
    texts = ["the cat sat", "the mat sat", "a bat and a cat"] * 3
    first, second = train_tokenizer(texts, 280), train_tokenizer(texts, 280)
    assert first.backend_tokenizer.to_str() == second.backend_tokenizer.to_str()


def test_codec_completion_ends_with_eos_unless_truncated() -> None:
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), SPEC)
    ids, whole = codec.completion("abcdefg")  # 7 bytes and the EOS: just fits
    assert whole and len(ids) == 8 and ids[-1] == codec.eos_id
    ids, whole = codec.completion("abcdefgh")
    assert not whole and len(ids) == 8 and codec.eos_id not in ids


def test_a_prompt_that_is_too_long_is_refused_not_cut() -> None:
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), SPEC)
    assert codec.prompt("a" * 16) is not None
    assert codec.prompt("a" * 17) is None


def test_many_prompts_and_texts_keep_their_order_and_limits() -> None:
    """More than one block of 1,024, with repetitions, too long ones and an empty one."""
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), SPEC)
    texts = [*(f"{row % 1500}" for row in range(3000)), "a" * 17, "", "b" * 16, "cccccccc"]
    assert list(codec.prompts(texts)) == [codec.prompt(text) for text in texts]
    assert list(codec.completions(texts)) == [codec.completion(text) for text in texts]
    assert list(codec.prompts(texts))[-4:-2] == [None, None]
    assert list(codec.prompts([])) == list(codec.completions([])) == []


def test_a_chat_template_is_applied_unless_switched_off() -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.chat_template = TEMPLATE
    roomy = {"preferences": "-", "max_prompt_tokens": 99}
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    templated = Codec.for_tokenizer(tokenizer, DataSpec.model_validate(roomy))
    assert templated.decode(templated.prompt(messages) or []) == "<system>S<user>U<assistant>"
    assert templated.decode(templated.prompt("U") or []) == "<user>U<assistant>"
    plain = Codec.for_tokenizer(tokenizer, DataSpec.model_validate(roomy | {"chat_template": "none"}))
    assert plain.decode(plain.prompt("U") or []) == "U"


def test_codec_refuses_tokenizer_without_eos_but_not_without_pad() -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.pad_token = None
    assert Codec.for_tokenizer(tokenizer, SPEC).pad_id == tokenizer.eos_token_id
    tokenizer.eos_token = None
    with pytest.raises(ModelError, match="no EOS token"):
        Codec.for_tokenizer(tokenizer, SPEC)


def test_codec_adds_bos_before_the_prompt_only(pretrained: Path) -> None:
    codec = Codec.for_tokenizer(AutoTokenizer.from_pretrained(pretrained), SPEC)
    assert (codec.prompt("Once") or [])[0] == 1
    assert 1 not in codec.completion(" upon")[0]


def test_codec_final_eos_text_is_one_token_and_others_stay_text() -> None:
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), DataSpec(preferences="-"))
    assert codec.completion("ab<|eos|>") == codec.completion("ab")
    inside, _ = codec.completion("a<|eos|>b")
    assert inside.count(codec.eos_id) == 1 and codec.decode(inside) == "a<|eos|>b"
    assert codec.eos_id not in (codec.prompt("a<|eos|>b") or [])


def test_a_prompt_that_the_chat_template_refuses_is_a_data_error() -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    with pytest.raises(DataError, match="refuses a prompt with the roles system, user: System role not supported"):
        Codec.for_tokenizer(tokenizer, SPEC).prompt(
            [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
        )


def test_codec_text_has_bos_and_eos_unless_truncated(pretrained: Path) -> None:
    codec = Codec.for_tokenizer(AutoTokenizer.from_pretrained(pretrained), SPEC)
    whole = codec.text("Once upon a time", 64)
    assert whole[0] == 1 and whole[-1] == codec.eos_id and codec.decode(whole) == "Once upon a time"
    assert codec.text("Once upon a time", len(whole)) == whole
    assert codec.text("Once upon a time", len(whole) - 1) == whole[:-1]
