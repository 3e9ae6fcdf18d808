"""The code of docs/how-to/webhooks.md checks the requests that the platform sends."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from core.webhooks.deliveries import MOST_TRIES
from core.webhooks.event_types import TEST, EventType
from core.webhooks.signing import new_secret, signed_headers

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "webhooks.md").read_text()
BODY = '{"type":"job.failed"}'


@pytest.fixture(scope="module")
def verify() -> Callable[..., None]:
    """The function of the page."""
    names: dict[str, Callable[..., None]] = {}
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(code, names)
    return names["verify"]


def test_webhooks_guide_accepts_what_is_sent(verify: Callable[..., None]) -> None:
    old, new = new_secret(), new_secret()
    for secret in (old, new):
        verify(signed_headers("msg_1", 1000, BODY, [new, old]), BODY.encode(), secret, now=1100)


def test_webhooks_guide_accepts_the_published_example(verify: Callable[..., None]) -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    verify(headers, b'{"test": 2432232314}', "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now=1614265330)


@pytest.mark.parametrize(("body", "now"), [('{"type":"job.succeeded"}', 1000), (BODY, 1301)])
def test_webhooks_guide_refuses_others(verify: Callable[..., None], body: str, now: int) -> None:
    secret = new_secret()
    with pytest.raises(ValueError):
        verify(signed_headers("msg_1", 1000, BODY, [secret]), body.encode(), secret, now=now)
    with pytest.raises(ValueError):
        verify(signed_headers("msg_1", 1000, BODY, [secret]), BODY.encode(), new_secret(), now=1000)


def test_webhooks_guide_names_every_event() -> None:
    table = PAGE.partition("| event | when |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+\.\w+)`", table)) == {*EventType, TEST}
    assert f"After {MOST_TRIES} tries" in PAGE
