"""Rows of a dataset that become items or gold questions: each unlabelled pair once."""

from collections import Counter
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.annotation import closing, rounds
from core.annotation.spec import NewRound
from core.models import AnnotationItem, AnnotationRound
from tests.core.annotation.tools import prefer, work
from tests.core.factories import jsonl, make_key, make_version


def pair(prompt: str, label: str | None, a: str = "x", b: str = "y") -> dict[str, Any]:
    return {"prompt": prompt, "a": a, "b": b, "label": label}


def made(session: Session, owner: str, pairs: list[dict[str, Any]] | str, **more: Any) -> AnnotationRound:
    """A round of these pairs, or of a dataset, after its data task."""
    dataset = pairs if isinstance(pairs, str) else make_version(session, owner, content=jsonl(pairs)).dataset_id
    source = {"type": "dataset", "dataset": dataset, "rows": more.pop("rows", "unlabelled")}
    round_ = rounds.create(session, owner, NewRound.model_validate({"source": source, **more}))
    session.commit()
    work()
    session.expire_all()
    return rounds.get(session, owner, round_.id)


def prompts(session: Session, round_: AnnotationRound, gold: bool = False) -> list[str]:
    query = select(AnnotationItem).filter_by(round_id=round_.id).order_by(AnnotationItem.prompt)
    return [item.prompt for item in session.scalars(query) if (item.gold is not None) is gold]


def test_round_after_close_into_source_asks_only_unanswered_rows(session: Session) -> None:
    owner = make_key(session).owner_id
    dataset = make_version(session, owner, content=jsonl([pair(f"p{n}", None) for n in range(4)])).dataset_id
    first = made(session, owner, dataset)
    answered = {session.get_one(AnnotationItem, prefer(session, first, "kim", label)).prompt for label in "ab"}
    prefer(session, first, "kim", "skip")
    closing.close(session, first, dataset, None)
    session.commit()
    work()
    second = made(session, owner, dataset, gold_share=0.5)
    assert (second.status, second.source["dataset"]) == ("open", f"{dataset}@2")
    asked = prompts(session, second)
    assert len(asked) == 2 and answered.isdisjoint(asked)
    assert set(prompts(session, second, gold=True)) == answered


def test_round_equal_pairs_are_one_item(session: Session) -> None:
    owner = make_key(session).owner_id
    rows = [pair("p", "a"), pair("p", "b"), pair("p", "a", a="y", b="x"), pair("q", None), pair("q", None)]
    assert prompts(session, made(session, owner, rows, rows="all")) == ["p", "q"]
    assert prompts(session, made(session, owner, rows)) == ["q"]


def test_round_contradicting_labels_give_no_gold_question(session: Session) -> None:
    owner = make_key(session).owner_id
    agreed = [pair("agreed", "a"), pair("agreed", "b", a="y", b="x")]
    rows = [*agreed, pair("contradicted", "a"), pair("contradicted", "b"), pair("open", None)]
    found = made(session, owner, rows, gold_share=0.5)
    gold = session.scalars(select(AnnotationItem).where(AnnotationItem.gold.is_not(None))).all()
    assert [(item.prompt, item.completions, item.gold) for item in gold] == [("agreed", ["x", "y"], {"choice": "a"})]
    assert prompts(session, found) == ["open"]


def test_round_asked_row_is_not_also_a_gold_question(session: Session) -> None:
    owner = make_key(session).owner_id
    gold = make_version(session, owner, content=jsonl([pair("p0", "a"), pair("q", "b")])).dataset_id
    found = made(session, owner, [pair(f"p{n}", None) for n in range(2)], gold=gold, gold_share=0.5)
    assert Counter(prompts(session, found) + prompts(session, found, gold=True)) == Counter(["p0", "p1", "q"])
    none = make_version(session, owner, content=jsonl([pair("p0", "a")])).dataset_id
    failed = made(session, owner, [pair("p0", None)], gold=none, gold_share=0.5)
    assert failed.error is not None and "holds no labelled pair for a gold question" in failed.error["message"]
