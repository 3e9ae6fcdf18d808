"""The data task `annotation_items`: makes the items of a round, from the rows of a dataset or from what policies answer."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from core.annotation import items, scores, shuffle
from core.annotation.items import Draft, Row
from core.annotation.spec import MOST_RANKED
from core.datasets import rows, versions
from core.db import session_scope
from core.errors import InvalidDataset
from core.models import AnnotationRound, DatasetVersion
from core.models.annotation_round import RoundKind, RoundStatus
from worker.data import complete
from worker.data.every_row import every_row
from worker.data.task_run import TaskRun

_WORDS = {RoundKind.PAIRS: "pair", RoundKind.RANKING: "ranking of 2 to 9 completions"}


def run(task: TaskRun) -> None:
    """Raises what keeps the items from being made; the round fails with it."""
    with session_scope() as session:
        round_ = session.get(AnnotationRound, task.args["round"])
    if round_ is None or round_.status != RoundStatus.PREPARING:
        return
    plain, count, left_out = _plain(task, round_)
    gold = _gold(task, round_, count)
    with session_scope() as session:
        items.store(session, round_.id, chain(plain, gold), left_out)
        if round_.reward_model is not None:
            scores.request(session, round_, round_.reward_model)


def _plain(task: TaskRun, round_: AnnotationRound) -> tuple[Iterator[Draft], int, int]:
    """What is to be compared, how many that is, and how many could not become an item."""
    if round_.source["type"] == "checkpoints":
        drafts, left_out = complete.drafts(task, round_)
        if not drafts:
            raise InvalidDataset(
                f"All {left_out} prompts of {round_.source['prompts']} were left out: they are too long, or the answers "
                "to each are empty or the same."
            )
        return iter(drafts), len(drafts), left_out
    labelled = None if round_.source["rows"] == "all" else False
    name, limit, seed = (round_.source[field] for field in ("dataset", "limit", "seed"))
    version, numbers, left_out = _drawn(task, round_, name, limit, seed, labelled)
    if not numbers:
        raise InvalidDataset(_nothing(round_, name, labelled))
    return _read(task, version, numbers, 1), len(numbers), left_out


def _gold(task: TaskRun, round_: AnnotationRound, plain: int) -> Iterator[Draft]:
    if round_.gold is None:
        return iter(())
    needed = items.gold_needed(round_.gold_share, plain)
    version, numbers, _ = _drawn(task, round_, round_.gold, needed, round_.source["seed"], labelled=True)
    if not numbers:
        raise InvalidDataset(f"{_nothing(round_, round_.gold, labelled=True)} Gold questions need some.")
    return _read(task, version, numbers, plain + 1, gold=True)


def _drawn(
    task: TaskRun, round_: AnnotationRound, name: str, limit: int, seed: int, labelled: bool | None
) -> tuple[DatasetVersion, list[int], int]:
    """A sample of the rows that can be items, by number, and how many rankings are too long to be any."""
    kind, seen = RoundKind(round_.kind), Counter[str]()
    with session_scope() as session:
        version = versions.usable(session, task.owner_id, name)

    def key(number: int, row: Row) -> float | None:
        seen["too long"] += kind is RoundKind.RANKING and len(row.get("completions", ())) > MOST_RANKED
        fits = items.is_of(kind, row, labelled=labelled)
        return shuffle.sample_key(seed, number) if fits else None

    return version, items.draw(every_row(task, version), key, limit), seen["too long"]


def _read(
    task: TaskRun, version: DatasetVersion, numbers: list[int], first: int, *, gold: bool = False
) -> Iterator[Draft]:
    """Items in the order of `numbers`, read as they lie in the file."""
    place = {number: at for at, number in enumerate(numbers, first)}
    assert version.content is not None
    ordered = sorted(numbers)
    for number, row in zip(ordered, rows.read(task.blobs, version.content, ordered), strict=True):
        yield items.of_row(number, place[number], row, gold=gold)


def _nothing(round_: AnnotationRound, name: str, labelled: bool | None) -> str:
    which = {None: "", True: "labelled ", False: "unlabelled "}[labelled]
    advice = ' Set `source.rows` to "all" to ask about labelled ones anew.' if labelled is False else ""
    return f"{name} holds no {which}{_WORDS[RoundKind(round_.kind)]}.{advice}"
