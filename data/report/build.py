"""Builds a report: scans the file, measures its columns and writes the findings."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.report import (
    rows_file,
)
from data.report.annotator_agreement import annotator_figures, gather_judgements, krippendorff_alpha, listed_annotators
from data.report.columns import Chunk, Collector, Columns, Flags
from data.report.duplicates import duplicate_findings, find_duplicates, find_leaks, held_out_rows, leak_findings
from data.report.findings import KINDS, FindingRows, Writer, mark_findings
from data.report.languages import sample_rows
from data.report.pool import Pool, cores
from data.report.result import Agreement, LengthBias, Positions, ReportResult, SplitSizes
from data.report.rows_file import LineNumbers, Texts, cut_into_chunks
from data.report.settings import LoadTokenizer, ReportSettings, TokenizerFacts
from data.report.summary import Steps, all_histograms, language_shares, summary_figures, ties
from data.report.tokens import fit_rows, token_findings
from data.report.verdicts import (
    bias_findings,
    decided,
    drawn_sides,
    measure_length_bias,
    measure_positions,
    tie_findings,
    verdict_findings,
)

OnProgress = Callable[[float, str], None]
"""Receives the progress, from 0 to 1, and the name of the current step."""


@dataclass(frozen=True)
class TrainerPart:
    """The trainer's part in a report."""

    steps: Steps
    load_tokenizer: LoadTokenizer | None = None
    """None: the settings name no model, and lengths are in characters and words."""


_SCANNING, _COMPARING, _JUDGING = 0.75, 0.9, 0.97
"""Progress at the end of reading rows, of comparing near duplicates, and of measuring verdicts."""
_SMALL = 2 * rows_file.CHUNK
"""Bytes up to which one process is faster than several."""


def make(
    path: Path,
    settings: ReportSettings,
    rows_dir: Path,
    on_progress: OnProgress,
    job: TrainerPart,
    processes: int | None = None,
) -> dict[str, Any]:
    """The report on the rows at `path`, as JSON. The row numbers of each finding are written to `rows_dir`/<code>.u64.

    Raises UnreadableRows for rows that the trainer would refuse, TokenizerFailed for a tokenizer that cannot be
    loaded, and LibraryMissing if a library is not installed.
    """
    rows_dir.mkdir(parents=True, exist_ok=True)
    for code in KINDS:  # of an earlier report
        (rows_dir / f"{code}.u64").unlink(missing_ok=True)
    cut = cut_into_chunks(path)
    count = processes or (1 if sum(chunk.length for chunk in cut) <= _SMALL else min(cores(), len(cut)))
    with (
        tempfile.TemporaryDirectory(dir=rows_dir, prefix=".bands-") as scratch,
        Pool(path, settings, count, job.load_tokenizer) as pool,
    ):
        columns = _scan(path, cut, pool, Path(scratch), on_progress)
        return (
            _Maker(path, settings, columns, pool, Path(scratch), on_progress, job.steps).report(rows_dir).model_dump()
        )


def _scan(path: Path, cut: list[Chunk], pool: Pool, scratch: Path, on_progress: OnProgress) -> Columns:
    total = cut[-1].offset + cut[-1].length
    sampled = sample_rows(rows_file.lines_in(path, cut))
    on_progress(0.0, "reading rows")
    with Collector(scratch) as collector:
        found = pool.map("scan", rows_file.with_samples(cut, sampled))
        for chunk, scanned in zip(cut, found, strict=True):
            collector.add(scanned)
            on_progress(_SCANNING * (chunk.offset + chunk.length) / total, "reading rows")
        return collector.columns()


