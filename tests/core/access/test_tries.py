from collections.abc import Callable

import pytest
from limits import RateLimitItemPerMinute

from core.access.rate_limits import RateLimiter
from core.access.tries import Tries, network_of
from core.errors import NotSignedIn, TooManyTries

Try = Callable[[str, str], None]
RIGHT = "prx_right"


def tries_on(redis_url: str) -> Try:
    """Checks of one process: three wrong keys an address, two tries of a key."""
    tries = Tries(RateLimiter(redis_url), per_address=3, per_key=2)

    def check(address: str, key: str) -> None:
        with tries.trying(address, key):
            if key != RIGHT:
                raise NotSignedIn

    return check


@pytest.fixture(params=["redis", "memory"])
def check(request: pytest.FixtureRequest, redis_url: str) -> Try:
    return tries_on(redis_url if request.param == "redis" else "redis://127.0.0.1:1/0")


def test_wrong_keys_of_an_address_are_limited(check: Try) -> None:
    for number in range(3):
        with pytest.raises(NotSignedIn):
            check("10.0.0.1", f"wrong {number}")
    with pytest.raises(TooManyTries) as refused:
        check("10.0.0.1", "wrong 4")
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 60
    with pytest.raises(NotSignedIn):
        check("10.0.0.2", "wrong 4")


def test_the_same_wrong_key_is_limited_everywhere(check: Try) -> None:
    for address in ("10.0.0.1", "10.0.0.2"):
        with pytest.raises(NotSignedIn):
            check(address, "wrong")
    with pytest.raises(TooManyTries):
        check("10.0.0.3", "wrong")
    with pytest.raises(NotSignedIn):
        check("10.0.0.3", "another")


def test_right_key_is_accepted_from_a_limited_address(check: Try) -> None:
    for number in range(3):
        with pytest.raises(NotSignedIn):
            check("10.0.0.1", f"wrong {number}")
    check("10.0.0.1", RIGHT)


def test_tries_are_counted_over_all_processes(redis_url: str) -> None:
    for number in range(3):
        with pytest.raises(NotSignedIn):
            tries_on(redis_url)("10.0.0.1", f"wrong {number}")
    with pytest.raises(TooManyTries):
        tries_on(redis_url)("10.0.0.1", "wrong 4")


def test_limiter_counts_in_memory_after_redis_went_away(redis_url: str) -> None:
    limiter, limit = RateLimiter("redis://127.0.0.1:1/0"), RateLimitItemPerMinute(2)
    assert [limiter.hit(limit, "a") for _ in range(3)] == [True, True, False]
    assert limiter.window(limit, "a").remaining == 0 and limiter.window(limit, "b").remaining == 2


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("a socket", "a socket"),
    ],
)
def test_addresses_of_one_ipv6_client_are_one(address: str, network: str) -> None:
    assert network_of(address) == network
