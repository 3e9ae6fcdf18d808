"""Which platform a command talks to."""

from dataclasses import dataclass

from client.errors import ClientError
from client.local.options import Options
from client.sdk import Client

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    """What was said on the command line; the rest is found in the local platform's data folder."""

    url: str | None = None
    key: str | None = None

    def client(self) -> Client:
        folder = Options().folder
        running = folder.running()
        local = running.url if running else DEFAULT_URL
        url = (self.url or local).rstrip("/")
        # The kept key opens the local platform, and is nobody else's to see.
        key = self.key or (folder.key() if url == local else None)
        if key is None:
            raise ClientError(
                f"No API key for {url}: give --key or set PROXIMAL_API_KEY. "
                "Only the platform that `proximal up` runs in this folder needs none."
            )
        return Client(url, key)
