"""The part of a database row that the audit log keeps: its kind, its id, and columns without secrets."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlalchemy import Table

from core.audit.chain import moment
from core.masking import Masker

KINDS: Mapping[str, str] = {
    "job_groups": "group",
    "jobs": "job",
    "datasets": "dataset",
    "annotation_rounds": "round",
    "job_templates": "template",
    "uploads": "upload",
    "webhooks": "webhook",
    "owners": "project",
    "users": "member",
    "api_keys": "key",
    "validations": "validation",
    "dataset_reports": "report",
    "sample_notes": "note",
    "job_commands": "command",
    "view_settings": "view_setting",
    "annotations": "answer",
    "memberships": "membership",
    "workers": "worker",
    "worker_cordons": "cordon",
}
"""The kind of the object of each table. A request that makes several is about the first of these. Elsewhere it is the table's name."""
_BOOKKEEPING = frozenset(
    [
        "stored_responses",
        "sign_in_codes",
        "browser_sessions",
        "worker_tokens",
        "dataset_contents",
        "dataset_rows",
        "dataset_prompts",
        "job_events",
        "job_log_chunks",
        "job_metrics",
        "job_metric_chunks",
        "job_telemetry",
        "audit_rows",
        "audit_chains",
        "webhook_deliveries",
        "webhook_tries",
    ]
)
"""Tables whose rows are the platform's own, with logs of their own, or credentials with an id that is a hash."""
_NOT_KEPT = frozenset(
    {
        ("api_keys", "sha256"),
        ("api_keys", "last_used_at"),
        ("annotations", "reserved_until"),
        ("workers", "job_id"),
        ("workers", "last_seen_at"),
    }
)
"""Hashes of credentials, times of use, and the jobs of other projects."""
_SECRET = re.compile(r"(^|_)(secrets?|tokens?|passwords?|credentials?)(_|$)")
_LONGEST = 8000
"""Longest JSON of a value that is kept whole."""
_OWNERS = ("owner_id", "project_id")


def is_audited(table: object) -> bool:
    """Whether the log has the changes of a table."""
    return isinstance(table, Table) and table.name not in _BOOKKEEPING


@lru_cache(maxsize=256)
def kept_columns(table: Table) -> tuple[str, ...]:
    """The names of the columns whose values the log keeps."""
    names = (column.name for column in table.columns)
    return tuple(name for name in names if (table.name, name) not in _NOT_KEPT and not _SECRET.search(name))


def project_of(table: Table, row: Mapping[str, Any]) -> str | None:
    """The project that a row belongs to; None for a row that names none."""
    if table.name == "owners":
        return str(row["id"])
    return next((row[name] for name in _OWNERS if row.get(name)), None)


def identity(table: Table, row: Mapping[str, Any]) -> str:
    """The primary key of a row, without the project: several columns are joined by a slash."""
    names = [column.name for column in table.primary_key.columns]
    parts = [str(row.get(name, "")) for name in names if name not in _OWNERS]
    return "/".join(parts)


def shown(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The kept columns of a row, as JSON values."""
    return {name: _json(row[name]) for name in kept_columns(table) if name in row}


def changed(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None] | None:
    """The columns that differ, before and after; None without a difference. A missing row is None, and so are its columns."""
    if before is None or after is None:
        return None if before is after else (_or_none(before), _or_none(after))
    names = [name for name in after if name not in before or before[name] != after[name]]
    if not names:
        return None
    return {name: before.get(name) for name in names}, {name: after[name] for name in names}


def _or_none(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {name: value for name, value in row.items() if value is not None}


def _json(value: Any) -> Any:
    """The value as JSON. A long one is replaced by its length and its SHA-256."""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        value = _masker().mask(value) if "://" in value else value
        if len(value) <= _LONGEST:
            return value
    elif isinstance(value, bool | int) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    elif not isinstance(value, dict | list):
        value = str(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= _LONGEST:
        return json.loads(text)
    data = text.encode("utf-8", "surrogatepass")
    return {"omitted_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@lru_cache
def _masker() -> Masker:
    return Masker({})


def main_object(tables: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """The kind and the id of the object that a request is about, of those (table, id) that it made."""
    order = list(KINDS)
    ranked = [(order.index(table), id_) for table, id_ in tables if table in KINDS]
    if not ranked:
        return None
    rank, id_ = min(ranked, key=lambda one: one[0])
    return KINDS[order[rank]], id_
