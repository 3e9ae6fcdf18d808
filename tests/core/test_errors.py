"""Conversion of errors of the dataset library."""

import pytest

from core.errors import DiskFull, InvalidDataset, PlatformError, platform_error
from data.errors import DatasetError, OutOfSpace, TokenizerFailed, UnusableFile

CLASSES = [DatasetError, *DatasetError.__subclasses__()]


@pytest.mark.parametrize("kind", CLASSES)
def test_dataset_error_of_any_class_has_a_status_and_code(kind: type[DatasetError]) -> None:
    error = kind(ValueError("why")) if kind is TokenizerFailed else kind("why")
    converted = platform_error(error)
    assert converted.code != PlatformError.code and converted.detail == "why"
    assert 400 <= converted.status < 500 or (kind is OutOfSpace and isinstance(converted, DiskFull))


def test_dataset_error_of_a_subclass_is_converted_as_its_base() -> None:
    class Broken(UnusableFile):
        pass

    assert type(platform_error(Broken("why"))) is InvalidDataset
