# SPDX-License-Identifier: MIT
"""The ABI of the library and of its headers, by libabigail, against what lib/abi has of it.

Run by itself, it writes lib/abi anew.
"""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
BUILD = TOP / os.environ.get("BUILD", "build")
LIBRARY = BUILD / "native/liboverlock.so.0"
BASELINE = TOP / "lib/abi"
KEPT = ("--drop-private-types", "--drop-undefined-syms", "--exported-interfaces-only")
SHORT = ("show-locs", "corpus-path", "comp-dir-path", "parameter-names", "elf-needed")
RENEW = """
The ABI differs from lib/abi. Additions are allowed; lib/ABI.md says what else means a new number.
If OL_ABI has grown with this change, or nothing was released with the old ABI, run `make abi`.
"""
GROW = ("ol_lock_ops", "ol_tuning", "ol_world")  # at their ends
COUNT = "<enumerator name='OL_EVENTS'"  # of the list so far
CHANGED, FAULTS = 4, 3  # bits of abidiff's exit code; faults are its own


@dataclass(frozen=True)
class Difference:
    breaks: str  # abidiff's report, empty if nothing does
    adds: str


def types(out: Path, include: Path, *options: str) -> Path:
    """A library with each public type in it."""
    command = ["gcc", "-std=gnu11", "-g", "-shared", "-fPIC", f"-I{include}", *options]
    # Compiled by its bare name, so that lib/abi names no folder of the machine.
    subprocess.run([*command, "types.c", "-o", out], cwd=HERE, check=True)
    return out


def dump(library: Path, out: Path, include: Path = TOP / "include") -> Path:
    command = ["abidw", *KEPT, *(f"--no-{what}" for what in SHORT), "--headers-dir", str(include)]
    subprocess.run([*command, "--out-file", out, library], check=True)
    text = out.read_text().replace(f"path='{TOP}/", "path='../")  # no folder of the machine
    lines = text.splitlines(keepends=True)
    out.write_text("".join(line for line in lines if COUNT not in line))
    return out


def classes(of: Path) -> Iterable[ElementTree.Element]:
    tree = ElementTree.parse(of)  # noqa: S314 - abidw wrote it
    return (one for one in tree.iter("class-decl") if one.get("name") in GROW)


def cut(new: Path, baseline: Path) -> Path:
    """The new dump without what has grown at an end, where lib/ABI.md allows it."""
    sizes = {one.get("name"): one.get("size-in-bits") for one in classes(baseline)}
    tree = ElementTree.parse(new)  # noqa: S314 - abidw wrote it
    for one in tree.iter("class-decl"):
        size = sizes.get(one.get("name"))
        if size and int(one.get("size-in-bits", 0)) > int(size):
            one.set("size-in-bits", size)
            for member in one.findall("data-member"):
                if int(member.get("layout-offset-in-bits", 0)) >= int(size):
                    one.remove(member)
    out = new.with_suffix(".cut.abi")
    tree.write(out)
    return out


def report(baseline: Path, new: Path, *options: str) -> str:
    command = ["abidiff", *options, str(baseline), str(new)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode & FAULTS:
        raise RuntimeError(done.stderr)
    return done.stdout if done.returncode & CHANGED else ""


def compare(baseline: Path, new: Path) -> Difference:
    breaks = report(baseline, cut(new, baseline), "--no-added-syms")
    return Difference(breaks, "" if breaks else report(baseline, new))


def write(folder: Path) -> None:
    dump(LIBRARY, folder / "overlock.abi")
    dump(types(folder / "types.so", TOP / "include"), folder / "types.abi")
    (folder / "types.so").unlink()


if __name__ == "__main__":
    write(BASELINE)
