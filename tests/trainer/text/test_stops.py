"""The ends of a response: stop tokens and stop strings, in text that tokens divide anywhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from trainer.errors import ModelError
from trainer.models import load_stops
from trainer.spec import DataSpec
from trainer.text.codec import Codec, train_tokenizer
from trainer.text.stops import Stops

TEXT = "aé\n\nUser: b日本\n" * 4
TOKENIZER = train_tokenizer([TEXT], 275)
STOPS = Stops.for_tokenizer(TOKENIZER, strings=["\n\nUser", "本\n"])


def ids_of(text: str) -> list[int]:
    """Token by token, so that nothing depends on which merges the tokenizer has learnt."""
    return [TOKENIZER.convert_tokens_to_ids(token) for byte in text.encode() for token in [_NAMES[byte]]]


def _names() -> list[str]:
    """Name of each byte in a byte-level vocabulary (Radford et al. 2019)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(rest)) for byte in range(256)]


_NAMES = _names()


def test_stops_hold_eos_further_ids_and_named_special_tokens() -> None:
    stops = Stops.for_tokenizer(TOKENIZER, [7], ["<|pad|>", "###", "###"])
    assert (stops.ids, stops.strings) == ((0, 1, 7), ("###",))
    assert stops.shown(TOKENIZER) == f'<|pad|> (0), <|eos|> (1), {TOKENIZER.convert_ids_to_tokens(7)} (7), "###"'
    assert stops.ordinary_ids(TOKENIZER) == [7]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hi\n\nUser: no", 8),  # every byte a token: "hi", two line breaks, "User"
        ("日本\n", 7),  # three bytes each
        ("\n\nUse\n\nUser", 11),
        ("no stop at all", None),
    ],
)
def test_the_first_completed_string_ends_a_response(text: str, tokens: int | None) -> None:
    assert STOPS.end(ids_of(text)) == tokens


def test_stops_string_spans_special_tokens_but_not_the_eos() -> None:
    pad, eos = 0, 1
    assert STOPS.end([*ids_of("x\n\nUs"), pad, pad, *ids_of("er"), 9]) == 9
    assert STOPS.end([*ids_of("x"), eos, *ids_of("\n\nUser")]) == 2


@given(st.lists(st.integers(2, len(TOKENIZER) - 1), max_size=60), st.integers(0, 60))
def test_the_end_is_where_the_decoded_text_first_holds_a_string(ids: list[int], at: int) -> None:
    ids[at:at] = ids_of("\n\nUser" if at % 2 else "本\n")
    texts = (TOKENIZER.decode(ids[:end]) for end in range(1, len(ids) + 1))
    expected = next(end for end, text in enumerate(texts, 1) if "\n\nUser" in text or "本\n" in text)
    assert STOPS.end(ids) == expected


