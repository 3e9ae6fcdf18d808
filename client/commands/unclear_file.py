"""What to do about a file whose records are unclear: the same command again, with what was missing."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from client.errors import ApiError, ClientError

_SHOWN = 3
"""Candidates that are offered; the platform lists more that fit less well."""
_LIKELY = 0.6
"""Share of the records that a candidate fits, from which it is offered beside a suggested mapping."""


def way_on(error: ApiError, command: Sequence[str]) -> ClientError:
    """The error with commands to copy. `command`: the words of the one that was given, without how to read the file."""
    suggested = error.problem.get("suggested")
    every = error.problem.get("candidates") or []
    candidates = [one for one in every if one["score"] >= _LIKELY] or ([] if suggested else every)
    told = [str(error)]
    if candidates:
        told += ["Read it in one of these ways:", *(_shell([*command, *_named(one)]) for one in candidates[:_SHOWN])]
    if suggested:
        lead = "Or say which column is which field" if candidates else "Say which column is which field"
        told += [f"{lead}, as the names suggest (check it first):", _shell([*command, *_mapped(suggested)])]
    return ClientError("\n".join(told))


def _named(candidate: Mapping[str, Any]) -> list[str]:
    return ["--format", candidate["format"], "--kind", candidate["kind"]]


def _mapped(mapping: Mapping[str, Any]) -> list[str]:
    fields = [f"{name}={column}" for name, column in mapping["fields"].items()]
    labels = [f"{value}={side or ''}" for value, side in (mapping.get("labels") or {}).items()]
    return [word for pair in fields for word in ("--map", pair)] + [
        word for pair in labels for word in ("--label", pair)
    ]


def _shell(words: Sequence[str]) -> str:
    return "  " + shlex.join(words)
