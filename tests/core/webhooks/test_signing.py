"""Signatures of webhooks."""

import base64

from core.webhooks.signing import new_secret, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_signature_is_that_of_the_published_example() -> None:
    """The example that the libraries of Standard Webhooks test themselves with."""
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}', [SECRET])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_secret_signs() -> None:
    both = signed_headers("msg_1", 1, "{}", [SECRET, new_secret()])["webhook-signature"].split(" ")
    assert both[0] == signed_headers("msg_1", 1, "{}", [SECRET])["webhook-signature"]
    assert len(both) == 2 and both[0] != both[1] and both[1].startswith("v1,")


def test_secret_has_256_bits() -> None:
    made = new_secret()
    assert made.startswith("whsec_") and len(base64.b64decode(made.removeprefix("whsec_"))) == 32
    assert made != new_secret()
