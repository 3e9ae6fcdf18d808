"""A network of its own for this process and the programs that it starts: a loopback device and nothing else."""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


@contextmanager
def network_of_its_own() -> Iterator[None]:
    """While entered, ports of this machine are free, and nothing outside can be reached. Needs root, and the main thread.

    The kernel keeps the namespace of each thread; threads and processes inherit it from the one that starts them.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _call("unshare", _CLONE_NEWNET)
        with socket.socket() as device:
            fcntl.ioctl(device, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
        yield
    finally:
        _call("setns", before, _CLONE_NEWNET)
        os.close(before)


def _call(name: str, *arguments: int) -> None:
    """A call that Python has from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
