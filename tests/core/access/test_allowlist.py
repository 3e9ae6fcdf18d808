"""Prefixes that allow the addresses of rewards and judges."""

import pytest

from core.access.allowlist import url_refusal
from core.settings import Settings

PREFIXES = ["https://good.example/v1", "http://10.0.0.7:9000/", "http://[::1]"]


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example/v1",
        "https://good.example/v1/",
        "https://good.example/v1/score?key=a@b",
        "https://GOOD.example:443/v1/score",
        "https://good.example./v1",
        "http://10.0.0.7:9000",
        "http://10.0.0.7:9000/anything",
        "http://[::1]:80/score",
    ],
)
def test_allowlist_url_below_a_prefix_is_allowed(url: str) -> None:
    assert url_refusal(url, PREFIXES) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example/v1",
        "https://good.example:8443/v1",
        "https://good.example/v2",
        "https://good.example/v1x",
        "https://good.example//v1",
        "https://good.example/",
        "https://good.example.evil.example/v1",
        "https://evil.example/?https://good.example/v1",
        "https://evil.example/#https://good.example/v1",
        "http://10.0.0.7/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost/",
    ],
)
def test_allowlist_url_outside_the_prefixes_is_refused(url: str) -> None:
    assert "this platform lets jobs call only addresses below" in str(url_refusal(url, PREFIXES))


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example@evil.example/v1",
        "https://good.example:443@evil.example/v1",
        "https://evil.example\\@good.example/v1",
        "https://good.example\\.evil.example/v1",
        "https://good.example/v1/../admin",
        "https://good.example/v1/%2e%2e/admin",
        "https://good.example/v1/%252e%252e/admin",
        "https://good.example/v1/..%2fadmin",
        "https://good.example/v1/%2e%2e%5cadmin",
        "https://good.example/v1\t/score",
        "https://good.example/v1\n",
        " https://good.example/v1",
        "https://good.example\u3002evil.example/v1",
        "https://good.example:99999/v1",
        "https://good.example:x/v1",
        "https://[::1/v1",
        "https:///v1",
        "ftp://good.example/v1",
    ],
)
def test_allowlist_ambiguous_url_is_refused(url: str) -> None:
    said = url_refusal(url, [*PREFIXES, "https://good.example", "https://evil.example"])
    assert said is not None and "only below" not in said


def test_allowlist_any_allows_all_and_none_refuses_all() -> None:
    assert url_refusal("http://127.0.0.1/", "any") is None
    assert "no address" in str(url_refusal("http://127.0.0.1/", "none"))


def test_prefixes_come_from_the_environment_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "postgresql://u@h/d")
    assert Settings().reward_urls == "none"
    monkeypatch.setenv("PROXIMAL_REWARD_URLS", " https://a.example/v1  http://b.example ")
    assert Settings().reward_urls == ["https://a.example/v1", "http://b.example"]
    for wrong in ("a.example", "https://u:p@a.example", "https://a.example/?x", "http://a.example,http://b.example x"):
        monkeypatch.setenv("PROXIMAL_REWARD_URLS", wrong)
        with pytest.raises(ValueError, match="validation error"):
            Settings()
