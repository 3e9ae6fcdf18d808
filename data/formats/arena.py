"""Chatbot Arena's battles: two models' conversations and the winner, in three generations of files. Also MT-Bench's judgements."""

from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.values import field, listed, notes, truth
from data.names import NOTED

_WINNERS = {
    "model_a": "a", "a": "a", "model_b": "b", "b": "b",
    "tie": "tie", "tie (bothbad)": "tie", "both_bad": "tie", "bothbad": "tie", "both bad": "tie",
    "tie (inconsistent)": "tie",  # a judge that was asked twice, with the answers exchanged
}  # fmt: skip


def _battle(record: Source, reading: Reading) -> Rows:
    sides = [_turns(field(record, name), record.get("turn"), name) for name in ("conversation_a", "conversation_b")]
    (first, a), (second, b) = sides
    if _goes_on(record, sum(message["role"] == "user" for message in first)):
        reading.note("context_missing", "the conversations lack the earlier turns of the session")
    row = {"prompt": chat.shared(first, second, "/conversation_b"), "a": a, "b": b, "label": _winner(record)}
    judge = record.get("judge") if record.get("judge") is not None else record.get("judge_hash")
    who = "-".join(map(str, judge)) if isinstance(judge, list) else judge
    yield row | notes(record, annotator=str(who) if who else None, source=None)


def _goes_on(record: Source, exchanges: int) -> bool:
    """Whether the session had an earlier vote. The conversations then have only the turns after it, so they lack the
    context.

    `full_conversation` has all turns, but of other models, so it is not a prompt that the two sides share.
    """
    order, session = record.get("evaluation_order"), record.get("full_conversation")
    if type(order) is not int or order < 2:
        return False
    return (len(session) if isinstance(session, list) else order) > exchanges


def _turns(conversation: Any, turn: Any, name: str) -> tuple[list[chat.Message], str]:
    """The conversation up to the judged turn, if `turn` names it. MT-Bench's files always hold both turns."""
    if type(turn) is int and isinstance(conversation, list) and 0 < 2 * turn < len(conversation):
        conversation = conversation[: 2 * turn]
    return chat.prompt_and_answer(conversation, f"/{name}")


def _winner(record: Source) -> str:
    winner = field(record, "winner")
    label = _WINNERS.get(str(winner).strip().lower())
    if label is None:
        detail = f"must be model_a, model_b, tie or both_bad; found {str(winner)[:40]!r}"
        raise RowError(detail, pointer="/winner", code="bad_label")
    return label


def _contest(record: Source, reading: Reading) -> Rows:
    prompts, first, second = (listed(record, name) for name in ("prompt", "response_a", "response_b"))
    if not len(prompts) == len(first) == len(second):
        raise RowError("prompt, response_a and response_b have different numbers of turns", code="bad_conversation")
    a, b = (_dialogue(prompts, answers, name) for answers, name in ((first, "response_a"), (second, "response_b")))
    row = {"prompt": chat.shared(a[:-1], b[:-1], "/response_b"), "a": a[-1]["content"], "b": b[-1]["content"]}
    yield row | {"label": _outcome(record, reading)} | notes(record, annotator=None, source=None)


def _outcome(record: Source, reading: Reading) -> str | None:
    """The label, or None without the columns of the winners, as in the contest's test file."""
    if not any(_column(name) in record for name in ("a", "b", "tie")):
        reading.note("unlabelled", "no answer is marked as better: the row waits for annotation")
        return None
    votes = [name for name in ("a", "b", "tie") if truth(_vote(record, name), _column(name))]
    if len(votes) != 1:
        raise RowError("exactly one of winner_model_a, winner_model_b and winner_tie must be 1", code="bad_label")
    return votes[0]


def _is_contest(record: Source) -> bool:
    sides = ("prompt", "response_a", "response_b")
    votes = has(record, "winner_model_a", "winner_model_b")
    return has(record, *sides) and (votes or all(str(record[name]).startswith(('["', "[null")) for name in sides))


def _column(name: str) -> str:
    return "winner_tie" if name == "tie" else f"winner_model_{name}"


def _vote(record: Source, name: str) -> Any:
    return record.get("winner_tie", 0) if name == "tie" else field(record, _column(name))


def _dialogue(prompts: list[Any], answers: list[Any], name: str) -> list[chat.Message]:
    messages: list[chat.Message] = []
    for index, (asked, answer) in enumerate(zip(prompts, answers, strict=True)):
        for value, role, place in ((asked, "user", "prompt"), (answer, "assistant", name)):
            if not isinstance(value, str):
                raise RowError("is empty", pointer=f"/{place}/{index}", code="empty_text")
            messages.append({"role": role, "content": value})
    if not messages:
        raise RowError("is empty", pointer="/prompt", code="empty_text")
    return messages


def _said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


BATTLE = Format(
    id="lmarena",
    title="LMArena battles",
    about="Two conversations and a winner; both bad is a tie. Usable where the two differ in their last answer only.",
    source="https://huggingface.co/datasets/lmarena-ai/arena-human-preference-140k",
    kinds=(PREFERENCES,),
    example=(
        {
            "model_a": "one",
            "model_b": "two",
            "winner": "model_b",
            "judge": "arena_user_5",
            "tstamp": 1682351591,
            "conversation_a": [_said("user", "Which colour is the sky?"), _said("assistant", "Green.")],
            "conversation_b": [_said("user", "Which colour is the sky?"), _said("assistant", "Blue, by day.")],
        },
    ),
    fields=NOTED
    | {
        "conversation_a",
        "conversation_b",
        "winner",
        "judge",
        "judge_hash",
        "turn",
        "evaluation_order",
        "full_conversation",
    },
    fits=lambda record: has(record, "conversation_a", "conversation_b", "winner"),
    rows=_battle,
    names={"a": "conversation_a", "b": "conversation_b", "prompt": "conversation_a"},
    specific=90,
    labelled=True,
)
CONTEST = Format(
    id="arena_55k",
    title="Chatbot Arena, 55k",
    about="Prompts and answers as lists in JSON text, and a column of 0 and 1 for each outcome.",
    source="https://huggingface.co/datasets/lmsys/lmsys-arena-human-preference-55k",
    kinds=(PREFERENCES,),
    example=(
        {
            "id": 30192,
            "model_a": "one",
            "model_b": "two",
            "prompt": '["Which colour is the sky?"]',
            "response_a": '["Blue, by day."]',
            "response_b": '["Green."]',
            "winner_model_a": 1,
            "winner_model_b": 0,
            "winner_tie": 0,
        },
    ),
    fields=NOTED | {"prompt", "response_a", "response_b", "winner_model_a", "winner_model_b", "winner_tie"},
    fits=_is_contest,
    rows=_contest,
    names={"a": "response_a", "b": "response_b"},
    specific=90,
    labelled=True,
)
