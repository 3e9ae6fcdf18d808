"""TRL's stepwise supervision: each step of a solution, right or wrong."""

from data.errors import RowError
from data.formats.base import SFT, Format, Reading, Rows, Source, has
from data.formats.values import listed, text, truth


def _rows(record: Source, reading: Reading) -> Rows:
    steps, labels = listed(record, "completions"), listed(record, "labels")
    if len(steps) != len(labels) or not all(isinstance(step, str) for step in steps):
        raise RowError(
            "completions and labels must be lists of one length, of texts and of true or false", code="wrong_type"
        )
    if not all(truth(label, f"labels/{index}") for index, label in enumerate(labels)):
        detail = (
            "a step is wrong; rewards for single steps are not trained here, and a wrong solution is nothing to imitate"
        )
        raise RowError(detail, pointer="/labels", code="not_usable")
    yield {"prompt": text(record, "prompt"), "completion": "\n".join(step.strip("\n") for step in steps)}


FORMAT = Format(
    id="trl_stepwise",
    title="TRL, stepwise supervision",
    about="A prompt, the steps of a solution, and whether each is right. Solutions without a wrong step become demonstrations.",
    source="https://huggingface.co/docs/trl/dataset_formats#stepwise-supervision",
    kinds=(SFT,),
    example=({"prompt": "Which is larger, 9.8 or 9.11?", "completions": ["The whole parts are equal.", "0.8 is more than 0.11, so 9.8."], "labels": [True, True]},),
    fields=frozenset({"prompt", "completions", "labels"}),
    fits=lambda record: has(record, "prompt", "completions", "labels"),
    rows=_rows,
    specific=80,
)  # fmt: skip
