"""Which platform a command talks to."""

from dataclasses import dataclass

from client.errors import ClientError
from client.sdk import Client
from client.up.options import Options

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    """What was said on the command line; the rest is found in the local platform's data folder."""

    url: str | None = None
    key: str | None = None

    def client(self) -> Client:
        folder = Options().folder
        running = folder.running()
        key = self.key or folder.key()
        if key is None:
            raise ClientError("No API key: give --key, set PROXIMAL_API_KEY, or run where `proximal up` has run.")
        return Client(self.url or (running.url if running else DEFAULT_URL), key)
