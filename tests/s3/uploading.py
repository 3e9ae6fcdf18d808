"""Starts processes that store a file in a bucket, so that a test can kill them."""

import os
import subprocess
import sys
from pathlib import Path

from core.blobs.s3 import Bucket

PART = 5 * 1024 * 1024
"""The smallest part that S3 allows."""
_PROGRAM = """
import sys
from pathlib import Path
from pydantic import SecretStr
from core.blobs.s3 import Bucket, S3Blobs, sums
name, prefix, endpoint, region, key, secret, seconds, part, blob, file = sys.argv[1:]
sums._LEAST_PART = int(part)
bucket = Bucket(name, prefix, endpoint, region, SecretStr(key), SecretStr(secret), seconds=float(seconds))
S3Blobs(bucket, Path(file).parent).put_file(blob, Path(file))
"""


def start_upload(bucket: Bucket, key: str, file: Path) -> "subprocess.Popen[bytes]":
    """A process that stores a file in parts of PART bytes."""
    assert bucket.access_key_id and bucket.secret_access_key
    secrets = (bucket.access_key_id.get_secret_value(), bucket.secret_access_key.get_secret_value())
    place = (bucket.name, bucket.prefix, bucket.endpoint, bucket.region, *secrets, str(bucket.seconds))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", _PROGRAM, *place, str(PART), key, str(file)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
