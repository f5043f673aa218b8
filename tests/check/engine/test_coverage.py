# SPDX-License-Identifier: MIT
"""Every branch of every lock header is taken both ways by the seeded walks, but for those that
unreached.txt lists with a reason."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from tests.conftest import BUILD, TOP

HERE = Path(__file__).parent
WALKS = 6_000
NOT_EXHAUSTED = 3
FOLDER = "include/overlock/lock/"
WITHOUT_BRANCHES = {"tas_yield.h"}  # impl/yielding.h has its waiting

Counts = dict[tuple[str, int, int], int]  # by header, line, number of the branch in the line


def data_files() -> list[Path]:
    units = BUILD / "tests/check/engine/CMakeFiles"
    return list(units.glob("overlock-sim-covered_*.dir/**/*.gcda"))


def covered_counts() -> Counts:
    """Runs the covered units and adds up what gcov says of the lock headers."""
    for data in data_files():
        data.unlink()
    for lock in re.findall(
        r"^OL_LOCK\((\w+),", (TOP / "include/overlock/locks.def").read_text(), re.M
    ):
        ran = subprocess.run(
            [
                BUILD / "tests/sim-covered",
                "--lock",
                lock,
                "--scenario=any",
                "--search=walk",
                "--contexts=5",
                "--acquisitions=3",
                f"--executions={WALKS}",
            ],
            check=False,
            stdout=subprocess.DEVNULL,
        )
        assert ran.returncode == NOT_EXHAUSTED, lock
    counts: Counts = defaultdict(int)
    for data in data_files():
        ran = subprocess.run(
            ["gcov", "--branch-probabilities", "--json-format", "--stdout", data],
            check=True,
            capture_output=True,
            cwd=data.parent,
        )
        for file in json.loads(ran.stdout)["files"]:
            if FOLDER not in file["file"]:
                continue
            for line in file["lines"]:
                for i, branch in enumerate(line["branches"]):
                    key = (file["file"].partition(FOLDER)[2], line["line_number"], i)
                    counts[key] += branch["count"]
    return counts


def text_of(header: str, line: int) -> str:
    text = (TOP / FOLDER / header).read_text().splitlines()[line - 1]
    return re.sub(r"\s*/\*.*", "", text).strip()


def listed() -> dict[str, str]:
    """The lines of unreached.txt: `header | text of the line | branch | reason`."""
    entries = {}
    for line in (HERE / "unreached.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.rpartition(" | ")
            assert reason, f"unreached.txt: no reason: {line}"
            entries[key] = reason
    return entries


def test_every_branch_is_taken_both_ways() -> None:
    counts = covered_counts()
    per_header: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    unreached = set()
    for (header, line, i), count in sorted(counts.items()):
        per_header[header][0] += 1
        per_header[header][1] += count > 0
        if not count:
            unreached.add(f"{header} | {text_of(header, line)} | {i}")
    print()
    for header, (branches, taken) in sorted(per_header.items()):
        print(f"{header:28} {taken:3} of {branches:3} branches taken")
    headers = {str(path.relative_to(TOP / FOLDER)) for path in (TOP / FOLDER).rglob("*.h")}
    assert set(per_header) == headers - WITHOUT_BRANCHES, (
        "a header without branches, or none of its units ran"
    )
    allowed = set(listed())
    assert unreached - allowed == set(), "not taken, and not in unreached.txt"
    assert allowed - unreached == set(), "in unreached.txt, but taken or gone: remove them there"
