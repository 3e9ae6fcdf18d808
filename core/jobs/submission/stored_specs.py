"""The specs of stored jobs: validated again, and changed by a JSON merge patch (RFC 7396)."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from core.db import check_storable
from core.errors import InvalidRequest, InvalidSpec
from core.models import Job
from trainer.spec import DATASETS, JobSpec
from trainer.spec.nulls import merge_patch
from trainer.spec.validation_errors import Problem, explain


def validated(raw: Mapping[str, Any]) -> JobSpec:
    """The spec as a posted one is parsed. Raises InvalidSpec with pointers into `raw`."""
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        raise _invalid(explain(error)) from error


def check_partial(raw: Mapping[str, Any]) -> None:
    """Raises InvalidSpec for a part of a spec with a field that is not valid. Further fields may be given later."""
    check_storable(raw, InvalidSpec)
    try:
        JobSpec.model_validate(raw)
    except ValidationError as error:
        if found := explain(error, ignored=lambda item: _may_come_later(item, raw)):
            raise _invalid(found) from error


def _may_come_later(item: ErrorDetails, raw: Mapping[str, Any]) -> bool:
    """Whether further fields may remove this error: a missing field, a model without a path, stages without their data."""
    data, model = raw.get("data"), raw.get("model")
    if item["loc"] == ():
        return not isinstance(data, Mapping) or not any(data.get(role) for role in DATASETS)
    no_model = isinstance(model, Mapping) and not (model.get("path") or model.get("config"))
    return item["type"] == "missing" or (no_model and item["loc"] == ("model",) and item["type"] == "value_error")


def _invalid(problems: Sequence[Problem]) -> InvalidSpec:
    errors = [{"pointer": found.pointer, "detail": found.detail} for found in problems]
    first = errors[0]
    param = first["pointer"].removeprefix("#/").replace("/", ".")
    return InvalidSpec(f"{first['pointer']}: {first['detail']}", param=param, errors=errors)


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
