"""Formats whose columns only have other names than the fields of a row: one table entry each."""

from typing import Any

from data.formats import chat
from data.formats.base import (
    PRETRAINING,
    PROMPTS,
    SFT,
    Reading,
    Source,
    filled_or_first,
    has,
    judged,
    says_more,
    says_which,
)
from data.formats.instruction import asked
from data.formats.instruction import prompt as whole_prompt
from data.formats.mapping import JoinedColumns, Preset
from data.formats.pairs import PAIR_NOTES, pair_notes, whole
from data.formats.values import field, first_named, given, notes
from data.names import (
    ANSWER_SCORES,
    ASKED_COLUMNS,
    EXACT_REFERENCES,
    INPUTS,
    INSTRUCTION_COLUMNS,
    NON_PREFERRED,
    NOTED,
    PREFERRED,
    PROMPT_COLUMNS,
    QUESTIONS,
    RATED_ANSWERS,
    REFERENCES,
    SHAREGPT_CONVERSATIONS,
    VERIFIABLE_PROMPTS,
)

_INSTRUCTION = JoinedColumns(INSTRUCTION_COLUMNS, lambda record, reading: asked(record), "instruction")
"""An instruction with its input, history and system message."""
_PROMPT = JoinedColumns(
    INSTRUCTION_COLUMNS | {"prompt"}, lambda record, reading: whole_prompt(record, "prompt"), "prompt"
)
"""A prompt with its input, context, history and system message."""
_ASKED = JoinedColumns(
    frozenset({*ASKED_COLUMNS, *INPUTS, "history"}), lambda record, reading: _asked(record), "prompt"
)
"""A prompt in any of its usual columns. None if the record has none: its answers may be whole conversations."""
_NOTES = JoinedColumns(NOTED, lambda record, reading: notes(record))
_PAIR_NOTES = JoinedColumns(PAIR_NOTES, pair_notes)
_SOURCE = JoinedColumns(frozenset({"source"}), lambda record, reading: _text_of(record, "source"))
_GIVEN_SOURCE = JoinedColumns(frozenset({"source"}), lambda record, reading: given(record, reading, "source"))
_SOURCES = ("source", "datasource", "dataset")
_LLAMA_FACTORY = "https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md"
_REJECTED = ("rejected_messages", "rejected_response")
_SKY = "Which colour is the sky?"


def _asked(record: Source) -> Any:
    name = first_named(record, ASKED_COLUMNS)
    return None if name is None or record[name] is None else whole_prompt(record, name)


def _text_of(record: Source, *names: str) -> dict[str, str]:
    """The source, from the first of these columns that is filled. Empty if it is no text."""
    name = first_named(record, names)
    value = None if name is None else record[name]
    return {"source": value} if isinstance(value, str) and value.strip() else {}


def _conversation(*names: str) -> JoinedColumns:
    """The first of these columns that holds a list. A text is refused, because it may be a conversation that was not parsed."""

    def read(record: Source, reading: Reading) -> Any:
        lists = (name for name in names if isinstance(record.get(name), list))
        name = next(lists, None) or filled_or_first(record, names)
        value = field(record, name)
        return value if isinstance(value, list) else chat.messages(value, f"/{name}")

    return JoinedColumns(frozenset(names), read, names[0])


def _is_alpaca_pair(record: Source) -> bool:
    sides = has(record, "chosen", "rejected") and not whole(record)
    return "instruction" in record and "prompt" not in record and sides


def _is_sharegpt_pair(record: Source) -> bool:
    """Sides that are answers. A record with `prompt`, or with whole conversations as its sides, has its prompt there."""
    talk = any(isinstance(record.get(name), list) for name in SHAREGPT_CONVERSATIONS)
    return talk and has(record, "chosen", "rejected") and "prompt" not in record and not whole(record)


def _is_swift_pair(record: Source) -> bool:
    rejected = record.get(first_named(record, _REJECTED) or "")
    return chat.is_conversation(record.get("messages")) and (
        isinstance(rejected, str) or chat.is_conversation(rejected)
    )


def _is_autotrain(record: Source) -> bool:
    return has(record, "text", "rejected_text") or has(record, "autotrain_text", "autotrain_rejected_text")


