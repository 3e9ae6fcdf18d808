"""Responses that come in time: a timeout of the socket alone lets a server take that long for every single byte."""

import io
import socket
import time
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SILENCE_SECONDS = 60.0


class PacedResponse(HTTPResponse):
    """Its head has a minute, and so has whatever is read after `give_time`."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        self._paced = _Paced(sock)
        super().__init__(cast(socket.socket, self._paced), *arguments, **named)

    def give_time(self) -> None:
        """Before what is to be read next."""
        self._paced.give_time()


class _Paced(io.RawIOBase):
    """The bytes of a socket, until the time is over: TimeoutError then."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock, self._file = sock, sock.makefile("rb", buffering=0)
        self.give_time()

    def give_time(self) -> None:
        self._until = time.monotonic() + SILENCE_SECONDS

    def makefile(self, mode: str) -> BinaryIO:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()
