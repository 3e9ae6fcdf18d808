"""Formats of prompts with a verifiable answer: verl, NeMo-RL, GSM8K."""

from typing import Any

from data.errors import RowError
from data.files.cells import structure
from data.formats import chat
from data.formats.base import PROMPTS, SFT, Format, Reading, Row, Rows, Source, has
from data.formats.values import field, first_named, text


def _verl(record: Source, reading: Reading) -> Rows:
    truth = _reward(record)
    if truth is None:
        raise RowError("must be an object with `ground_truth`", pointer="/reward_model", code="wrong_type")
    yield {"prompt": chat.prompt(record)} | _answer(truth.get("ground_truth")) | _source(record, "data_source")


def _reward(record: Source) -> Row | None:
    """`reward_model`, also where it was written into a text as JSON."""
    stored = record.get("reward_model")
    found = structure(stored) if isinstance(stored, str) else stored
    return found if isinstance(found, dict) else None


def _is_verl(record: Source) -> bool:
    return "prompt" in record and "ground_truth" in (_reward(record) or {})


def _nemo(record: Source, reading: Reading) -> Rows:
    """The assistant's last turn, or `output`, is the demonstration, or the answer that the environment checks."""
    if record.get("messages") is None:
        prompt, answer = chat.prompt(record, "input"), field(record, "output")
    else:
        chat.note_tools(record, reading)
        prompt, answer = chat.prompt_and_answer(record["messages"], "/messages")
    name = "completion" if reading.kind is SFT else "answer"
    yield {"prompt": prompt, name: answer} | _source(record, "task_name")


def _is_nemo(record: Source) -> bool:
    talk = record.get("messages")
    if chat.is_conversation(talk):
        return "task_name" in record and not chat.only_asks(talk)  # type: ignore[arg-type]  # it is a list
    others = ("instruction", "prompt", "question", "messages", "label", "chosen")
    return (
        isinstance(record.get("input"), str)
        and isinstance(record.get("output"), str)
        and not any(record.get(name) is not None for name in others)
    )


def _answer(truth: Any) -> Row:
    return {} if truth is None or truth == "" else {"answer": truth}


def _source(record: Source, *names: str) -> Row:
    name = first_named(record, ("source", *names))
    value = None if name is None else record[name]
    return {"source": value} if isinstance(value, str) and value.strip() else {}


def _gsm8k(record: Source, reading: Reading) -> Rows:
    _, mark, final = text(record, "answer").rpartition("####")
    if not mark or not final.strip():
        raise RowError("has no final answer behind ####", pointer="/answer", code="missing_field")
    if reading.kind is SFT:
        yield {"prompt": text(record, "question"), "completion": text(record, "answer")}
    else:
        yield {"prompt": text(record, "question"), "answer": final.strip().replace(",", "")}


VERL = Format(
    id="verl",
    title="verl",
    about="`prompt` as messages and `reward_model` with the `ground_truth`, which becomes the answer; `data_source` is the source.",
    source="https://verl.readthedocs.io/en/latest/preparation/prepare_data.html",
    kinds=(PROMPTS,),
    example=(
        {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": "How much is 6 times 12?"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": "72"},
            "extra_info": {"split": "train", "index": 0},
        },
    ),
    fields=frozenset({"prompt", "reward_model", "data_source", "source"}),
    fits=_is_verl,
    rows=_verl,
    names={"answer": "reward_model/ground_truth"},
    specific=90,
)
NEMO = Format(
    id="nemo_rl",
    title="NeMo-RL",
    about="`messages` that end with the expected answer and `task_name`, or `input` and `output`: for a reward to check (prompts), or to imitate (SFT). The user chooses which.",
    source="https://docs.nvidia.com/nemo/rl/latest/guides/grpo.html",
    kinds=(PROMPTS, SFT),
    example=(
        {
            "messages": [
                {"role": "user", "content": "How much is 6 times 12?"},
                {"role": "assistant", "content": "72"},
            ],
            "task_name": "math",
        },
    ),
    fields=frozenset({"messages", "task_name", "input", "output", "tools", "source"}),
    fits=_is_nemo,
    rows=_nemo,
    specific=60,
    one_of_many=True,
)
GSM8K = Format(
    id="gsm8k",
    title="GSM8K",
    about="A question and its worked solution, whose last line is #### and the answer. Prompts get that answer; SFT gets the solution.",
    source="https://github.com/openai/grade-school-math",
    kinds=(PROMPTS, SFT),
    example=({"question": "How much is 6 times 12?", "answer": "6 times 12 is <<6*12=72>>72.\n#### 72"},),
    fields=frozenset({"question", "answer"}),
    fits=lambda record: has(record, "question", "answer") and isinstance(record["answer"], str) and "\n#### " in record["answer"],
    rows=_gsm8k,
    names={"prompt": "question", "completion": "answer"},
    specific=60,
)  # fmt: skip
