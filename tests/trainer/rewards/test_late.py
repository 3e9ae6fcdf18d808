"""An endpoint's deadline holds for the whole answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from socket import SHUT_WR, create_server
from threading import Event, Thread

import pytest

from tests.trainer.rewards.tools import assert_missing
from trainer.rewards.http import Endpoint
from trainer.rewards.missing import NoValue

HEADER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@contextmanager
def trickling(then_close: bool) -> Iterator[str]:
    """A server that sends a byte now and then, or a few bytes and an end, of the million that it promised."""
    done = Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(HEADER + b"{")
            while not then_close and not done.wait(0.01):
                connection.sendall(b" ")
            if then_close:
                connection.shutdown(SHUT_WR)
                while connection.recv(65536):  # closed with something unread, the connection would be reset
                    pass

    with create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    ("then_close", "cause", "said"),
    [(False, "time_out", "no answer within 0.2 s"), (True, "crash", "bytes before its end")],
)
def test_a_trickling_answer_is_late_and_a_broken_one_is_broken(then_close: bool, cause: str, said: str) -> None:
    with trickling(then_close) as url:
        endpoint = Endpoint(url, timeout=0.2, retries=0, notify=lambda text: None)
        with pytest.raises(NoValue) as caught:
            endpoint.ask({})
    assert_missing(caught.value.missing, cause, said)
