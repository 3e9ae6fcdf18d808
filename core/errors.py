"""Errors that the platform expects. Each class has its HTTP status, its code and its title, which the API returns.

`platform_error` converts the errors of the dataset library.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import data.errors

WITH_A_KEY = {"WWW-Authenticate": "Bearer"}
IN_2_SECONDS = {"Retry-After": "2"}
IN_10_SECONDS = {"Retry-After": "10"}
NEVER_RETRY = {"x-should-retry": "false"}
SOON = {"Retry-After": "2", "x-should-retry": "true"}
"""Headers of a conflict that ends by itself: the client may retry."""


class PlatformError(Exception):
    """Base class. `detail` is a sentence for the user; `extras` are further members of the problem document."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Something went wrong on the server."
    headers: Mapping[str, str] = {}

    def __init__(self, detail: str = "", **extras: Any) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.extras = extras


class SettingsError(PlatformError):
    code = "invalid_settings"
    title = "The settings are not valid."


class NotSignedIn(PlatformError):
    status = 401
    code = "not_signed_in"
    title = "Sign in, or send an API key."
    headers = WITH_A_KEY


class CrossOrigin(PlatformError):
    status = 403
    code = "cross_origin"
    title = "Requests that change something must come from the dashboard itself."


class NotAllowed(PlatformError):
    status = 403
    code = "not_allowed"
    title = "Your role in the project, or your key, does not allow this."


class NotOperator(PlatformError):
    status = 403
    code = "not_operator"
    title = "Only an operator's key may do this."


class NotFound(PlatformError):
    status = 404
    code = "not_found"
    title = "It does not exist, or belongs to another project."


class Conflict(PlatformError):
    """Base class. Its header keeps clients from retrying: by default, some retry every 409."""

    status = 409
    code = "conflict"
    title = "The request does not fit the present state."
    headers = NEVER_RETRY


class IllegalTransition(Conflict):
    code = "invalid_transition"
    title = "The job cannot go from its present state to that one."

    def __init__(self, from_: str, to: str, allowed: Sequence[str], requests: Sequence[str] | None = None) -> None:
        """`requests`: the requests that are possible now, where one of them was refused."""
        detail = f"A job that is {from_} cannot become {to}."
        if requests is not None:
            detail += f" Possible now: {', '.join(requests) or 'no transition'}."
        super().__init__(detail, allowed=list(allowed), to=to)
        self.extras |= {"from": from_} | ({} if requests is None else {"requests": list(requests)})


class TaskEnded(Conflict):
    code = "task_ended"
    title = "The task has ended, so it cannot be cancelled."


class JobNotRunning(Conflict):
    code = "job_not_running"
    title = "The job takes no commands in its present state."


class KnobUnavailable(Conflict):
    code = "knob_unavailable"
    title = "The job's present stage has no such knob or action."


class JobNotEnded(Conflict):
    code = "job_not_ended"
    title = "The job has not ended."


class KeyInUse(Conflict):
    code = "key_in_use"
    title = "The request is made with this key."


class LastAdmin(Conflict):
    code = "last_admin"
    title = "The project would have no admin."


class NameTaken(Conflict):
    code = "name_taken"
    title = "Another object has this name."


class WrongVersion(Conflict):
    code = "wrong_version"
    title = "The worker has another version than the platform."


class CheckpointDamaged(Conflict):
    code = "checkpoint_damaged"
    title = "The stored files of the checkpoint are not those that were saved."


class NoGoodCheckpoint(Conflict):
    code = "no_good_checkpoint"
    title = "Every stored checkpoint of a stage is damaged."


class DatasetDamaged(Conflict):
    code = "dataset_damaged"
    title = "The stored rows are not those that were imported."


class UploadDamaged(Conflict):
    code = "upload_damaged"
    title = "The stored bytes of the upload are not those that were received."


class CompletionReplaced(Conflict):
    code = "completion_replaced"
    title = "The step ran again, and has another completion in this place."


class JobInUse(Conflict):
    code = "job_in_use"
    title = "A checkpoint of this job is needed."


class ExternalIdTaken(Conflict):
    code = "external_id_taken"
    title = "The external id belongs to another job or dataset."


class DatasetInUse(Conflict):
    code = "dataset_in_use"
    title = "An unfinished job uses this dataset."


class DatasetNotReady(Conflict):
    code = "dataset_not_ready"
    title = "The dataset is still being imported."
    headers = SOON


class SearchNotReady(Conflict):
    code = "search_not_ready"
    title = "The search index of these rows is still being made."
    headers = SOON


class UploadInUse(Conflict):
    code = "upload_in_use"
    title = "A dataset is being made of this upload."


class UploadNotOpen(Conflict):
    code = "upload_not_open"
    title = "The upload accepts no more parts."


class UploadNotComplete(Conflict):
    code = "upload_not_complete"
    title = "The upload is not complete."


class PartsMissing(Conflict):
    code = "parts_missing"
    title = "Parts of the upload were not received."


class PartDiffers(Conflict):
    code = "part_differs"
    title = "This part was received before, with other bytes."


class LeaseLost(Conflict):
    code = "lease_lost"
    title = "This attempt no longer holds the job."


class RequestInFlight(Conflict):
    code = "request_in_flight"
    title = "A request with the same Idempotency-Key is still in progress."
    headers = SOON


class RoundNotReady(Conflict):
    code = "round_not_ready"
    title = "The round has no items yet."


class RoundOpen(Conflict):
    code = "round_open"
    title = "The round has not been closed yet."


class RoundClosed(Conflict):
    code = "round_closed"
    title = "The round accepts no more answers."


