#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a replay does what its program did: docs/measured/replay.json.

    tools/replay_validated.py [NAME...] [--seconds N]
    tools/replay_validated.py --overhead [--rounds N]
    tools/replay_validated.py --guest [NAME...] [--rounds N] [--dir FOLDER]

Records each program under glibc's mutexes, replays the trace under the same mutexes in
overlock-bench, records the replay by the same library, and compares both. The bounds are those of
python/overlock_tools/core/trace/fidelity.py. tools/docs_tables.py makes the tables of
docs/results/replay.md. With --overhead, it measures what recording costs instead; with --guest, how
close replays in guests' kernels come, each lock in each rig. An idle machine, please.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import IO, Any

import kept_json
from lock_pages import table
from overlock_tools.apps import app
from overlock_tools.apps.rocksdb import OPTIONS
from overlock_tools.bench.replaying import plan_file
from overlock_tools.core.model import results
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system import machine, native
from overlock_tools.core.trace import fidelity, plan, raw
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import Trace

MEASURED = Path(__file__).resolve().parent.parent / "docs/measured/replay.json"
EVENTS = 6_000_000
LOCK = "pthread_mutex"  # under which the programs run, too
SECONDS = 3.0
LONGEST = 15.0  # of a replay: the trace once, and more time if it is slower
SHOWN = 8  # locks, by their share of the waiting
MEGABYTES = 128  # so many, for fewer have too few waits to compare
ROCKSDB_S = 6  # the same
ENTRIES = "--num=200000"


@dataclass(frozen=True)
class Program:
    """Real programs of Debian; `work` is in the folder that prepare() filled."""

    what: str
    prepare: Callable[[Path], None]
    work: Callable[[Path], list[str]]
    client: Callable[[float, IO[str]], None] | None = None  # of a server, which is ended afterwards
    rate: str = ""  # where its output says how much it did in a second; empty: all, once


@cache
def port() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def _random_file(folder: Path) -> None:
    (folder / "input").write_bytes(os.urandom(MEGABYTES << 20))


def _nothing(_: Path) -> None:
    pass


def _memcached_client(seconds: float, out: IO[str]) -> None:
    time.sleep(0.3)
    subprocess.run(
        ["memcaslap", "-s", f"127.0.0.1:{port()}", "-t", f"{seconds:.0f}s", "-T", "1", "-c", "16"],
        stdout=out,
        check=True,
    )


def _fill_rocksdb(folder: Path) -> None:
    told = ["db_bench", "--benchmarks=fillseq", f"--db={folder}/db", *OPTIONS, ENTRIES]
    subprocess.run(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _read_rocksdb(folder: Path) -> list[str]:
    what = ["--benchmarks=readwhilewriting", "--use_existing_db=1", "--threads=8"]
    return ["db_bench", *what, f"--duration={ROCKSDB_S}", f"--db={folder}/db", *OPTIONS, ENTRIES]


def _leveldb() -> str:
    return str(app.compiled(app.SOURCES / "leveldb.cpp", ["-lleveldb"]))


def _fill_leveldb(folder: Path) -> None:
    subprocess.run([_leveldb(), "fill", str(folder / "db"), "200000"], check=True)


def _read_leveldb(writers: int) -> Callable[[Path], list[str]]:
    def command(folder: Path) -> list[str]:
        seconds = SECONDS if writers else SECONDS / 3  # as many events
        numbers = (4, writers, 0.1, seconds, 1)
        return [_leveldb(), "read", str(folder / "db"), "200000", *map(str, numbers)]

    return command


READS = r'"per_thread":\s*\[(\d+)'  # of the first reader, in a fixed time

PROGRAMS = {
    "pbzip2": Program(
        f"pbzip2 packs {MEGABYTES} MB of random bytes with 4 threads",
        _random_file,
        lambda folder: ["pbzip2", "-p4", "-k", "-c", "-b1", str(folder / "input")],
    ),
    "leveldb": Program("LevelDB: 4 readers", _fill_leveldb, _read_leveldb(0), rate=READS),
    "leveldb-writing": Program(
        "LevelDB: 4 readers and a writer", _fill_leveldb, _read_leveldb(1), rate=READS
    ),
    "rocksdb": Program(
        "RocksDB's db_bench readwhilewriting: 8 readers and a writer",
        _fill_rocksdb,
        _read_rocksdb,
        rate=r"readwhilewriting.*?(\d+) ops/sec",
    ),
    "memcached": Program(
        "memcached with 4 threads under memcaslap's 16 connections",
        _nothing,
        lambda _: ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port(), "-t", "4"],
        _memcached_client,
        rate=r"TPS: (\d+)",
    ),
}


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="overlock-replay-", dir="/dev/shm") as name:
        yield Path(name)


