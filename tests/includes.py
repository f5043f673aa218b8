#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No cycle of includes between units, no folder that includes what it may not, and none forgotten.

A unit is a header with the source of the same name: run.c that includes cell.h, and cell.c that
includes run.h, are a cycle. Lists (*.def) are free to include. Before the check of this tree, it
checks planted trees, each with one fault.
"""

import re
import sys
import tempfile
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<][\w./-]+)[">]', re.MULTILINE)
OF_LIBC = {"<search.h"}  # a name that a folder here has, too
GENERATOR = "lib/defs_json.c"  # makes defs.json from every list; no part of the library
KINDS = {".c", ".h", ".cpp", ".hpp"}

# What the sources of a folder may include beside its own; each README says the same.
MAY_INCLUDE = {
    "include": {"check/engine"},  # port/sim.h alone
    "lib": {"include"},
    "run": {"include", "lib"},
    "chaos": {"include", "lib", "run"},
    "bench/workload": {"include"},
    "bench": {"include", "lib", "bench/workload"},
    "profile/agent": {"include"},
    "profile": {"include", "profile/agent"},
    "lab": {"include", "lib", "profile/agent"},
    "check/engine": {"include"},
    "check": {"include", "check/engine"},
    "guest": {"include", "bench/workload"},
    "examples": {"include"},
}
# Of the first folder, everything else includes the second one's header alone.
ONE_HEADER = {"run/diag": "run/diag/diag.h"}
# But for the libraries of `overlock chaos` and of `--record`, which are no part of the interposer.
BESIDE = (("chaos", "run/record"), "run/diag/symbols.h")


def part_of(path: Path) -> str:
    """Of MAY_INCLUDE, the innermost folder that it is in."""
    return max((part for part in MAY_INCLUDE if path.is_relative_to(part)), key=len)


def sources(top: Path) -> list[Path]:
    every = {p for folder in MAY_INCLUDE for p in (top / folder).rglob("*")}
    return [p for p in sorted(every) if p.suffix in KINDS and p != top / GENERATOR]


def find(name: str, source: Path, top: Path) -> Path | None:
    """As the compiler would: beside the source, or in a folder that is on the include path."""
    own = top / part_of(source.relative_to(top))
    on_path = (top / name for name in MAY_INCLUDE if name != "examples")
    for folder in (source.parent, own, *on_path):
        path = (folder / name).resolve()
        if path.suffix in KINDS and path.is_file() and path.is_relative_to(top):
            return path
    return None


def edges(top: Path) -> list[tuple[Path, Path]]:
    """From each source to what it includes, as paths below `top`."""
    found = []
    for source in sources(top):
        for name in INCLUDE.findall(source.read_text(errors="replace")):
            path = find(name[1:], source, top)
            if path and name not in OF_LIBC:
                found.append((source.relative_to(top), path.relative_to(top)))
    return found


def cycle(pairs: list[tuple[Path, Path]]) -> str:
    graph: dict[Path, set[Path]] = {}
    for source, included in pairs:
        a, b = source.with_suffix(""), included.with_suffix("")
        if a != b:
            graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return "a cycle of includes: " + " <- ".join(map(str, error.args[1]))
    return ""


def forbidden(source: Path, included: Path) -> str:
    a, b = part_of(source), part_of(included)
    if a != b and b not in MAY_INCLUDE[a]:
        return f"{source} includes {included}; {a}/ may include {sorted(MAY_INCLUDE[a])}"
    for folder, header in ONE_HEADER.items():
        inside = included.is_relative_to(folder) and not source.is_relative_to(folder)
        beside = any(map(source.is_relative_to, BESIDE[0])) and str(included) == BESIDE[1]
        if inside and not beside and str(included) != header:
            return f"{source} includes {included}; outside {folder}/ include {header}"
    return ""


# Which headers a standard header brings along differs: libstdc++ 16's bring this one no more.
ALGORITHM = re.compile(
    r"\bstd::(?:ranges::)?((?:all|any|none)_of|clamp|copy|count(?:_if)?|equal|fill|find(?:_if)?|"
    r"(?:lower|upper)_bound|max|min|(?:max|min)_element|remove(?:_if)?|reverse|rotate|shuffle|"
    r"(?:stable_)?sort|transform|unique)\("
)
IN_CPP = ("bench", "check", "lib", "profile", "python", "sim", "tests/check", "tests/sim")


def forgotten(top: Path) -> list[str]:
    found = []
    for folder in IN_CPP:
        for path in sorted((top / folder).rglob("*")):
            if path.suffix not in KINDS or not path.is_file():
                continue
            text = path.read_text(errors="replace")
            used = ALGORITHM.search(text)
            if used and "<algorithm" not in INCLUDE.findall(text):
                where = path.relative_to(top)
                found.append(f"{where} uses std::{used[1]}; include <algorithm>")
    return found


def faults(top: Path) -> list[str]:
    pairs = edges(top)
    assert pairs, f"no sources in {top}"
    every = (cycle(pairs), *(forbidden(*pair) for pair in pairs), *forgotten(top))
    return [fault for fault in every if fault]


# Files and what each includes; the last one of each tree is wrong.
PLANTED = [
    {"bench/a.h": "", "bench/a.c": '"b.h"', "bench/b.h": "", "bench/b.c": '"a.h"'},
    {"lib/a.h": '"b.h"', "lib/b.h": '"a.h"'},
    {"bench/a.h": "", "lib/a.c": "<a.h>"},
    {
        "run/diag/diag.h": "",
        "run/diag/text.h": "",
        "run/start.c": '"diag/diag.h"',
        "run/cond.c": '"diag/text.h"',
    },
]


def judge_planted(tree: dict[str, str]) -> None:
    """It is found, and nothing is without the file that is wrong."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        for file, included in tree.items():
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text(f"#include {included}\n" if included else "")
        found = faults(top)
        assert len(found) == 1, f"a planted fault: {tree}: {found}"
        last = list(tree)[-1]
        (top / last).write_text("")
        assert not any(forbidden(*pair) for pair in edges(top)), tree
        assert not cycle(edges(top)), tree


def judge_forgotten() -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "check/a.cpp"
        source.parent.mkdir()
        for function, is_found in (("std::find_if(", True), ("std::find_ifs(", False)):
            source.write_text(f"auto a = {function}1);\n")
            assert len(forgotten(Path(name))) == is_found, function
            source.write_text(f"#include <algorithm>\n{source.read_text()}")
            assert not forgotten(Path(name)), function


def main() -> int:
    for tree in PLANTED:
        judge_planted(tree)
    judge_forgotten()
    found = faults(TOP)
    for fault in found:
        print(fault, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
