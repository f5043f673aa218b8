# SPDX-License-Identifier: MIT
"""Standard input of a program that runs several times: every run reads the same.

A file is opened anew, from where it stood. What comes through a pipe goes to the first run as it
comes, and is kept for the others: what the first was given, and then the end. Of a terminal no run
reads anything.
"""

import contextlib
import os
import select
import stat
import tempfile
import threading
from collections.abc import Iterator
from typing import IO

from overlock_tools.core.system.errors import Fail

MOST_BYTES = 64 << 20  # that are kept of a pipe
PIECE = 1 << 16


class Input:
    """`run` gives each run its standard input."""

    def __init__(self, source: int = 0, most: int = MOST_BYTES) -> None:
        self.source, self.most = source, most
        self.kept: IO[bytes] | None = None
        self.is_longer = False
        self.mode, self.begin = _kind(source)

    @contextlib.contextmanager
    def run(self) -> Iterator[int]:
        """A descriptor, for as long as the run lasts."""
        if stat.S_ISFIFO(self.mode) or stat.S_ISSOCK(self.mode):
            if self.kept is None:
                with self._as_it_comes() as out:
                    yield out
                return
            descriptor = self._again()
        else:
            descriptor = self._anew()
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _anew(self) -> int:
        if stat.S_ISCHR(self.mode) or not self.mode:
            return os.open(os.devnull, os.O_RDONLY)
        try:
            descriptor = os.open(f"/proc/self/fd/{self.source}", os.O_RDONLY)
        except OSError as error:
            raise Fail(
                f"standard input cannot be read again for another run: {error.strerror}; give a "
                "file that may be read, or </dev/null"
            ) from error
        os.lseek(descriptor, self.begin, os.SEEK_SET)
        return descriptor

    def _again(self) -> int:
        assert self.kept
        if self.is_longer:
            raise Fail(
                f"standard input has more than {self.most >> 20} MiB, which are not kept for "
                "another run; give a file"
            )
        return os.open(f"/proc/self/fd/{self.kept.fileno()}", os.O_RDONLY)

    @contextlib.contextmanager
    def _as_it_comes(self) -> Iterator[int]:
        self.kept = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - for the next runs
        out, into = os.pipe()
        over, end = os.pipe()
        copying = threading.Thread(target=self._copy, args=(into, over), daemon=True)
        copying.start()
        try:
            yield out
        finally:
            os.close(out)
            os.close(end)
            copying.join()
            os.close(over)

    def _copy(self, into: int, over: int) -> None:
        """Until the source ends, the run is over, or it reads no more."""
        os.set_blocking(into, False)
        piece = b""
        with contextlib.suppress(BrokenPipeError), os.fdopen(into, "wb", 0) as out:
            while True:
                reads, writes = ([over], [out]) if piece else ([over, self.source], [])
                ready, writable, _ = select.select(reads, writes, [])
                if over in ready:
                    return
                if writable:
                    piece = piece[out.write(piece) or 0 :]
                elif not (piece := os.read(self.source, PIECE)):
                    return
                else:
                    self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        assert self.kept
        if self.kept.tell() + len(piece) > self.most:
            self.is_longer = True
        if not self.is_longer:
            self.kept.write(piece)


def _kind(source: int) -> tuple[int, int]:
    """Its mode, 0 if there is none; and where it stands, of a file."""
    try:
        mode = os.fstat(source).st_mode
    except OSError:
        return 0, 0
    seekable = stat.S_ISREG(mode) or stat.S_ISBLK(mode)
    return mode, os.lseek(source, 0, os.SEEK_CUR) if seekable else 0
