"""Formats of an instruction, two outputs and a verdict: PandaLM, LLMBar, AlpacaFarm."""

import re

from data.errors import RowError
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.instruction import asked
from data.formats.values import field, first_named, notes, number, text
from data.names import INSTRUCTION_COLUMNS, NOTED

_PERSON = re.compile(r"annotator\d+")
_LABELS: dict[float, str] = {0: "tie", 1: "a", 2: "b"}


def _panda(record: Source, reading: Reading) -> Rows:
    row = {"prompt": asked(record), "a": text(record, "response1"), "b": text(record, "response2")}
    people = [name for name in record if _PERSON.fullmatch(name) and record[name] is not None]
    if not people:
        raise RowError("no annotator has judged the pair", pointer="/annotator1", code="bad_label")
    where = record.get("cmp_key")
    for name in people:
        label = _LABELS.get(number(record[name], name))
        if label is None:
            raise RowError("must be 1, 2, or 0 for a tie", pointer=f"/{name}", code="bad_label")
        yield row | {"label": label} | notes(record, annotator=name, source=where if isinstance(where, str) else None)


def _bar(record: Source, reading: Reading) -> Rows:
    row = {"prompt": asked(record), "a": text(record, "output_1"), "b": text(record, "output_2")}
    name = first_named(record, ("label", "preference")) or "label"
    value = number(field(record, name), name, reading)
    if not (
        1 <= value <= 2 or (value == 0 and name == "preference")
    ):  # LLMBar has no ties; with 0 and 1, 1 may be the second
        detail = "must be 1 or 2, between them how sure the judge is, or 1.5 for a tie (as `preference` also 0)"
        raise RowError(detail, pointer=f"/{name}", code="bad_label")
    label = "tie" if value in (0, 1.5) else "a" if value < 1.5 else "b"
    yield row | {"label": label} | notes(record)


PANDA = Format(
    id="pandalm",
    title="PandaLM",
    about="An instruction, two responses, and the verdict of each annotator: 1, 2, or 0 for a tie. Each annotator becomes a row.",
    source="https://github.com/WeOpenML/PandaLM",
    kinds=(PREFERENCES,),
    example=(
        {
            "cmp_key": "bloom-7b_llama-7b",
            "instruction": "Make it shorter.",
            "input": "If you have any questions about my rate, please let me know.",
            "response1": "If you have any questions, please let me know.",
            "response2": "Questions about my rate? Let me know.",
            "annotator1": 2,
            "annotator2": 2,
            "annotator3": 0,
        },
    ),
    fields=INSTRUCTION_COLUMNS
    | NOTED
    | {"response1", "response2", "cmp_key", *(f"annotator{n}" for n in range(1, 10))},
    pattern=_PERSON,
    fits=lambda record: has(record, "instruction", "response1", "response2") and any(map(_PERSON.fullmatch, record)),
    rows=_panda,
    names={"a": "response1", "b": "response2", "prompt": "instruction"},
    specific=90,
    labelled=True,
)
BAR = Format(
    id="llmbar",
    title="LLMBar, AlpacaFarm, AlpacaEval",
    about="An instruction, two outputs, and which is better: `label` or `preference`, 1 or 2, or between them how sure the judge is (1.5 for a tie).",
    source="https://github.com/princeton-nlp/LLMBar",
    kinds=(PREFERENCES,),
    example=({"input": "Which colour is the sky?", "output_1": "Green.", "output_2": "Blue, by day.", "label": 2},),
    fields=INSTRUCTION_COLUMNS | NOTED | {"output_1", "output_2", "label", "preference"},
    fits=lambda record: has(record, "output_1", "output_2") and ("label" in record or "preference" in record) and ("input" in record or "instruction" in record),
    rows=_bar,
    names={"a": "output_1", "b": "output_2", "prompt": "input"},
    specific=80,
    labelled=True,
)  # fmt: skip
