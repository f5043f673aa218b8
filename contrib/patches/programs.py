# SPDX-License-Identifier: MIT
"""Real programs from Debian's sources, as they are and with one of our locks in place of theirs.

build.py and measure.py take the name of a folder here, which has

    source    the name of Debian's source package
    *.patch   ours, in the order of their names
    build.sh  builds the program in the current folder, an unpacked source; OL_HERE is this folder,
              OL_CFLAGS and OL_LIBS are empty, or what our headers and our library need
    load.sh   measures it for about SECONDS at so many THREADS; prints lines `NAME RATE`
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE, OURS = "native", "overlock"
VARIANTS = (NATIVE, OURS)


@dataclass(frozen=True)
class Program:
    name: str

    @property
    def folder(self) -> Path:
        return HERE / self.name

    @property
    def source(self) -> str:
        return (self.folder / "source").read_text().strip()

    @property
    def patches(self) -> list[Path]:
        return sorted(self.folder.glob("*.patch"))


def names() -> list[str]:
    return sorted(path.parent.name for path in HERE.glob("*/source"))


def parser(what: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=what)
    made.add_argument("program", choices=names())
    made.add_argument("folder", type=Path, help="a folder of yours, kept between the calls")
    return made
