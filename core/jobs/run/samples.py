"""Reads the completions that a job logged: those of a step, or a search across steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.orm import Session

from core.models import JobEvent

Figure = Literal["score", "judge", "kl", "tokens"]
Order = Literal["highest", "lowest", "newest", "oldest"]
BINS = 20
"""Bins of a histogram."""


@dataclass(frozen=True)
class OneSeed:
    """A seed of a job with several. Events that an older version stored without a seed are those of the first."""

    seed: int
    first: int


def samples_at(
    session: Session, job_id: str, stage: str | None, step: int | None, seed: OneSeed | None = None
) -> JobEvent | None:
    """The event with the completions of a step; `step` None: of the newest step. After a resume, the later event counts.

    None if there is no such event. With `seed`, only events of this seed.
    """
    query = select(JobEvent).where(*_of_samples(job_id, stage, seed))
    if step is not None:
        query = query.where(JobEvent.step == step)
    return session.scalars(query.order_by(JobEvent.seq.desc()).limit(1)).first()


def sample_steps(
    session: Session, job_id: str, stage: str | None, seed: OneSeed | None = None
) -> list[tuple[int | None, str, int]]:
    """Every (seed, stage, step) with completions, in the order of their first events. The seed is None with one seed."""
    query = select(JobEvent.seed, JobEvent.stage, JobEvent.step).where(*_of_samples(job_id, stage, seed))
    rows = session.execute(query.order_by(JobEvent.seq))
    return list(dict.fromkeys((row.seed, str(row.stage), int(row.step or 0)) for row in rows))


def _of_samples(job_id: str, stage: str | None, seed: OneSeed | None) -> list[ColumnElement[bool]]:
    found = [JobEvent.job_id == job_id, JobEvent.type == "samples"]
    if stage is not None:
        found.append(JobEvent.stage == stage)
    if seed is not None:
        found.append(func.coalesce(JobEvent.seed, seed.first) == seed.seed)
    return found


@dataclass(frozen=True)
class SampleQuery:
    """A selection of completions. A field that is None selects nothing."""

    stage: str | None = None
    from_step: int | None = None
    to_step: int | None = None
    words: str | None = None
    """Text that the prompt or the response has, in any case."""
    finished: bool | None = None
    held_out: bool | None = None
    prompt_of: tuple[str, int, int] | None = None
    """Stage, step and index of a completion to the same prompt."""
    by: Figure = "score"
    """The figure of `low`, `high`, the histogram and the orders "highest" and "lowest"."""
    low: float | None = None
    high: float | None = None
    order: Order = "newest"
    skip: int = 0
    limit: int = 50
    seed: OneSeed | None = None


@dataclass(frozen=True)
class Found:
    """One page of a search."""

    rows: Sequence[dict[str, Any]]
    """Completions with their `seed`, `stage`, `step` and `index`, without their token tables."""
    total: int
    """Number of completions on all pages."""
    low: float | None
    """Lowest figure without regard to `low` and `high`; None if no completion has the figure."""
    high: float | None
    counts: Sequence[int]
    """Completions in each of `BINS` bins of equal width from `low` to `high`, without regard to the query's bounds."""


