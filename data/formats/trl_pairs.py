"""TRL's preference formats, and the binarized forms of UltraFeedback."""

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has, says_more
from data.formats.instruction import prompt as whole_prompt
from data.formats.pairs import PAIR_NOTES, common_prompt, compared, pair_notes, repeats, scored, whole
from data.formats.values import field, text
from data.spelling import refuse_misspelt

_DOCS = "https://huggingface.co/docs/trl/dataset_formats"
_SIDES = PAIR_NOTES | {"chosen", "rejected"}
_ASKED = (
    "query",
    "question",
    "instruction",
    "input",
    "context",
    "post",
    "history",
    "messages",
    "conversations",
    "conversation",
)
"""Other column names that a prompt may have."""


def _explicit(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _SIDES | {"prompt"})
    sides = ("chosen", "rejected")
    stated = field(record, "prompt") if whole(record) else whole_prompt(record, "prompt", ("query", "context"))
    prompt, a, b = compared(stated, field(record, "chosen"), field(record, "rejected"), sides, reading)
    prompt = chat.with_system(record.get("system"), prompt)
    repeats(prompt, a, b, reading)
    yield {"prompt": prompt, "chosen": a, "rejected": b} | pair_notes(record, reading)


def _implicit(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _SIDES)
    prompt, a, b = common_prompt(text(record, "chosen"), text(record, "rejected"))
    yield {"prompt": prompt, "chosen": a, "rejected": b} | pair_notes(record, reading)


def _conversations(record: Source, reading: Reading) -> Rows:
    refuse_misspelt(record, _SIDES | {"prompt"})
    sides = ("chosen", "rejected")
    prompt, a, b = compared(record.get("prompt"), field(record, "chosen"), field(record, "rejected"), sides, reading)
    if not prompt:
        raise RowError("chosen and rejected hold no prompt before their answers", code="prompt_differs")
    yield {"prompt": chat.with_system(record.get("system"), prompt), "chosen": a, "rejected": b} | pair_notes(
        record, reading
    )


def _lists(record: Source) -> bool:
    return isinstance(record.get("chosen"), list) and isinstance(record.get("rejected"), list)


def _fits_implicit(record: Source) -> float:
    """0.5 where another column may be the prompt, because the common beginning of the sides is then no prompt."""
    sides = [record.get(name, 0) for name in ("chosen", "rejected")]
    if "prompt" in record or not all(side is None or isinstance(side, str) for side in sides):
        return 0
    beside = [(name, value) for name, value in record.items() if not name.startswith(("chosen", "rejected"))]
    others = {name: value for name, value in beside if isinstance(value, str) or chat.is_conversation(value)}
    return 0.5 if any(others.get(name) for name in _ASKED) or says_more(others, _SIDES) else 1


TALK = [{"role": "user", "content": "Which colour is the sky?"}]
BLUE, GREEN = ([{"role": "assistant", "content": f"It is {colour}."}] for colour in ("blue", "green"))

EXPLICIT = Format(
    id="trl_explicit",
    title="TRL, explicit prompt",
    about="A prompt and two answers, as text or as messages.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    sides_named=True,
    example=({"prompt": "The sky is", "chosen": " blue.", "rejected": " green."},),
    fields=_SIDES | {"prompt", "system", "query", "context", "history"},
    fits=lambda record: has(record, "prompt", "chosen", "rejected"),
    rows=_explicit,
)
IMPLICIT = Format(
    id="trl_implicit",
    title="TRL, implicit prompt",
    about="Two texts that begin with the same prompt; it is cut off where they part.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    sides_named=True,
    example=({"chosen": "The sky is blue.", "rejected": "The sky is green."},),
    fields=_SIDES,
    fits=_fits_implicit,
    rows=_implicit,
    specific=40,
)
CONVERSATIONS = Format(
    id="trl_conversational",
    title="TRL, two conversations",
    about="Two whole conversations that differ in their last answer; what comes before it is the prompt.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    sides_named=True,
    example=({"chosen": TALK + BLUE, "rejected": TALK + GREEN},),
    fields=_SIDES | {"prompt", "system"},
    fits=lambda record: record.get("prompt") is None and _lists(record) and whole(record),
    rows=_conversations,
    specific=60,
)
ULTRAFEEDBACK = Format(
    id="ultrafeedback_binarized",
    title="UltraFeedback, binarized",
    about="Two whole conversations with their scores (Hugging Face's, trl-lib's and Argilla's forms); the difference is the margin.",
    source="https://huggingface.co/datasets/HuggingFaceH4/ultrafeedback_binarized",
    kinds=(PREFERENCES,),
    sides_named=True,
    example=({"chosen": TALK + BLUE, "rejected": TALK + GREEN, "score_chosen": 8.5, "score_rejected": 6.0},),
    fields=_SIDES | {"prompt", "system"},
    fits=lambda record: _lists(record) and scored(record) and ("prompt" in record or whole(record)),
    rows=_conversations,
    specific=70,
)
