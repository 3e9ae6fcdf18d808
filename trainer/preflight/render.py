"""A pre-run report as text, and amounts of memory as text."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from trainer.errors import SpecError
from trainer.preflight.report import Finding, MemoryReport, Report, TrialReport

_WIDTH = 96
_PARTS = ("weights", "optimizer", "gradients", "activations", "kv_cache", "gathered")


def render(report: Report) -> str:
    """The whole report, the verdict last."""
    blocks = [
        _model(report),
        _datasets(report),
        _stages(report),
        _memory(report.memory),
        _trial(report.trial),
        _findings(report.findings),
    ]
    lines = [line for block in blocks if (found := list(block)) for line in (*found, "")]
    return "\n".join([*lines, _verdict(report)])


def _model(report: Report) -> Iterator[str]:
    model = report.model
    if model is None:
        return
    context = "no limit" if model.context is None else f"{model.context:,}"
    yield (
        f"Model        {model.architecture}, {show_count(model.parameters)} parameters ({show_count(model.trained_parameters)} learn); "
        f"{model.layers} layers of {model.hidden_size}; vocabulary {model.vocabulary:,}; context {context}; "
        f"computes in {model.dtype}"
    )


def _datasets(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("Data", "rows", "train", "held out", "left out", "tokens: median / 95 % / longest")]
    for dataset in report.datasets:
        lengths = "; ".join(f"{name} {q.median} / {q.p95} / {q.longest}" for name, q in dataset.lengths.items())
        left = sum(dataset.left_out.values())
        rows.append(
            (dataset.name, f"{dataset.rows:,}", f"{dataset.train:,}", f"{dataset.held_out:,}", f"{left:,}", lengths)
        )
    yield from _table(rows) if report.datasets else ()


def _stages(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("Stage", "steps", "optimizer", "responses", "tokens", "sampled", "at most")]
    for stage in report.stages:
        counts = (stage.steps, stage.optimizer_steps, stage.responses)
        tokens = (stage.tokens, stage.generated, stage.generated_max)
        name = f"{stage.stage}, at most" if stage.at_most else stage.stage
        rows.append((name, *(f"{n:,}" if n else "-" for n in counts), *(show_count(n) if n else "-" for n in tokens)))
    yield from _table(rows) if report.stages else ()


def _memory(memory: MemoryReport | None) -> Iterator[str]:
    if memory is None:
        return
    parts = [part for part in _PARTS if any(part in phase.parts for phase in memory.phases)]
    rows: list[tuple[str, ...]] = [("Memory", "low", "expected", "high", *(part.replace("_", " ") for part in parts))]
    for phase in memory.phases:
        sizes = [phase.low, phase.expected, phase.high, *(phase.parts.get(part, 0) for part in parts)]
        rows.append((phase.phase, *(show_bytes(size) if size else "-" for size in sizes)))
    yield from _table(rows)
    have = "unknown" if memory.available is None else show_bytes(memory.available)
    if memory.processes > 1:
        yield f"  per process, of {memory.processes}"
    yield f"  on {memory.device}: {have} in all, of which the process itself takes about {show_bytes(memory.runtime)}"
    for suggestion in memory.suggestions:
        verdict = "fits" if suggestion.fits else "not enough yet"
        yield f"  try {suggestion.change}: {show_bytes(suggestion.expected)}, {verdict}"


def _trial(trial: TrialReport | None) -> Iterator[str]:
    if trial is None:
        return
    yield from _table(
        [
            ("Trial step", "KL per token", ""),
            *(
                (
                    f"{step.learning_rate:g}",
                    "not finite" if step.kl is None else f"{step.kl:.2g}",
                    "ppo.learning_rate" if step.learning_rate == trial.rate else "",
                )
                for step in trial.steps
            ),
        ]
    )


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        text = f"{finding.level}: {finding.where}: {finding.detail}" + (f" {finding.fix}" if finding.fix else "")
        yield from textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _verdict(report: Report) -> str:
    errors = len(report.errors())
    warnings = sum(finding.level == "warning" for finding in report.findings)
    noted = f" ({warnings} warning{'s' * (warnings != 1)})" if warnings else ""
    return (
        f"This run would not start: {errors} error{'s' * (errors != 1)}{noted}." if errors else f"Ready to run{noted}."
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Align text left and numbers right. A last column of text is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(max(widths[0], 12))]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        if "median" in rows[0][-1]:
            cells[-1] = row[-1]
        yield "  ".join(cells).rstrip()


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def parse_bytes(text: str) -> int:
    """Bytes of `24GiB`, `80GB`, `512M` or `1000000`. Raises SpecError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.strip().upper())
    if match is None or match[2] == "I":
        raise SpecError(f"{text!r} is no amount of memory: say 24GiB or 80GB.")
    return int(float(match[1]) * _UNITS[match[2]])


def show_bytes(size: float) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(size) >= 2**power:
            number = size / 2**power
            return f"{number:.3g} {unit}" if abs(number) < 1000 else f"{number:,.0f} {unit}"
    return f"{size} B"


def show_count(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"
