"""The symmetric signatures of Standard Webhooks 1.0.0: HMAC-SHA256 of `{id}.{timestamp}.{body}`.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

_PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """256 random bits in base64, after `whsec_`."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(webhook_id: str, timestamp: int, body: str, keys: Sequence[str]) -> dict[str, str]:
    """The headers of a request. `keys`: the secrets, each of which signs. `timestamp`: the seconds since 1970 of this try."""
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_signature(webhook_id, timestamp, body, key) for key in keys),
    }


def _signature(webhook_id: str, timestamp: int, body: str, key: str) -> str:
    signed = f"{webhook_id}.{timestamp}.{body}".encode()
    digest = hmac.new(base64.b64decode(key.removeprefix(_PREFIX)), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
