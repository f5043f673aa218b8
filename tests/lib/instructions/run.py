#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of an uncontended lock+unlock, counted by callgrind, beside Concurrency Kit's.

Exits with 1 if a lock takes more than Concurrency Kit's of the same kind, or if a lock that is said
to fit 4 bytes does not. The counts are those of this compiler, and repeat exactly, but for those
counted with times, for what is done then depends on the times that are read, and for those with a
second thread alive, which has a few of its own.

--ticks instead measures the time of a pair, plain and counted in turn; --mutex-ticks that of a
mutex, glibc's and interposed in turn. Both are rough on a busy machine.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from operator import itemgetter
from pathlib import Path
from statistics import median

from overlock_tools.bench import peers
from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
PAIRS = 1000  # as in pairs.c
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]

# Concurrency Kit's lock of the same kind, where it has one. Its fas is a test-and-test-and-set lock
# taken by exchange, its cas one taken by compare-exchange, its ticket_pb one with back-off.
SAME_KIND = {
    "tas": "ck_fas",
    "ttas": "ck_fas",
    "byte": "ck_cas",
    "ticket": "ck_ticket",
    "ticket_backoff": "ck_ticket_pb",
    "mcs": "ck_mcs",
    "dec": "ck_dec",
    "clh": "ck_clh",
    "anderson": "ck_anderson",
}

# Where ours does what Concurrency Kit's leaves to its caller: how many more it may take, and why.
MORE = {
    "clh": (1, "a free lock keeps no node, and all-zero memory is one"),
    "anderson": (
        7,
        "who comes beyond the slots waits without one, and all-zero memory is a free lock",
    ),
}

Counts = dict[str, int]


def compile_pairs(
    folder: Path, counted: bool, before: Path | None, source: str = "pairs.c"
) -> Path:
    """A program against the static library; headers found in `before` hide the tree's."""
    build = native.folder().parent
    out = folder / (Path(source).stem + ("-counted" if counted else ""))
    library = build / "lib" / f"liboverlock{'_counted' if counted else ''}.a"
    if not library.exists():
        raise Fail(f"there is no {library}; run `make build` first")
    includes = [*([before] if before else []), TOP / "include", build / "include"]
    command = ["gcc", *FLAGS, *(f"-I{i}" for i in includes), str(HERE / source), str(library)]
    subprocess.run([*command, "-pthread", "-ldl", "-Wl,-z,now", "-o", str(out)], check=True)
    return out


