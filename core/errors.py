"""Expected trouble. Each kind knows its HTTP status, its code and its title; the API only prints it.

PlatformError
├── SettingsError               the environment lacks something; seen at start-up only
├── NotSignedIn            401  no key, or one that is unknown or revoked
├── CrossOrigin            403  a cookie came with a request from another site
├── NotFound               404  it does not exist, or it is another key's
├── Conflict               409
│   ├── IllegalTransition  409  a job cannot go from this state to that one
│   ├── DatasetInUse       409  an unfinished job needs it
│   ├── DatasetNotReady    409  it is still being imported
│   ├── SearchNotReady     409  the search index of a version is still being made
│   ├── UploadInUse        409  a dataset is being made of it
│   ├── UploadNotOpen      409  it takes no more parts
│   ├── UploadNotComplete  409  it cannot be read before all of it has arrived
│   ├── PartsMissing       409  it cannot be completed before all of it has arrived
│   ├── PartDiffers        409  a part with this number, of other bytes, has arrived before
│   ├── RoundNotReady      409  the items of a round of annotation are not there
│   ├── RoundOpen          409  the round has not been closed yet
│   ├── RoundClosed        409  the round takes no more answers
│   ├── NothingToClose     409  nobody has answered anything that could be stored
│   └── LeaseLost          409  a worker writes for a job that it no longer holds
├── TooLarge               413  the body exceeds a limit
├── WrongMediaType         415  the body says that it is something else than what is read here
├── InvalidRequest         422  a parameter or field is not valid
│   ├── InvalidSpec        422  the job spec is not valid
│   ├── InvalidDataset     422  an upload has bad rows
│   ├── FormatUnclear      422  a file leaves open what its records are
│   ├── InvalidMapping     422  a mapping of columns to fields is not valid
│   ├── DatasetBlocked     422  a version has a blocking finding that nobody has decided about
│   ├── DatasetFailed      422  a version could not be made
│   ├── ChecksumMismatch   422  what arrived is not what was sent
│   ├── ImportRefused      422  nothing may be, or can be, fetched from that address
│   ├── WrongDatasetKind   422  the job needs another kind of dataset
│   ├── CannotContinue     422  there is nothing in that job to go on from
│   └── WrongCheckpoint    422  the job needs another kind of checkpoint
├── FetchFailed            502  a file elsewhere could not be fetched
├── Unavailable            503  the database or the broker does not answer
└── DiskFull               507  there is no room for what would be stored
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import data.errors

NEVER_RETRY = {"x-should-retry": "false"}
SOON = {"Retry-After": "2", "x-should-retry": "true"}
"""The state that is in the way passes by itself."""


class PlatformError(Exception):
    """Base. `detail` helps the person at the other end; `extras` are further members of the problem document."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Something went wrong on the server."
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, detail: str = "", **extras: Any) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.extras = extras


class SettingsError(PlatformError):
    code = "invalid_settings"
    title = "The settings are not complete."


class NotSignedIn(PlatformError):
    status = 401
    code = "not_signed_in"
    title = "Sign in, or send an API key."
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class CrossOrigin(PlatformError):
    status = 403
    code = "cross_origin"
    title = "Requests that change something must come from the dashboard itself."


class NotFound(PlatformError):
    status = 404
    code = "not_found"
    title = "There is no such thing, or it is not yours."


class Conflict(PlatformError):
    """Base. OpenAI-style clients repeat every 409 unless told not to."""

    status = 409
    code = "conflict"
    title = "That does not fit the present state."
    headers = NEVER_RETRY


class IllegalTransition(Conflict):
    code = "invalid_transition"
    title = "The job cannot go from its present state to that one."

    def __init__(self, from_: str, to: str, allowed: Sequence[str]) -> None:
        super().__init__(f"A job that is {from_} cannot become {to}.", allowed=list(allowed), to=to)
        self.extras["from"] = from_


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
    title = "The upload takes no more parts."


class UploadNotComplete(Conflict):
    code = "upload_not_complete"
    title = "The upload is not complete."


class PartsMissing(Conflict):
    code = "parts_missing"
    title = "Parts of the upload have not arrived."


class PartDiffers(Conflict):
    code = "part_differs"
    title = "This part has arrived before, with other bytes."


class LeaseLost(Conflict):
    code = "lease_lost"
    title = "This attempt no longer holds the job."


class RoundNotReady(Conflict):
    code = "round_not_ready"
    title = "The items of the round are not there."


class RoundOpen(Conflict):
    code = "round_open"
    title = "The round has not been closed yet."


class RoundClosed(Conflict):
    code = "round_closed"
    title = "The round takes no more answers."


class NothingToClose(Conflict):
    code = "nothing_to_close"
    title = "Nobody has answered anything in this round that could be stored."


class TooLarge(PlatformError):
    status = 413
    code = "too_large"
    title = "The request is larger than allowed."


class WrongMediaType(PlatformError):
    status = 415
    code = "wrong_media_type"
    title = "The body's Content-Type is not the one that is read here."


class InvalidRequest(PlatformError):
    status = 422
    code = "invalid_request"
    title = "The request is not valid."


class InvalidSpec(InvalidRequest):
    code = "invalid_spec"
    title = "The job spec is not valid."


class InvalidDataset(InvalidRequest):
    code = "invalid_dataset"
    title = "The dataset has rows that cannot be used; nothing was stored."


class FormatUnclear(InvalidRequest):
    code = "format_unclear"
    title = "It is not clear what the file's records are; say the format, or map its columns."


class InvalidMapping(InvalidRequest):
    code = "invalid_mapping"
    title = "The mapping of columns to fields is not valid."


class DatasetBlocked(InvalidRequest):
    code = "dataset_blocked"
    title = "The dataset has a blocking finding; decide about it first."


class DatasetFailed(InvalidRequest):
    code = "dataset_failed"
    title = "The dataset could not be made."


class ChecksumMismatch(InvalidRequest):
    code = "checksum_mismatch"
    title = "What arrived does not have the SHA-256 that it should have."


class ImportRefused(InvalidRequest):
    code = "import_refused"
    title = "Nothing can be imported from this address."


class WrongDatasetKind(InvalidRequest):
    code = "wrong_dataset_kind"
    title = "The job needs another kind of dataset here."


class CannotContinue(InvalidRequest):
    code = "cannot_continue"
    title = "There is nothing in that job to go on from."


class WrongCheckpoint(InvalidRequest):
    code = "wrong_checkpoint"
    title = "The job needs a checkpoint of another stage here."


class FetchFailed(PlatformError):
    status = 502
    code = "fetch_failed"
    title = "The file could not be fetched."


class Unavailable(PlatformError):
    status = 503
    code = "unavailable"
    title = "A part of the platform does not answer; try again."
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "2"}


class DiskFull(PlatformError):
    status = 507
    code = "disk_full"
    title = "There is no room left on the platform's disk; nothing was stored."


_OF_DATASETS: Mapping[type[data.errors.DatasetError], type[PlatformError]] = {
    data.errors.UnusableFile: InvalidDataset,
    data.errors.UnclearFormat: FormatUnclear,
    data.errors.UnusableMapping: InvalidMapping,
    data.errors.InvalidOption: InvalidRequest,
    data.errors.OutOfSpace: DiskFull,
    data.errors.UnreadableRows: InvalidDataset,
}


def platform_error(error: data.errors.DatasetError) -> PlatformError:
    """The error of the dataset library as one with a code and an HTTP status."""
    return _OF_DATASETS.get(type(error), PlatformError)(error.detail, **error.extras)
