"""Parsing of import addresses, and the prefixes that allow them."""

from pathlib import Path

import pytest

from core.access.import_urls import (
    BucketFile,
    HubFile,
    ImportSource,
    ServerFile,
    WebFile,
    check_prefix,
    host_is_named,
    import_refusal,
    parse_import_url,
)
from core.settings import Settings, get_settings

HUB = "https://huggingface.co"


def hub(dataset: str, revision: str = "main", path: str = "") -> HubFile:
    return HubFile(dataset, revision, path, HUB)


@pytest.mark.parametrize(
    ("url", "meant", "name"),
    [
        (
            "https://data.example/a/pairs.jsonl?v=2#top",
            WebFile("https://data.example/a/pairs.jsonl?v=2"),
            "pairs.jsonl",
        ),
        ("https://data.example", WebFile("https://data.example"), "data.example"),
        ("s3://my-bucket/a/b c.csv", BucketFile("my-bucket", "a/b c.csv"), "b c.csv"),
        (
            "hf://datasets/owner/name/data/train.jsonl.gz",
            hub("owner/name", path="data/train.jsonl.gz"),
            "train.jsonl.gz",
        ),
        ("hf://datasets/o/n@v1.0/x.csv", hub("o/n", "v1.0", "x.csv"), "x.csv"),
        ("o/n@refs%2Fconvert%2Fparquet/d/0.parquet", hub("o/n", "refs/convert/parquet", "d/0.parquet"), "0.parquet"),
        ("Owner/some-name_2", hub("Owner/some-name_2"), "some-name_2"),
        (f"{HUB}/datasets/o/n", hub("o/n"), "n"),
        (f"{HUB}/datasets/o/n/blob/main/d/x.jsonl", hub("o/n", path="d/x.jsonl"), "x.jsonl"),
        (f"{HUB}/datasets/o/n/tree/v2/d", hub("o/n", "v2"), "n"),
        ("file:///srv/data/pairs.jsonl", ServerFile(Path("/srv/data/pairs.jsonl")), "pairs.jsonl"),
    ],
)
def test_import_url_is_parsed_to_its_source(url: str, meant: ImportSource, name: str) -> None:
    assert parse_import_url(url, HUB) == meant
    assert parse_import_url(url, HUB).name == name


@pytest.mark.parametrize(
    "url",
    [
        "",
        "pairs.jsonl",
        "ftp://data.example/x",
        "https://user:secret@data.example/x",
        "https://data.example/../x",
        "https://data.example/%2e%2e/x",
        "https://data.example/%252e%252e/x",
        "https://data.example\\@elsewhere/x",
        "https:///x",
        "https://data.example/\nx",
        "s3://b/x",
        "s3://bucket",
        "s3://bucket/../x",
        "s3://bucket//x",
        "s3://BUCKET/x",
        "hf://models/o/n",
        f"{HUB}/datasets/o",
        "../n",
        "o/../x",
        "file://host/x",
        "file:///srv/../etc/passwd",
        "file:///srv/%2e%2e/etc/passwd",
        "file:///a\x00b",
        "https://data.example/" + "x" * 2000,
    ],
)
def test_import_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|dataset|object"):
        parse_import_url(url, HUB)


@pytest.mark.parametrize(
    ("prefix", "url", "allowed"),
    [
        ("https://data.example/", "https://data.example/x", True),
        ("https://data.example", "https://data.example:443/x", True),
        ("https://data.example/a/", "https://data.example/a/x", True),
        ("https://data.example/a", "https://data.example/ab", False),
        ("https://data.example/", "http://data.example/x", False),
        ("https://data.example/", "https://data.example.evil/x", False),
        ("https://data.example/", "https://other.data.example/x", False),
        ("https://", "https://anywhere.example/x", True),
        ("https://", "http://anywhere.example/x", False),
        ("s3://bucket/a", "s3://bucket/a/x", True),
        ("s3://bucket/a", "s3://bucket/ab", False),
        ("s3://", "s3://bucket/a", True),
        ("hf://datasets/owner", "owner/name", True),
        ("hf://datasets/owner", "owner2/name", False),
        (f"{HUB}/", "owner/name", True),
        ("file:///srv/data", "file:///srv/data/x", True),
        ("file:///srv/data", "file:///srv/database", False),
    ],
)
def test_import_url_prefix_allows_urls_below_it(prefix: str, url: str, allowed: bool) -> None:
    assert (import_refusal(parse_import_url(url, HUB), [check_prefix(prefix)]) is None) == allowed


def test_any_is_every_public_place_and_no_file_of_the_server() -> None:
    allowed = [
        url
        for url in ("https://a.example/x", "s3://bucket/x", "o/n")
        if import_refusal(parse_import_url(url, HUB), "any") is None
    ]
    assert len(allowed) == 3
    for url in ("file:///etc/passwd", "http://a.example/x"):
        assert "PROXIMAL_IMPORT_URLS" in (import_refusal(parse_import_url(url, HUB), "any") or "")
    assert import_refusal(parse_import_url("https://a.example/x", HUB), "none") is not None


def test_only_a_prefix_with_a_host_names_it() -> None:
    internal = parse_import_url("https://10.0.0.7/x", HUB)
    assert host_is_named(internal, ["https://10.0.0.7/"]) and not host_is_named(internal, ["https://"])
    assert not host_is_named(internal, "any")


@pytest.mark.parametrize(
    "prefix", ["data.example", "ftp://x", "https://x?y", "https://x/../y", "file:///", "https://u@x/"]
)
def test_import_url_invalid_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"prefix|address|folder"):
        check_prefix(prefix)


def test_prefixes_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv("PROXIMAL_IMPORT_URLS", "https://data.example/ s3://bucket/")
    get_settings.cache_clear()
    assert get_settings().import_urls == ["https://data.example/", "s3://bucket/"]