def instructions(program: Path, what: str, exact: bool = True, **environment: str) -> Counts:
    """Per pair of each subject, less what the empty loop takes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *("valgrind", "-q", "--tool=callgrind"),
                f"--callgrind-out-file={folder}/out",
                *(str(program), what),
            ],
            env={**os.environ, **environment},
            check=True,
        )
        totals = dict(map(read_dump, Path(folder).glob("out.*")))
    names = {name.split()[0] for name in totals if name.endswith(" 1")}
    loops = {n: per_pair(totals[f"{n} 2"] - totals[f"{n} 1"], n, exact) for n in names}
    return {name: n - loops["nothing"] for name, n in loops.items() if name != "nothing"}


def per_pair(difference: int, name: str, exact: bool) -> int:
    if exact and difference % PAIRS:
        raise Fail(f"{name}: {difference} instructions for {PAIRS} pairs, not the same for each")
    return round(difference / PAIRS)


def read_dump(path: Path) -> tuple[str, int]:
    text = path.read_text()
    trigger = re.search(r"^desc: Trigger: (?:Client Request: )?(.*)$", text, re.MULTILINE)
    total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
    if not trigger or not total:
        raise Fail(f"{path.name} is not what callgrind writes; was valgrind updated?")
    return trigger[1], int(total[1])


def interposed(program: Path, lock: str, counted: bool = False) -> int:
    library = native.file(f"liboverlock-run{'-counted' if counted else ''}.so")
    more = {"LD_PRELOAD": str(library), "OVERLOCK_LOCK": lock}
    return instructions(program, "company", exact=False, **more)["mutex"]


def measure(before: Path | None = None, inlined_only: bool = False) -> dict[str, Counts]:
    """Column by column; "peers" has the locks that are not ours."""
    with tempfile.TemporaryDirectory() as name:
        plain = compile_pairs(Path(name), False, before)
        columns = {"inlined": instructions(plain, "inlined"), "peers": instructions(plain, "peers")}
        ways = ("mutex", "company")
        columns["glibc"] = {w: instructions(plain, w, w == "mutex")["mutex"] for w in ways}
        if inlined_only:
            return columns
        counted = compile_pairs(Path(name), True, before)
        columns["or_fail"] = instructions(plain, "or_fail")
        columns["plugins"] = {}
        for plugin in peers.plugins():
            columns["plugins"] |= instructions(plain, str(plugin), exact=False)
        columns["table"] = instructions(plain, "table")
        columns["counted"] = instructions(counted, "table")
        columns["timed"] = instructions(counted, "table", exact=False, OVERLOCK_HISTOGRAMS="1")
        columns["interposed"] = {
            lock.id: interposed(plain, lock.id)
            for lock in defs.load().locks.values()
            if "elides" not in lock.traits  # those the interposer refuses
        }
        return columns


def excesses(columns: dict[str, Counts]) -> list[str]:
    """What breaks the rule, one line each."""
    wrong = []
    for name, peer in SAME_KIND.items():
        ours, theirs = columns["inlined"][name], columns["peers"][peer]
        if ours > theirs + MORE.get(name, (0, ""))[0]:
            wrong.append(f"{name} takes {ours} instructions, {peer} {theirs}")
    for lock in defs.load().locks.values():
        if "fits4" in lock.traits and lock.size != 4:
            wrong.append(f"{lock.id} is said to fit 4 bytes and has {lock.size}")
    return wrong


def row(*cells: object) -> str:
    first, *rest = map(str, cells)
    return f"{first:<24}" + "".join(f"{cell:>13}" for cell in rest)


def print_table(columns: dict[str, Counts]) -> None:
    ours, theirs_of = columns["inlined"], columns["peers"]
    print("Instructions of an uncontended lock+unlock\n")
    forms = ("or_fail", "table", "counted", "timed", "interposed")
    print(row("lock", "bytes", "inlined", "CK's", "excess", *forms))
    for lock in defs.load().locks.values():
        kind = SAME_KIND.get(lock.id)
        theirs = f"{theirs_of[kind]} {kind[3:]}" if kind else "-"
        excess = f"{ours[lock.id] - theirs_of[kind]:+d}" if kind else "-"
        more = (columns[c].get(lock.id, "") for c in forms)
        print(row(lock.id, lock.size, ours[lock.id], theirs, excess, *more))
    print(row("pthread_spin", "", theirs_of["pthread_spin"]))
    print("\nOther libraries' locks, called through a table as those of the column `table` are:")
    for name, n in sorted(columns["plugins"].items(), key=itemgetter(1)):
        print(row(name, "", n))
    alone, company = columns["glibc"]["mutex"], columns["glibc"]["company"]
    print(row("pthread_mutex", "", theirs_of["pthread_mutex"]))
    print(
        f"\nInterposed: with a second thread alive, where glibc's mutex takes {company}; alone it"
    )
    print(f"it takes {alone}, for it leaves out the atomics.")
    slower = [lock for lock, n in columns["interposed"].items() if n > 1.05 * company]
    print(f"More than 1.05 times glibc's with two threads: {', '.join(slower) or 'none'}.\n")
    for name, (_, why) in MORE.items():
        print(f"{name}: {why}")
    print(f"\nApart: ol_self() {ours['self']}, ol_node_get() and ol_node_put() {ours['node']}:")
    print("no lock asks for either unless it found the lock taken.")


ROUNDS = 5  # of plain and counted in turn


def ticks() -> dict[str, list[list[float]]]:
    """By lock: the least of plain, of counted, and of counted with times, for each length."""
    with tempfile.TemporaryDirectory() as name:
        plain, counted = (compile_pairs(Path(name), c, None, "ticks.c") for c in (False, True))
        ways = [(plain, "0"), (counted, "0"), (counted, "1")]
        least: dict[str, list[list[float]]] = {}
        for _ in range(ROUNDS):
            for way, (program, times) in enumerate(ways):
                environment = {**os.environ, "OVERLOCK_HISTOGRAMS": times}
                command = [str(program), *defs.load().locks]
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True
                )
                for line in done.stdout.splitlines():
                    lock, *numbers = line.split()
                    best = least.setdefault(lock, [[float("inf")] * len(numbers) for _ in ways])
                    best[way] = [min(a, float(b)) for a, b in zip(best[way], numbers, strict=True)]
        return least


def print_ticks(least: dict[str, list[list[float]]]) -> None:
    print("Ticks of an uncontended lock+unlock from the table of locks, with sections of 0, 10 and")
    print(f"100 turns of an empty loop: least of {ROUNDS} rounds, plain | counted | with times\n")
    for lock, ways in least.items():
        cells = (" | ".join(f"{t:.0f}" for t in times) for times in zip(*ways, strict=True))
        print(f"{lock:<24}" + "".join(f"{cell:>20}" for cell in cells))


MUTEX_ROUNDS = 9
GLIBC = "glibc"


def mutex_ticks(which: list[str]) -> dict[str, list[float]]:
    """Of glibc's mutex alone and with company, and of each lock's interposed with company."""
    found: dict[str, list[float]] = {}
    library = str(native.file("liboverlock-run.so"))
    with tempfile.TemporaryDirectory() as name:
        program = compile_pairs(Path(name), False, None, "mutex_ticks.c")
        ways: list[tuple[str, str, dict[str, str]]]
        ways = [(f"{GLIBC}, alone", "alone", {}), (GLIBC, "company", {})]
        ways += [(k, "company", {"LD_PRELOAD": library, "OVERLOCK_LOCK": k}) for k in which]
        for number in range(MUTEX_ROUNDS):
            for what, how, more in ways if number % 2 else reversed(ways):
                done = subprocess.run(
                    [str(program), how],
                    env={**os.environ, **more},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                found.setdefault(what, []).append(float(done.stdout))
    return found


def print_mutex_ticks(found: dict[str, list[float]]) -> None:
    print("Ticks of an uncontended lock+unlock of a pthread_mutex_t, with a second thread alive;")
    print(
        f"least of 2000 bursts, median of {MUTEX_ROUNDS} rounds, and of their ratios to glibc's\n"
    )
    for what, ticks in sorted(found.items(), key=lambda item: median(item[1])):
        ratios = [ours / theirs for ours, theirs in zip(ticks, found[GLIBC], strict=True)]
        span = f"{median(ratios):.2f} ({min(ratios):.2f} - {max(ratios):.2f})"
        print(f"{what:<24}{median(ticks):>10.1f}{span:>24}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts here too")
    parser.add_argument("--ticks", action="store_true", help="time instead of instructions")
    parser.add_argument("--mutex-ticks", action="store_true", help="time of interposed mutexes")
    options = parser.parse_args()
    try:
        if options.ticks:
            print_ticks(ticks())
            return 0
        if options.mutex_ticks:
            small = [lock.id for lock in defs.load().locks.values() if lock.size == 4]
            print_mutex_ticks(mutex_ticks(small))
            return 0
        columns = measure()
        print_table(columns)
        wrong = excesses(columns)
    except Fail as error:
        print(f"run.py: {error.message}", file=sys.stderr)
        return error.code
    if options.json:
        options.json.write_text(json.dumps(columns, indent=2) + "\n")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
