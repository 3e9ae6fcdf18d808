"""Errors of the client, with messages for people."""

from collections.abc import Mapping
from typing import Any, ClassVar

NO_HEADERS: Mapping[str, str] = {}


class ClientError(Exception):
    """Base class of the errors that this package raises. `exit_status`: that of the command which ends with it."""

    exit_status = 1


class Question(ClientError):
    """The platform cannot decide how to read a file. The message has the possible commands."""

    exit_status = 6


class Unreachable(ClientError):
    """The platform cannot be reached."""

    exit_status = 3


class DamagedDownload(ClientError):
    """The bytes that arrived are not those that the platform has stored."""


class JobNotSucceeded(ClientError):
    """A job that a command followed has ended, or waits, without success."""

    _STATUSES: ClassVar[dict[str, int]] = {"failed": 4, "cancelled": 5, "paused": 5}

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.exit_status = self._STATUSES.get(job["status"], 1)
        error = job["error"] or {"code": job["status"], "message": job["status_reason"]}
        super().__init__(f"{job['id']} is {job['status']} ({error['code']}): {error['message']}")


class ApiError(ClientError):
    """The platform returned an error. `problem` is its `application/problem+json` body."""

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code", ""))
        after, advice = headers.get("retry-after", ""), headers.get("x-should-retry")
        self.retry_after = float(after) if after.isdecimal() else None
        """Seconds until the request may be repeated, if the platform names them."""
        self.should_retry = None if advice is None else advice == "true"
        """Whether waiting helps; None if the platform sends no `x-should-retry`."""
        super().__init__(_message(status, problem))


def _message(status: int, problem: Mapping[str, Any]) -> str:
    """The detail, then one line for each error with its place."""
    lines = [str(problem.get("detail") or problem.get("title") or f"The platform responded with status {status}.")]
    errors = problem.get("errors") or []
    if len(errors) == 1 and _is_told(errors[0], lines[0]):
        lines = _once(errors[0], lines[0], problem.get("title"))
    else:
        lines += [_line(error) for error in errors]
    hidden = int(problem.get("error_count", len(errors))) - len(errors)
    if hidden > 0:
        lines.append(f"  … and {hidden} more")
    return "\n".join(lines)


def _is_told(error: Mapping[str, Any], detail: str) -> bool:
    """Whether the detail of the problem holds that of its only error."""
    return str(error.get("detail")).rstrip(".") in detail


def _once(error: Mapping[str, Any], detail: str, title: Any) -> list[str]:
    """The lines of a problem with one error. The place has a line of its own unless the detail names it."""
    names = [part for part in str(error.get("pointer") or "").strip("#/").split("/") if part]
    if "column" not in error and all(name in detail for name in names):
        return [detail]
    whole = detail.removeprefix(f"Line {error.get('line')}: ").rstrip(".") == str(error.get("detail")).rstrip(".")
    return [str(title) if title and whole else detail, _line(error)]


def _line(error: Mapping[str, Any]) -> str:
    return f"  {_place(error)}{error.get('detail', '')}"


def _place(error: Mapping[str, Any]) -> str:
    parts = [f"{name} {error[name]}" for name in ("line", "column") if error.get(name) is not None]
    if error.get("pointer"):
        parts.append(str(error["pointer"]))
    return f"{', '.join(parts)}: " if parts else ""
