# SPDX-License-Identifier: MIT
"""QEMU, which a guest may have taken over: what it sends without end. Its answers: tests/fuzz."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlock_tools.guest import channel
from overlock_tools.guest.channel import Late
from overlock_tools.guest.qmp import Monitor


@contextmanager
def hostile(path: Path, text: bytes) -> Iterator[Path]:
    """Sends this for as long as it is read."""

    class Qemu(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                while True:
                    self.request.sendall(text)
            except OSError:
                return

    with socketserver.UnixStreamServer(str(path), Qemu) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_events_without_end_are_not_listened_to(tmp_path: Path) -> None:
    with (
        hostile(tmp_path / "qmp", b'{"event": "RESUME"}\n' * 100) as path,
        pytest.raises(Late, match="no line within"),
    ):
        Monitor(path, 0.5, path.exists)


def test_a_line_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "LINE_BYTES", 1 << 20)
    with (
        hostile(tmp_path / "qmp", b" " * 65536) as path,
        pytest.raises(Late, match="no end of a line within 1048576 bytes"),
    ):
        Monitor(path, 30, path.exists)
