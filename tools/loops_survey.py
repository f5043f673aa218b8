#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waiting loops of whatever programs and libraries lie below some folders, into a file of JSON.

    tools/loops_survey.py -o survey.json /usr /opt

Each file is looked at once by build id. Where `overlock run --spins` would change a jump, objdump,
which shares nothing with the finder, has to see the same: a jump that ends there and leads there;
and, if its displacement has one byte, dead bytes that are filling, behind what never goes on.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail

# A listing falls into step with the code within a few instructions of wherever it begins.
IN_STEP = 1024
FILLING = ("nop", "xchg   %ax,%ax", "int3", "data16", "cs nop")
ENDS = ("ret", "jmp", "ud2", "hlt", "int3", "repz ret", "notrack jmp", "bnd jmp", "bnd ret")


def candidates(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
                continue
            with path.open("rb") as file:
                if file.read(5) == b"\x7fELF\x02":
                    yield path


@dataclass
class Found:
    """Of one file."""

    path: Path
    build_id: str = ""
    error: str = ""
    functions: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    patched: int = 0
    far: int = 0  # of those: a displacement of four bytes
    wrong: list[str] = field(default_factory=list)  # objdump sees something else


def disassembled(path: Path, begin: int, end: int) -> dict[int, str]:
    where = (f"--start-address={begin}", f"--stop-address={end}")
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", *where, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, errors="replace")
    lines = (line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    return {int(at, 16): text.strip() for at, text in lines}


def wrong(path: Path, loop: dict[str, Any]) -> Iterator[str]:
    """What objdump sees otherwise, of the jumps that would be changed."""
    for jump in loop["jumps"]:
        rooms = [(jump["pad"], 5)] if jump["size"] == 1 else []
        rooms += [(jump["hop"], 2)] if jump["hop"] else []
        begin = loop["function"]
        begin = min([begin, *(room - IN_STEP for room, _ in rooms if room < begin)])
        places = [loop["function"], jump["after"], jump["target"], *(room for room, _ in rooms)]
        listing = disassembled(path, max(begin, 0), max(places) + 16)
        if loop["function"] not in listing:
            yield f"{path}: {loop['function']:#x}: in the middle of an instruction"
        at = max((place for place in listing if place < jump["after"]), default=begin)
        words = listing.get(at, "").split()
        if len(words) < 2 or not words[0].startswith("j") or int(words[1], 16) != jump["target"]:
            yield f"{path}: {at:#x}: {listing.get(at)}, expected a jump to {jump['target']:#x}"
        if at >= jump["displacement"] or jump["after"] != jump["displacement"] + jump["size"]:
            yield f"{path}: {at:#x}: {listing.get(at)}, expected a displacement at its end"
        for room, size in rooms:
            if not is_dead(listing, room, size):
                yield f"{path}: {room:#x}: not {size} dead bytes"


def is_dead(listing: dict[int, str], begin: int, size: int) -> bool:
    """Filling all over, and in front of the first of it what never goes on."""
    ordered = sorted(listing)
    inside = [at for at in ordered if begin - 15 < at < begin + size]
    first = max((at for at in inside if at <= begin), default=-1)
    covered = [at for at in inside if at >= first]
    if first < 0 or not all(listing[at].startswith(FILLING) for at in covered):
        return False
    before = first
    while before in listing and listing[before].startswith(FILLING):
        before = max((at for at in ordered if at < before), default=-1)
    return before >= 0 and listing[before].startswith(ENDS)


def look_at(path: Path) -> Found:
    found = Found(path)
    command = [native.file("overlock-loops"), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        found.error = f"the finder ended by signal {-done.returncode}"
        return found
    said = json.loads(done.stdout)
    found.build_id, found.error = said.get("build_id", ""), said.get("error", "")
    found.functions = said.get("functions", 0)
    for loop in said.get("loops", []):
        found.kinds[loop["kind"]] += 1
        if loop["patched"]:
            found.patched += 1
            found.far += any(jump["size"] > 1 for jump in loop["jumps"])
            found.wrong += wrong(path, loop)
        elif loop["refused"]:
            found.refused[f"{loop['kind']}: {loop['refused']}"] += 1
    return found


def summed(all_found: Iterable[Found]) -> dict[str, Any]:
    seen: set[str] = set()
    errors: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    wrong_ones: list[str] = []
    for n, found in enumerate(all_found, 1):
        if sys.stderr.isatty() or not n % 100:
            print(f"\r{n} files, {counts['patched']} loops to change", end="", file=sys.stderr)
        if found.build_id and found.build_id in seen:
            counts["copies"] += 1
            continue
        seen.add(found.build_id)
        if found.error:
            errors[found.error] += 1
            continue
        counts.update(files=1, functions=found.functions, patched=found.patched, far=found.far)
        counts["files_with_loops_to_change"] += bool(found.patched)
        kinds.update(found.kinds)
        refused.update(found.refused)
        wrong_ones += found.wrong
    print(file=sys.stderr)
    return {
        **counts,
        "kinds": dict(kinds.most_common()),
        "refused": dict(refused.most_common()),
        "errors": dict(errors.most_common()),
        "wrong": wrong_ones,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    try:
        native.file("overlock-loops")
        files.check_writable(options.output)
    except Fail as error:
        parser.error(error.message)
    with ThreadPoolExecutor(options.at_once) as pool:
        result = summed(pool.map(look_at, candidates(options.folders)))
    files.write(options.output, (json.dumps(result, indent=1) + "\n").encode())
    print(json.dumps(result, indent=1))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
