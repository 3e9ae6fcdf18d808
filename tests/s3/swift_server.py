"""OpenStack Swift with its S3 interface: a server that shares no code with moto, and verifies keys, regions and checksums.

Debian has it: `apt-get install swift-proxy swift-account swift-container swift-object memcached`.
"""

import getpass
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.s3.servers import Server, free_ports, processes, responds
from tests.waiting import eventually

PYTHON = "/usr/bin/python3"
"""That of Debian, which has the libraries of its Swift."""
STORAGE = ("account", "container", "object")
PROGRAMS = ("memcached", "swift-ring-builder", "swift-proxy-server", *(f"swift-{name}-server" for name in STORAGE))
_KEY, _SECRET, _REGION = "test:tester", "a-secret-of-the-tests", "eu-test-1"
_HASHES = "[swift-hash]\nswift_hash_path_suffix = test\n[storage-policy:0]\nname = one\ndefault = yes\n"
_COMMON = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
user = {user}
log_level = WARNING
log_address = {folder}/log
"""
_STORAGE_SERVER = """\
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
_PROXY = """\
[pipeline:main]
pipeline = catch_errors cache listing_formats bulk s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = {region}
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


def is_installed() -> bool:
    return all(shutil.which(program) for program in PROGRAMS)


@contextmanager
def swift(folder: Path) -> Iterator[Server]:
    """A Swift of one device with one copy of each object, in `folder`."""
    memcached, proxy, *others = free_ports(2 + len(STORAGE))
    ports = dict(zip(STORAGE, others, strict=True))
    (folder / "devices" / "d1").mkdir(parents=True)
    (folder / "swift.conf").write_text(_HASHES)
    for name, port in ports.items():
        _configure(folder, name, port, _STORAGE_SERVER.format(name=name))
        _make_ring(folder / f"{name}.builder", port)
    _configure(folder, "proxy", proxy, _PROXY.format(memcached=memcached, region=_REGION, secret=_SECRET))
    url = f"http://127.0.0.1:{proxy}"
    with processes(folder) as start:
        start(["memcached", "-l", "127.0.0.1", "-p", str(memcached), "-u", "nobody"])
        for name in (*STORAGE, "proxy"):
            start(
                [
                    "env",
                    f"SWIFT_DIR={folder}",
                    PYTHON,
                    str(shutil.which(f"swift-{name}-server")),
                    str(folder / f"{name}.conf"),
                ]
            )
        for port in (*ports.values(), proxy):  # a proxy without its storage servers responds, too
            eventually(lambda port=port: responds(f"http://127.0.0.1:{port}"))
        yield Server("swift", url, _KEY, _SECRET, _REGION)


def _configure(folder: Path, name: str, port: int, text: str) -> None:
    common = _COMMON.format(port=port, folder=folder, user=getpass.getuser())
    (folder / f"{name}.conf").write_text(common + text)


def _make_ring(builder: Path, port: int) -> None:
    for arguments in (["create", "4", "1", "0"], ["add", f"r1z1-127.0.0.1:{port}/d1", "1"], ["rebalance"]):
        subprocess.run(["swift-ring-builder", str(builder), *arguments], check=True, capture_output=True)
