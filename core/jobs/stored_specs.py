"""The specs of stored jobs: validated again, and changed by a JSON merge patch (RFC 7396)."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.errors import InvalidRequest, InvalidSpec
from core.models import Job
from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain


def validated(raw: Mapping[str, Any]) -> JobSpec:
    """The spec as a posted one is parsed. Raises InvalidSpec with pointers into `raw`."""
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        errors = [{"pointer": found.pointer, "detail": found.detail} for found in explain(error)]
        first = errors[0]
        param = first["pointer"].removeprefix("#/").replace("/", ".")
        raise InvalidSpec(f"{first['pointer']}: {first['detail']}", param=param, errors=errors) from error


def spec_of(job: Job) -> JobSpec:
    """The job's own spec. Raises InvalidSpec if an older release stored it and this one does not accept it."""
    try:
        return validated(job.spec)
    except InvalidSpec as error:
        detail = f"The spec of {job.id} was stored by an older release and is no longer valid. {error.detail}"
        raise InvalidSpec(detail, **error.extras) from error


def patched(spec: Mapping[str, Any], patch: Mapping[str, Any]) -> JobSpec:
    """The spec with the patch merged into it. Raises InvalidSpec with pointers into the merged spec."""
    try:
        return validated(merge_patch(spec, patch))
    except RecursionError as error:
        raise InvalidRequest("The patch is nested too deeply.", param="patch") from error


def merge_patch(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7396, section 2: null deletes a member, objects are merged, anything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