def _is_scored(record: Source) -> float:
    """0.9 for a record whose scores are all empty: a score may be missing."""
    if "prompt" not in record or not all(
        any(name in record for name in names) for names in (RATED_ANSWERS, ANSWER_SCORES)
    ):
        return 0
    return 0.9 if all(record.get(name) in (None, "") for name in ANSWER_SCORES) else 1


def _is_alpaca(record: Source) -> float:
    """0.5 where another column rates the output as good or bad."""
    fits = has(record, "instruction", "output") and isinstance(record["output"], str | None)
    return fits and (0.5 if judged(record) else 1)


def _is_reinforcement(record: Source) -> bool:
    """A reference answer that is text or a number. An answer in parts belongs to a grader that is not available here."""
    talk, answer = record.get("messages"), record.get("reference_answer")
    plain = isinstance(answer, str | int | float) and not isinstance(answer, bool)
    return plain and isinstance(talk, list) and chat.is_conversation(talk) and chat.only_asks(talk)


def _is_openrlhf(record: Source) -> bool:
    """`datasource` is the only fixed column name. The published prompts have `context_messages`."""
    talk = record.get("context_messages")
    labelled = has(record, "label", "datasource") and ("input" in record or "prompt" in record)
    asks = isinstance(talk, list) and chat.is_conversation(talk) and chat.only_asks(talk)
    return asks or (labelled and "completion" not in record)


def _is_prompt(record: Source) -> float:
    """0.5 where other columns have content: they may be answers under unknown names."""
    name = next((name for name in PROMPT_COLUMNS if name in record), None)
    if name is None or (name != "prompt" and "answer" in record):
        return 0
    if not (record[name] is None or isinstance(record[name], str) or chat.is_conversation(record[name])):
        return 0
    known = (*PROMPT_COLUMNS, "system", "source", *EXACT_REFERENCES)
    return 0.5 if says_more(record, known) or says_which(record, known) else 1


def _is_text(record: Source) -> float:
    """0 for turns of a conversation that are records of their own (Open Assistant's messages)."""
    if "text" not in record or has(record, "parent_id", "role"):
        return 0
    return 0.5 if "label" in record or says_more(record, ("text", "source")) else 1


