"""Exports for OpenRLHF, verl and LLaMA-Factory, loaded as their readers load them.

The readers are described here from their source, not copied:

- OpenRLHF 3c3be623: `openrlhf/datasets/utils.py` loads JSON Lines with the JSON loader of Hugging Face, which is Arrow's.
  `reward_dataset.py` renders `prompt + chosen` with the chat template and takes what follows the rendered `prompt`;
  `margin` may be null. `sft_dataset.py` does the same with `input` and `output`. `prompts_dataset.py` reads `input`, the
  column of `--data.label_key`, and `datasource`.
- verl 1dda039b: `verl/utils/dataset/rl_dataset.py` reads `prompt` as messages and `data_source` from Parquet, and the reward
  managers `reward_model.ground_truth`. `multiturn_sft_dataset.py` reads `messages`. `rm_dataset.py` passes `prompt`,
  `chosen` and `rejected` to a tokenizer, so they are texts.
- LLaMA-Factory ff6d4d12: `src/llamafactory/data/converter.py` reads sharegpt and alpaca records by the columns that
  `dataset_info.json` names, and skips a conversation whose turns do not alternate.
"""

import io
from collections import Counter
from typing import Any

import orjson
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import InvalidOption
from data.export import Export, ExportFormat, export
from data.schema import DatasetKind, canonical
from data.splits import prompt_key
from tests.data.reading import Row, read, talk

P, S, Q, T, H = (DatasetKind(name) for name in ("preferences", "sft", "prompts", "pretraining", "thumbs"))
PAIR = {"prompt": "p", "a": "x", "b": "y", "label": "b"}
SYSTEM: Any = [{"role": "system", "content": "s"}, *talk("q")]
TWICE: Any = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
NOTED = PAIR | {"margin": 2, "annotator": "kim", "source": "web", "time": "2026-01-31T12:00:00Z"}
MIXED: list[Row] = [
    NOTED,
    PAIR | {"prompt": SYSTEM},
    PAIR | {"prompt": TWICE},
    PAIR | {"label": "tie"},
    PAIR | {"label": None},
    {"prompt": "q", "completions": ["x", "y", "z"], "ranks": [2, 1, 2]},
]


def exported(rows: list[Row], format: str, kind: DatasetKind) -> tuple[bytes, Export]:
    content = b"".join(orjson.dumps(canonical(kind, row)) + b"\n" for row in rows)
    made = export(lambda: io.BytesIO(content), kind, ExportFormat(format))
    return b"".join(made.body), made


def loaded(content: bytes) -> list[Row]:
    """The records as Hugging Face's JSON loader reads them: by columns, each of one type."""
    return list(arrow_json.read_json(io.BytesIO(content)).to_pylist())


def rendered(messages: list[Row], generation: bool = False) -> str:
    """A chat template."""
    text = "".join(f"<{message['role']}>{message['content']}</>" for message in messages)
    return text + ("<assistant>" if generation else "")


def behind(prompt: list[Row], answer: list[Row]) -> tuple[str, str]:
    """A prompt and the text behind it, as OpenRLHF cuts them out of a rendered conversation."""
    begin = rendered(prompt, generation=True)
    return begin, rendered(prompt + answer)[len(begin) :]


def test_openrlhf_pairs_are_cut_behind_the_rendered_prompt() -> None:
    content, made = exported(MIXED, "openrlhf", P)
    records = loaded(content)
    assert [behind(one["prompt"], one["chosen"]) for one in records[:2]] == [
        ("<user>p</><assistant>", "y</>"),
        ("<system>s</><user>q</><assistant>", "y</>"),
    ]
    assert [behind(one["prompt"], one["rejected"])[1] for one in records] == ["x</>", "x</>", "x</>", "x</>", "z</>"]
    assert [one["margin"] for one in records] == [2, None, None, None, None]
    assert made.not_carried == Counter(ties=1, unlabelled=1, rankings=1, annotator=1, source=1, time=1)
    assert made.left_out == 2


def test_openrlhf_pairs_without_conversations_are_texts() -> None:
    content, _ = exported([PAIR], "openrlhf", P)
    assert loaded(content) == [{"prompt": "p", "chosen": "y", "rejected": "x"}]


def test_openrlhf_demonstrations_have_input_and_output() -> None:
    content, made = exported(
        [{"prompt": "p", "completion": "c"}, {"messages": [*talk("q", "z"), {"role": "user", "content": "thanks"}]}],
        "openrlhf", S,
    )  # fmt: skip
    assert [behind(one["input"], one["output"]) for one in loaded(content)] == [
        ("<user>p</><assistant>", "c</>"),
        ("<user>q</><assistant>", "z</>"),
    ]
    assert (made.not_carried, made.left_out) == (Counter(later_turns=1), 0)


