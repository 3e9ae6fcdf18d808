"""TRL's preference formats, and what UltraFeedback's binarized forms make of them."""

from core.datasets.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from core.datasets.formats.pairs import common_prompt, compared, margin, refuse_misspelt, repeats
from core.datasets.formats.values import field, given, text
from core.datasets.line_json import BadLine
from core.datasets.row_shapes import NOTES

_DOCS = "https://huggingface.co/docs/trl/dataset_formats"
_SCORES = (
    ("score_chosen", "score_rejected"), ("chosen_score", "rejected_score"), ("chosen_rating", "rejected_rating"),
    ("chosen-rating", "rejected-rating"), ("chosen_avg_rating", "rejected_avg_rating"),
)  # fmt: skip
_SCORE_FIELDS = frozenset(name for pair in _SCORES for name in pair)
_OURS = frozenset({"chosen", "rejected", *NOTES})
_SIDES = _OURS | _SCORE_FIELDS


def _explicit(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _OURS | {"prompt"})
    sides = ("chosen", "rejected")
    prompt, a, b = compared(field(record, "prompt"), field(record, "chosen"), field(record, "rejected"), sides)
    repeats(prompt, a, b, reading)
    yield {"prompt": prompt, "chosen": a, "rejected": b} | _notes(record, reading)


def _implicit(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _OURS)
    prompt, a, b = common_prompt(text(record, "chosen"), text(record, "rejected"))
    yield {"prompt": prompt, "chosen": a, "rejected": b} | _notes(record, reading)


def _conversations(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _OURS | {"prompt"})
    sides = ("chosen", "rejected")
    prompt, a, b = compared(record.get("prompt"), field(record, "chosen"), field(record, "rejected"), sides)
    if not prompt:
        raise BadLine("chosen and rejected hold no prompt before their answers", code="prompt_differs")
    yield {"prompt": prompt, "chosen": a, "rejected": b} | _notes(record, reading)


def _notes(record: Source, reading: Reading) -> dict[str, object]:
    """Ours where they are given; a margin otherwise from the scores."""
    found = given(record, reading, *NOTES)
    if "margin" not in found and not _SCORE_FIELDS.isdisjoint(record):
        for pair in _SCORES:
            found |= margin(record, reading, *pair)
    return found


def _scored(record: Source) -> bool:
    return any(has(record, *pair) for pair in _SCORES)


def _lists(record: Source) -> bool:
    return isinstance(record.get("chosen"), list) and isinstance(record.get("rejected"), list)


TALK = [{"role": "user", "content": "What colour is the sky?"}]
BLUE, GREEN = ([{"role": "assistant", "content": f"It is {colour}."}] for colour in ("blue", "green"))

EXPLICIT = Format(
    id="trl_explicit",
    title="TRL, explicit prompt",
    about="A prompt and two answers, as text or as messages.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "chosen": " blue.", "rejected": " green."},),
    fields=_SIDES | {"prompt"},
    fits=lambda record: has(record, "prompt", "chosen", "rejected"),
    rows=_explicit,
)
IMPLICIT = Format(
    id="trl_implicit",
    title="TRL, implicit prompt",
    about="Two texts that begin with the same prompt; it is cut off where they part.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"chosen": "The sky is blue.", "rejected": "The sky is green."},),
    fields=_SIDES,
    fits=lambda record: has(record, "chosen", "rejected") and "prompt" not in record and not _lists(record),
    rows=_implicit,
    specific=40,
)
CONVERSATIONS = Format(
    id="trl_conversational",
    title="TRL, two conversations",
    about="Two whole conversations that differ in their last answer; what comes before it is the prompt.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"chosen": TALK + BLUE, "rejected": TALK + GREEN},),
    fields=_SIDES | {"prompt"},
    fits=lambda record: "prompt" not in record and _lists(record),
    rows=_conversations,
    specific=60,
)
ULTRAFEEDBACK = Format(
    id="ultrafeedback_binarized",
    title="UltraFeedback, binarized",
    about="Two whole conversations with their scores (Hugging Face's, trl-lib's and Argilla's forms); the difference is the margin.",
    source="https://huggingface.co/datasets/HuggingFaceH4/ultrafeedback_binarized",
    kinds=(PREFERENCES,),
    example=({"chosen": TALK + BLUE, "rejected": TALK + GREEN, "score_chosen": 8.5, "score_rejected": 6.0},),
    fields=_SIDES | {"prompt"},
    fits=lambda record: _lists(record) and _scored(record),
    rows=_conversations,
    specific=70,
)
