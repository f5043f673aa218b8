# SPDX-License-Identifier: MIT
"""Every run of a repeated program reads the same standard input, or a refusal says why not."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.repeated import Input

TEXT = b"one\ntwo\nthree\n"
COUNT = [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())"]


def reads(given: Input) -> bytes:
    with given.run() as read:
        return subprocess.run(COUNT, stdin=read, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("begin", [0, 4])
def test_a_file_is_read_from_where_it_stood(tmp_path: Path, begin: int) -> None:
    file = tmp_path / "in"
    file.write_bytes(TEXT)
    source = os.open(file, os.O_RDONLY)
    os.lseek(source, begin, os.SEEK_SET)
    given = Input(source)
    assert [reads(given) for _ in range(3)] == [TEXT[begin:]] * 3
    os.close(source)


def test_what_comes_through_a_pipe_is_kept() -> None:
    """More than a pipe holds, so that it has to be handed on as it comes."""
    text = TEXT * 20_000
    source, into = os.pipe()

    def write() -> None:
        with os.fdopen(into, "wb") as out:
            out.write(text)

    writing = threading.Thread(target=write)
    writing.start()
    given = Input(source)
    assert [reads(given) for _ in range(3)] == [text] * 3
    writing.join()
    os.close(source)


def test_a_pipe_without_end_does_not_hang() -> None:
    """The first run ends without its end: the others get what it got."""
    source, into = os.pipe()
    os.write(into, TEXT)
    given = Input(source)
    with given.run() as read:
        assert os.read(read, len(TEXT)) == TEXT
    assert reads(given) == TEXT
    os.close(into)
    os.close(source)


def test_too_much_is_refused_after_the_first_run() -> None:
    source, into = os.pipe()
    os.write(into, TEXT)
    os.close(into)
    given = Input(source, most=5)
    assert reads(given) == TEXT
    with pytest.raises(Fail, match="standard input has more than"):
        reads(given)
    os.close(source)


def test_nothing_is_read_of_a_terminal_nor_where_there_is_none() -> None:
    master, terminal = pty.openpty()
    assert reads(Input(terminal)) == b""
    os.close(terminal)
    os.close(master)
    assert reads(Input(terminal)) == b""