_ORDERS: dict[Order, str] = {
    "highest": "value DESC NULLS LAST, step DESC, index",
    "lowest": "value NULLS LAST, step DESC, index",
    "newest": "place DESC, index",
    "oldest": "place, index",
}
_FIND = """
WITH latest AS (  -- a step that ran again after a resume counts once
    SELECT DISTINCT ON (seed, stage, step) stage, step, seq, data FROM job_events
    WHERE job_id = :job_id AND type = 'samples'
      AND (CAST(:seed AS bigint) IS NULL OR coalesce(seed, CAST(:first AS bigint)) = :seed)
      AND (CAST(:stage AS text) IS NULL OR stage = :stage)
      AND (CAST(:from_step AS bigint) IS NULL OR step >= :from_step)
      AND (CAST(:to_step AS bigint) IS NULL OR step <= :to_step)
    ORDER BY seed, stage, step, seq DESC
), found AS MATERIALIZED (
    SELECT seq AS place, step, number - 1 AS index, {by} AS value
    FROM latest, ROWS FROM (jsonb_to_recordset(data -> 'rows') AS ({typed})) WITH ORDINALITY AS one ({columns}, number)
    WHERE {conditions}
), bounds AS (
    SELECT min(value) AS low, max(value) AS high FROM found
), bins AS (
    SELECT CASE WHEN low = high THEN 0 ELSE least(:bins - 1, floor((value - low) / (high - low) * :bins)) END AS bin,
           count(*) AS n
    FROM found, bounds WHERE value IS NOT NULL GROUP BY bin
), within AS (
    SELECT * FROM found
    WHERE (CAST(:low AS float8) IS NULL OR value >= :low) AND (CAST(:high AS float8) IS NULL OR value <= :high)
), page AS (
    SELECT row_number() OVER () AS number, ordered.* FROM
        (SELECT * FROM within ORDER BY {order} OFFSET :skip LIMIT :limit) AS ordered
)
SELECT low, high, (SELECT count(*) FROM within) AS total,
       (SELECT json_object_agg(bin, n) FROM bins) AS bins,
       (SELECT json_agg(json_build_array(place, index) ORDER BY number) FROM page) AS page
FROM bounds
"""
_CONDITIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "words": (("prompt", "response"), "position(lower(:words) IN lower(concat(prompt, chr(10), response))) > 0"),
    "finished": (("finished",), "finished = :finished"),
    "held_out": (("held_out",), "coalesce(held_out, false) = :held_out"),
    "prompt": (("prompt",), "prompt = :prompt"),
}
"""For each selection, the fields of a completion that it reads, and its SQL. Each field that is read costs time."""
_TYPES = {"prompt": "text", "response": "text", "finished": "bool", "held_out": "bool"}
_ROWS = text("""
SELECT seed, stage, step, (data -> 'rows' -> CAST(wanted.index AS int)) - 'token_table' AS row
FROM unnest(CAST(:places AS bigint[]), CAST(:indices AS bigint[])) WITH ORDINALITY AS wanted (seq, index, number)
JOIN job_events ON job_id = :job_id AND job_events.seq = wanted.seq
ORDER BY number
""")


def search(session: Session, job_id: str, query: SampleQuery) -> Found:
    """Return one page of the completions that the query selects, in its order, and the histogram of their figure."""
    values = {name: value for name, value in vars(query).items() if name not in ("prompt_of", "order", "seed")}
    values |= {"seed": query.seed and query.seed.seed, "first": query.seed and query.seed.first}
    prompt = None
    if query.prompt_of is not None:
        prompt = _prompt_at(session, job_id, *query.prompt_of, query.seed)
        if prompt is None:
            return Found([], 0, None, None, [])
    values |= {"job_id": job_id, "prompt": prompt, "bins": BINS}
    found = session.execute(text(_statement(query, values)), values).one()
    page = found.page or []
    keys = {"job_id": job_id, "places": [place for place, _ in page], "indices": [index for _, index in page]}
    rows = [
        row.row | {"seed": row.seed, "stage": row.stage, "step": row.step, "index": index}
        for row, (_, index) in zip(session.execute(_ROWS, keys), page, strict=True)
    ]
    counts = [(found.bins or {}).get(str(number), 0) for number in range(BINS)] if found.bins else []
    return Found(rows, found.total, found.low, found.high, counts)


def _statement(query: SampleQuery, values: Mapping[str, Any]) -> str:
    """The SQL of the search, which reads only the fields that it needs."""
    wanted = [selection for name, selection in _CONDITIONS.items() if values[name] is not None]
    columns = list(dict.fromkeys((query.by, *(field for fields, _ in wanted for field in fields))))
    return _FIND.format(
        by=query.by,
        typed=", ".join(f"{name} {_TYPES.get(name, 'float8')}" for name in columns),
        columns=", ".join(columns),
        conditions=" AND ".join(["true", *(condition for _, condition in wanted)]),
        order=_ORDERS[query.order],
    )


def _prompt_at(session: Session, job_id: str, stage: str, step: int, index: int, seed: OneSeed | None) -> str | None:
    event = samples_at(session, job_id, stage, step, seed)
    rows = event.data["rows"] if event else []
    return rows[index]["prompt"] if index < len(rows) else None
