"""An embedded Redis-compatible server (Valkey) on a data folder that stays between starts."""

import secrets
import socket
from pathlib import Path

from core import child
from core.embedded.server import private_folder, valkey_program, wait_until_ready

_NAME = "Redis"
_START_SECONDS = 10.0
_ANSWER_SECONDS = 5.0


class Redis:
    """A server on a data folder. `start()` returns its process. `url` is its address, with a password.

    It listens on a TCP port of the loopback device, since Celery and redis-py write socket addresses differently. The port
    is chosen once per object, so that a restarted server has the same address.
    """

    def __init__(self, folder: Path, log: Path, *, durable: bool = True) -> None:
        self._folder = folder
        self._log = log
        self._durable = durable
        self._port = _free_port()
        self._password = secrets.token_urlsafe(24)

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    def start(self) -> child.Child:
        """Start the server and wait until it accepts connections. Raises BinaryMissing or StartFailed."""
        private_folder(self._folder)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        config = self._write_config()
        with self._log.open("ab") as log:
            server = child.start([str(valkey_program()), str(config)], stdout=log)
        try:
            wait_until_ready(_NAME, server, self._log, _START_SECONDS, self._accepts)
        except BaseException:
            server.kill()
            raise
        return server

    def stop(self, server: child.Child, grace: float = 5.0) -> int:
        return server.stop(grace)

    def _write_config(self) -> Path:
        """Write the configuration to a file. Every user could read a password on the command line."""
        config = self._folder / "valkey.conf"
        config.touch(mode=0o600)
        lines = ["bind 127.0.0.1", f"port {self._port}", f"requirepass {self._password}", 'save ""']
        lines += [f'dir "{self._folder.absolute()}"', f"appendonly {'yes' if self._durable else 'no'}"]
        config.write_text("\n".join(lines) + "\n")
        return config

    def _accepts(self) -> bool:
        """Without the client library, which would take 9 MiB in the supervisor for as long as the platform runs."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), _ANSWER_SECONDS) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as answers:
                    return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