def test_the_end_in_a_sentencepiece_vocabulary(pretrained: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(pretrained)
    ids = tokenizer("Once upon a time, there was a girl. The end. And more.", add_special_tokens=False)["input_ids"] * 3
    stops = Stops.for_tokenizer(tokenizer, strings=["he end"])
    end = stops.end(ids)
    assert end is not None
    assert "he end" in tokenizer.decode(ids[:end]) and "he end" not in tokenizer.decode(ids[: end - 1])


def test_the_check_costs_the_same_for_every_token() -> None:
    decoded = 0

    def counted(ids: list[int]) -> str:
        nonlocal decoded
        decoded += len(ids)
        return "x" * len(ids)

    costs = []
    for tokens in (500, 1000):
        decoded = 0
        assert Stops((1,), ("stop here",), counted).end([5] * tokens) is None
        costs.append(decoded)
    assert costs[1] <= 2.1 * costs[0]


@pytest.mark.parametrize(
    ("ids", "finished", "text", "scored"),
    [
        ([*ids_of("hi"), 1], True, "hi", [*ids_of("hi"), 1]),
        ([*ids_of("hi"), 9], True, "hi", [*ids_of("hi"), 1]),
        ([*ids_of("hi\n\nUser")], True, "hi", [*ids_of("hi"), 1]),
        ([*ids_of("\n\nUser")], True, "", [1]),
        ([*ids_of("hi")], False, "hi", [*ids_of("hi")]),
    ],
)
def test_stops_are_cut_from_text_and_scored_as_eos(
    ids: list[int], finished: bool, text: str, scored: list[int]
) -> None:
    stops = Stops.for_tokenizer(TOKENIZER, [9], ["\n\nUser"])
    assert Codec.for_tokenizer(TOKENIZER, DataSpec(preferences="-"), stops).response(ids, finished) == (text, scored)


def test_a_string_that_begins_inside_a_token_is_cut_out_of_it() -> None:
    tokenizer = train_tokenizer(["end.-]x " * 50], 264)
    ids = tokenizer("end.-]x")["input_ids"]
    token = next(token for token in ids if "-" in tokenizer.decode([token]))
    assert len(tokenizer.decode([token])) > 1, "the tokenizer has learnt no token that spans the string's beginning"
    stops = Stops.for_tokenizer(tokenizer, strings=["-]"])
    response = ids[: stops.end(ids)]
    text, scored = Codec.for_tokenizer(tokenizer, DataSpec(preferences="-"), stops).response(response, True)
    assert text == "end." and tokenizer.decode(scored) == "end.<|eos|>"


def settings(folder: Path, generation: Any = None, config: Any = None) -> Path:
    for name, content in (("generation_config.json", generation), ("config.json", config)):
        if content is not None:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("generation", "config", "ids", "strings"),
    [
        ({"eos_token_id": [7, 9], "stop_strings": "\n"}, None, (1, 7, 9), ("mine", "\n")),
        ({"eos_token_id": 7}, {"model_type": "llama", "eos_token_id": 9}, (1, 7), ("mine",)),
        ({}, {"model_type": "llama", "eos_token_id": 9}, (1,), ("mine",)),
        (None, {"model_type": "llama", "eos_token_id": [9, 8]}, (1, 8, 9), ("mine",)),
        (None, {"model_type": "x", "text_config": {"eos_token_id": 9}}, (1, 9), ("mine",)),
        (None, {"model_type": "llama"}, (1,), ("mine",)),
        (None, None, (1,), ("mine",)),
        ({"eos_token_id": -1}, None, (1,), ("mine",)),
    ],
)
def test_stops_are_read_from_the_model_folder(
    tmp_path: Path, generation: Any, config: Any, ids: tuple[int, ...], strings: tuple[str, ...]
) -> None:
    stops = load_stops(TOKENIZER, settings(tmp_path, generation, config), ["mine"])
    assert (stops.ids, stops.strings) == (ids, strings)


@pytest.mark.parametrize(
    ("generation", "said"),
    [
        ("{", "generation_config.json is not readable JSON"),
        ([1], "must hold a JSON object"),
        ({"eos_token_id": ["</s>"]}, r"`eos_token_id` .* an integer or a list of integers; found \['</s>'\]"),
        ({"eos_token_id": True}, "found True"),
        ({"stop_strings": [1]}, "`stop_strings` .* a text or a list of texts"),
    ],
)
def test_a_file_that_names_no_stops_is_refused(tmp_path: Path, generation: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        load_stops(TOKENIZER, settings(tmp_path, generation))


def test_a_tokenizer_without_an_eos_is_refused_by_the_codec(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.eos_token = None
    stops = load_stops(tokenizer, settings(tmp_path, {"eos_token_id": 9}))
    assert stops.ids == (9,)
    with pytest.raises(ModelError, match="The tokenizer has no EOS token"):
        Codec.for_tokenizer(tokenizer, DataSpec(preferences="-"), stops)


def test_stops_of_adapter_are_those_of_base_unless_it_has_some(tmp_path: Path) -> None:
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    for folder in (base, adapter):
        folder.mkdir()
    settings(base, {"eos_token_id": [7]})
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    assert load_stops(TOKENIZER, adapter).ids == (1, 7)
    settings(adapter, {"eos_token_id": [8]})
    assert load_stops(TOKENIZER, adapter).ids == (1, 8)


def test_a_pretrained_model_whose_responses_may_end_with_bos(pretrained: Path) -> None:
    stops = load_stops(AutoTokenizer.from_pretrained(pretrained), pretrained)
    assert (stops.ids, stops.strings) == ((1, 2), ())
