"""Every format: the rows of its example, worked out by hand, and its detection."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import RowError
from data.findings import CODES, Findings
from data.formats import FORMATS, custom
from data.plan import Plan
from data.preview import example_mapping, example_rows
from data.record_to_rows import records_to_rows
from data.schema import DatasetKind
from tests.data.reading import Row, jsonl, read, rows_of, talk

SKY = "Which colour is the sky?"
PAIR = {"prompt": SKY, "a": "Blue, by day.", "b": "Green.", "label": "a"}
RANKED = {"prompt": "The sky is", "completions": [" blue.", " green."], "ranks": [1, 2]}
EXPECTED: dict[str, list[Row]] = {
    "trl_explicit": [{"prompt": "The sky is", "a": " blue.", "b": " green.", "label": "a"}],
    "trl_implicit": [{"prompt": "The sky is", "a": " blue.", "b": " green.", "label": "a"}],
    "trl_conversational": [{"prompt": talk(SKY), "a": "It is blue.", "b": "It is green.", "label": "a"}],
    "trl_unpaired": [RANKED],
    "trl_stepwise": [
        {
            "prompt": "Which is larger, 9.8 or 9.11?",
            "steps": ["The whole parts are equal.", "0.11 is more than 0.8, so 9.11."],
            "labels": ["good", "bad"],
        }
    ],
    "math_shepherd": [
        {
            "prompt": "How much is 2 + 3 + 4?",
            "steps": ["Step 1: 2 + 3 = 5.", "Step 2: 5 + 4 = 8. The answer is: 8"],
            "labels": ["good", "bad"],
            "source": "GSM8K",
        }
    ],
    "prm800k": [
        {"prompt": "How much is 2 + 3 + 4?", "steps": ["2 + 3 = 6."], "labels": ["bad"], "annotator": "w1"},
        {
            "prompt": "How much is 2 + 3 + 4?",
            "steps": ["2 + 3 = 5.", "So it is 5 + 4."],
            "labels": ["good", "neutral"],
            "annotator": "w1",
        },
    ],
    "openai_preference": [
        {
            "prompt": talk("How cold is San Francisco today?"),
            "a": "About 12 °C, and it feels colder by the water.",
            "b": "It is not particularly cold.",
            "label": "a",
        }
    ],
    "openai_reinforcement": [{"prompt": talk("How much is 6 × 12?"), "answer": "72"}],
    "hh_rlhf": [PAIR | {"prompt": talk(SKY)}],
    "ultrafeedback_binarized": [
        {"prompt": talk(SKY), "a": "It is blue.", "b": "It is green.", "label": "a", "margin": 2.5}
    ],
    "ultrafeedback": [
        {"prompt": SKY, "completions": ["Blue, by day.", "Green."], "ranks": [1, 2], "source": "evol_instruct"}
    ],
    "argilla_pairs": [PAIR | {"margin": 3.25, "source": "evol_instruct"}],
    "argilla_records": [PAIR | {"annotator": "kim"}, PAIR | {"label": "tie", "annotator": "lee"}],
    "helpsteer": [{"prompt": SKY, "completions": ["Blue, by day.", "Green."], "ranks": [1, 2]}],
    "helpsteer2_preference": [PAIR | {"margin": 2}],
    "helpsteer3": [
        {"prompt": talk(SKY), "a": "Green.", "b": "Blue, by day.", "label": "b", "margin": margin, "annotator": f"annotator{n}", "source": "general"}
        for n, margin in ((1, 3), (2, 2))
    ],
    "helpsteer3_edit_quality": [PAIR | {"prompt": talk(SKY), "b": "Greenish.", "source": "general"}],
    "lmarena": [
        {"prompt": talk(SKY), "a": "Green.", "b": "Blue, by day.", "label": "b", "annotator": "arena_user_5", "time": "2023-04-24T15:53:11Z"}
    ],
    "arena_55k": [PAIR | {"prompt": talk(SKY)}],
    "pandalm": [
        {
            "prompt": "Make it shorter.\nIf you have any questions about my rate, please let me know.",
            "a": "If you have any questions, please let me know.",
            "b": "Questions about my rate? Let me know.",
            "label": label,
            "annotator": f"annotator{n}",
            "source": "bloom-7b_llama-7b",
        }
        for n, label in ((1, "b"), (2, "b"), (3, "tie"))
    ],
    "llmbar": [{"prompt": SKY, "a": "Green.", "b": "Blue, by day.", "label": "b"}],
    "summarize_from_feedback": [
        {
            "prompt": "SUBREDDIT: r/weather\nTITLE: Weather\nPOST: The sky was blue all day.\nTL;DR:",
            "a": " It was green.",
            "b": " Blue sky.",
            "label": "b",
            "annotator": "w1",
        }
    ],
    "webgpt_comparisons": [
        {"prompt": SKY, "a": "Green.", "b": "Blue, by day [1].", "label": "b", "margin": 1, "source": "eli5"}
    ],
    "shp": [{"prompt": SKY, "a": "Blue.", "b": "Green.", "label": "a", "source": "askscience_train"}],
    "pku_saferlhf": [{"prompt": SKY, "a": "Green.", "b": "Blue.", "label": "b"}],
    "llama_factory_alpaca": [{"prompt": "Translate into French.\nGood morning.", "a": "Bonjour.", "b": "Bonne nuit.", "label": "a"}],
    "llama_factory_best_first": [
        {"prompt": "Translate into French.\nGood morning.", "completions": ["Bonjour.", "Salut.", "Bonne nuit."], "ranks": [1, 2, 3]}
    ],
    "llama_factory_sharegpt": [PAIR | {"prompt": talk(SKY)}],
    "llama_factory_kto": [{"prompt": talk("The sky?"), "completions": ["Blue.", "Green."], "ranks": [1, 2]}],
    "axolotl_chatml": [PAIR | {"prompt": talk(SKY, system="You answer briefly.")}],
    "autotrain": [PAIR],
    "rankings": [{"prompt": "The sky is", "completions": [" blue.", " green.", " grey."], "ranks": [1, 3, 2]}],
    "ranked_answers": [{"prompt": "The sky is", "completions": [" green.", " blue."], "ranks": [2, 1]}],
    "scored_samples": [{"prompt": talk("The sky?"), "completions": ["Blue.", "Green."], "ranks": [1, 2]}],
    "scored_pair": [
        {"prompt": "The sky is", "a": " blue.", "b": " green.", "label": "a", "margin": 0.7},
        {"prompt": "The sky is", "a": " green.", "b": " blue.", "label": "b", "margin": 0.7},
    ],
    "message_trees": [{"prompt": talk(SKY), "completions": ["Blue, by day.", "Green."], "ranks": [1, 2]}],
    "scored_answers": [RANKED],
    "rows": [
        {"prompt": "The sky is", "a": " blue.", "b": " grey.", "label": "tie", "annotator": "kim", "time": "2026-01-31T12:00:00Z"},
        {"prompt": "The sky is", "completions": [" blue.", " grey.", " green."], "ranks": [1, 1, 2]},
    ],
    "unlabelled": [{"prompt": "The sky is", "a": " blue.", "b": " grey.", "label": None}],
    "messages": [{"messages": talk(SKY, "Blue, by day.")}],
    "prompt_completion": [{"prompt": "The sky is", "completion": " blue."}],
    "alpaca": [{"prompt": "Translate into French.\nGood morning.", "completion": "Bonjour."}],
    "preferred": [PAIR | {"prompt": talk(SKY)}],
    "ms_swift": [PAIR | {"prompt": talk(SKY)}],
    "verl": [{"prompt": talk("How much is 6 times 12?"), "answer": "72", "source": "openai/gsm8k"}],
    "nemo_rl": [{"prompt": talk("How much is 6 times 12?"), "answer": "72", "source": "math"}],
    "openrlhf": [{"prompt": "How much is 6 times 12?", "answer": "72", "source": "gsm8k"}],
    "prompts": [{"prompt": "How much is 6 × 12?", "answer": 72}, {"prompt": talk(SKY)}],
    "gsm8k": [{"prompt": "How much is 6 times 12?", "answer": "72"}],
    "question_answer": [{"prompt": "How much is 6 times 12?", "completion": "72"}],
    "text": [{"text": "Once upon a time, there was a reward."}],
    "custom": [{"prompt": "The sky is", "a": " blue.", "b": " green.", "label": "a"}],
}  # fmt: skip
UNSURE = {"question_answer", "custom", "llama_factory_best_first", "nemo_rl"}


@pytest.mark.parametrize("name", FORMATS)
def test_format_example_gives_the_documented_rows(name: str) -> None:
    assert example_rows()[name] == EXPECTED[name]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in UNSURE])
def test_format_example_is_detected_as_its_format(name: str) -> None:
    known = FORMATS[name]
    found = read(jsonl(*known.example))
    assert (found.plan.format, found.plan.kind, found.detection.sure) == (name, known.kinds[0], True)
    assert found.rows == EXPECTED[name]


OTHER_KINDS = [
    ("messages", DatasetKind.PROMPTS, [{"prompt": talk(SKY)}]),
    ("alpaca", DatasetKind.PROMPTS, [{"prompt": "Translate into French.\nGood morning."}]),
    (
        "gsm8k",
        DatasetKind.SFT,
        [{"prompt": "How much is 6 times 12?", "completion": "6 times 12 is <<6*12=72>>72.\n#### 72"}],
    ),
    ("trl_unpaired", DatasetKind.SFT, [{"prompt": "The sky is", "completion": " blue."}]),
    ("llama_factory_kto", DatasetKind.SFT, [{"prompt": talk("The sky?"), "completion": "Blue."}]),
    (
        "nemo_rl",
        DatasetKind.SFT,
        [{"prompt": talk("How much is 6 times 12?"), "completion": "72", "source": "math"}],
    ),
    ("question_answer", DatasetKind.PROMPTS, [{"prompt": "How much is 6 times 12?", "answer": "72"}]),
]


@pytest.mark.parametrize(("name", "kind", "rows"), OTHER_KINDS)
def test_format_example_as_another_kind_gives_its_rows(name: str, kind: DatasetKind, rows: list[Row]) -> None:
    assert rows_of(*FORMATS[name].example, kind=kind.value) == rows


def test_every_used_code_has_a_title() -> None:
    import re
    from pathlib import Path

    import data

    sources = [path.read_text() for path in Path(data.__path__[0]).rglob("*.py")]
    given = {code for text in sources for code in re.findall(r'(?:code="|note\(\s*")([a-z_]+)"', text)}
    assert given and given <= CODES.keys()


LEAVES: list[Any] = [
    None, True, 0, -1, 2.5, 10**400, "", "x", "a", "1", "\n\nHuman: a\n\nAssistant: b", "[1]", '["x"]', [], {}, [None], [[]],
    {"role": "user", "content": "x"}, talk("q", "z"), {"rank": 1}, {"rank": [1], "value": ["response1"]}, ["a", "b"], [1, 2],
]  # fmt: skip


def mangled(value: Any, rng: random.Random) -> Any:
    """With something in it replaced or left out."""
    if rng.random() < 0.25 or not isinstance(value, dict | list) or not value:
        return rng.choice(LEAVES)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [*value[:at], mangled(value[at], rng), *value[at + 1 :]]
    name = rng.choice(list(value))
    rest = {key: item for key, item in value.items() if key != name}
    return rest if rng.random() < 0.15 else rest | {name: mangled(value[name], rng)}


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_every_mangled_record_becomes_rows_or_is_refused(rng: random.Random) -> None:
    for known in FORMATS.values():
        kinds = known.kinds[:1] if known is custom.FORMAT else known.kinds
        records = [record for one in known.example if isinstance(record := mangled(one, rng), dict)]
        for other in FORMATS.values():
            assert all(0 <= other.fits(record) <= 1 for record in records)
        for kind in kinds:
            plan = Plan("jsonl", "none", known.id, kind.value, example_mapping(known.id))
            numbered = ((line, record, None) for line, record in enumerate(records, 1))
            for unit in records_to_rows(iter(numbered), plan, Findings()):
                assert isinstance(unit.row, dict) or (isinstance(unit.row, RowError) and unit.row.code in CODES)
