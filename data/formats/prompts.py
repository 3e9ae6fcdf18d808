"""Prompts, with the answer that a reward checks where there is one: plain ones, GSM8K, question and answer."""

from data.errors import RowError
from data.formats import chat
from data.formats.base import PRETRAINING, PROMPTS, SFT, Format, Reading, Rows, Source, has, says_more, says_which
from data.formats.sft import source
from data.formats.values import field, first_named, reference, text
from data.names import EXACT_REFERENCES, PROMPT_COLUMNS, QUESTIONS, REFERENCES
from data.spelling import refuse_misspelt


def _plain(record: Source, reading: Reading) -> Rows:
    name = first_named(record, PROMPT_COLUMNS) or PROMPT_COLUMNS[0]
    refuse_misspelt(record, frozenset({name, "system", "source", *REFERENCES}))
    yield {"prompt": chat.prompt(record, name)} | reference(record) | source(record)


def _gsm8k(record: Source, reading: Reading) -> Rows:
    _, mark, final = text(record, "answer").rpartition("####")
    if not mark or not final.strip():
        raise RowError("has no final answer behind ####", pointer="/answer", code="missing_field")
    if reading.kind is SFT:
        yield {"prompt": text(record, "question"), "completion": text(record, "answer")}
    else:
        yield {"prompt": text(record, "question"), "answer": final.strip().replace(",", "")}


def _answered(record: Source, reading: Reading) -> Rows:
    name = "completion" if reading.kind is SFT else "answer"
    yield {
        "prompt": text(record, first_named(record, QUESTIONS) or "question"),
        name: field(record, "answer"),
    } | source(record)


def _text(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, frozenset({"text", "source"}))
    yield {"text": field(record, "text")} | source(record)


def _fits_plain(record: Source) -> float:
    """A low score where other fields have content: they may be answers under unknown names."""
    name = next((name for name in PROMPT_COLUMNS if name in record), None)
    if name is None or (name != "prompt" and "answer" in record):
        return 0
    if not (record[name] is None or isinstance(record[name], str) or chat.is_talk(record[name])):
        return 0
    known = (*PROMPT_COLUMNS, "system", "source", *EXACT_REFERENCES)
    return 0.5 if says_more(record, known) or says_which(record, known) else 1


def _fits_text(record: Source) -> float:
    """Not the turns of a conversation, each a record of its own (Open Assistant's messages)."""
    if "text" not in record or has(record, "parent_id", "role"):
        return 0
    return 0.5 if "label" in record or says_more(record, ("text", "source")) else 1


PLAIN = Format(
    id="prompts",
    title="Prompts",
    about="A prompt, as text or as messages, and perhaps the answer that a reward checks: `answer`, `reference_answer`, `expected_answer`, `ground_truth`, `final_answer` or `solution`.",
    source="https://huggingface.co/docs/trl/dataset_formats#prompt-only",
    kinds=(PROMPTS,),
    example=({"prompt": "What is 6 × 12?", "answer": 72}, {"prompt": [{"role": "user", "content": "What colour is the sky?"}]}),
    fields=frozenset({*PROMPT_COLUMNS, "source", *REFERENCES}),
    fits=_fits_plain,
    rows=_plain,
    specific=10,
)  # fmt: skip
GSM8K = Format(
    id="gsm8k",
    title="GSM8K",
    about="A question and its worked solution, whose last line is #### and the answer. As prompts, with that answer; for SFT, with the solution.",
    source="https://github.com/openai/grade-school-math",
    kinds=(PROMPTS, SFT),
    example=({"question": "What is 6 times 12?", "answer": "6 times 12 is <<6*12=72>>72.\n#### 72"},),
    fields=frozenset({"question", "answer"}),
    fits=lambda record: has(record, "question", "answer") and isinstance(record["answer"], str) and "\n#### " in record["answer"],
    rows=_gsm8k,
    names={"prompt": "question", "completion": "answer"},
    specific=60,
)  # fmt: skip
ANSWERED = Format(
    id="question_answer",
    title="Question and answer",
    about="A question (or `problem`) and its answer: to imitate (SFT), or for a reward to check (prompts). The user chooses which.",
    source="",
    kinds=(SFT, PROMPTS),
    example=({"question": "What is 6 times 12?", "answer": "72"},),
    fields=frozenset({*QUESTIONS, "answer", "source"}),
    fits=lambda record: "answer" in record and any(name in record for name in QUESTIONS),
    rows=_answered,
    names={"prompt": "question", "completion": "answer"},
    specific=20,
    one_of_many=True,
)
TEXT = Format(
    id="text",
    title="Plain text",
    about="A text that the model reads as it is, for the pretraining loss beside PPO.",
    source="https://huggingface.co/docs/trl/dataset_formats#language-modeling",
    kinds=(PRETRAINING,),
    example=({"text": "Once upon a time, there was a reward."},),
    fields=frozenset({"text", "source"}),
    fits=_fits_text,
    rows=_text,
    specific=10,
)
