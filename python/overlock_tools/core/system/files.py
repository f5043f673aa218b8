# SPDX-License-Identifier: MIT
"""Files that are whole or not there: written beside their name, then renamed.

A device or a pipe, such as /dev/null, is written to: a rename would replace it. `-` is standard
output: chosen() says so to all.
"""

import contextlib
import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

from overlock_tools.core.system.errors import Fail

STDOUT = Path("/dev/stdout")
MODE = 0o664  # less what the umask takes: no file that all may write to
OF_A_PROCESS = ("/dev/std", "/dev/fd/", "/proc/")

_stdout: TextIO | None = None  # once it is for a file's content alone


def chosen(name: str) -> Path:
    """The file of that name. From `-` on, what is printed goes to standard error instead."""
    global _stdout
    if name != "-":
        return Path(name)
    if _stdout is None:
        _stdout, sys.stdout = sys.stdout, sys.stderr
    return STDOUT


def cache_folder(name: str) -> Path:
    """Where what can be made again is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "overlock" / name


def make_folder(folder: Path) -> None:
    """And those above it. What is kept there is run: where all may write, nobody else gets in."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(0o777 if _umask() & 0o002 else 0o700, exist_ok=True)


def check_writable(path: Path) -> None:
    """Fails now if write() would fail after minutes of measuring."""
    if path.is_dir():
        raise Fail(f"{path} is a folder; give a file")
    if path == STDOUT or (is_stream(path) and os.access(path, os.W_OK)):
        return
    if is_stream(path) and not path.exists():
        raise Fail(f"{path} cannot be written: it does not exist, and cannot be made")
    if not path.parent.is_dir():
        raise Fail(
            f"{path} cannot be written: the folder {path.parent} does not exist; create it first"
        )
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise Fail(f"{path} cannot be written: no permission; choose another place")


def write(path: Path, data: str | bytes) -> None:
    raw = data.encode() if isinstance(data, str) else data
    name = None
    try:
        if path == STDOUT:
            _write_stdout(raw)
            return
        if is_stream(path):
            with open(path, "wb", opener=_at_once) as stream:
                stream.write(raw)
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".overlock-", delete=False) as out:
            name = out.name
            out.write(raw)
            out.flush()
            os.fsync(out.fileno())
            os.fchmod(out.fileno(), MODE & ~_umask())
        os.replace(name, path)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise _unwritten(path, error) from error


def is_stream(path: Path) -> bool:
    """Written to once, and never replaced: a device, a pipe, an open file of a process."""
    return str(path).startswith(OF_A_PROCESS) or (path.exists() and not path.is_file())


def opened(path: Path) -> TextIO:
    """For what is written bit by bit."""
    if path == STDOUT:
        return open(os.dup((_stdout or sys.stdout).fileno()), "w", encoding="utf-8")
    if not is_stream(path):
        return open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, MODE))
    try:
        return open(path, "w", encoding="utf-8", opener=_at_once)
    except OSError as error:
        raise _unwritten(path, error) from error


def _at_once(path: str, flags: int) -> int:
    """A FIFO that nobody reads from fails; to open it would else wait for ever."""
    number = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(number, True)
    return number


def _unwritten(path: Path, error: OSError) -> Fail:
    why = "nobody reads from it" if error.errno == errno.ENXIO else error.strerror
    return Fail(f"{path} cannot be written: {why}; choose another place")


def _write_stdout(raw: bytes) -> None:
    out = _stdout or sys.stdout
    out.flush()
    out.buffer.write(raw)
    out.flush()


def _umask() -> int:
    """Not by umask(2), which changes it: another thread may create a file meanwhile."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("Umask:")[2].split()[0], 8)


def read_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise Fail(f"{path} cannot be read: {why}") from error
