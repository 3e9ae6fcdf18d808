"""Reads the metrics of jobs as series: exact points, or buckets from the roll-ups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.jobs.run.rollups import FINEST, bucket_bits, chunk_bits, complete_until
from trainer.spec import STAGES


@dataclass(frozen=True)
class MetricQuery:
    """A selection of metrics. Empty `names`: all. A range of more than `max_points` steps is read in buckets.

    `seeds` are indices: 0 is the first seed of a job. All seeds of a stage are read in buckets of one width.
    """

    stage: str | None = None
    names: Sequence[str] = ()
    from_step: int | None = None
    to_step: int | None = None
    max_points: int = 1000
    seeds: Sequence[int] = (0,)


@dataclass
class Series:
    """One metric of one stage and seed.

    In buckets, `steps` holds the last step of each bucket, `last` its value, and `n` the number of points in the bucket.
    Without buckets, each point is its own `last`, `min`, `max` and `mean`.
    """

    seed_index: int
    stage: str
    name: str
    steps: list[int] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    min: list[float] = field(default_factory=list)
    max: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    n: list[int] = field(default_factory=list)

    @property
    def bucketed(self) -> bool:
        """Whether any bucket has several points."""
        return any(n > 1 for n in self.n)


@dataclass(frozen=True)
class Segment:
    """Steps from `first` to before `end` of a stage, to be read from one level; level 0: the exact points."""

    seed: int
    stage: str
    level: int
    first: int
    end: int


_Bucket = tuple[int, float, float, float, float, int]
"""Step, last, min, max, mean and n. A long series has thousands, which are not worth an object each."""

# One statement reads one snapshot: no step after `last_seq` is read, and none before it is missing.
_SPANS = text("""
SELECT jobs.last_seq, jobs.metrics_thinned_at IS NOT NULL AS thinned, seeds.seed, wanted.stage, highest.step AS newest,
       CASE WHEN jobs.metrics_thinned_at IS NULL THEN lowest.step ELSE least(lowest.step, chunks.step) END AS first
FROM jobs CROSS JOIN unnest(CAST(:stages AS text[])) AS wanted (stage) CROSS JOIN unnest(CAST(:seeds AS int[])) AS seeds (seed)
     LEFT JOIN LATERAL (SELECT step FROM job_metrics m
                        WHERE m.job_id = jobs.id AND m.seed_index = seeds.seed AND m.stage = wanted.stage
                        ORDER BY step LIMIT 1) AS lowest ON true
     LEFT JOIN LATERAL (SELECT step FROM job_metrics m
                        WHERE m.job_id = jobs.id AND m.seed_index = seeds.seed AND m.stage = wanted.stage
                        ORDER BY step DESC LIMIT 1) AS highest ON true
     LEFT JOIN LATERAL (SELECT c.chunk << :chunk_bits AS step FROM job_metric_chunks c
                        WHERE c.job_id = jobs.id AND c.seed_index = seeds.seed AND c.stage = wanted.stage AND c.level = :finest
                        ORDER BY chunk LIMIT 1) AS chunks ON jobs.metrics_thinned_at IS NOT NULL
WHERE jobs.id = :job_id
""")
_SEGMENTS = """
WITH segments AS (
    SELECT * FROM unnest(CAST(:seeds AS int[]), CAST(:stages AS text[]), CAST(:levels AS int[]), CAST(:firsts AS bigint[]),
                         CAST(:ends AS bigint[]), CAST(:bits AS int[])) AS s (seed, stage, level, first, "end", bits)
)
SELECT s.seed, s.stage, s.first, s."end", c.name, c.steps, c.last, c.min, c.max, c.mean, c.n
FROM segments s JOIN LATERAL (
    SELECT * FROM job_metric_chunks c
    WHERE c.job_id = :job_id AND c.seed_index = s.seed AND c.stage = s.stage AND c.level = s.level
      AND c.chunk BETWEEN s.first >> s.bits AND (s."end" - 1) >> s.bits AND {wanted}
) AS c ON s.level > 0
UNION ALL
SELECT s.seed, s.stage, s.first, s."end", value.key, array_agg(m.step ORDER BY m.step),
       array_agg(value.value::float8 ORDER BY m.step), NULL, NULL, NULL, NULL
FROM segments s JOIN job_metrics m ON s.level = 0 AND m.job_id = :job_id AND m.seed_index = s.seed
                                      AND m.stage = s.stage AND m.step >= s.first AND m.step < s."end"
     CROSS JOIN LATERAL ({values}) AS value (key, value)
