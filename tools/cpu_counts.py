#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks the runtimes of languages and libraries for the number of CPUs, under masks and quotas.

tools/cpu_counts.py runs each runtime of overlock_tools/apps/runtimes in each situation and writes
its answers into docs/measured/cpu_counts.json. With --with COMMAND, what they answer under that
command is kept beside the rest. Quotas need root or a cgroup of one's own, the rest nothing. Ctrl-C
ends it with the runtimes that are complete; the others stay as they were.
"""

import argparse
import contextlib
import datetime
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rich.table import Table

import kept_json
from lock_pages import table
from overlock_tools.apps.runtimes import reads, verdicts
from overlock_tools.apps.runtimes.asked import Probe
from overlock_tools.apps.runtimes.catalogue import BY_NAME, NOT_HERE, RUNTIMES, Runtime
from overlock_tools.apps.runtimes.situations import (
    CONTAINER,
    CPUS,
    FREE,
    MASK,
    MASK_LATER,
    NESTED,
    QUOTA,
    QUOTA_LATER,
    QUOTA_ONE,
    SITUATIONS,
    counts,
)
from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, MISSING, Fail, say
from overlock_tools.core.system.terminal import console

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/cpu_counts.json"
FILES = {"v1": FILE, "v2": TOP / "docs/measured/cpu_counts_v2.json"}  # by version of cgroup
NONE = "·"
Found = dict[str, Any]  # what is kept of one runtime
Calls = dict[str, dict[str, int]]  # by call, by situation


# Measuring


def asked(runtime: Runtime, prefix: Sequence[str]) -> tuple[Calls, dict[str, str]]:
    """And why situations are missing."""
    calls: Calls = {call: {} for call in runtime.calls}
    lacking: dict[str, str] = {}
    for name, situation in SITUATIONS.items():
        if situation.later and runtime.anew:
            continue
        if why := situation.lacks():
            lacking[name] = why
            continue
        try:
            command = [*situation.inside(), *prefix, *runtime.command()]
            answer = counts(Probe(runtime.name, command, runtime.environment), situation)
        except Fail as error:
            if not situation.quota or error.code != MISSING:
                raise
            lacking[name] = error.message
            continue
        if len(answer) != len(calls):
            raise Fail(f"{runtime.name} gave {len(answer)} numbers, not {len(calls)}", FAILED)
        for call, number in zip(calls.values(), answer, strict=True):
            call[name] = number
    return calls, lacking


def version(runtime: Runtime) -> str:
    probe = Probe(runtime.name, runtime.command(), runtime.environment)
    try:
        probe.begin()
        return probe.version() or runtime.source.version()
    finally:
        probe.close()


def looked(runtime: Runtime) -> list[str]:
    """What it reads, in a group with a quota if there can be one; nothing without strace."""
    if not shutil.which("strace"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "strace")
        words = ["strace", "-f", "-qq", "-o", str(out), "-e", f"trace={','.join(reads.CALLS)}"]
        command = [*words, *runtime.command()]
        for place in (QUOTA_ONE, FREE):
            with contextlib.suppress(Fail):
                probe = Probe(runtime.name, command, runtime.environment)
                counts(probe, SITUATIONS[place])
                break
        return reads.words(out.read_text(errors="replace"))


def here() -> dict[str, Any]:
    facts = machine.facts()
    return {
        "machine": f"{facts['cpu']}, {machine.cpus()} CPUs, Linux {os.uname().release}",
        "cgroup": cgroup_version(),
        "commit": native.commit(TOP),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }


def cgroup_version() -> str:
    try:
        return "v1" if isinstance(cgroup.ours(), cgroup.V1) else "v2"
    except Fail:
        return "none with the cpu controller"


def measured(runtime: Runtime, prefix: Sequence[str], before: Found) -> Found:
    calls, lacking = asked(runtime, prefix)
    if prefix:
        return {**before, "with": {"command": shlex.join(prefix), "calls": calls, **here()}}
    found: Found = {
        "title": runtime.title,
        "version": version(runtime),
        "source": runtime.source.words,
        "calls": calls,
        "reads": looked(runtime),
        **here(),
    }
    if lacking:
        found["missing"] = lacking
    return {**found, "with": before["with"]} if "with" in before else found


def kept(file: Path) -> dict[str, Found]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def keep(file: Path, name: str, one: Found) -> None:
    found = kept(file) | {name: one}
    kept_json.write(file, {name: found[name] for name in BY_NAME if name in found})


# The page


@cache
def runtimes(cgroups: str) -> dict[str, Found]:
    file = FILES[cgroups]
    if not file.exists():
        raise Fail(f"no {file.name} in docs/measured; tools/cpu_counts.py makes it", MISSING)
    return kept(file)


# Of the quotas in CPUS, a column has all.
COLUMNS = {
    "free": [FREE],
    "mask of 1": [MASK],
    "quota": [f"{QUOTA}-{cpus:g}" for cpus in CPUS],
    "container": [f"{CONTAINER}-{cpus:g}" for cpus in CPUS],
    "parent": [NESTED],
    "later mask": [MASK_LATER],
    "later quota": [QUOTA_LATER],
}
HEADINGS = ["runtime", "call", *COLUMNS, "in words", "reads"]


def rows(found: dict[str, Found], which: str = "") -> Iterator[list[str]]:
    for one in found.values():
        calls: Calls = (one[which] if which else one)["calls"]
        title, read = f"{one['title']} {one['version']}", " ".join(f"`{w}`" for w in one["reads"])
        for call, told in calls.items():
            numbers = (
                " ".join(str(told.get(place, NONE)) for place in places)
                for places in COLUMNS.values()
            )
            yield [title, f"`{call}`", *numbers, verdicts.words(told, one["reads"]), read]
            title = read = ""


def counts_table(cgroups: str) -> str:
    return table(HEADINGS, list(rows(runtimes(cgroups))))


def with_table(cgroups: str) -> str:
    """A part of the page with its heading, once a command was tried."""
    tried = {name: one for name, one in runtimes(cgroups).items() if "with" in one}
    commands = sorted({one["with"]["command"] for one in tried.values()})
    said = ""
    for command in commands:
        those = {name: one for name, one in tried.items() if one["with"]["command"] == command}
        without_reads = [row[:-1] for row in rows(those, "with")]
        said += f"## Under `{command}`\n\n{table(HEADINGS[:-1], without_reads)}\n"
    return said


def about_table(cgroups: str) -> str:
    lines = [
        [f"`{name}`", f"{one['title']} {one['version']}", one["source"], one["commit"], one["date"]]
        for name, one in runtimes(cgroups).items()
    ]
    return table(["name", "runtime", "from", "Overlock's source", "date"], lines)


def machines(cgroups: str) -> str:
    """Where the runtimes were asked, and what was not."""
    those = {f"{one['machine']}, cgroup {one['cgroup']}" for one in runtimes(cgroups).values()}
    said = [f"Asked on {'; '.join(sorted(those))}."]
    lacking = {name for one in runtimes(cgroups).values() for name in one.get("missing", {})}
    if lacking:
        said.append(f"Not measured there: {', '.join(sorted(lacking))}.")
    return " ".join(said) + "\n"


def left_out_table() -> str:
    return table(["runtime", "why it was not asked"], [list(pair) for pair in NOT_HERE.items()])


def show(found: dict[str, Found]) -> None:
    grid = Table(box=None, pad_edge=False)
    for heading in HEADINGS[:-1]:
        grid.add_column(heading, overflow="fold")
    for row in rows(found):
        grid.add_row(*(cell.strip("`") for cell in row[:-1]))
    console().print(grid)


# The command


def chosen(only: Sequence[str]) -> list[Runtime]:
    for name in only:
        if name not in BY_NAME:
            raise Fail(f"--only {name}: expected one of {', '.join(BY_NAME)}")
    return [BY_NAME[name] for name in only] if only else list(RUNTIMES)


def installed(those: Sequence[Runtime]) -> list[Runtime]:
    found = []
    for runtime in those:
        if lacking := runtime.source.missing():
            say(f"{runtime.name} is left out; it needs {', '.join(lacking)}: --install")
        else:
            found.append(runtime)
    if not found:
        raise Fail("no runtime is installed; give --install", MISSING)
    return found


def install(those: Sequence[Runtime]) -> None:
    for runtime in those:
        for step in runtime.source.steps() if runtime.source.missing() else []:
            print(shlex.join(step), flush=True)
            if subprocess.run(step, check=False).returncode:
                raise Fail(f"{step[0]} failed, see above", FAILED)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="runtime")
    parser.add_argument(
        "--with",
        dest="prefix",
        default="",
        metavar="COMMAND",
        type=shlex.split,
        help="ask under that command, too, such as 'overlock run --fit --'",
    )
    parser.add_argument("--install", action="store_true", help="install what is missing first")
    parser.add_argument("--list", action="store_true", help="list the runtimes and their sources")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        default=FILES.get(cgroup_version(), FILE),
        help="file to update [default: %(default)s, by the version of cgroup]",
    )
    return parser.parse_args()


def ask_all(those: Sequence[Runtime], prefix: Sequence[str], file: Path) -> int:
    failed = 0
    for number, runtime in enumerate(those, 1):
        say(f"{number} of {len(those)}: {runtime.name}")
        before = kept(file).get(runtime.name, {})
        if prefix and not before:
            before = measured(runtime, (), before)
        try:
            keep(file, runtime.name, measured(runtime, prefix, before))
        except Fail as error:
            failed = error.code
            say(error.message)
    return failed


def main() -> int:
    options = parsed()
    those = chosen(options.only)
    if options.list:
        for runtime in those:
            print(f"{runtime.name:16} {runtime.title:20} {runtime.source.words}")
        return 0
    if options.install:
        install(those)
    those = installed(those)
    try:
        code = ask_all(those, options.prefix, options.output)
    except KeyboardInterrupt:
        say(f"interrupted: {options.output} has the runtimes that are complete")
        code = INTERRUPTED
    names = {runtime.name for runtime in those}
    show({name: one for name, one in kept(options.output).items() if name in names})
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
