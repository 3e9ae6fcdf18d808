"""Closing a round: a data task writes its answers into a dataset version."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core import tasks
from core.annotation import answers, closing, queue, rounds
from core.annotation.answers import AnswerInput
from core.blobs import blob_store
from core.datasets import rows, versions
from core.datasets.importing import BadRows
from core.errors import InvalidRequest, NotFound, NothingToClose, RoundClosed, WrongDatasetKind
from core.models import Annotation, AnnotationItem, AnnotationRound, Dataset, DatasetVersion, DataTask
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.annotation.tools import make_round, prefer, say, work
from tests.core.factories import jsonl, make_key, make_version


def closed_rows(session: Session, round_: AnnotationRound) -> list[dict[str, Any]]:
    """Close the round, run the data task, and return the rows that it wrote."""
    work()
    session.expire_all()
    found = rounds.get(session, round_.owner_id, round_.id)
    assert found.status == "closed", found.error
    version = versions.usable(session, found.owner_id, f"{found.dataset_id}@{found.version}")
    return [stored.row for stored in rows.stream(blob_store(get_settings()), version)]


def test_close_writes_answers_and_ties_but_no_skips_or_gold(session: Session) -> None:
    round_ = make_round(session, count=3, gold=4, gold_share=0.5, overlap=2)
    for annotator, labels in (("kim", ["a", "tie", "skip"]), ("lee", ["b", "a"])):
        for label in labels:
            while True:
                ((annotation, item),) = queue.hand_out(session, round_, annotator).items
                place = str(annotation.shown.index("ab".index(label)) + 1) if label in ("a", "b") else label
                say(session, round_, annotator, item.id, "tie" if item.gold else place)
                if not item.gold:
                    break
    closing.close(session, round_, None, "Answers")
    session.commit()
    found = closed_rows(session, round_)
    assert [(row["prompt"], {row["a"], row["b"]}, row.get(row["label"]), row["annotator"]) for row in found] == [
        ("p1", {"answer 0 of 1", "answer 1 of 1"}, "answer 0 of 1", "kim"),
        ("p1", {"answer 0 of 1", "answer 1 of 1"}, "answer 1 of 1", "lee"),
        ("p2", {"answer 0 of 2", "answer 1 of 2"}, None, "kim"),
        ("p2", {"answer 0 of 2", "answer 1 of 2"}, "answer 0 of 2", "lee"),
    ]
    assert {row["source"] for row in found} == {f"annotation/{round_.id}"}
    assert all(datetime.fromisoformat(row["time"]).tzinfo is not None for row in found)


def test_close_row_keeps_the_shown_order_of_completions() -> None:
    item = AnnotationItem(round_id="ann_x", prompt="p", completions=["x", "y", "z"], source="pilot")
    when = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    said = Annotation(annotator="kim", choice=None, ranks=[2, 1, 3], shown=[2, 0, 1], answered_at=when)
    whole = {"prompt": "p", "completions": ["z", "x", "y"], "ranks": [3, 2, 1]}
    notes = {"annotator": "kim", "source": "pilot", "time": "2026-01-02T03:04:05Z"}
    assert closing.row_of(item, said) == whole | notes
    pair = AnnotationItem(round_id="ann_x", prompt="p", completions=["x", "y"])
    chosen = Annotation(annotator="kim", choice="a", ranks=None, shown=[1, 0], answered_at=when)
    seen = {"prompt": "p", "a": "y", "b": "x", "label": "b"}
    assert closing.row_of(pair, chosen) == seen | notes | {"source": "annotation/ann_x"}


def test_close_rows_show_an_annotator_who_always_takes_the_first(session: Session) -> None:
    round_ = make_round(session, count=12)
    while items := queue.hand_out(session, round_, "kim").items:
        say(session, round_, "kim", items[0][1].id, "1")
    closing.close(session, round_, None, None)
    session.commit()
    found = closed_rows(session, round_)
    assert {row["label"] for row in found} == {"a"}
    assert len({row["a"][:8] for row in found}) == 2, "which of the two it was is another matter"


def test_close_into_a_dataset_appends_the_answers_as_new_version(session: Session) -> None:
    owner = make_key(session).owner_id
    first = make_version(session, owner)
    round_ = make_round(session, owner, count=1)
    prefer(session, round_, "kim", "b")
    closing.close(session, round_, first.dataset_id, None)
    session.commit()
    found = closed_rows(session, round_)
    assert [row["prompt"] for row in found] == ["p0", "p1", "p2", "p1"]
    made = session.scalars(select(DatasetVersion).filter_by(dataset_id=first.dataset_id, number=2)).one()
    assert (made.parent_id, made.origin) == (first.id, {"type": "annotation", "round": round_.id})
    assert [stored.row for stored in rows.stream(blob_store(get_settings()), first)] == found[:3]


def test_close_into_an_unsuitable_dataset_is_refused(session: Session) -> None:
    owner, other = make_key(session).owner_id, make_key(session).owner_id
    round_ = make_round(session, owner, count=1)
    with pytest.raises(NothingToClose):
        closing.close(session, round_, None, None)
    prefer(session, round_, "kim", "a")
    prompts = make_version(session, owner, DatasetKind.PROMPTS).dataset_id
    for dataset, name, kind in (
        (prompts, None, WrongDatasetKind),
        ("ds_nope", None, NotFound),
        (make_version(session, other).dataset_id, None, NotFound),
        (make_version(session, owner).dataset_id, "both", InvalidRequest),
        (None, "a\nname", InvalidRequest),
    ):
        with pytest.raises(kind) as refusal:
            closing.close(session, round_, dataset, name)
        assert refusal.value.extras["param"] in ("dataset", "name")


def test_only_skips_and_gold_questions_are_nothing_to_close(session: Session) -> None:
    round_ = make_round(session, count=2, gold=2, gold_share=0.5)
    gold = 0
    while items := queue.hand_out(session, round_, "kim").items:
        ((_, item),) = items
        gold += say(session, round_, "kim", item.id, "1" if item.gold else "skip").gold
    assert gold > 0
    with pytest.raises(NothingToClose):
        closing.close(session, round_, None, None)


def fail_to_close(session: Session, round_: AnnotationRound, name: str | None) -> str | None:
    """Close the round and cancel its data task. Returns the id of the dataset that was meant."""
    closing.close(session, round_, None, name)
    task = session.scalars(select(DataTask).filter_by(kind=closing.CLOSE_TASK, status="queued")).one()
    tasks.cancel(session, task)
    session.commit()
    again = rounds.get(session, round_.owner_id, round_.id)
    why = {"code": "cancelled", "message": "The data task of the round was cancelled."}
    assert (again.status, again.error) == ("paused", why)
    return again.dataset_id


def test_close_after_a_failed_write_reuses_the_same_dataset(session: Session) -> None:
    """The third close after two failed writes makes version 3."""
    round_ = make_round(session, count=1)
    prefer(session, round_, "kim", "a")
    first, second = (fail_to_close(session, round_, name) for name in ("One", None))
    closing.close(session, round_, None, "Three")
    session.commit()
    assert len(closed_rows(session, round_)) == 1
    assert (round_.dataset_id, round_.version) == (first, 3) and first == second
    assert [dataset.name for dataset in session.scalars(select(Dataset))] == ["Three"]


def test_close_keeps_the_source_lines_of_dataset_rows(session: Session) -> None:
    owner = make_key(session).owner_id
    content = jsonl([{"prompt": f"p{n}", "chosen": "good", "rejected": "good" if n == 0 else "bad"} for n in range(3)])
    first = make_version(session, owner, content=content, bad_rows=BadRows.LEAVE_OUT)
    round_ = make_round(session, owner, count=2)
    for label in "ab":
        prefer(session, round_, "kim", label)
    closing.close(session, round_, first.dataset_id, None)
    session.commit()
    closed_rows(session, round_)
    version = versions.usable(session, owner, first.dataset_id)
    assert [stored.line for stored in rows.stream(blob_store(get_settings()), version)] == [2, 3, 4, 5]


def test_close_into_a_dataset_deleted_meanwhile_pauses_the_round(session: Session) -> None:
    owner = make_key(session).owner_id
    dataset = make_version(session, owner).dataset_id
    round_ = make_round(session, owner, count=1)
    prefer(session, round_, "kim", "a")
    closing.close(session, round_, dataset, None)
    session.execute(delete(Dataset).filter_by(id=dataset))
    session.commit()
    work()
    session.expire_all()
    found = rounds.get(session, owner, round_.id)
    assert found.status == "paused" and found.error is not None and "has been deleted" in found.error["message"]


def test_a_closed_round_is_closed_for_good(session: Session) -> None:
    round_ = make_round(session, count=1)
    item = prefer(session, round_, "kim", "a")
    closing.close(session, round_, None, None)
    session.commit()
    closed_rows(session, round_)
    with pytest.raises(RoundClosed):
        closing.close(session, round_, None, None)
    with pytest.raises(RoundClosed):
        answers.answer(session, round_, item or "", "kim", AnswerInput("tie"))
    rounds.remove(session, round_)
    assert session.scalars(select(AnnotationItem)).all() == []
    assert session.scalars(select(Dataset)).one() is not None