GROUP BY 1, 2, 3, 4, 5
"""
_ALL = text(_SEGMENTS.format(wanted="true", values="SELECT * FROM jsonb_each(m.values)"))
_NAMED = text(
    _SEGMENTS.format(
        wanted="c.name = ANY(:names)",
        values="SELECT name, m.values -> name FROM unnest(CAST(:names AS text[])) AS name WHERE m.values ? name",
    )
)


def series(session: Session, job_id: str, wanted: MetricQuery) -> tuple[list[Series], int]:
    """The series by seed, stage and name, and the sequence number of the last event that they contain.

    A series has at most `max_points` points, and about as many are read, whatever the length of the run.
    """
    stages = [wanted.stage] if wanted.stage else list(STAGES)
    spans: dict[str, list[tuple[int, int, int, int]]] = {}
    last_seq = finest = 0
    values = {"job_id": job_id, "stages": stages, "seeds": list(wanted.seeds)}
    for row in session.execute(_SPANS, values | {"finest": FINEST, "chunk_bits": chunk_bits(FINEST)}):
        last_seq = row.last_seq
        first, last = _within(wanted, row.first, row.newest)
        finest = FINEST if row.thinned else 0
        if first <= last:
            spans.setdefault(row.stage, []).append((row.seed, first, last, row.newest))
    levels = {
        stage: _level(
            min(first for _, first, _, _ in found), max(last for _, _, last, _ in found), wanted.max_points, finest
        )
        for stage, found in spans.items()
    }
    segments = [
        segment
        for stage, found in spans.items()
        for seed, first, last, newest in found
        for segment in _segments((seed, stage), levels[stage], first, last + 1, newest, finest)
    ]
    read = _read(session, job_id, wanted.names, segments)
    merged = [_merged(Series(*key), buckets, bucket_bits(levels[key[1]])) for key, buckets in read.items()]
    return sorted(merged, key=lambda one: (one.seed_index, STAGES.index(one.stage), one.name)), last_seq


def _within(wanted: MetricQuery, first: int | None, newest: int | None) -> tuple[int, int]:
    """The first and last step to read; an empty range for a stage without metrics."""
    if first is None or newest is None:
        return 0, -1
    low = first if wanted.from_step is None else max(first, wanted.from_step)
    return low, newest if wanted.to_step is None else min(newest, wanted.to_step)


def _level(first: int, last: int, max_points: int, finest: int) -> int:
    """The finest level, from `finest` on, with at most `max_points` buckets from step `first` to `last`."""
    level = finest
    while (last >> bucket_bits(level)) - (first >> bucket_bits(level)) >= max_points:
        level += 1
    return level


def _segments(of: tuple[int, str], level: int, first: int, end: int, newest: int, finest: int = 0) -> Iterator[Segment]:
    """Cover the steps of a seed and stage: whole buckets of the level as far as it is complete, and finer levels at both ends.

    At both ends of the level `finest`, a bucket counts as its last step. After its last chunk, the exact steps are read.
    """
    if first >= end:
        return
    if level == finest:
        rolled_up = min(end, complete_until(level, newest)) if level else first
        if first < rolled_up:
            yield Segment(*of, level, first, rolled_up)
        if max(first, rolled_up) < end:
            yield Segment(*of, 0, max(first, rolled_up), end)
        return
    bits = bucket_bits(level)
    whole_first = -(-first >> bits) << bits
    whole_end = min(end >> bits << bits, complete_until(level, newest))
    if whole_first >= whole_end:
        yield from _segments(of, level - 1, first, end, newest, finest)
        return
    yield from _segments(of, level - 1, first, whole_first, newest, finest)
    yield Segment(*of, level, whole_first, whole_end)
    yield from _segments(of, level - 1, whole_end, end, newest, finest)


def _read(
    session: Session, job_id: str, names: Sequence[str], segments: Sequence[Segment]
) -> dict[tuple[int, str, str], list[_Bucket]]:
    """The buckets of each seed, stage and name in the segments, in order."""
    if not segments:
        return {}
    values = {
        "job_id": job_id,
        "names": list(names),
        "seeds": [one.seed for one in segments],
        "stages": [one.stage for one in segments],
        "levels": [one.level for one in segments],
        "firsts": [one.first for one in segments],
        "ends": [one.end for one in segments],
        "bits": [chunk_bits(one.level) for one in segments],
    }
    found: dict[tuple[int, str, str], list[_Bucket]] = {}
    for row in session.execute(_NAMED if names else _ALL, values):
        exact = (row.last, row.last, row.last, [1] * len(row.steps))
        columns = exact if row.n is None else (row.min, row.max, row.mean, row.n)
        buckets = zip(row.steps, row.last, *columns, strict=True)
        if inside := [one for one in buckets if row.first <= one[0] < row.end]:
            found.setdefault((row.seed, row.stage, row.name), []).extend(inside)
    return {key: sorted(buckets) for key, buckets in found.items()}


def _merged(into: Series, buckets: Sequence[_Bucket], bits: int) -> Series:
    """Put buckets into buckets of 2^`bits` steps, which hold them whole."""
    merged: list[_Bucket] = []
    current = None
    for one in buckets:
        number = one[0] >> bits
        if number == current:
            merged[-1] = _sum(merged[-1], one)
        else:
            merged.append(one)
            current = number
    columns = (list(column) for column in zip(*merged, strict=True))
    into.steps, into.last, into.min, into.max, into.mean, into.n = columns
    return into


def _sum(one: _Bucket, later: _Bucket) -> _Bucket:
    """Both buckets in one."""
    _, _, low, high, mean, n = one
    step, last, later_low, later_high, later_mean, later_n = later
    both = mean * (n / (n + later_n)) + later_mean * (later_n / (n + later_n))
    return step, last, min(low, later_low), max(high, later_high), both, n + later_n