def recording(records: Path) -> dict[str, str]:
    records.mkdir()
    ours = {
        "LD_PRELOAD": str(native.file("liboverlock-record.so")),
        "OVERLOCK_RECORD": str(records),
        "OVERLOCK_RECORD_EVENTS": str(EVENTS),
    }
    return os.environ | ours


def largest(records: Path, program: str) -> Trace:
    found = [one for each in raw.processes(records).values() for one in each]
    return raw.trace_of(max(found, key=lambda one: len(one.events)), program)


def run(program: Program, place: Path, environment: dict[str, str], seconds: float) -> float:
    """How long it took."""
    began = time.monotonic()
    with open(place / "output", "w") as out:
        child = subprocess.Popen(
            program.work(place), env=environment, stdin=subprocess.PIPE, stdout=out, stderr=out
        )
        try:
            if child.stdin:  # LevelDB's driver waits for a line
                child.stdin.write(b"go\n")
                child.stdin.close()
            if program.client:
                program.client(seconds, out)
                child.send_signal(signal.SIGTERM)
            child.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            child.wait()
    return time.monotonic() - began


def replay(made: plan.Plan, seconds: float) -> Trace:
    """Under the same lock, recorded by the same library."""
    with folder() as place, plan_file(made) as file:
        told = f"workload=replay variant={LOCK} threads={len(made.ops)} seconds={seconds} measure=0"
        done = subprocess.run(
            [native.file("overlock-bench"), f"--replay={file}"],
            input=told + "\n",
            env=recording(place / "records"),
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
        if answer.get("wrong") or answer["type"] == "error":
            sys.exit(f"the replay went wrong: {answer}")
        return largest(place / "records", "overlock-bench")


def recorded(name: str, seconds: float) -> Trace:
    program = PROGRAMS[name]
    with folder() as place:
        program.prepare(place)
        run(program, place, recording(place / "records"), seconds)
        return largest(place / "records", name)


def validate(name: str, seconds: float) -> dict[str, Any]:
    program, trace = PROGRAMS[name], recorded(name, seconds)
    second = recorded(name, seconds)
    by_itself = fidelity.alone(second)
    made = plan.of(trace)
    length = min(max(1.5 * trace.duration_ns / 1e9, 0.5), LONGEST)
    found = fidelity.compare(trace, made, replay(made, length))
    return {
        "what": program.what,
        "threads": len(made.ops),
        "locks": len(made.locks),
        "events": len(trace.events),
        "lost": trace.lost_events,
        "seconds": trace.duration_ns / 1e9,
        "bytes": len(traces.packed(trace)),
        "left_out": dict(made.left_out),
        "misses": found.misses(),
        "second": {  # how much the program differs from itself
            "per_second": by_itself.per_second,
            "contended": by_itself.contended,
            "waited": by_itself.waited,
            "waiting": by_itself.waiting,
            "largest": max(by_itself.waits, default=0.0),
        },
        **found.to_json(SHOWN),
    }


def overhead(name: str, rounds: int) -> dict[str, Any]:
    """What the program does in a second, each pair with and without the library."""
    program = PROGRAMS[name]
    plain: list[float] = []
    with_it: list[float] = []
    with folder() as place:
        program.prepare(place)
        for i in range(2 * rounds):
            recorded = i % 4 in (1, 2)  # either first by turns
            told = recording(place / f"records{i}") if recorded else dict(os.environ)
            took = run(program, place, told, SECONDS)
            said = (place / "output").read_text() if program.rate else ""
            found = re.search(program.rate, said) if program.rate else None
            rate = float(found[1]) if found else 1 / took
            (with_it if recorded else plain).append(rate)
            shutil.rmtree(place / f"records{i}", ignore_errors=True)
    ratios = [a / b for a, b in zip(with_it, plain, strict=True)]
    return {"plain": median(plain), "recorded": median(with_it), "ratios": ratios}


def pair_ns(recorded: bool) -> float:
    """Of lock and unlock by one thread, nothing between them."""
    told = f"workload=lockloop variant={LOCK} threads=1 turns=500000 seconds=10 measure=0\n"
    with folder() as place:
        environment = recording(place / "records") if recorded else dict(os.environ)
        done = subprocess.run(
            [native.file("overlock-bench")],
            input=told,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"] / answer["acquisitions"] * 1e9


GUEST_LOCKS = ("native", "ticket", "preemptable_ticket")
VCPUS = (2, 4)


def in_guests(name: str, rounds: int, kernels: str | None) -> dict[str, Any]:
    """Of each rig and lock, the round with the median pace."""
    trace = recorded(name, SECONDS)
    rigs: dict[str, dict[str, Any]] = {}
    with folder() as place:
        file, result = place / f"{name}.trace", place / "result.json"
        traces.write(file, trace)
        for vcpus in VCPUS:
            asked = ["--replay", file, "--lock", ",".join(GUEST_LOCKS), "--smp", vcpus]
            asked += [
                "--rounds",
                rounds,
                "--json",
                result,
                *(["--dir", kernels] if kernels else []),
            ]
            subprocess.run(["overlock", "guest", "run", *map(str, asked)], check=True)
            cells = results.from_file(result).cells
            rigs[f"1×{vcpus}"] = {lock: _middle(cells, lock) for lock in GUEST_LOCKS}
    return {
        "machine": machine.headline(machine.facts()),
        "events": len(trace.events),
        "seconds": trace.duration_ns / 1e9,
        "rigs": rigs,
    }


def _middle(cells: list[Cell], lock: str) -> dict[str, Any]:
    found = [replay for cell in cells if cell.variant == lock for replay in cell.replays]
    return sorted(found, key=lambda replay: float(replay["pace"]))[len(found) // 2]


# Tables of docs/results/replay.md.


def _kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MEASURED.read_text())
    return found


def bounds_table() -> str:
    b = fidelity.Bounds(**_kept()["bounds"])
    rows = [
        ["order", "operations that are the trace's, in its order, by thread", f"{b.in_order:.0%}"],
        ["use", "a lock's share of all acquisitions", f"differs by at most {b.use:g}"],
        [
            "wait shares",
            "a lock's share of all waiting",
            f"differs by at most {b.waits:g}; judged from {b.fewest_waits} waits on in both",
        ],
        [
            "waiting",
            "share of the threads' time that is spent waiting",
            f"differs by at most a factor of {b.waiting_factor:g}, or {b.waiting:g}",
        ],
        ["pace", "acquisitions per second", f"differ by at most a factor of {b.pace_factor:g}"],
    ]
    return table(["bound", "of", "is met if it"], rows)


def programs_table() -> str:
    rows = []
    for name, one in _kept()["programs"].items():
        a, b, second = one["recorded"], one["replayed"], one["second"]
        misses = [*one["misses"], *(["wait shares: too few waits"] if one["few"] else [])]
        rows.append(
            [
                f"`{name}`",
                str(one["threads"]),
                str(one["locks"]),
                f"{one['in_order']:.0%}",
                f"{a['waited']} → {b['waited']}",
                f"{one['waits']:.2f}",
                f"{a['waits'][0]:.2f} → {b['waits'][0]:.2f}",
                f"{a['waiting']:.1%} → {b['waiting']:.1%}",
                f"{second['waiting']:.1%}",
                f"{one['pace']:.2f}",
                "all" if not misses else f"but for {', '.join(misses)}",
            ]
        )
    headings = ["program", "threads", "locks", "in order", "waits", "largest difference of a share"]
    headings += ["share of the lock most waited for", "waiting", "second run", "pace"]
    return table([*headings, "bounds met"], rows)


def guests_table() -> str:
    rows = []
    for name, one in _kept()["guests"].items():
        for rig, of in one["rigs"].items():
            for lock, found in of.items():
                a, b = found["recorded"], found["replayed"]
                rows.append(
                    [
                        f"`{name}`",
                        rig,
                        f"`{lock}`",
                        f"{found['in_order']:.0%}",
                        f"{a['waited']} → {b['waited']}",
                        "few" if found["few"] else f"{found['waits']:.2f}",
                        f"{a['waits'][0]:.2f} → {b['waits'][0]:.2f}",
                        f"{a['waiting']:.1%} → {b['waiting']:.1%}",
                        f"{found['pace']:.2g}",
                        ", ".join(found["misses"]) or "none",
                    ]
                )
    headings = ["program", "guest", "lock", "in order", "waits", "largest difference of a share"]
    headings += ["share of the lock most waited for", "waiting", "pace"]
    return table([*headings, "bounds missed"], rows)


def left_out_table() -> str:
    rows = [
        [
            f"`{name}`",
            one["what"],
            f"{one['seconds']:.1f} s",
            f"{one['events']:,}",
            f"{one['lost']:,}",
            f"{one['bytes'] / 1e6:.2f} MB",
            ", ".join(f"{n} {why}" for why, n in one["left_out"].items() if n) or "-",
        ]
        for name, one in _kept()["programs"].items()
    ]
    headings = ["program", "what it did", "recorded", "events", "lost", "trace", "left out"]
    return table(headings, rows)


def overhead_table() -> str:
    kept = _kept()
    pair = kept["pair_ns"]
    rows = [
        ["lock and unlock, one thread", f"{pair['plain']:.0f} ns", f"{pair['recorded']:.0f} ns"]
    ]
    rows[0].append(f"+{pair['recorded'] - pair['plain']:.0f} ns")
    for name, one in kept["overhead"].items():
        ratios = [f"{ratio - 1:+.0%}" for ratio in sorted(one["ratios"])]
        rate = (f"{one[key]:,.3g}/s" for key in ("plain", "recorded"))
        rows.append([f"`{name}`, rate", *rate, " and ".join(ratios)])
    return table(["", "alone", "recorded", "cost"], rows)


def told(found: dict[str, Any]) -> str:
    """In a line, for who waits for it."""
    if "ratios" in found:
        return f"{found['plain']:.4g}, recorded {found['recorded']:.4g} in a second"
    a, b = found["recorded"], found["replayed"]
    words = [f"{found['events']} events, {found['lost']} lost, order {found['in_order']:.4f}"]
    words += [f"{key} {a[key]:.4g} {b[key]:.4g}" for key in ("per_second", "contended", "waiting")]
    words += [f"{key} {found[key]:.3f}" for key in ("use", "waits", "pace")]
    return ", ".join([*words, f"misses {found['misses']}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*PROGRAMS, []], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--guest", action="store_true")
    parser.add_argument("--dir", help="of the guests' kernels")
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    kept: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    kept["bounds"] = asdict(fidelity.BOUNDS)
    if not asked.guest:  # each of those has its own
        kept["machine"] = machine.headline(machine.facts())
    what = "overhead" if asked.overhead else "guests" if asked.guest else "programs"
    part = kept.setdefault(what, {})
    measure: Callable[[str], dict[str, Any]] = {
        "overhead": lambda name: overhead(name, asked.rounds),
        "guests": lambda name: in_guests(name, asked.rounds, asked.dir),
        "programs": lambda name: validate(name, asked.seconds),
    }[what]
    if asked.overhead:
        kept["pair_ns"] = {"plain": pair_ns(False), "recorded": pair_ns(True)}
    for name in asked.names or PROGRAMS:
        part[name] = measure(name)
        print(
            name,
            json.dumps(
                part[name],
            )[:6000],
            flush=True,
        )
        kept_json.write(MEASURED, kept)


if __name__ == "__main__":
    main()
