"""Answers without a verdict: they wait for annotation, or the user states that their order is the ranking."""

from typing import Any

from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has, says_which
from data.formats.instruction import asked, several_outputs
from data.formats.values import field, given, listed, notes, ranked
from data.names import INSTRUCTION_COLUMNS, NOTED, UNLABELLED_LISTS, UNLABELLED_PAIRS


def _rows(record: Source, reading: Reading) -> Rows:
    reading.note("unlabelled", "no answer is marked as better: the row waits for annotation")
    row = {"prompt": _prompt(record)} | given(record, reading, "source")
    pair = _pair(record)
    if name := next((name for name in UNLABELLED_LISTS if record.get(name) is not None and pair is None), None):
        answers = [chat.answer(answer, f"/{name}/{index}") for index, answer in enumerate(listed(record, name))]
        yield row | {"completions": answers, "ranks": None}
        return
    a, b = pair or UNLABELLED_PAIRS[0]
    yield row | {
        "a": chat.answer(field(record, a), f"/{a}"),
        "b": chat.answer(field(record, b), f"/{b}"),
        "label": None,
    }


def _prompt(record: Source) -> Any:
    """The prompt, or the instruction with its input, history and system message."""
    prompt = record.get("prompt")
    if "prompt" in record and not isinstance(prompt, str):
        return chat.prompt(record)
    return asked(record if prompt is None else record | {"instruction": prompt})


def _pair(record: Source) -> tuple[str, str] | None:
    return next((pair for pair in UNLABELLED_PAIRS if has(record, *pair)), None)


def _fits(record: Source) -> float:
    """0.5 where some field may be a label under an unknown name."""
    answers = "completions" in record or several_outputs(record) or _pair(record)
    if not ("prompt" in record or "instruction" in record) or not answers:
        return 0
    return 0.5 if says_which(record, ()) else 1


FORMAT = Format(
    id="unlabelled",
    title="Unlabelled answers",
    about="A prompt and answers that have no comparison yet: for annotating.",
    source="",
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "response_a": " blue.", "response_b": " grey."},),
    fields=INSTRUCTION_COLUMNS.union({"prompt", "source"}, UNLABELLED_LISTS, *UNLABELLED_PAIRS),
    fits=_fits,
    rows=_rows,
    specific=30,
)


def _best_first(record: Source, reading: Reading) -> Rows:
    """The order of `output` is the ranking (`oaast_rm`). A file does not state it, so the user names this format."""
    answers = [(chat.answer(one, f"/output/{place}"), -place) for place, one in enumerate(listed(record, "output"))]
    if len(answers) == 2:
        yield {"prompt": asked(record), "chosen": answers[0][0], "rejected": answers[1][0]} | notes(record)
    else:
        yield ranked(asked(record), answers, reading) | notes(record)


def _is_listed(record: Source) -> float:
    """The same score as `unlabelled`, so that the user must choose between the two."""
    if "instruction" not in record or record.get("chosen") is not None or not several_outputs(record):
        return 0
    return 0.5 if says_which(record, ()) else 1


BEST_FIRST = Format(
    id="llama_factory_best_first",
    title="Answers in order, the best first (LLaMA-Factory, older files)",
    about="An instruction and a list of answers in `output`, the best first. A file does not state that order, so the format has to be named.",
    source="https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md",
    kinds=(PREFERENCES,),
    sides_named=True,
    example=({"instruction": "Translate into French.", "input": "Good morning.", "output": ["Bonjour.", "Salut.", "Bonne nuit."]},),
    fields=INSTRUCTION_COLUMNS | NOTED | {"output"},
    fits=_is_listed,
    rows=_best_first,
    names={"prompt": "instruction", "a": "output/0", "b": "output/1"},
    specific=30,
)  # fmt: skip
