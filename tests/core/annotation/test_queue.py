"""Items that annotators get, their answers, and undoing them."""

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.annotation import answers, queue, rounds
from core.annotation.answers import AnswerInput
from core.annotation.spec import RoundChanges
from core.errors import InvalidRequest, NotFound, RoundClosed, RoundNotReady
from core.models import Annotation, AnnotationItem
from tests.core.annotation.tools import make_round, next_ids, numbers, prefer, say


def lapse(session: Session) -> None:
    """Let every reservation lapse."""
    session.execute(text("UPDATE annotations SET reserved_until = now() - interval '1 second'"))
    session.commit()


def counted(session: Session, item_id: str) -> int:
    return session.scalars(select(AnnotationItem.answers).filter_by(id=item_id)).one()


def test_hand_out_repeats_an_open_item_and_no_answered_one(session: Session) -> None:
    round_ = make_round(session, count=3)
    (first,) = next_ids(session, round_, "kim")
    assert next_ids(session, round_, "kim") == [first]
    seen = [prefer(session, round_, "kim", "a") for _ in range(4)]
    assert seen[0] == first and seen[3] is None and len(set(seen[:3])) == 3
    standing = queue.queue_progress(session, round_, "kim")
    assert (standing.done, standing.total, standing.last_item) == (3, 3, seen[2])


def test_hand_out_ahead_keeps_the_order(session: Session) -> None:
    round_ = make_round(session, count=4)
    ahead = next_ids(session, round_, "kim", 3)
    assert numbers(session, ahead) == [1, 2, 3]
    say(session, round_, "kim", ahead[0], "1")
    assert next_ids(session, round_, "kim", 3)[:2] == ahead[1:]


def test_hand_out_prefers_items_that_lack_fewest_answers(session: Session) -> None:
    round_ = make_round(session, count=3, overlap=2)
    for _ in range(2):
        prefer(session, round_, "kim", "a")
    assert numbers(session, [prefer(session, round_, "lee", "b") or ""]) == [1]
    assert numbers(session, next_ids(session, round_, "max", 3)) == [2, 3]


def test_reservation_blocks_other_annotators_until_it_lapses(session: Session) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    assert next_ids(session, round_, "lee") == []
    assert queue.queue_progress(session, round_, "lee").total == 0
    lapse(session)
    assert next_ids(session, round_, "lee") == [item]
    assert next_ids(session, round_, "kim") == []


def test_late_answer_is_stored_after_another_annotator_answered(session: Session) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    lapse(session)
    prefer(session, round_, "lee", "a")
    say(session, round_, "kim", item, "1")
    assert counted(session, item) == 2


def test_lapsed_reservation_without_taker_is_renewed(session: Session) -> None:
    round_ = make_round(session, count=2)
    ahead = next_ids(session, round_, "kim", 2)
    lapse(session)
    assert next_ids(session, round_, "kim", 2) == ahead
    assert next_ids(session, round_, "lee") == []


def test_answer_repeated_is_kept_and_a_new_one_replaces_it(session: Session) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    first = say(session, round_, "kim", item, "1").answered_at
    assert say(session, round_, "kim", item, "1").answered_at == first
    changed = say(session, round_, "kim", item, "tie")
    assert (changed.choice, counted(session, item)) == ("tie", 1)


def test_choices_are_stored_in_true_positions(session: Session) -> None:
    round_ = make_round(session, count=20)
    places = set()
    for _ in range(20):
        (handed,) = queue.hand_out(session, round_, "kim").items
        annotation, item = handed
        said = say(session, round_, "kim", item.id, "1")
        assert said.choice == "ab"[annotation.shown[0]]
        places.add(said.choice)
    assert places == {"a", "b"}


def test_skip_reserves_the_item_for_a_minute(session: Session) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    say(session, round_, "kim", item, "skip")
    assert next_ids(session, round_, "kim") == next_ids(session, round_, "lee") == []
    left = text("SELECT extract(epoch FROM reserved_until - clock_timestamp()) FROM annotations")
    assert 50 < session.execute(left).scalar_one() <= 60
    lapse(session)
    assert next_ids(session, round_, "kim") == []
    assert next_ids(session, round_, "lee") == [item]


def test_undo_can_be_repeated_to_the_first_answer(session: Session) -> None:
    round_ = make_round(session, count=3)
    said = [prefer(session, round_, "kim", label) for label in ("a", "tie", "b")]
    back = [answers.undo(session, round_, "kim") for _ in range(4)]
    assert [taken and taken[1].id for taken in back] == [*said[::-1], None]
    session.commit()
    assert next_ids(session, round_, "kim", 3) == said
    assert [counted(session, item or "") for item in said] == [0, 0, 0]
    kept = session.get_one(Annotation, (said[1], "kim"))
    assert (kept.status, kept.choice) == ("open", "tie"), "to be shown again"


def test_undo_of_one_item_is_idempotent(session: Session) -> None:
    round_ = make_round(session, count=2)
    first, second = (prefer(session, round_, "kim", "a") for _ in range(2))
    assert answers.undo(session, round_, "kim", first) is not None
    assert answers.undo(session, round_, "kim", first) is None
    assert counted(session, second or "") == 1
    assert answers.undo(session, round_, "lee") is None


