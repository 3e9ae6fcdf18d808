"""Concurrent annotators, and a round that is closed while they answer."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.annotation import answers, closing, queue, reservations
from core.annotation.answers import AnswerInput
from core.db import session_scope
from core.errors import DatasetNotReady, RoundClosed
from core.models import Annotation, AnnotationItem, AnnotationRound
from tests.core.annotation.tools import make_round, next_ids, prefer
from tests.core.factories import make_key, make_version
from tests.waiting import eventually

Meanwhile = Callable[[Callable[[Session], object]], Future[None]]


@pytest.fixture
def meanwhile(session: Session) -> Iterator[Meanwhile]:
    """Calls a function in another transaction, and returns once that waits for a lock of this one."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def work(verb: Callable[[Session], object]) -> None:
        with session_scope() as other:
            verb(other)

    def waits() -> bool:
        with session_scope() as looking:
            return bool(looking.execute(waiting).scalar_one())

    def begin(verb: Callable[[Session], object]) -> Future[None]:
        done = pool.submit(work, verb)
        eventually(waits)
        return done

    with ThreadPoolExecutor(1) as pool:
        yield begin
        session.rollback()  # after a failure, the other thread must not wait for ever


def answer_all(round_: AnnotationRound, annotator: str, ahead: int) -> int:
    """Answer as the dashboard does: some items are assigned in advance, and answered one by one."""
    count = 0
    while True:
        with session_scope() as session:
            items = [item.id for _, item in queue.hand_out(session, round_, annotator, ahead).items]
        if not items:
            return count
        for item_id in items:
            with session_scope() as session:
                answers.answer(session, round_, item_id, annotator, AnswerInput("1"))
            count += 1


@pytest.mark.parametrize("ahead", [1, 3])
def test_race_each_item_gets_exactly_overlap_answers(session: Session, ahead: int) -> None:
    round_ = make_round(session, count=12, overlap=3)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda n: answer_all(round_, f"annotator {n}", ahead), range(8)))
    assert sum(counts) == 36
    assert set(session.scalars(select(AnnotationItem.answers))) == {3}


def change_one_s_mind(round_: AnnotationRound, annotator: str) -> None:
    """Answer, skip, undo, change an answer or stop, in a random order with a fixed seed."""
    chance = random.Random(annotator)
    for _ in range(20):
        with session_scope() as session:
            items = [item.id for _, item in queue.hand_out(session, round_, annotator, chance.randint(1, 3)).items]
            if items and chance.random() < 0.8:
                said = chance.choice(["1", "2", "tie", "skip"])
                answers.answer(session, round_, chance.choice(items), annotator, AnswerInput(said))
            elif chance.random() < 0.7:
                answers.undo(session, round_, annotator)


def test_race_undo_never_leads_to_more_than_overlap_answers(session: Session) -> None:
    round_ = make_round(session, count=6, overlap=2)
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda n: change_one_s_mind(round_, f"annotator {n}"), range(5)))
    counted = dict(session.execute(select(AnnotationItem.id, AnnotationItem.answers)).all())
    assert max(counted.values()) <= 2
    stored = (
        select(Annotation.item_id, func.count()).where(Annotation.status == "answered").group_by(Annotation.item_id)
    )
    stored_counts = dict(session.execute(stored).all())
    assert {item_id: stored_counts.get(item_id, 0) for item_id in counted} == counted


def test_two_windows_of_one_annotator_get_the_same_item(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=5)
    found: list[str] = []
    mine = [item.id for _, item in queue.hand_out(session, round_, "kim").items]
    other = meanwhile(lambda other: found.extend(item.id for _, item in queue.hand_out(other, round_, "kim").items))
    session.commit()
    other.result(10)
    assert found == mine


def test_race_hand_out_waits_for_the_only_locked_item(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=1, overlap=2)
    found: list[str] = []
    mine = [item.id for _, item in queue.hand_out(session, round_, "kim").items]
    other = meanwhile(lambda other: found.extend(item.id for _, item in queue.hand_out(other, round_, "lee").items))
    session.commit()
    other.result(10)
    assert found == mine


def test_race_lapsed_annotator_waits_for_the_last_locked_item(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=2)
    (lost,) = next_ids(session, round_, "kim")
    session.execute(text("UPDATE annotations SET reserved_until = now() - interval '1 second'"))
    session.commit()
    assert prefer(session, round_, "lee", "a") == lost
    last = session.scalars(select(AnnotationItem.id).where(AnnotationItem.id != lost)).one()
    reservations.locked(session, last)
    found: list[str] = []
    other = meanwhile(lambda other: found.extend(item.id for _, item in queue.hand_out(other, round_, "kim").items))
    session.commit()
    other.result(10)
    assert found == [last]


def test_race_answer_in_progress_is_included_in_the_close(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=1)
    (item,) = next_ids(session, round_, "kim")
    answers.answer(session, round_, item, "kim", AnswerInput("1"))
    closed = meanwhile(lambda other: closing.close(other, round_, None, None))
    session.commit()
    closed.result(10)
    assert [row["annotator"] for row in closing.answered_rows(session, round_.id)] == ["kim"]


def test_race_answer_after_the_close_is_refused(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=2)
    prefer(session, round_, "kim", "a")
    (item,) = next_ids(session, round_, "kim")
    closing.close(session, round_, None, None)
    late = meanwhile(lambda other: answers.answer(other, round_, item, "kim", AnswerInput("1")))
    session.commit()
    with pytest.raises(RoundClosed):
        late.result(10)


def test_race_second_close_of_a_round_is_refused(session: Session, meanwhile: Meanwhile) -> None:
    round_ = make_round(session, count=1)
    prefer(session, round_, "kim", "a")
    closing.close(session, round_, None, None)
    second = meanwhile(lambda other: closing.close(other, round_, None, None))
    session.commit()
    with pytest.raises(RoundClosed):
        second.result(10)


def test_race_second_close_into_one_dataset_is_refused(session: Session, meanwhile: Meanwhile) -> None:
    owner = make_key(session).owner_id
    dataset = make_version(session, owner).dataset_id
    first, second = (make_round(session, owner, count=1) for _ in range(2))
    for round_ in (first, second):
        prefer(session, round_, "kim", "a")
    closing.close(session, first, dataset, None)
    other = meanwhile(lambda other: closing.close(other, second, dataset, None))
    session.commit()
    with pytest.raises(DatasetNotReady, match="Version 2 of ds_"):
        other.result(10)