class NothingToClose(Conflict):
    code = "nothing_to_close"
    title = "The round has no answers to store."


class PreconditionFailed(PlatformError):
    status = 412
    code = "precondition_failed"
    title = "The resource has changed since it was read."


class TooLarge(PlatformError):
    status = 413
    code = "too_large"
    title = "The request is larger than allowed."


class WrongMediaType(PlatformError):
    status = 415
    code = "wrong_media_type"
    title = "The route does not accept the Content-Type of the body."


class WrongHost(PlatformError):
    status = 421
    code = "wrong_host"
    title = "The platform is not served under this host name."


class InvalidRequest(PlatformError):
    status = 422
    code = "invalid_request"
    title = "The request is not valid."


class KnobOutOfRange(InvalidRequest):
    code = "knob_out_of_range"
    title = "The value of the knob is not allowed."


class InvalidSpec(InvalidRequest):
    code = "invalid_spec"
    title = "The job spec is not valid."


class InvalidDataset(InvalidRequest):
    code = "invalid_dataset"
    title = "The dataset has rows that cannot be used. Nothing was stored."


class UnusableDataset(InvalidRequest):
    code = "unusable_dataset"
    title = "The dataset library could not process the dataset."


class FormatUnclear(InvalidRequest):
    code = "format_unclear"
    title = "The format of the file cannot be detected. Choose the format, or map its columns."


class InvalidMapping(InvalidRequest):
    code = "invalid_mapping"
    title = "The mapping of columns to fields is not valid."


class DatasetBlocked(InvalidRequest):
    code = "dataset_blocked"
    title = "The dataset has a blocking finding. Decide about it first."


class DatasetFailed(InvalidRequest):
    code = "dataset_failed"
    title = "The dataset could not be made."


class ChecksumMismatch(InvalidRequest):
    code = "checksum_mismatch"
    title = "The received bytes do not have the expected SHA-256."


class ImportRefused(InvalidRequest):
    code = "import_refused"
    title = "Nothing can be imported from this address."


class WebhookRefused(InvalidRequest):
    code = "webhook_refused"
    title = "This platform does not send webhooks to that address."


class LimitExceeded(InvalidRequest):
    code = "limit_exceeded"
    title = "The job exceeds a limit of this platform."


class IdempotencyKeyReused(InvalidRequest):
    code = "idempotency_key_reused"
    title = "The Idempotency-Key belongs to another request."


class BlockedByValidation(InvalidRequest):
    code = "blocked_by_validation"
    title = "A validation of this spec has blocking findings."


class WrongDatasetKind(InvalidRequest):
    code = "wrong_dataset_kind"
    title = "This field needs another kind of dataset."


class CannotContinue(InvalidRequest):
    code = "cannot_continue"
    title = "The job has no models to continue from."


class WrongCheckpoint(InvalidRequest):
    code = "wrong_checkpoint"
    title = "This field needs a checkpoint of another stage."


class TooManyTries(PlatformError):
    status = 429
    code = "too_many_tries"
    title = "Too many wrong keys in a short time."

    def __init__(self, detail: str = "", retry_after: int = 1) -> None:
        """`retry_after`: seconds until the next request is accepted."""
        super().__init__(detail)
        self.headers = {"Retry-After": str(retry_after)}


class RateLimited(PlatformError):
    status = 429
    code = "rate_limited"
    title = "Too many requests in a short time."

    def __init__(self, detail: str = "", retry_after: int = 1) -> None:
        """`retry_after`: seconds until the next request is accepted."""
        super().__init__(detail)
        self.headers = {"Retry-After": str(retry_after), "x-should-retry": "true"}


class QuotaExceeded(PlatformError):
    """Its header keeps clients from retrying, because waiting does not help."""

    status = 429
    code = "quota_exceeded"
    title = "The limit of what one owner may have is reached."
    headers = NEVER_RETRY


class TooManyStreams(PlatformError):
    status = 429
    code = "too_many_streams"
    title = "You have too many open event streams."
    headers = IN_10_SECONDS


class FetchFailed(PlatformError):
    status = 502
    code = "fetch_failed"
    title = "The file could not be downloaded."


class Unavailable(PlatformError):
    status = 503
    code = "unavailable"
    title = "The database or the broker does not answer. Try again."
    headers = IN_2_SECONDS


class QueryTimeout(Unavailable):
    code = "query_timeout"
    title = "A query took longer than the API allows."


class StorageUnreadable(Unavailable):
    code = "storage_unreadable"
    title = "The platform's disk or share does not return a stored file. Its content may be good."


class StoreFailed(StorageUnreadable, OSError):
    """The bucket of the blobs refuses a request or does not respond. It is an OSError as well, as those of a disk or share."""

    code = "store_failed"
    title = "The platform's store did not take or return a file."


class DiskFull(PlatformError):
    status = 507
    code = "disk_full"
    title = "The platform's disk is full. Nothing was stored."


_OF_DATASETS: Mapping[type, type[PlatformError]] = {
    data.errors.DatasetError: UnusableDataset,
    data.errors.UnusableFile: InvalidDataset,
    data.errors.UnclearFormat: FormatUnclear,
    data.errors.UnusableMapping: InvalidMapping,
    data.errors.InvalidOption: InvalidRequest,
    data.errors.OutOfSpace: DiskFull,
    data.errors.UnreadableRows: InvalidDataset,
}


def platform_error(error: data.errors.DatasetError) -> PlatformError:
    """The platform error, with a code and an HTTP status, for an error of the dataset library."""
    converted = next(_OF_DATASETS[base] for base in type(error).__mro__ if base in _OF_DATASETS)
    return converted(error.detail, **error.extras)