def test_gold_questions_are_mixed_in_without_using_overlap(session: Session) -> None:
    round_ = make_round(session, count=12, gold=6, gold_share=0.25)
    assert queue.queue_progress(session, round_, "kim").total == 16
    while prefer(session, round_, "kim", "a"):
        pass
    rows = session.scalars(select(Annotation).order_by(Annotation.handed_at)).all()
    gold = [row.gold for row in rows]
    assert gold.count(False) == 12 and 3 <= gold.count(True) <= 4 and gold[:4].count(True) == 1
    assert next_ids(session, round_, "lee") == [], "gold questions alone are not asked"


def test_paused_round_hands_out_nothing_but_accepts_answers(session: Session) -> None:
    round_ = make_round(session, count=2)
    (item,) = next_ids(session, round_, "kim")
    rounds.change(session, round_, RoundChanges(status="paused"))
    found = queue.hand_out(session, round_, "kim")
    assert (found.status, found.items) == ("paused", [])
    assert say(session, round_, "kim", item, "1").status == "answered"
    rounds.change(session, round_, RoundChanges(status="open"))
    assert len(next_ids(session, round_, "kim")) == 1


def test_overlap_can_be_raised_later(session: Session) -> None:
    round_ = make_round(session, count=1)
    item = prefer(session, round_, "kim", "a")
    assert next_ids(session, round_, "lee") == []
    rounds.change(session, round_, RoundChanges(overlap=2))
    session.commit()
    assert next_ids(session, round_, "lee") == [item]


def test_rankings_are_stored_in_true_positions(session: Session) -> None:
    round_ = make_round(session, count=1, k=4)
    ((annotation, item),) = queue.hand_out(session, round_, "kim").items
    shown = list(annotation.shown)
    said = say(session, round_, "kim", item.id, [4, 1, 1, 3])
    assert said.ranks is not None
    assert [said.ranks[index] for index in shown] == [3, 1, 1, 2]


@pytest.mark.parametrize(
    ("k", "given", "message"),
    [
        (2, AnswerInput("3"), "must be one of 1, 2, tie, skip"),
        (2, AnswerInput("a"), "must be one of 1, 2, tie, skip"),
        (2, AnswerInput(), "must be one of 1, 2, tie, skip"),
        (2, AnswerInput(ranks=[1, 2]), "without `ranks`"),
        (3, AnswerInput("1"), "must be given in a ranking"),
        (3, AnswerInput(), "must be given in a ranking"),
        (3, AnswerInput(ranks=[1, 2]), "must be 3 numbers from 1"),
        (3, AnswerInput(ranks=[1, 2, 4]), "must be 3 numbers from 1"),
        (3, AnswerInput(ranks=[0, 1, 2]), "must be 3 numbers from 1"),
        (3, AnswerInput("skip", [1, 2, 3]), "must be given in a ranking"),
    ],
)
def test_answer_of_invalid_form_is_refused(session: Session, k: int, given: AnswerInput, message: str) -> None:
    round_ = make_round(session, count=1, k=k)
    (item,) = next_ids(session, round_, "kim")
    with pytest.raises(InvalidRequest, match=message):
        answers.answer(session, round_, item, "kim", given)


def test_answer_requires_an_item_that_was_handed_out(session: Session) -> None:
    round_, other = make_round(session, count=2), make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    (elsewhere,) = next_ids(session, other, "kim")
    for annotator, item_id, message in (
        ("lee", item, "was not assigned to 'lee'"),
        ("kim", elsewhere, "There is no item"),
        ("kim", "item_nope", "There is no item"),
    ):
        with pytest.raises(NotFound, match=message):
            answers.answer(session, round_, item_id, annotator, AnswerInput("1"))


@pytest.mark.parametrize("name", ["", "  ", " kim", "k" * 101, "k\0m", "k\ud800m"])
def test_a_name_that_is_none_is_refused(session: Session, name: str) -> None:
    with pytest.raises(InvalidRequest, match="annotator") as refusal:
        queue.hand_out(session, make_round(session), name)
    assert refusal.value.extras["param"] == "annotator"


@pytest.mark.parametrize(
    ("status", "kind"),
    [("preparing", RoundNotReady), ("failed", RoundNotReady), ("closing", RoundClosed), ("closed", RoundClosed)],
)
def test_answer_to_a_round_that_is_not_open_is_refused(
    session: Session, status: str, kind: type[RoundNotReady] | type[RoundClosed]
) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    session.execute(
        text(
            "UPDATE annotation_rounds SET status = :status, error = '{\"message\": \"why\"}', closed_at = CASE WHEN :status = 'closed' THEN now() END"
        ),
        {"status": status},
    )
    assert next_ids(session, round_, "kim") == []
    for verb in (
        lambda: answers.answer(session, round_, item, "kim", AnswerInput("1")),
        lambda: answers.undo(session, round_, "kim"),
        lambda: rounds.change(session, round_, RoundChanges(status="open")),
    ):
        with pytest.raises(kind):
            verb()
