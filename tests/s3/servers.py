"""Starts the S3 servers of the tests as processes on free ports."""

import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import child
from tests.waiting import eventually

_MOTO = """
import base64
import hashlib
import io

from moto import server
from moto.s3.models import FakeKey

computed = FakeKey.etag.fget

def etag(key):
    with key.lock:
        return computed(key)

FakeKey.etag = property(etag)

def verifying(application):
    def respond(environ, start_response):
        if expected := environ.get("HTTP_CONTENT_MD5"):
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            if base64.b64encode(hashlib.md5(body).digest()).decode() != expected:
                start_response("400 Bad Request", [("Content-Type", "application/xml")])
                return [b"<Error><Code>BadDigest</Code></Error>"]
            environ["wsgi.input"] = io.BytesIO(body)
        return application(environ, start_response)
    return respond

run = server.run_simple
server.run_simple = lambda host, port, application, **options: run(host, port, verifying(application), **options)
server.main()
"""
"""moto's server, which verifies Content-MD5 as S3 does.

Its ETag is computed from the bytes by the first reader, and two readers at once got a wrong one."""
Start = Callable[[Sequence[str]], None]


@dataclass(frozen=True)
class Server:
    """An S3 server, with a key that may do everything."""

    name: str
    url: str
    key: str
    secret: str
    region: str

    def client(self) -> Any:
        """A client that is not the platform's."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            region_name=self.region,
            config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
        )

    def make_bucket(self, name: str) -> None:
        where = {} if self.region == "us-east-1" else {"LocationConstraint": self.region}
        self.client().create_bucket(Bucket=name, **({"CreateBucketConfiguration": where} if where else {}))


@contextmanager
def moto(folder: Path) -> Iterator[Server]:
    """moto's server, which accepts every key."""
    port = free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    with processes(folder) as start:
        start([sys.executable, "-c", _MOTO, "-H", "127.0.0.1", "-p", str(port)])
        eventually(lambda: responds(url))
        yield Server("moto", url, "AKIATESTTESTTESTTEST", "a-secret-of-the-tests", "us-east-1")


@contextmanager
def processes(folder: Path) -> Iterator[Start]:
    """A function that starts a process, which is killed at the end of the block, or with the tests. Output goes to `folder`."""
    started: list[child.Child] = []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")}

    def start(command: Sequence[str]) -> None:
        with (folder / "output").open("ab") as output:
            started.append(child.start(command, stdout=output, env=environment))

    try:
        yield start
    finally:
        for process in started:
            process.kill()


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True
    except OSError:
        return False
