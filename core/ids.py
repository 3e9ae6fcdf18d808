"""Ids: a prefix that says what it is, and 120 random bits."""

import base64
import secrets


def new_id(prefix: str) -> str:
    """For example `job_` and 24 lowercase letters and digits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"
