"""Formats of several answers to one prompt in one record: with ranks, with scores, or as samples with evaluations."""

from typing import Any

from data.errors import RowError
from data.formats import chat, hh_rlhf, instruction
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.values import first_named, listed, notes, number, ranked
from data.names import ANSWER_LISTS, INPUTS, NOTED, RANK_LISTS, RANKING_PROMPTS, SCORE_LISTS, SIDE_RANKS, SIDE_SCORES

_MEASURES = (*SIDE_RANKS, *SIDE_SCORES)
"""Names of an answer's own rank or score."""
_CONTEXT = "context"
"""NeMo-RL's name of a prompt in messages."""


def _prompt(record: Source) -> Any:
    name = first_named(record, RANKING_PROMPTS) or RANKING_PROMPTS[0]
    if hh_rlhf.waits(record.get(name)):  # Nectar's
        return chat.with_system(record.get("system"), hh_rlhf.prompt_of(record[name], f"/{name}"))
    return instruction.prompt(record, name, INPUTS)


def _lists(record: Source, reading: Reading) -> Rows:
    """Parallel lists of answers and of ranks (lower is better) or scores (higher is better)."""
    answers, by_rank = first_named(record, ANSWER_LISTS) or "completions", first_named(record, RANK_LISTS)
    measure = by_rank or first_named(record, SCORE_LISTS) or "ranks"
    texts, values = listed(record, answers), listed(record, measure)
    if len(texts) != len(values):
        detail = f"has {len(values)} entries for {len(texts)} answers"
        raise RowError(detail, pointer=f"/{measure}", code="wrong_type")
    sign = -1 if by_rank else 1
    scores = [sign * number(value, f"{measure}/{index}", reading) for index, value in enumerate(values)]
    sides = [chat.answer(text, f"/{answers}/{index}") for index, text in enumerate(texts)]
    yield ranked(_prompt(record), list(zip(sides, scores, strict=True)), reading) | notes(record)


def _objects(record: Source, reading: Reading) -> Rows:
    """Answers with their own rank (Nectar) or score."""
    name = first_named(record, ANSWER_LISTS) or "answers"
    answers = []
    for index, item in enumerate(listed(record, name)):
        pointer = f"{name}/{index}"
        if not isinstance(item, dict):
            raise RowError("must be an answer with its rank or score", pointer=f"/{pointer}", code="wrong_type")
        answer = item.get(first_named(item, ("answer", "response", "text", "content", "completion")) or "")
        measure = first_named(item, _MEASURES) or "score"
        sign, value = -1 if measure in SIDE_RANKS else 1, item.get(measure)
        answer = answer if answer is None else chat.answer(answer, f"/{pointer}")
        answers.append((answer, sign * number(value, f"{pointer}/{measure}", reading)))
    asked = _prompt(record) if first_named(record, RANKING_PROMPTS) else chat.prompt(record, _CONTEXT)
    yield ranked(asked, answers, reading) | notes(record)


def _samples(record: Source, reading: Reading) -> Rows:
    """Conversations with one prompt, each with its score, as in the Fireworks cookbook."""
    prompt: list[chat.Message] | None = None
    answers = []
    for index, sample in enumerate(listed(record, "samples")):
        pointer = f"samples/{index}"
        if not isinstance(sample, dict):
            raise RowError("must be a sample with messages and evals", pointer=f"/{pointer}", code="wrong_type")
        before, answer = chat.prompt_and_answer(sample.get("messages"), f"/{pointer}/messages")
        prompt = before if prompt is None else chat.shared(prompt, before, f"/{pointer}/messages")
        evals = sample.get("evals")
        score = evals.get("score") if isinstance(evals, dict) else sample.get("score")
        answers.append((answer, number(score, f"{pointer}/evals/score", reading)))
    yield ranked(chat.with_system(record.get("system"), prompt), answers, reading) | notes(record)


def _side_by_side(record: Source) -> bool:
    answers, measure = (
        first_named(record, ANSWER_LISTS),
        first_named(record, RANK_LISTS) or first_named(record, SCORE_LISTS),
    )
    ours = has(record, "completions", "ranks")
    return not ours and answers is not None and measure is not None and first_named(record, RANKING_PROMPTS) is not None


def _carries(record: Source) -> bool:
    answers = record.get(first_named(record, ANSWER_LISTS) or "")
    first = answers[0] if isinstance(answers, list) and answers else None
    asked = "prompt" in record or chat.is_conversation(record.get(_CONTEXT))
    return asked and isinstance(first, dict) and not first.keys().isdisjoint(_MEASURES)


_ASKED = {"role": "user", "content": "The sky?"}

LISTS = Format(
    id="rankings",
    title="Rankings and scores side by side",
    about="A prompt, a list of answers, and a list of ranks (1 the best) or of scores (more is better).",
    source="https://huggingface.co/datasets/argilla/OpenHermesPreferences",
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "responses": [" blue.", " green.", " grey."], "scores": [0.9, 0.1, 0.5]},),
    fields=NOTED | {"system", "history", *INPUTS, *RANKING_PROMPTS, *ANSWER_LISTS, *RANK_LISTS, *SCORE_LISTS},
    fits=_side_by_side,
    rows=_lists,
    specific=60,
)
OBJECTS = Format(
    id="ranked_answers",
    title="Answers with ranks (Nectar, NeMo-RL)",
    about="A prompt and a list of answers, each with its own rank (`rank`, `ranking`, `place`) or score (`score`, `rating`, `reward`, `votes` and the like).",
    source="https://huggingface.co/datasets/berkeley-nest/Nectar",
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "answers": [{"answer": " green.", "rank": 2}, {"answer": " blue.", "rank": 1}]},),
    fields=NOTED | {"history", _CONTEXT, *INPUTS, *RANKING_PROMPTS, *ANSWER_LISTS},
    fits=_carries,
    rows=_objects,
    specific=75,
)
SAMPLES = Format(
    id="scored_samples",
    title="Scored samples",
    about="Conversations with one prompt, each with the score of its last answer.",
    source="https://docs.fireworks.ai/fine-tuning",
    kinds=(PREFERENCES,),
    example=(
        {
            "samples": [
                {"messages": [_ASKED, {"role": "assistant", "content": text}], "evals": {"score": score}}
                for text, score in (("Blue.", 1.0), ("Green.", 0.0))
            ]
        },
    ),
    fields=NOTED | {"samples", "system"},
    fits=lambda record: has(record, "samples") and isinstance(record["samples"], list),
    rows=_samples,
    specific=80,
)
