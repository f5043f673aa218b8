#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what `overlock run` reaches in programs: the table of docs/survey.md.

    tools/reached.py                       all of lab/survey/reached.toml that is installed
    tools/reached.py --only xz --again     one of them, anew
    tools/reached.py --list                what is installed, and what is missing

Each runs five times, or six: natively under `perf record`, which tells of each futex() call the
object that makes it; natively under `overlock profile`, which tells what threads wait for; counted;
under --spins=report; and, for the futex() calls that remain, under `overlock run` and, if it has
locks of OpenMP's, with --openmp all. Needs root, perf and BPF.

docs/measured/reached.json keeps the counts of each program, by release, as soon as it is done.
They are counts of one small load, on a machine that may be busy: how many, and by which means.
Nothing of them is a measurement of speed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.profile import functions

TOP = Path(__file__).resolve().parent.parent
PROGRAMS = TOP / "lab/survey/reached.toml"
FILE = TOP / "docs/measured/reached.json"
OVERLOCK = shutil.which("overlock") or f"{sys.executable} -m overlock_tools"
LOADS = TOP / "lab/survey/reached"
CRATES = TOP / "build/reached/release"  # cargo build --release --target-dir build/reached
PLACES = {"LOADS": str(LOADS), "CRATES": str(CRATES)}
NOT_STARTED = 125  # the exit code of `overlock run`
FUTEX = "syscalls:sys_enter_futex"
SECONDS = 150  # of a run; the loads are for a few, on an idle machine
LEFT_ALONE = ("shared", "robust", "priority", "by_rule")

Counts = dict[str, Any]

# By what threads wait, the first whose functions a stack has. Inner calls come first.
TIMES = ("wanted_ns", "lost_ns", "unsure_ns", "spun_ns")
MEANS = {
    "OpenMP": re.compile(r"_*(gomp|GOMP|kmpc?|omp)_\w+"),
    "C library": re.compile(r"_*(new_|old_)?sem_\w*wait\w*|_*pthread_(\w*join|once)\w*"),
    "pthread": re.compile(r"_*(pthread_(mutex|cond|rwlock|barrier|spin)|mtx|cnd)_\w+"),
}
BENEATH = re.compile(r"_*lll_\w+")  # of mutexes, and of the C library's own locks
WITHOUT_NAME = re.compile(r"libc\.so\.6\+0x[0-9a-f]+")  # a function that libc does not export
WITHOUT_FILE = re.compile(r"0x[0-9a-f]+")  # nothing says whose code that is
RAW, UNNAMED = "own futex", "no name"


@dataclass(frozen=True)
class Program:
    id: str
    name: str
    version: str  # the command that says it
    source: str  # where it is installed from
    command: str  # of bash; $WITH stands before the program that is looked at
    needs: tuple[str, ...]
    prepare: str = ""
    of_12: str = ""  # where it is installed from on Debian 12, if that is another place

    def missing(self) -> list[str]:
        names = [Template(one).substitute(PLACES) for one in self.needs]
        return [one for one in names if not (shutil.which(one) or Path(one).exists())]


@cache
def programs() -> dict[str, Program]:
    raw = tomllib.loads(PROGRAMS.read_text())["program"]
    return {one["id"]: Program(**(one | {"needs": tuple(one["needs"])})) for one in raw}


def means_of(called: Iterable[str | None]) -> str:
    """By the names of a stack's functions, the innermost first."""
    known = [name for name in called if name and not WITHOUT_FILE.fullmatch(name)]
    names = [functions.qualified(name) for name in known]
    for name in names:
        for means, pattern in MEANS.items():
            if pattern.fullmatch(name):
                outer = means == "pthread" and any(map(MEANS["OpenMP"].fullmatch, names))
                return "OpenMP" if outer else means
    below = [name for name in known if name != "syscall"][:1]
    if any(map(BENEATH.fullmatch, names)) or any(map(WITHOUT_NAME.fullmatch, below)):
        return "C library"
    return RAW if names else UNNAMED


