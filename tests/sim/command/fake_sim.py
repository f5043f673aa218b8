#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for overlock-sim: answers what the file FAKE_SIM says of the run's lock.

Each call is noted in its log. A lock that the file does not name has an ordinary answer.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

CONTEXT = {
    "turns": 1000,
    "ran_ns": 8e6,
    "waited_ns": 2e6,
    "spun_ns": 2e6,
    "holder_preempted": 3,
    "waiter_preempted": 5,
    "preempted_holding": 4,
    "preempted_waiting": 6,
    "parks": 7,
    "kicks": 9,
    "yields": 0,
}
LENGTHS = {
    "number": 1000,
    "total_ns": 1e6,
    "longest_ns": 900.5,
    "counts": [[96.0, 999], [896.0, 1]],
}
CONTENDED = {"held_running_ns": 3e6, "held_off_cpu_ns": 1e6, "free_ns": 0.0}


def guest(asked: dict[str, Any], turns: int) -> dict[str, Any]:
    return {
        "name": asked.get("name", "guest"),
        "contexts": [{**CONTEXT, "turns": turns} for _ in range(asked["contexts"])],
        "waits": LENGTHS,
        "holds": LENGTHS,
        "contended": [CONTENDED],
        "throttled_ns": 0.0,
        "events": {"SLOW_PATH": 11} if asked["lock"] == "mcs" else {},
    }


def main() -> None:
    run = json.load(sys.stdin)
    world = json.loads(Path(os.environ["FAKE_SIM"]).read_text())
    locks = [asked["lock"] for asked in run["guests"] if asked["lock"] != "none"]
    with open(world["log"], "a") as log:
        log.write(f"{locks[0]} {run['seed']}\n")
    with open(world["log"] + ".told", "a") as told:
        told.write(json.dumps(run) + "\n")
    says = world["locks"].get(locks[0], {})
    if "signal" in says:
        os.kill(os.getpid(), says["signal"])
    if says.get("hang") is True or says.get("hang") == run["seed"]:
        signal.pause()
    if "stderr" in says:
        print(says["stderr"], file=sys.stderr)
    if "stdout" in says:
        print(says["stdout"])
    if says.get("status"):
        sys.exit(says["status"])
    turns = says.get("turns", 1000) + run["seed"]
    answer = {
        "time_ns": run["time_us"] * 1000.0,
        "guests": [guest(asked, turns) for asked in run["guests"]],
        "transfers": 1,
        "invalidations": 2,
        "stores_to_shared": 3,
        "steps": 4,
        "failure": says.get("failure", ""),
    }
    if "stdout" not in says:
        print(json.dumps(answer))


main()