class _Maker:
    """Builds the sections of one report from its columns."""

    def __init__(
        self,
        path: Path,
        settings: ReportSettings,
        columns: Columns,
        pool: Pool,
        scratch: Path,
        on_progress: OnProgress,
        steps: Steps,
    ) -> None:
        self._steps = steps
        self._settings, self._columns, self._pool, self._scratch, self._on_progress = (
            settings,
            columns,
            pool,
            scratch,
            on_progress,
        )
        self._lines = LineNumbers.read(settings, columns)
        self._texts = Texts(path, settings.kind, columns.arrays["offset"], self._lines)
        self._preferences = settings.kind == "preferences"
        self._unit = "tokens" if columns.has_tokens() else "characters"

    def report(self, rows_dir: Path) -> ReportResult:
        settings, columns = self._settings, self._columns
        writer = Writer(rows_dir, columns.rows, self._lines)
        finding_rows: list[FindingRows] = list(mark_findings(columns))
        facts = next(iter(self._pool.map("tokenizer_facts", [None]))) or TokenizerFacts()
        fits, kept = fit_rows(columns, settings), self._held_out()
        if settings.model is not None:
            finding_rows += token_findings(columns, facts, settings, fits, kept, self._texts)
        self._on_progress(_SCANNING, "comparing rows")
        copies = find_duplicates(columns, self._pool, self._scratch)
        finding_rows += duplicate_findings(copies, columns.arrays, self._texts)
        split = None if kept is None else self._split(kept, finding_rows)
        self._on_progress(_COMPARING, "comparing verdicts")
        bias, position, agreement = self._verdicts(finding_rows) if self._preferences else (None, None, None)
        self._on_progress(_JUDGING, "writing")
        limits = {"prompt": settings.max_prompt_tokens, "answer": settings.max_completion_tokens}
        units = ["tokens", "characters", "words"] if columns.has_tokens() else ["characters", "words"]
        return ReportResult(
            summary=summary_figures(columns, settings, fits, kept, copies, self._steps),
            findings=writer.write(finding_rows),
            histograms=all_histograms(columns, settings.kind, units, limits),
            languages=language_shares(columns),
            length_bias=bias,
            position=position,
            agreement=agreement,
            splits=split,
            special_tokens=sorted(columns.tokens),
        )

    def _held_out(self) -> Flags | None:
        """The rows that a job would hold out; None for rows without prompts."""
        if self._settings.kind == "pretraining":
            return None
        return held_out_rows(self._columns.arrays["prompt"], self._settings.eval_fraction)

    def _split(self, kept: Flags, found: list[FindingRows]) -> SplitSizes:
        """Sizes of the two sides of the split, and the number of leaking prompts."""
        prompts = self._columns.arrays["prompt"]
        rows, twins = find_leaks(self._columns, kept, self._pool, self._scratch)
        found += leak_findings(rows, twins, self._texts)
        if prompts.min() == prompts.max():
            found.append(FindingRows("one_prompt", "None can be held out: a run needs two different prompts at least."))
        held_out, of_prompts = int(kept.sum()), len(np.unique(prompts[kept]))
        return SplitSizes(
            eval_fraction=self._settings.eval_fraction,
            train=self._columns.rows - held_out,
            eval=held_out,
            train_prompts=len(np.unique(prompts)) - of_prompts,
            eval_prompts=of_prompts,
            shared_prompts=0,
            near_prompts=len(np.unique(prompts[rows])),
        )

    def _verdicts(self, found: list[FindingRows]) -> tuple[LengthBias | None, Positions | None, Agreement | None]:
        """The length bias, the positions and the agreement. Adds their findings to `found`."""
        columns = self._columns
        drawn = drawn_sides(columns)
        side = measure_positions(columns, drawn | self._settings.labelled)
        seen = gather_judgements(columns, drawn)
        alpha, people = krippendorff_alpha(seen.units), annotator_figures(columns, seen)
        pairs = decided(columns, columns.arrays[f"answer_{self._unit}"])
        length = measure_length_bias(*pairs, self._unit)
        tied, judged = ties(columns)
        found += verdict_findings(columns, seen, alpha, people, self._texts)
        found += tie_findings(tied, judged)
        found += bias_findings(length, side)
        agreement = Agreement(alpha=alpha, items=len(seen.units), annotators=listed_annotators(people))
        return length, side, agreement if seen.units else None