def of_profile(report: Counts) -> Counts:
    """Waits, and milliseconds of them, by means; CPU time that went into spinning."""
    found: dict[str, Counter[str]] = {
        "locks": Counter(),
        "on purpose": Counter(),
        "waits": Counter(),
    }
    for one in [report, *report.get("processes", ())]:
        for lock in one["locks"]:
            stacks = [stack for stack in lock["stacks"] if stack["of"] == "waiter"]
            calls = stacks[0]["calls"] if stacks else []
            means = means_of(call["function"] for call in calls)
            if lock["loops"] or lock["spins"]:
                means = SPINNING
            group = "locks" if lock["is_lock"] or lock["spins"] else "on purpose"
            found[group][means] += lock["wait_ns"]
            found["waits"][means] += lock["waits"]
    every = [report, *report.get("processes", ())]
    total = {name: sum(one[name] for one in every) for name in TIMES}
    return {
        **{name: dict(counts) for name, counts in found.items()},
        **total,
        "unwatched": sorted({word for one in every for word in one.get("unwatched", ())}),
        "not_watched": sum(one["children"] for one in every) - len(every) + 1,
        "doubts": [doubt for one in every for doubt in one["doubts"]],
        "samples_lost": sum(sum(one["lost"].values()) for one in every),
        "by": report["by"],
    }


def of_counted(reports: Iterable[Counts]) -> Counts:
    """Acquisitions by which lock served them; and what was left to glibc."""
    served: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for report in reports:
        for site in report["sites"]["sites"]:
            kind = (
                "OpenMP"
                if re.search(r"lib(g|i)?omp", site["module"]) or site["lock"] == "paced"
                else "pthread"
            )
            served[kind] += site["events"].get("ACQUIRE", 0)
            served[f"{kind} waited"] += site["events"].get("SLOW_PATH", 0)
        served["missed"] += report["sites"]["missed"]
        left.update(report["left"])
    return {**served, "left": dict(left)}


SPUN = re.compile(r": (\d+) waiting loops yield; threads waited in (\d+) of them; (\d+) yields")


def of_spins(said: str) -> Counts:
    found = [tuple(map(int, one)) for one in SPUN.findall(said)]
    return {
        "loops": max((loops for loops, _, _ in found), default=0),
        "waited_in": sum(waited for _, waited, _ in found),
        "yields": sum(yields for _, _, yields in found),
    }


CALLER = re.compile(r"^ +[\d.]+% +(\d+) +(\S+) +\[.\] (\S+)", re.MULTILINE)


def of_perf(said: str) -> Counts:
    """futex() calls by who makes them."""
    calls: Counter[str] = Counter()
    for number, path, function in CALLER.findall(said):
        calls[caller(path, function)] += int(number)
    lost = re.search(r"Total Lost Samples: (\d+)", said)
    return {**calls, "lost": int(lost[1]) if lost else 0}


def caller(path: str, function: str) -> str:
    if re.fullmatch(r"libc\.so\.6|libc-2.*|ld-linux.*", path):
        return "syscall()" if function.startswith("syscall") else "glibc"
    return "OpenMP" if re.match(r"lib(g|i)?omp", path) else "own"


class Refused(RuntimeError):
    """`overlock run` does not start the program."""


