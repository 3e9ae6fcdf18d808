"""Addresses that files are imported from: parsing, and the operator's allow-list.

    https://host/path                             a file on the web; http:// only if an allowed prefix has it
    s3://bucket/key                               an object of a bucket
    hf://datasets/owner/name[@revision][/path]    a file of a dataset on the hub; also `owner/name`, or the page's address
    file:///folder/file                           a file of the server

The allow-list consists of prefixes. A prefix matches whole names of a path. A prefix that ends with `://` allows every
public address of its scheme. Hosts in private networks, and folders of the server, must be named by a prefix.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from core.access.allowlist import HttpAddress

ImportUrls = Literal["any", "none"] | list[str]
LONGEST_URL = 2000
_ANY = ("https://", "s3://", "hf://")
_WEB = ("http", "https")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_DATASET = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_PAGES = ("blob", "resolve", "raw", "tree")
Key = tuple[str, ...]


@dataclass(frozen=True)
class WebFile:
    """A file behind an HTTP address."""

    url: str

    @property
    def name(self) -> str:
        return unquote(urlsplit(self.url).path.rpartition("/")[2]) or str(urlsplit(self.url).hostname)

    def prefixes(self) -> Iterator[Key]:
        yield _web_key(self.url)


@dataclass(frozen=True)
class BucketFile:
    """An object of an S3 bucket."""

    bucket: str
    key: str

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def prefixes(self) -> Iterator[Key]:
        yield ("s3", self.bucket, *self.key.split("/"))


@dataclass(frozen=True)
class HubFile:
    """A file of a dataset on the hub. Without `path`, the dataset must have only one file to import."""

    dataset: str
    revision: str
    path: str
    hub_url: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.dataset.rpartition("/")[2]

    @property
    def web_url(self) -> str:
        """The address that the file is downloaded from."""
        return f"{self.hub_url}/datasets/{self.dataset}/resolve/{quote(self.revision, safe='')}/{quote(self.path)}"

    @property
    def tree_url(self) -> str:
        """The address that lists the files of the dataset."""
        return f"{self.hub_url}/api/datasets/{self.dataset}/tree/{quote(self.revision, safe='')}?recursive=true"

    def prefixes(self) -> Iterator[Key]:
        yield ("hf", "datasets", *self.dataset.split("/"), *self.path.split("/"))
        yield _web_key(self.web_url)


@dataclass(frozen=True)
class ServerFile:
    """A file of the machine that the data worker runs on."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def prefixes(self) -> Iterator[Key]:
        yield ("file", *self.path.parts[1:])


ImportSource = WebFile | BucketFile | HubFile | ServerFile


def parse_import_url(url: str, hub_url: str) -> ImportSource:
    """The file that `url` names.

    Raises ValueError for an address of another form, or one that two parsers could read differently.
    """
    hub_url = hub_url.rstrip("/")
    if len(url) > LONGEST_URL or not url.isprintable() or url != url.strip():
        raise ValueError(f"an address has at most {LONGEST_URL} characters, all of them printable")
    if _DATASET.match(url) and "://" not in url:
        return _hub_file(url, hub_url)
    if url.startswith(f"{hub_url}/datasets/"):
        return _hub_page(url, hub_url)
    scheme, separator, rest = url.partition("://")
    match scheme.lower() if separator else "":
        case "http" | "https":
            HttpAddress.parse(url)
            return WebFile(url.partition("#")[0])
        case "s3":
            return _bucket_file(rest)
        case "hf" if rest.startswith("datasets/"):
            return _hub_file(rest.removeprefix("datasets/"), hub_url)
        case "file" if rest.startswith("/"):
            return ServerFile(Path("/", *_names(unquote(rest))))
    known = "https://…, s3://bucket/key, hf://datasets/owner/name/file or file:///folder/file"
    raise ValueError(f"an address to import from is {known}")


