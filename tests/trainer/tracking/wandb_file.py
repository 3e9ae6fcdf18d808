"""Reads the file of an offline run of Weights & Biases: LevelDB's log format with protobuf records."""

import importlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER, _BLOCK = 7, 32768
_FULL, _LAST = 1, 4


def records(path: Path) -> Iterator[Any]:
    """The records in order."""
    record: Any = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    data, at, parts = path.read_bytes(), _HEADER, b""
    while at + 7 <= len(data):
        if _BLOCK - at % _BLOCK < 7:
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (_FULL, _LAST):
            yield record.FromString(parts)
            parts = b""
