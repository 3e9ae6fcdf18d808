"""The result of a validation, as the data worker stores it and as the API returns it.

Stored results keep loading: a new field of these models and of trainer/preflight/report.py has a default.
"""

import re
from collections.abc import Mapping

from data.findings import Described, Severity
from trainer.preflight.report import (
    Area,
    DatasetReport,
    Finding,
    Level,
    MemoryReport,
    ModelReport,
    Report,
    StageEstimate,
)

_SEVERITIES: dict[Level, Severity] = {"error": "blocking", "warning": "warning", "info": "info"}
_FILE = re.compile(r"data/(?P<role>\w+)\.jsonl(?:, (?P<line>line \d+))?")


class JobFinding(Described):
    """A problem of a job, found without training."""

    code: str
    """For programs, such as `prompts_too_long`."""
    severity: Severity
    """`blocking`: the run would fail. `warning`: it would run, but probably not as intended. `info`: a note."""
    area: Area
    """Subject of the finding."""
    pointer: str
    """JSON pointer to the field of the spec."""
    detail: str
    """Description of the problem."""
    advice: str | None
    """The change to make, if one is known."""


class ValidationResult(Described):
    """The findings of a check, and the figures of the run that the spec describes."""

    findings: list[JobFinding]
    """Blocking ones first."""
    datasets: list[DatasetReport]
    """The rows of each dataset as the run would use them. Empty if the data cannot be read."""
    model: ModelReport | None
    """Null if the model could not be read."""
    stages: list[StageEstimate]
    """Steps and tokens of each stage, in their order. Empty if the data or the tokenizer cannot be read."""
    memory: MemoryReport | None
    """Memory of each phase. Null if the model or the data cannot be read."""

    @property
    def blocked(self) -> bool:
        return any(finding.severity == "blocking" for finding in self.findings)

    @classmethod
    def of_report(cls, report: Report, names: Mapping[str, str]) -> "ValidationResult":
        """The result of a trainer's report. `names`: the texts that replace the paths of the checked folder."""
        return cls(
            findings=[_finding(one, names) for one in report.findings],
            datasets=report.datasets,
            model=report.model,
            stages=report.stages,
            memory=report.memory,
        )


def _finding(found: Finding, names: Mapping[str, str]) -> JobFinding:
    """The finding with a pointer. A trainer's finding about a file names the file and the line instead."""
    where, detail, advice = (_renamed(text, names) for text in (found.where, found.detail, found.fix))
    if file := _FILE.search(found.where):
        where = f"#/data/{file['role']}"
        detail = f"{file['line'].capitalize()}: {detail}" if file["line"] else detail
    return JobFinding(
        code=found.code,
        severity=_SEVERITIES[found.level],
        area=found.area,
        pointer=where or "#",
        detail=detail or "",
        advice=advice,
    )


def _renamed(text: str | None, names: Mapping[str, str]) -> str | None:
    for path, name in names.items():
        text = text and text.replace(path, name)
    return text
