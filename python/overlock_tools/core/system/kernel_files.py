# SPDX-License-Identifier: MIT
"""The files a kernel shows, of this machine or of a recorded one, and why one cannot be read."""

import os
from pathlib import Path


class Unknown(Exception):
    """Something cannot be known here; the message says why."""


class Tree:
    """Files by their absolute names, in the first of the roots that has them."""

    def __init__(self, *roots: Path) -> None:
        self.roots = roots or (Path("/"),)

    def _place(self, name: str) -> Path:
        places = [root / name.lstrip("/") for root in self.roots]
        return next((place for place in places if os.path.lexists(place)), places[-1])

    def read(self, name: str) -> str:
        try:
            return self._place(name).read_bytes().decode(errors="replace").strip()
        except OSError as error:
            raise Unknown(f"{name}: {error.strerror}") from error

    def read_or(self, name: str, otherwise: str = "") -> str:
        try:
            return self.read(name)
        except Unknown:
            return otherwise

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self._place(folder)))
        except OSError as error:
            raise Unknown(f"{folder}: {error.strerror}") from error

    def link(self, name: str) -> str:
        try:
            return os.readlink(self._place(name))
        except OSError as error:
            raise Unknown(f"{name}: {error.strerror}") from error

    def exists(self, name: str) -> bool:
        return self._place(name).exists()

    def writable(self, name: str) -> bool:
        """As access(2) says: also false on a read-only mount. Nothing is written."""
        return os.access(self._place(name), os.W_OK)


def fields(text: str) -> dict[str, str]:
    """Lines such as `nr_throttled 3` or `Threads:\t8`."""
    pairs = (line.replace(":", " ", 1).split(None, 1) for line in text.splitlines())
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def cpu_list(text: str) -> list[int]:
    """The kernel's notation, `0-3,8`; there is always one."""
    found: list[int] = []
    for piece in filter(None, text.strip().split(",")):
        first, _, last = piece.partition("-")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise Unknown("an empty list of CPUs")
    return found