PRESETS = (
    Preset(
        id="argilla_pairs",
        title="Argilla pairs",
        about="`instruction`, `chosen_response`, `rejected_response`, with average ratings whose difference is the margin.",
        source="https://huggingface.co/datasets/argilla/ultrafeedback-binarized-preferences",
        columns={"prompt": "instruction", "chosen": "chosen_response", "rejected": "rejected_response"},
        notes=_PAIR_NOTES,
        example=(
            {
                "source": "evol_instruct",
                "instruction": _SKY,
                "chosen_response": "Blue, by day.",
                "rejected_response": "Green.",
                "chosen_avg_rating": 4.75,
                "rejected_avg_rating": 1.5,
            },
        ),
    ),
    Preset(
        id="helpsteer3_edit_quality",
        title="HelpSteer 3, quality of edits",
        about="A conversation with a good and a bad edit of an answer. The original answer is left out.",
        source="https://huggingface.co/datasets/nvidia/HelpSteer3",
        columns={"prompt": "context", "chosen": "good_edited_response", "rejected": "bad_edited_response"},
        notes=_NOTES,
        example=(
            {
                "domain": "general",
                "context": [{"role": "user", "content": _SKY}],
                "original_response": "Green.",
                "good_edited_response": "Blue, by day.",
                "bad_edited_response": "Greenish.",
            },
        ),
    ),
    Preset(
        id="shp",
        title="Stanford Human Preferences",
        about="A post and two replies; `labels` is 1 where the first has more votes.",
        source="https://huggingface.co/datasets/stanfordnlp/SHP",
        columns={"prompt": "history", "a": "human_ref_A", "b": "human_ref_B", "label": "labels"},
        labels={1: "a", 0: "b"},
        notes=_NOTES,
        example=(
            {
                "domain": "askscience_train",
                "history": _SKY,
                "human_ref_A": "Blue.",
                "human_ref_B": "Green.",
                "labels": 1,
            },
        ),
        specific=90,
    ),
    Preset(
        id="pku_saferlhf",
        title="PKU-SafeRLHF",
        about="A prompt, two responses, and the number of the better one (not of the safer one).",
        source="https://huggingface.co/datasets/PKU-Alignment/PKU-SafeRLHF",
        columns={"prompt": "prompt", "a": "response_0", "b": "response_1", "label": "better_response_id"},
        labels={0: "a", 1: "b"},
        notes=_NOTES,
        example=(
            {
                "prompt": _SKY,
                "response_0": "Green.",
                "response_1": "Blue.",
                "better_response_id": 1,
                "safer_response_id": 0,
            },
        ),
        specific=90,
    ),
    Preset(
        id="llama_factory_alpaca",
        title="LLaMA-Factory, alpaca ranking",
        about="An instruction with its input, and a chosen and a rejected answer.",
        source=_LLAMA_FACTORY,
        columns={"prompt": _INSTRUCTION, "chosen": "chosen", "rejected": "rejected"},
        notes=_PAIR_NOTES,
        example=(
            {
                "instruction": "Translate into French.",
                "input": "Good morning.",
                "chosen": "Bonjour.",
                "rejected": "Bonne nuit.",
            },
        ),
        fits=_is_alpaca_pair,
        specific=70,
    ),
    Preset(
        id="llama_factory_sharegpt",
        title="LLaMA-Factory, sharegpt ranking; Axolotl, chat_template",
        about="A conversation up to the user's last turn, and a chosen and a rejected answer.",
        source=_LLAMA_FACTORY,
        columns={"prompt": _conversation(*SHAREGPT_CONVERSATIONS), "chosen": "chosen", "rejected": "rejected"},
        notes=_PAIR_NOTES,
        tools=True,
        example=(
            {
                "conversations": [{"from": "human", "value": _SKY}],
                "chosen": {"from": "gpt", "value": "Blue, by day."},
                "rejected": {"from": "gpt", "value": "Green."},
            },
        ),
        fits=_is_sharegpt_pair,
    ),
    Preset(
        id="preferred",
        title="Preferred and non-preferred answer",
        about="A prompt or a conversation, and two answers whose columns name the better one: `preferred` and `non_preferred` or `dispreferred`.",
        source="https://platform.openai.com/docs/guides/direct-preference-optimization",
        columns={"prompt": _ASKED, "chosen": PREFERRED, "rejected": NON_PREFERRED},
        notes=_PAIR_NOTES,
        tools=True,
        example=(
            {
                "messages": [{"role": "user", "content": _SKY}],
                "preferred": [{"role": "assistant", "content": "Blue, by day."}],
                "non_preferred": [{"role": "assistant", "content": "Green."}],
            },
        ),
    ),
    Preset(
        id="ms_swift",
        title="ms-swift",
        about="`messages` that end with the better answer, and the rejected one in `rejected_response` (or a whole conversation in `rejected_messages`).",
        source="https://swift.readthedocs.io/en/latest/Customization/Custom-dataset.html",
        columns={"chosen": _conversation("messages"), "rejected": _REJECTED},
        notes=_PAIR_NOTES,
        tools=True,
        example=(
            {
                "messages": [{"role": "user", "content": _SKY}, {"role": "assistant", "content": "Blue, by day."}],
                "rejected_response": "Green.",
            },
        ),
        fits=_is_swift_pair,
    ),
    Preset(
        id="autotrain",
        title="AutoTrain columns",
        about="`text` (the chosen one), `rejected_text` and, for DPO, `prompt`; without it, what the two share is the prompt. Text, or lists of messages.",
        source="https://huggingface.co/docs/autotrain/llm_finetuning",
        columns={
            "prompt": ("prompt", "autotrain_prompt"),
            "chosen": ("text", "autotrain_text"),
            "rejected": ("rejected_text", "autotrain_rejected_text"),
        },
        optional=frozenset({"prompt"}),
        example=({"prompt": _SKY, "text": "Blue, by day.", "rejected_text": "Green."},),
        fits=_is_autotrain,
    ),
    Preset(
        id="scored_answers",
        title="Scored answers",
        about="A prompt, one answer and its score (`score`, `reward` or `rating`). Those of one prompt, wherever they stand, become a ranking.",
        source="",
        columns={"prompt": _PROMPT, "completion": RATED_ANSWERS, "score": ANSWER_SCORES},
        notes=_NOTES,
        grouped="anywhere",
        example=(
            {"prompt": "The sky is", "response": " blue.", "score": 0.9},
            {"prompt": "The sky is", "response": " green.", "score": 0.1},
        ),
        fits=_is_scored,
        specific=70,
    ),
    Preset(
        id="alpaca",
        title="Alpaca instructions",
        about="An instruction with its input, and the output to imitate.",
        source="https://github.com/tatsu-lab/stanford_alpaca",
        kinds=(SFT, PROMPTS),
        columns={"prompt": _INSTRUCTION, "completion": "output", "answer": REFERENCES},
        optional=frozenset({"answer"}),
        notes=_SOURCE,
        example=({"instruction": "Translate into French.", "input": "Good morning.", "output": "Bonjour."},),
        fits=_is_alpaca,
        specific=40,
    ),
    Preset(
        id="question_answer",
        title="Question and answer",
        about="A question (or `problem`) and its answer: to imitate (SFT), or for a reward to check (prompts). The user chooses which.",
        source="",
        kinds=(SFT, PROMPTS),
        columns={"prompt": QUESTIONS, "completion": "answer", "answer": "answer"},
        notes=_SOURCE,
        example=({"question": "How much is 6 times 12?", "answer": "72"},),
        specific=20,
        one_of_many=True,
    ),
    Preset(
        id="openai_reinforcement",
        title="OpenAI reinforcement",
        about="`messages` up to the user's turn, and the `reference_answer` that a grader compares with: text or a number.",
        source="https://platform.openai.com/docs/guides/reinforcement-fine-tuning",
        kinds=(PROMPTS,),
        columns={"prompt": "messages", "answer": "reference_answer"},
        notes=_GIVEN_SOURCE,
        tools=True,
        example=({"messages": [{"role": "user", "content": "How much is 6 × 12?"}], "reference_answer": "72"},),
        fits=_is_reinforcement,
        specific=60,
    ),
    Preset(
        id="openrlhf",
        title="OpenRLHF, prompts",
        about="A prompt in `input`, `prompt` or `context_messages`, as text or as messages; `label` is the answer, `datasource` the source.",
        source="https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/datasets/prompts_dataset.py",
        kinds=(PROMPTS,),
        columns={"prompt": VERIFIABLE_PROMPTS, "answer": "label"},
        optional=frozenset({"answer"}),
        notes=JoinedColumns(frozenset(_SOURCES), lambda record, reading: _text_of(record, *_SOURCES)),
        example=({"input": "How much is 6 times 12?", "label": "72", "datasource": "gsm8k"},),
        fits=_is_openrlhf,
        specific=70,
    ),
    Preset(
        id="prompts",
        title="Prompts",
        about="A prompt, as text or as messages, and perhaps the answer that a reward checks: `answer`, `reference_answer`, `expected_answer`, `ground_truth`, `final_answer` or `solution`.",
        source="https://huggingface.co/docs/trl/dataset_formats#prompt-only",
        kinds=(PROMPTS,),
        columns={"prompt": PROMPT_COLUMNS, "answer": REFERENCES},
        optional=frozenset({"answer"}),
        notes=_SOURCE,
        refuses_misspelt=True,
        example=({"prompt": "How much is 6 × 12?", "answer": 72}, {"prompt": [{"role": "user", "content": _SKY}]}),
        fits=_is_prompt,
        specific=10,
    ),
    Preset(
        id="text",
        title="Plain text",
        about="A text that the model reads as it is, for the pretraining loss beside PPO.",
        source="https://huggingface.co/docs/trl/dataset_formats#language-modeling",
        kinds=(PRETRAINING,),
        columns={"text": "text"},
        notes=_SOURCE,
        refuses_misspelt=True,
        example=({"text": "Once upon a time, there was a reward."},),
        fits=_is_text,
        specific=10,
    ),
)
