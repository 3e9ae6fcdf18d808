"""Turns the errors of obstore into those of the platform, with advice for the operator."""

import re

from core.errors import StoreFailed

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_CREDENTIALS = "Correct PROXIMAL_BLOB_ACCESS_KEY_ID and PROXIMAL_BLOB_SECRET_ACCESS_KEY (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)."
_REGION = "Correct PROXIMAL_BLOB_REGION (or AWS_REGION), or PROXIMAL_BLOB_ENDPOINT."
_NO_BUCKET = "The bucket of PROXIMAL_BLOB_URL does not exist. Create it, or correct the setting."
_WRONG_REGION = f"The bucket is in another region, or on another server. {_REGION}"
_WRONG_KEY = f"The S3 server does not accept the credentials of the bucket. {_CREDENTIALS}"
_EXPIRED = "The credentials of the bucket have expired. Give the processes new ones, and restart them."
_DENIED = (
    "The credentials may not use the bucket. Allow them s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, "
    f"s3:ListBucketMultipartUploads, s3:ListMultipartUploadParts and s3:AbortMultipartUpload, or others. {_CREDENTIALS}"
)
_CLOCK = "The clock of this machine differs from that of the S3 server. Set it."
_ADVICE = {
    "NoSuchBucket": _NO_BUCKET,
    "InvalidBucketName": _NO_BUCKET,
    "PermanentRedirect": _WRONG_REGION,
    "TemporaryRedirect": _WRONG_REGION,
    "AuthorizationHeaderMalformed": _WRONG_REGION,
    "IllegalLocationConstraintException": _WRONG_REGION,
    "InvalidAccessKeyId": _WRONG_KEY,
    "InvalidClientTokenId": _WRONG_KEY,
    "SignatureDoesNotMatch": _WRONG_KEY,
    "ExpiredToken": _EXPIRED,
    "InvalidToken": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "AccessDenied": _DENIED,
    "AccountProblem": _DENIED,
    "AllAccessDisabled": _DENIED,
    "RequestTimeTooSkewed": _CLOCK,
    "PreconditionFailed": "A file was replaced while it was read. Try again.",
}
_NO_CONDITIONS = frozenset({"NotImplemented", "InvalidArgument", "InvalidRequest"})
"""Codes of a server without conditional writes."""
NO_CONDITIONS = (
    "The S3 server takes no conditional writes. The locks of the database alone keep two writers of a file apart."
)
_BY_STATUS = {"301": _WRONG_REGION, "401": _WRONG_KEY, "403": _DENIED}
"""For responses without a body, as those of HEAD."""
_BUSY = "The S3 server is busy or has a fault. Try again."
_NO_CREDENTIALS = f"No credentials for the bucket were found. {_CREDENTIALS}"
_NO_ANSWER = (
    "The S3 server does not respond, or the connection broke. Check PROXIMAL_BLOB_ENDPOINT, the network and the server."
)
_NO_S3 = f"The server does not respond as an S3 server does. {_REGION}"


class Refusal(StoreFailed):
    """A failure that another try does not change."""


class RequestFailed(Exception):
    """A response with an error, or none (`status` is None). Its text has the form of obstore's errors."""

    def __init__(self, status: int | None, text: str) -> None:
        super().__init__(text if status is None else f"status code: {status} {text}")
        self.status = status


def code_of(error: Exception | str) -> str | None:
    """The S3 code in the text of an error."""
    found = _CODE.search(str(error))
    return found[1] if found else None


def refuses_condition(error: RequestFailed) -> bool:
    """Whether a server does not take the condition of a write."""
    return code_of(error) in _NO_CONDITIONS or error.status == 501


def failure_of(error: Exception) -> StoreFailed:
    """The platform's error for one of obstore. It names no address and no key, because users read it."""
    text = str(error)
    code, status = code_of(error), _STATUS.search(text)
    if code in _ADVICE:
        return Refusal(f"{_ADVICE[code]} ({code})")
    if status is None:
        return StoreFailed(_NO_CREDENTIALS if "redential" in text or "169.254.169.254" in text else _NO_ANSWER)
    reported = f"({status[1]}{f' {code}' if code else ''})"
    if status[1] in _BY_STATUS and code is None:
        return Refusal(f"{_BY_STATUS[status[1]]} {reported}")
    if status[1].startswith("5") or status[1] in ("408", "429"):
        return StoreFailed(f"{_BUSY} {reported}")
    return StoreFailed(f"The S3 server refused a request. {reported}" if code else f"{_NO_S3} {reported}")
