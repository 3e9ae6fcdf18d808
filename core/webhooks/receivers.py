"""The addresses that webhooks may be sent to: https addresses of the public internet, and networks that the operator allows.

The check is made when a webhook is saved, and before each connection, which then goes to the addresses that were checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from core.access.allowlist import HttpAddress
from core.access.pinned import UnknownHost, is_public, look_up, plain_address
from core.errors import WebhookRefused

LONGEST_URL = 2000


@dataclass(frozen=True)
class Receiver:
    """An address that was checked, and the IP addresses that its host has."""

    address: HttpAddress
    ip_addresses: Sequence[str]


def checked_receiver(url: str, networks: Sequence[str]) -> Receiver:
    """Look up the host of an address. `networks`: private ones that are allowed. Raises WebhookRefused.

    A name with one refused address is refused altogether: which of them a look-up lists first may change.
    """
    try:
        if len(url) > LONGEST_URL:
            raise ValueError(f"an address has at most {LONGEST_URL} characters")
        address = HttpAddress.parse(url)
        found = look_up(address.host, address.port)
    except (ValueError, UnknownHost) as error:
        raise _refused(str(error)) from error
    named = [_is_in(ip_address, networks) for ip_address in found]
    if not all(allowed or is_public(ip_address) for allowed, ip_address in zip(named, found, strict=True)):
        raise _refused(
            f"{address.host} is in a private network, which this platform sends no webhooks to; its operator may allow "
            "more (PROXIMAL_WEBHOOK_NETWORKS)"
        )
    if address.scheme != "https" and not all(named):
        raise _refused("an address begins with https://, since the payload would be readable on its way")
    return Receiver(address, found)


def _is_in(ip_address: str, networks: Sequence[str]) -> bool:
    return any(plain_address(ip_address) in ip_network(network) for network in networks)


def _refused(detail: str) -> WebhookRefused:
    return WebhookRefused(
        f"{detail[0].upper()}{detail[1:].removesuffix('.')}.",
        param="url",
        errors=[{"pointer": "#/url", "detail": detail}],
    )
