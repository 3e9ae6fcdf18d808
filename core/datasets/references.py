"""How a version is named: `ds_…` (the newest), `ds_…@2`, or `ds_…@sha256:…` with at least 8 digits of its rows' sum."""

import re
from dataclasses import dataclass

from core.errors import InvalidRequest
from core.models import DatasetVersion

_SUM = re.compile("sha256:([0-9a-f]{8,64})")
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Reference:
    """`number` and `sum_prefix`: at most one of them is given; neither: the newest version."""

    dataset_id: str
    number: int | None = None
    sum_prefix: str | None = None

    @classmethod
    def of(cls, text: str) -> "Reference":
        """Raises InvalidRequest for what is no reference."""
        dataset_id, separator, at = text.partition("@")
        if not separator:
            return cls(dataset_id)
        if _NUMBER.fullmatch(at):
            return cls(dataset_id, number=int(at))
        if found := _SUM.fullmatch(at):
            return cls(dataset_id, sum_prefix=found[1])
        detail = f"{text!r} names no version; write {dataset_id}@2, or {dataset_id}@sha256: and at least 8 digits"
        raise InvalidRequest(f"{detail}.", errors=[{"detail": detail}])


def pin(version: DatasetVersion) -> str:
    """The reference that means these rows and no others, now and later."""
    return f"{version.dataset_id}@sha256:{version.sha256}"
