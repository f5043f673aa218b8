#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for overlock-bench: it answers at once what the file FAKE_WORLD says of each lock.

{"rates": {LOCK: turns per second}, "impossible": [LOCK], "log": FILE, "seconds": of a cell,
 "die_at": N, "hung": [LOCK], "undrained": [LOCK], "tunables": {NAME: value},
 "deaf": to SIGTERM, "stays": at the end of its input, "workloads": [NAME], "parameters": of each} -
all but the first may be left out. Cells it is asked for go to the log.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

PARAMETERS = [
    {"name": "cs", "unit": "ns", "preset": 70, "least": 0, "most": 1e9, "what": "work inside"},
    {"name": "shape", "choices": "fixed|uniform", "what": "how lengths are distributed"},
    {"name": "locks", "unit": "count", "preset": 1, "least": 1, "most": 64, "what": "locks"},
]
WORKLOADS = (
    "sections",
    "mutexbench",
    "lockloop",
    "fairness",
    "invalidation",
    "stress_latency",
    "throw",
    "throw_locked",
)


def facts(world: dict[str, Any]) -> dict[str, Any]:
    locks = [{"id": lock, "kind": "lock", "what": lock} for lock in world["rates"]]
    for lock in locks:
        lock["kind"] = "peer" if lock["id"].startswith("pthread") else "lock"
    parameters = world.get("parameters", PARAMETERS)
    return {
        "type": "facts",
        "relax_ns": 40.0,
        "measure_ns": 20.0,
        "tunables": world.get("tunables", {}),
        "workloads": [
            {"id": name, "what": f"{name}, made up", "parameters": parameters}
            for name in world.get("workloads", WORKLOADS)
        ],
        "subjects": locks,
    }


def answer(asked: dict[str, str], world: dict[str, Any]) -> dict[str, Any]:
    lock, threads = asked["variant"], int(asked["threads"])
    copies, seconds = int(asked.get("copies", 1)), float(asked["seconds"])
    if lock in world.get("impossible", ()):
        return {"type": "error", "kind": "impossible", "message": "no memory for it"}
    if lock in world.get("hung", ()):
        return {"type": "error", "kind": "hung", "message": "it did not end"}
    rate = float(world["rates"][lock.partition("@")[0]])
    each, cut = int(rate * seconds / threads / copies), False
    finish: list[float | None] = []
    if turns := int(asked.get("turns", 0)):
        took = turns * threads * copies / rate
        cut = took > seconds
        each = int(turns * min(1.0, seconds / took))
        finish = [None if cut else took * 1e9] * (threads * copies)
        seconds = min(seconds, took)
    return {
        "type": "cell",
        "variant": lock,
        "threads": threads,
        "acquisitions": each * threads * copies,
        "seconds": seconds,
        "cpu_seconds": seconds,
        "voluntary": 1,
        "involuntary": 1,
        "arrivals": threads,
        "drained": lock not in world.get("undrained", ()),
        "drain_seconds": 0.0,
        "cut": cut,
        "wrong": "",
        "copies": [each * threads] * copies,
        "per_thread": [each] * (threads * copies),
        "work_seconds": seconds / 2,
        "finish_ns": finish,
        "gap_ns": 1000,
        "latency": {"ns": [100, 900], "weight": [99, 1]},
        "handover": {"ns": [50], "weight": [1]},
        "queue": {"mean": 1.5, "max": 3},
    }


def main() -> int:
    world = json.loads(Path(os.environ["FAKE_WORLD"]).read_text())
    if world.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(json.dumps(facts(world)), flush=True)
    for number, line in enumerate(sys.stdin, 1):
        if number == world.get("die_at"):
            print("overlock-bench: the sky fell", file=sys.stderr)
            return 1
        with Path(world["log"]).open("a") as log:
            log.write(line)
        asked = dict(word.split("=", 1) for word in line.split())
        time.sleep(world.get("seconds", 0))
        print(json.dumps(answer(asked, world)), flush=True)
    while world.get("stays"):
        time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