def test_openrlhf_prompts_have_label_and_datasource() -> None:
    content, made = exported([{"prompt": "p", "answer": 7, "source": "web"}, {"prompt": "q"}], "openrlhf", Q)
    assert loaded(content) == [
        {"input": "p", "label": "7", "datasource": "web"},
        {"input": "q", "label": None, "datasource": "default"},
    ]
    assert not made.not_carried
    assert loaded(exported([{"text": "t"}], "openrlhf", T)[0]) == [{"input": "t"}]


def test_verl_prompts_have_messages_and_ground_truth() -> None:
    content, made = exported([{"prompt": "p", "answer": 7, "source": "gsm8k"}, {"prompt": SYSTEM}], "verl", Q)
    assert made.suffix == ".parquet" and not made.not_carried
    assert parquet.read_table(io.BytesIO(content)).to_pylist() == [
        {"data_source": "gsm8k", "prompt": talk("p"), "reward_model": {"style": "rule", "ground_truth": "7"}},
        {"data_source": "unknown", "prompt": SYSTEM, "reward_model": {"style": "model", "ground_truth": None}},
    ]


def test_verl_pairs_are_texts_and_conversations_are_left_out() -> None:
    content, made = exported([*MIXED, PAIR | {"prompt": talk("one turn")}], "verl", P)
    records = parquet.read_table(io.BytesIO(content)).to_pylist()
    assert records == [
        {"prompt": "p", "chosen": "y", "rejected": "x"},
        {"prompt": "q", "chosen": "y", "rejected": "x"},
        {"prompt": "q", "chosen": "y", "rejected": "z"},
        {"prompt": "one turn", "chosen": "y", "rejected": "x"},
    ]
    assert made.not_carried == Counter(
        ties=1, unlabelled=1, rankings=1, conversations=2, margin=1, annotator=1, source=1, time=1
    )
    assert made.left_out == 4


def test_verl_demonstrations_are_messages() -> None:
    content, _ = exported([{"prompt": "p", "completion": "c"}, {"messages": talk("q", "z")}], "verl", S)
    assert parquet.read_table(io.BytesIO(content)).to_pylist() == [
        {"messages": talk("p", "c")},
        {"messages": talk("q", "z")},
    ]


def aligned(record: Row) -> tuple[str, list[tuple[str, str]], list[str]]:
    """The system message, the turns of the prompt and the answers that LLaMA-Factory makes of a sharegpt record.

    Fails for a record that it skips.
    """
    turns = [(turn["from"], turn["value"]) for turn in record["conversations"]]
    system = turns.pop(0)[1] if turns[0][0] == "system" else ""
    assert [speaker for speaker, _ in turns] == [("human", "gpt")[at % 2] for at in range(len(turns))]
    if "chosen" in record:
        assert len(turns) % 2 == 1 and record["chosen"]["from"] == record["rejected"]["from"] == "gpt"
        return system, turns, [record["chosen"]["value"], record["rejected"]["value"]]
    assert len(turns) % 2 == 0
    answer = turns.pop()[1]
    return system, turns, [answer] if "kto_tag" not in record else [answer, ""] if record["kto_tag"] else ["", answer]


def test_llama_factory_pairs_alternate() -> None:
    content, made = exported(MIXED, "llama_factory", P)
    assert [aligned(record) for record in loaded(content)] == [
        ("", [("human", "p")], ["y", "x"]),
        ("s", [("human", "q")], ["y", "x"]),
        ("", [("human", "q")], ["y", "x"]),
        ("", [("human", "q")], ["y", "z"]),
    ]
    assert made.not_carried == Counter(
        ties=1, unlabelled=1, rankings=1, turns=1, margin=1, annotator=1, source=1, time=1
    )
    assert made.left_out == 3


def test_llama_factory_demonstrations_end_with_the_answer() -> None:
    more = [*talk("q", "z", "r", "w"), {"role": "user", "content": "thanks"}]
    content, made = exported([{"prompt": "p", "completion": "c"}, {"messages": more}], "llama_factory", S)
    assert [aligned(record) for record in loaded(content)] == [
        ("", [("human", "p")], ["c"]),
        ("", [("human", "q"), ("gpt", "z"), ("human", "r")], ["w"]),
    ]
    assert made.not_carried == Counter(later_turns=1)


