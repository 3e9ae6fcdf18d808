"""Blobs as objects of a bucket, on Amazon S3 or a compatible server, through the library obstore."""

from core.blobs.s3.bucket import Bucket
from core.blobs.s3.store import S3Blobs

__all__ = ["Bucket", "S3Blobs"]
