# SPDX-License-Identifier: MIT
"""Lines to and from a Unix socket, none of them waited for without end."""

import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

STEP_SECONDS = 0.01
PEER = struct.Struct("3i")  # pid, uid, gid
LINE_BYTES = 1 << 24  # a hostile side may never end its line


class Late(Exception):
    """It did not come in time."""


class Ended(Exception):
    """The other side has gone."""


def _connected(path: Path, seconds: float, lives: Callable[[], bool]) -> socket.socket:
    """QEMU makes its sockets some time after it was started, unless it ends before."""
    until = time.monotonic() + seconds
    while True:
        found = socket.socket(socket.AF_UNIX)
        try:
            found.connect(str(path))
        except OSError:
            found.close()
            if not lives():
                raise Ended from None
            if time.monotonic() > until:
                raise Late(f"{path.name} did not appear within {seconds:g} s") from None
            time.sleep(STEP_SECONDS)
        else:
            return found


class Lines:
    def __init__(self, path: Path, seconds: float, lives: Callable[[], bool]) -> None:
        self._socket = _connected(path, seconds, lives)
        self._rest = b""

    def say(self, line: str) -> None:
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError as error:
            raise Ended from error

    def line(self, seconds: float) -> str:
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if len(self._rest) > LINE_BYTES:
                raise Late(f"no end of a line within {LINE_BYTES} bytes")
            left = until - time.monotonic()
            if left <= 0:
                raise Late(f"no line within {seconds:g} s")
            self._socket.settimeout(left)
            try:
                came = self._socket.recv(65536)
            except TimeoutError:
                continue
            except OSError as error:
                raise Ended from error
            if not came:
                raise Ended
            self._rest += came
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    def process(self) -> int:
        """Which listens there; 0 if that is in another PID namespace."""
        found = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        return int(PEER.unpack(found)[0])

    def close(self) -> None:
        self._socket.close()