def import_refusal(wanted: ImportSource, allowed: ImportUrls) -> str | None:
    """The reason why the file may not be imported; None if it may."""
    prefixes = allowed_prefixes(allowed)
    if any(_covers(prefix, wanted) for prefix in prefixes):
        return None
    where = f"only from addresses below {', '.join(prefixes)}" if prefixes else "from no address"
    return f"this platform imports files {where}; its operator may allow more (PROXIMAL_IMPORT_URLS)"


def host_is_named(wanted: ImportSource, allowed: ImportUrls) -> bool:
    """Whether a prefix names the host of the file. Such a host may be in a private network."""
    return any(_covers(prefix, wanted) for prefix in allowed_prefixes(allowed) if not prefix.endswith("://"))


def allowed_folders(allowed: ImportUrls) -> list[Path]:
    """The folders of the server that files may be imported from."""
    keys = [_prefix_key(prefix) for prefix in allowed_prefixes(allowed)]
    return [Path("/", *key[1:]) for key in keys if key[0] == "file"]


def allowed_prefixes(allowed: ImportUrls) -> Sequence[str]:
    """The prefixes of the setting."""
    match allowed:
        case "none":
            return ()
        case "any":
            return _ANY
    return allowed


def check_prefix(prefix: str) -> str:
    """Returns the prefix unchanged. Raises ValueError if it is not valid."""
    key = _prefix_key(prefix)
    if key == ("file",):
        raise ValueError(f"{prefix}: name a folder of the server, as file:///srv/data/")
    return prefix


def _covers(prefix: str, wanted: ImportSource) -> bool:
    beginning = _prefix_key(prefix)
    return any(key[: len(beginning)] == beginning for key in wanted.prefixes())


def _prefix_key(prefix: str) -> Key:
    scheme, separator, rest = prefix.partition("://")
    if not separator or scheme not in (*_WEB, "s3", "hf", "file"):
        raise ValueError(f"{prefix}: a prefix begins with https://, http://, s3://, hf:// or file:///")
    if scheme in _WEB and rest:
        if "?" in prefix or "#" in prefix:
            raise ValueError(f"{prefix}: a prefix must not have a query or a fragment")
        return _web_key(prefix.rstrip("/"))
    return (scheme, *_names(rest))


def _web_key(url: str) -> Key:
    address = HttpAddress.parse(url)
    return (address.scheme, address.host, str(address.port), *address.path)


def _bucket_file(rest: str) -> BucketFile:
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket) or not key or key != "/".join(_names(key)):
        raise ValueError("an object of a bucket is named as s3://bucket/folder/file")
    return BucketFile(bucket, key)


def _hub_file(rest: str, hub_url: str) -> HubFile:
    """Parse `owner/name[@revision][/path]`. Slashes of a revision are written as %2F."""
    owner, _, rest = rest.partition("/")
    name, _, path = rest.partition("/")
    name, _, revision = name.partition("@")
    return _hub(f"{owner}/{name}", unquote(revision) or "main", path, hub_url)


def _hub_page(url: str, hub_url: str) -> HubFile:
    """Parse the address of a web page of the hub: that of a dataset, or of one of its files."""
    HttpAddress.parse(url)
    rest = urlsplit(url.removeprefix(f"{hub_url}/datasets/")).path
    owner, name, page, revision, *path = [*(unquote(part) for part in rest.split("/") if part), "", "", "", ""]
    if page == "tree" or page not in _PAGES:
        path = []
    return _hub(f"{owner}/{name}", revision or "main", "/".join(path), hub_url)


def _hub(dataset: str, revision: str, path: str, hub_url: str) -> HubFile:
    if not _DATASET.fullmatch(dataset) or ".." in dataset:
        raise ValueError("a dataset of the hub is named as hf://datasets/owner/name")
    return HubFile(dataset, "/".join(_names(revision)), "/".join(_names(path)), hub_url)


def _names(path: str) -> list[str]:
    """The names of a path. Raises ValueError for `.`, `..` and backslashes."""
    names = [name for name in path.split("/") if name]
    if {".", ".."} & set(names) or "\\" in path or "\0" in path:
        raise ValueError("an address must not contain a backslash, or `.` or `..` as a part of its path")
    return names
