# SPDX-License-Identifier: MIT
"""Files are written whole; what is no file stays what it is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def test_a_pipe_is_written_to_and_not_replaced(fifo: Path) -> None:
    """As /dev/null and /dev/stdout: a rename would put a file in their place."""
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        files.check_writable(fifo)
        files.write(fifo, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert fifo.is_fifo()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_device_needs_no_folder_to_write_to() -> None:
    files.check_writable(Path("/dev/null"))


def test_no_file_can_be_made_in_proc() -> None:
    """Root may write to that folder, by its permissions."""
    with pytest.raises(Fail, match=r"/proc/x.json cannot be written: it does not exist"):
        files.check_writable(Path("/proc/x.json"))


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, "old and longer")
    with path.open() as old:
        files.write(path, b"new")
        assert old.read() == "old and longer"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_that_nobody_reads_is_an_error(fifo: Path) -> None:
    for write in (lambda: files.write(fifo, "text"), lambda: files.opened(fifo)):
        with pytest.raises(Fail, match="nobody reads from it"):
            write()


WRITES = """
import sys
from collections.abc import Iterator
from pathlib import Path
from overlock_tools.core.system import files
print("before")
path = files.chosen(sys.argv[1])
files.check_writable(path)
print("said")
files.write(path, "content")
"""


def test_a_dash_is_standard_output_and_what_is_printed_goes_elsewhere(tmp_path: Path) -> None:
    """Also where standard output is a file: nothing is replaced."""
    with (tmp_path / "out").open("wb") as out:
        command = [sys.executable, "-c", WRITES, "-"]
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=True
        )
    assert (tmp_path / "out").read_text() == "before\ncontent"
    assert done.stderr == "said\n"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert Path("/dev/stdout").is_symlink()


@pytest.fixture(params=["000", "002", "022", "077"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    mask = int(request.param, 8)
    before = os.umask(mask)
    yield mask
    os.umask(before)


def test_no_file_is_for_all_to_write_to(tmp_path: Path, umask: int) -> None:
    files.write(tmp_path / "whole", "text")
    files.opened(tmp_path / "bit by bit").close()
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o777 == 0o664 & ~umask, path


def test_what_is_kept_is_for_nobody_else_to_replace(tmp_path: Path, umask: int) -> None:
    """Compiled locks and kernels lie there; the compiler's files have the modes of the umask."""
    kept = tmp_path / "cache/overlock/name"
    files.make_folder(kept)
    files.make_folder(kept)
    expected = 0o700 if umask == 0 else 0o777 & ~umask
    for folder in (kept, kept.parent, kept.parent.parent):
        assert folder.stat().st_mode & 0o777 == expected


def test_the_umask_never_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may create a file while one is written."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail(f"changed to {mask:o}"))
    files.write(tmp_path / "file", "text")
