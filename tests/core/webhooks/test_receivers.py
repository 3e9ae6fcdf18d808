"""The addresses that webhooks may be sent to."""

import socket
from collections.abc import Sequence

import pytest

from core.access.pinned import is_public
from core.errors import WebhookRefused
from core.webhooks.receivers import checked_receiver


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[str]) -> None:
    """Make look-ups return these addresses, one after the other, and the last one from then on."""
    left = list(answers)

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr("core.access.pinned.socket.getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",  # the metadata of a virtual machine
        "168.63.129.16",  # Azure's
        "100.100.100.200",  # Alibaba's
        "0.0.0.0",
        "2130706433",  # 127.0.0.1 in decimal
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:169.254.169.254]",  # IPv4 in IPv6
        "[::ffff:7f00:1]",
        "[64:ff9b::a9fe:a9fe]",
        "[fe80::1]",
        "[fd00:ec2::254]",
    ],
)
def test_private_host_is_refused(host: str) -> None:
    with pytest.raises(WebhookRefused) as refused:
        checked_receiver(f"https://{host}/hook", [])
    assert "private network" in refused.value.detail or "does not resolve" in refused.value.detail


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "https://user@a.example/", "hook", f"https://a.example/{'x' * 2000}"]
)
def test_other_forms_are_refused(url: str) -> None:
    with pytest.raises(WebhookRefused):
        checked_receiver(url, ["0.0.0.0/0"])


def test_public_name_is_pinned_to_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14"])
    receiver = checked_receiver("https://a.example/hook", [])
    assert list(receiver.ip_addresses) == ["93.184.215.14"] and receiver.address.host == "a.example"


def test_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14", "10.0.0.1"])
    with pytest.raises(WebhookRefused, match="private network"):
        checked_receiver("https://a.example/hook", [])


def test_plain_http_is_for_allowed_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14"])
    with pytest.raises(WebhookRefused, match="begins with https"):
        checked_receiver("http://a.example/hook", ["10.0.0.0/8"])
    resolving(monkeypatch, ["10.0.0.1"])
    assert checked_receiver("http://a.example/hook", ["10.0.0.0/8"]).ip_addresses == ["10.0.0.1"]


def test_mapped_address_is_in_an_allowed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["::ffff:10.0.0.1"])
    assert checked_receiver("http://a.example/hook", ["10.0.0.0/8"]).ip_addresses == ["::ffff:10.0.0.1"]
    assert not is_public("::ffff:10.0.0.1")