def test_llama_factory_thumbs_have_a_tag() -> None:
    rows = [{"prompt": "p", "completion": "c", "thumb": "up"}, {"prompt": SYSTEM, "completion": "d", "thumb": "down"}]
    content, _ = exported(rows, "llama_factory", H)
    assert [aligned(record) for record in loaded(content)] == [
        ("", [("human", "p")], ["c", ""]),
        ("s", [("human", "q")], ["", "d"]),
    ]


def test_llama_factory_prompts_are_alpaca_records() -> None:
    rows = [{"prompt": "p", "answer": 7}, {"prompt": [SYSTEM[0], *talk("q", "z", "r")]}, {"prompt": TWICE}]
    content, made = exported(rows, "llama_factory", Q)
    assert loaded(content) == [
        {"instruction": "p", "system": "", "history": []},
        {"instruction": "r", "system": "s", "history": [["q", "z"]]},
    ]
    assert made.not_carried == Counter(answer=1, turns=1)
    assert loaded(exported([{"text": "t"}], "llama_factory", T)[0]) == [{"text": "t"}]


@pytest.mark.parametrize(("format", "kind", "row"), [
    ("openrlhf", H, {"prompt": "p", "completion": "c", "thumb": "up"}),
    ("verl", H, {"prompt": "p", "completion": "c", "thumb": "up"}),
    ("verl", T, {"text": "t"}),
])  # fmt: skip
def test_export_without_a_place_names_the_formats_with_one(format: str, kind: DatasetKind, row: Row) -> None:
    with pytest.raises(InvalidOption, match=r"has no place for .*; take rows, trl, .*llama_factory or parquet"):
        exported([row], format, kind)


TEXTS = st.text(st.sampled_from('ab "\\:{}[],\n\tä😀'), min_size=1, max_size=8).filter(str.strip)
PROMPTS = TEXTS | st.lists(TEXTS, min_size=1, max_size=5).filter(lambda said: len(said) % 2).map(
    lambda said: talk(*said)
)
SOURCES: Any = {"openrlhf": {"source": "default"}, "verl": {"source": "unknown"}}


def same(row: Row) -> Row:
    """A row whose prompt is a text or the same text as one message, with the preferred answer as `a`."""
    prompted = row | {"prompt": prompt_key(row["prompt"])}
    return prompted | {"a": row["b"], "b": row["a"], "label": "a"} if row.get("label") == "b" else prompted


@settings(max_examples=30)
@given(st.lists(st.tuples(PROMPTS, st.lists(TEXTS, min_size=2, max_size=2, unique=True), st.sampled_from("ab")), min_size=1, max_size=3))  # fmt: skip
@pytest.mark.parametrize("format", ["openrlhf", "llama_factory", "verl"])
def test_exported_pairs_are_imported_again(format: str, drawn: list[Any]) -> None:
    rows = [{"prompt": prompt, "a": a, "b": b, "label": label} for prompt, (a, b), label in drawn]
    content, made = exported(rows, format, P)
    carried = [row for row in rows if format != "verl" or isinstance(row["prompt"], str) or len(row["prompt"]) == 1]
    assert made.left_out == len(rows) - len(carried)
    if carried:
        assert list(map(same, read(content, f"x{made.suffix}", kind="preferences").rows)) == list(map(same, carried))


@settings(max_examples=30)
@given(st.lists(st.fixed_dictionaries({"prompt": PROMPTS}, optional={"answer": TEXTS, "source": TEXTS}), min_size=1, max_size=3))  # fmt: skip
@pytest.mark.parametrize("format", ["openrlhf", "verl"])
def test_exported_prompts_are_imported_again(format: str, rows: list[Row]) -> None:
    content, made = exported(rows, format, Q)
    sourced = format == "verl" or any("source" in row for row in rows)
    found = read(content, f"x{made.suffix}", format=format, kind="prompts").rows
    assert list(map(same, found)) == [same((SOURCES[format] if sourced else {}) | row) for row in rows]


@settings(max_examples=30)
@given(st.lists(st.fixed_dictionaries({"prompt": PROMPTS, "completion": TEXTS}), min_size=1, max_size=3))
@pytest.mark.parametrize("format", ["llama_factory", "verl"])
def test_exported_demonstrations_are_imported_again(format: str, rows: list[Row]) -> None:
    content, made = exported(rows, format, S)
    found = read(content, f"x{made.suffix}", kind="sft").rows
    assert [row["messages"][-1]["content"] for row in found] == [row["completion"] for row in rows]
    assert [prompt_key(row["messages"][:-1]) for row in found] == [prompt_key(row["prompt"]) for row in rows]
