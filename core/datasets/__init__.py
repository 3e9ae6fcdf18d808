"""Datasets: uploads that were read row by row before anything was stored."""

from core.datasets.store import blobs_key, create, delete, get, rows

__all__ = ["blobs_key", "create", "delete", "get", "rows"]
