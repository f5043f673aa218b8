# SPDX-License-Identifier: MIT
"""Files that are whole or not there: written beside their name, then renamed.

A device or a pipe, such as /dev/null or /dev/stdout, is written to: a rename would replace it.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from overlock_tools.system.errors import Fail


def cache_folder(name: str) -> Path:
    """Where what can be made again is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "overlock" / name


def check_writable(path: Path) -> None:
    """Fails now if write() would fail after minutes of measuring."""
    if path.is_dir():
        raise Fail(f"{path} is a folder; give a file")
    if _is_special(path) and os.access(path, os.W_OK):
        return
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
        if _is_special(path):
            path.write_bytes(raw)
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".overlock-", delete=False) as out:
            name = out.name
            out.write(raw)
            out.flush()
            os.fsync(out.fileno())
            os.fchmod(out.fileno(), 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise Fail(f"{path} cannot be written: {error.strerror}; choose another place") from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise Fail(f"{path} cannot be read: {why}") from error