class Run:
    """One program, in a folder of its own."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.seconds: dict[str, float] = {}

    def __call__(self, within: str, what: str) -> str:
        """What is said on standard error."""
        begun = datetime.now(UTC)
        env = os.environ | PLACES | {"WITH": within, "OUT": str(self.folder)}
        with (self.folder / "said").open("w+") as said:
            child = subprocess.Popen(
                ["bash", "-uc", self.program.command],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            try:
                child.wait(SECONDS)
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"{what}: not done after {SECONDS} s") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            said.seek(0)
            text = said.read()
        self.seconds[what] = (datetime.now(UTC) - begun).total_seconds()
        if child.returncode == NOT_STARTED:
            raise Refused(text.strip().splitlines()[-1])
        if child.returncode:
            last = text.strip().splitlines()[-1:] or ["it said nothing"]
            raise RuntimeError(f"{what}: exit code {child.returncode}: {last[0]}")
        return text

    def perf(self, within: str, what: str) -> Counts:
        data = self.folder / "perf.data"
        data.unlink(missing_ok=True)
        self(f"perf record -q -m 4M -o {data} --user-callchains -g -e {FUTEX} -- {within}", what)
        words = ["perf", "report", "-i", str(data), "--stdio", "--no-children", "-g", "none"]
        words += ["--sort", "dso,sym", "-n"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return of_perf(done.stdout)


def under_run(run: Run, folder: Path) -> Counts:
    run(f"{OVERLOCK} run --openmp all --counters --output {folder}/c-%p.json --", "counted")
    reports = [json.loads(file.read_text()) for file in folder.glob("c-*.json")]
    found: Counts = {"counted": of_counted(reports), "processes": len(reports)}
    found["spins"] = of_spins(run(f"{OVERLOCK} run --spins=report --", "--spins"))
    found["futex_run"] = run.perf(f"{OVERLOCK} run --", "under run")
    if found["counted"].get("OpenMP"):
        found["futex_openmp"] = run.perf(f"{OVERLOCK} run --openmp all --", "under --openmp")
    return found


def counted(program: Program) -> Counts:
    with tempfile.TemporaryDirectory(prefix="reached-") as name:
        folder = Path(name)
        run = Run(program, folder)
        if program.prepare:
            done = subprocess.run(
                ["bash", "-euc", program.prepare],
                cwd=folder,
                env=os.environ | PLACES,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"prepare: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        found: Counts = {"futex": run.perf("", "futex() calls")}
        run(f"{OVERLOCK} profile --json {folder}/profile.json --", "profile")
        found["profile"] = of_profile(json.loads((folder / "profile.json").read_text()))
        try:
            found |= under_run(run, folder)
        except Refused as error:
            found["refused"] = "statically linked" if "static" in str(error) else str(error)
        found["seconds"] = {what: round(seconds, 1) for what, seconds in run.seconds.items()}
    version = subprocess.run(
        ["bash", "-c", program.version],
        env=os.environ | PLACES,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\n", 1)[0]
    return {
        "version": version.strip(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        **found,
    }


def release() -> str:
    """Of this system: Debian 12, Debian sid."""
    text = Path("/etc/os-release").read_text()
    version = re.search(r'^VERSION_ID="?(\w+)', text, re.MULTILINE)
    return f"Debian {version[1] if version else 'sid'}"


def load() -> dict[str, Counts]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


# In words


def number(count: int) -> str:
    return f"{count:,}"


def futex_calls(found: Counts) -> int:
    return sum(count for name, count in found.items() if name != "lost")


HALF, LEAST = 0.5, 0.005
FEW = 0.01  # of the time in which threads had work: below, there is nothing to gain


SPINNING = "spinning"
VERDICTS = {
    "pthread": "`run` reaches it",
    "OpenMP": "`run`, or `--openmp all` for libgomp's",
    SPINNING: "`--spins`",
    "C library": "glibc's own: not reached",
}


def lost_share(found: Counts) -> float:
    profile = found["profile"]
    return float(profile["lost_ns"] / profile["wanted_ns"]) if profile["wanted_ns"] else 0.0


def by_means(found: Counts) -> dict[str, float]:
    """Of what is lost at locks and by spinning, the share of each means."""
    locks = found["profile"]["locks"]
    total = sum(locks.values())
    return {name: ns / total for name, ns in locks.items()} if total else {}


def verdict(found: Counts) -> str:
    """What is worth trying, in words: by what was counted and waited for, not by what it brings."""
    if "refused" in found:
        return f"own runtime: refused, {found['refused']}"
    profile = found["profile"]
    shares = by_means(found)
    most = max(shares, key=lambda name: shares[name], default="")
    spun = profile["spun_ns"] / profile["wanted_ns"] if profile["wanted_ns"] else 0.0
    if spun >= FEW and most in ("", SPINNING):
        yields = found["spins"]["yields"]
        return "`--spins`" if yields else "spins, but no loop yields unless it is named"
    if lost_share(found) < FEW:
        if own_share(found) > HALF:
            return "own runtime: not reached"
        return "cannot tell" if profile["doubts"] else "nothing to gain"
    if most in VERDICTS:
        return VERDICTS[most]
    return "own runtime: not reached" if own_share(found) > HALF else "cannot tell"


def own_share(found: Counts) -> float:
    calls = found["futex"]
    total = futex_calls(calls)
    return (calls.get("own", 0) + calls.get("syscall()", 0)) / total if total else 0.0


def share(part: float) -> str:
    return f"{part:.0%}".replace("%", " %") if part >= LEAST else "0"


def doubts(found: Counts) -> Iterator[str]:
    if lost := found["futex"]["lost"]:
        yield f"{number(lost)} futex() calls were not recorded"
    if missed := found.get("counted", {}).get("missed"):
        yield f"{number(missed)} acquisitions at sites not told apart"
    if found["profile"]["doubts"]:
        yield found["profile"]["doubts"][0]
    if lost := found["profile"]["samples_lost"]:
        yield f"{number(lost)} stacks or samples were lost"
    if (processes := found["profile"]["not_watched"]) > 0:
        yield f"{processes} short processes were not watched"


def row(program: Program, where: str, found: Counts) -> list[str]:
    source = program.of_12 if program.of_12 and where == "Debian 12" else program.source
    source = where if source == "Debian" else f"{source}, on {where}"
    head = [f"{program.name}: {found.get('version', '')} ({source})".replace(":  (", " (")]
    if "why" in found:
        return [*head, *["·"] * 7, f"not counted: {found['why']}"]
    doubt = "; ".join(doubts(found))
    wanted = found["profile"]["wanted_ns"]
    return [
        *head,
        *served_cells(found),
        callers(found["futex"]),
        calls_under(found),
        lost_cell(found),
        share(found["profile"]["spun_ns"] / wanted if wanted else 0),
        spins_cell(found),
        verdict(found) + (f" ({doubt})" if doubt else ""),
    ]


def served_cells(found: Counts) -> list[str]:
    if "refused" in found:
        return ["·", "·"]
    counts = found["counted"]
    left = sum(counts["left"].values())
    mutexes = number(counts.get("pthread", 0)) + (f", {number(left)} left" if left else "")
    return [mutexes, number(counts.get("OpenMP", 0))]


def callers(calls: Counts) -> str:
    own = calls.get("own", 0) + calls.get("syscall()", 0)
    return ", ".join(map(number, (calls.get("glibc", 0), calls.get("OpenMP", 0), own)))


def calls_under(found: Counts) -> str:
    """Of `run`, and of `--openmp all` where there are locks for that."""
    if "refused" in found:
        return "·"
    ran = number(futex_calls(found["futex_run"]))
    openmp = found.get("futex_openmp")
    return f"{ran}; {number(futex_calls(openmp))}" if openmp else ran


def lost_cell(found: Counts) -> str:
    waits = by_means(found)
    most = sorted((name for name in waits if waits[name] >= LEAST), key=lambda n: -waits[n])
    parts = ", ".join(f"{name} {share(waits[name])}" for name in most)
    return share(lost_share(found)) + (f": {parts}" if parts else "")


def spins_cell(found: Counts) -> str:
    if "refused" in found:
        return "·"
    spins = found["spins"]
    return f"{spins['waited_in']} of {number(spins['loops'])}, {number(spins['yields'])}"


HEADINGS = (
    *("program", "pthread mutexes acquired", "OpenMP locks acquired"),
    *(
        "futex() calls by glibc, OpenMP, itself",
        "under `run`; `--openmp all`",
        "time lost to locks, by what",
    ),
    *("CPU time spun", "`--spins`: loops waited in, yields", "verdict"),
)


def in_order(found: dict[str, Counts]) -> Iterator[tuple[str, Counts]]:
    """As the programs are listed; of one, the oldest release first."""
    for name in programs():
        yield from sorted((key, one) for key, one in found.items() if key.split(", ")[0] == name)


def counts_table() -> str:
    rows = []
    for key, found in in_order(load()):
        name, where = key.split(", ")
        rows.append(row(programs()[name], where, found))
    return table(list(HEADINGS), rows)


def summary() -> str:
    found = [one for one in load().values() if "why" not in one]
    counts = Counter(verdict(one) for one in found)
    rows = [[word, str(n)] for word, n in counts.most_common()]
    return table(["verdict", "programs"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=programs(), metavar="PROGRAM")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    found = load()
    chosen = options.only or list(programs())
    for name in chosen:
        program = programs()[name]
        if options.list:
            missing = program.missing()
            print(f"{name:24} {'missing: ' + ', '.join(missing) if missing else 'installed'}")
            continue
        key = f"{name}, {release()}"
        if key in found and "why" not in found[key] and not options.again:
            continue
        if missing := program.missing():
            print(f"{name}: not installed: {', '.join(missing)}", file=sys.stderr)
            continue
        print(f"{datetime.now(UTC):%H:%M:%S} {name}", file=sys.stderr, flush=True)
        try:
            found[key] = counted(program)
        except (RuntimeError, OSError, ValueError) as error:
            found[key] = {"why": str(error)[:200]}
            print(f"{name}: {error}", file=sys.stderr)
        kept_json.write(FILE, dict(in_order(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
