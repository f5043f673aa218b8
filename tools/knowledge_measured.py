#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What knowledge is worth to each lock that asks for it, and what the monitor costs and predicts.

    python tools/knowledge_measured.py [FILE] [--minutes M] [--add]

measures as root, and writes docs/measured/knowledge.json, or adds rounds to what it says of worth;
`tools/docs_tables.py` makes the tables.
Rounds go through all conditions and sources, so that drift of the machine meets all alike.
"""

import argparse
import json
import os
import platform
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.core.model import defs
from overlock_tools.core.system import native

MEASURED = Path(__file__).resolve().parent.parent / "docs/measured/knowledge.json"
THREADS, SECONDS = 8, 0.1
REFERENCE = "tas_yield"  # asks for nothing: what its rates differ by is the machine's noise
# By name, what OVERLOCK_KNOWLEDGE says.
SOURCES = {
    "none": "none",
    "rseq": "rseq",
    "getattr": "rseq,getattr",
    "quota": "rseq,getattr,quota",
    "monitor": "monitor,rseq",
}
CONDITIONS: dict[str, list[str]] = {
    "threads": [],
    "neighbours": ["--neighbours", "2"],
    "quota": ["--quota", "1"],
    "hogs": ["--background", "2:hogs"],
}
# The monitor predicts for threads that only spin, and costs most where threads sleep.
SPINS, SLEEPS = "ticket", "pv_ticket"


def askers() -> list[str]:
    """The locks that ask for what a source may know."""
    asks = {"needs_slice", "needs_preempted"}
    return [lock.id for lock in defs.load().locks.values() if asks & set(lock.traits)]


@contextmanager
def monitored(*options: str) -> Iterator[dict[str, Any]]:
    """While a monitor serves; filled with what it says at its end."""
    socket = f"@overlock-measured-{secrets.token_hex(4)}"
    child = subprocess.Popen(
        [native.monitord(), f"--socket={socket}", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr
    child.stderr.readline()
    os.environ["OVERLOCK_MONITOR"] = socket
    said: dict[str, Any] = {}
    try:
        yield said
    finally:
        child.terminate()
        said.update(json.loads(child.communicate()[0]))


def bench(locks: list[str], knowledge: str, *options: str, seconds: float = SECONDS) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [sys.executable, "-m", "overlock_tools", "bench", "sections", "--rounds", "1"]
        command += ["--lock", ",".join(locks), "--threads", str(THREADS), "--no-latency"]
        command += ["--seconds", str(seconds), "--knowledge", knowledge, "--json", str(file)]
        command += ["--baseline", locks[0], *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(file.read_text())


def worth(end: float, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cells: dict[tuple[str, str, str], list[float]] = {
        (c["condition"], c["source"], c["lock"]): c["rates"] for c in before
    }
    locks = [REFERENCE, *askers()]
    while time.monotonic() < end:
        for condition, options in CONDITIONS.items():
            for source, knowledge in SOURCES.items():
                if source == "monitor":
                    with monitored():
                        result = bench(locks, knowledge, *options)
                else:
                    result = bench(locks, knowledge, *options)
                for cell in result["cells"]:
                    key = condition, source, cell["variant"]
                    cells.setdefault(key, []).append(cell["work"] / cell["seconds"])
    return [
        {"condition": c, "source": s, "lock": lock, "rates": [round(rate, 1) for rate in rates]}
        for (c, s, lock), rates in cells.items()
    ]


def predicted() -> list[dict[str, Any]]:
    """How far from the expected ends slices were taken away."""
    found = []
    for condition, options in CONDITIONS.items():
        for detail in ("least", "full"):
            with monitored(f"--detail={detail}") as said:
                bench([SPINS], "monitor", *options, seconds=1.5)
            found.append({"condition": condition, "detail": detail, **said})
    return found


def cost() -> list[dict[str, Any]]:
    """Of threads that have joined, and of threads that have not."""
    found = []
    for joined, knowledge in ((True, "monitor"), (False, "none")):
        with monitored("--cost") as said:
            bench([SLEEPS], knowledge, seconds=1.5)
        found.append({"joined": joined, **said})
    return found


def measure(path: Path, minutes: float, add: bool) -> None:
    end = time.monotonic() + 60 * minutes
    facts = {"kernel": platform.release(), "cpus": os.cpu_count(), "threads": THREADS}
    if add:
        result = json.loads(path.read_text())
    else:
        result = {**facts, "seconds": SECONDS, "predicted": predicted(), "cost": cost()}
    result["worth"] = worth(end, result.get("worth", []))
    kept_json.write(path, result)


# The tables.


def _read() -> Any:
    return json.loads(MEASURED.read_text())


def _shown(rate: float) -> str:
    if rate >= 1e6:
        return f"{rate / 1e6:.2f} M"
    return f"{rate / 1e3:.0f} k" if rate >= 10_000 else f"{rate:,.0f}"


def _rates(rates: list[float]) -> str:
    if not rates:
        return ""
    return f"{_shown(statistics.median(rates))} ({_shown(min(rates))} – {_shown(max(rates))})"


def worth_table() -> str:
    cells = {(c["condition"], c["lock"], c["source"]): c["rates"] for c in _read()["worth"]}
    locks = dict.fromkeys(lock for _, lock, _ in cells)
    rows = [
        [c, f"`{lock}`", *(_rates(cells.get((c, lock, s), [])) for s in SOURCES)]
        for c in CONDITIONS
        for lock in locks
    ]
    return table(["condition", "lock", *(f"`{source}`" for source in SOURCES)], rows)


def _us(times: dict[str, int]) -> str:
    if not times["count"]:
        return "0"
    p50, p99 = (times[p] / 1000 for p in ("p50", "p99"))
    return f"{times['count']:,}, by {p50:,.0f} µs ({p99:,.0f})"


def predicted_table() -> str:
    rows = [
        [
            row["condition"],
            row["detail"],
            f"{row['taken']:,}",
            _us(row["early_ns"]),
            _us(row["after_ns"]),
            f"{row['endless']:,}",
        ]
        for row in _read()["predicted"]
    ]
    return table(
        ["condition", "detail", "taken away", "before the end", "after it", "no end expected"], rows
    )


def cost_table() -> str:
    found = _read()
    rows = []
    for row in found["cost"]:
        ran = row["switches"]
        ns, each_s = ran["ns"] / ran["runs"], ran["runs"] / row["seconds"]
        share = ns * each_s / 1e9 / found["cpus"]
        rows.append(
            ["yes" if row["joined"] else "no", f"{ns:.0f}", f"{each_s:,.0f}", f"{share:.2%}"]
        )
    return table(["joined", "ns per switch", "switches per second", "of all CPU time"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=MEASURED)
    parser.add_argument("--minutes", type=float, default=2.7, help="begin no round after this")
    parser.add_argument("--add", action="store_true", help="add rounds to those in the file")
    asked = parser.parse_args()
    measure(asked.file, asked.minutes, asked.add)
    return 0


if __name__ == "__main__":
    sys.exit(main())
