#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for overlock-check: answers as the file FAKE_CHECK says.

{"rules": [{"if": [words that must all be among the arguments], ...}, ...], "log": FILE}: the first
rule that fits is followed; without one everything holds. A rule may have "result" (over what is
said otherwise), "failure", "progress": how many lines of it, "pause": seconds between them,
"meets": how many calls there must be before it goes on,
"status" and "stderr" for an end without a result, "deaf" to SIGINT, "garbage" before the result.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

LISTS = {
    "locks": [
        {"id": "ticket", "scenarios": ["lock", "try", "free"]},
        {"id": "pv_ticket", "scenarios": ["lock", "try", "free"]},
        {"id": "preemptable_ticket", "scenarios": ["lock", "try", "timed", "free"]},
        {"id": "mcs", "scenarios": ["lock", "try", "free"]},
    ],
    "scenarios": [
        {"id": "lock", "what": "every context locks and unlocks", "drawn": False},
        {"id": "try", "what": "one of them only tries", "drawn": False},
        {"id": "timed", "what": "one of them gives up", "drawn": False},
        {"id": "free", "what": "the last one out frees the lock", "drawn": False},
    ],
    "waits": [{"id": "gate", "scenarios": [{"id": "opens", "what": "opens"}]}],
    "budgets": [
        {"id": "stop", "what": "a context off its CPU while others' time runs", "times": 0},
        {"id": "expiry", "what": "a deadline that passes", "times": 1},
    ],
    "models": [
        {"id": "sc", "what": "sequential consistency"},
        {"id": "tso", "what": "x86's"},
        {"id": "c11", "what": "acquire, release, relaxed and fences"},
    ],
    "library_calls": ["syscall"],
}
SITES = "ticket.h:55:acquire\nticket.h:76:acquire\nticket.h:88:acq_rel\nticket.h:30:relaxed\n"


def option(name: str, otherwise: str) -> str:
    found = [a.partition("=")[2] for a in sys.argv[1:] if a.startswith(f"--{name}=")]
    return found[-1] if found else otherwise


def options(name: str) -> dict[str, str]:
    found = [a.partition("=")[2] for a in sys.argv[1:] if a.startswith(f"--{name}=")]
    return dict(entry.partition("=")[::2] for entry in found)


def say(what: str, body: dict[str, Any]) -> None:
    print(json.dumps({what: body}), flush=True)


def result(rule: dict[str, Any]) -> dict[str, Any]:
    failure = rule.get("failure")
    return {
        "lock": option("lock", Path(option("load", "")).stem),
        "model": option("model", "sc"),
        "scenario": option("scenario", "lock"),
        "contexts": int(option("contexts", "2")),
        "acquisitions": int(option("acquisitions", "2")),
        "budgets": {kind: int(n) for kind, n in options("budget").items()},
        "tune": options("tune"),
        **({"clock": int(clock)} if (clock := option("clock", "")) not in ("", "0") else {}),
        "search": option("search", "dpor"),
        "executions": 1234,
        "redundant": 5,
        "steps": 45678,
        "seconds": 0.25,
        "exhausted": not failure,
        "ended": "failed" if failure else "exhausted",
        "verdict": "fails" if failure else "holds",
        "failure": failure,
        "notes": {},
        "coverage": {"files": {"lock.h": {"reached": [1, 2, 3], "unreached": []}}},
        **rule.get("result", {}),
    }


def meet(calls: int, log: str) -> None:
    while calls and len(Path(log).read_text().splitlines()) < calls:
        time.sleep(0.005)


def explore(rule: dict[str, Any], log: str) -> int:
    interrupted = False

    def stop(*_: object) -> None:
        nonlocal interrupted
        interrupted = not rule.get("deaf")

    signal.signal(signal.SIGINT, stop)
    if log:  # only now: a test that reads of the call there may interrupt it
        with Path(log).open("a") as out:
            out.write(" ".join(sys.argv[1:]) + "\n")
    meet(rule.get("meets", 0), log)
    for step in range(1, rule.get("progress", 0) + 1):
        say("progress", {"executions": 1000 * step, "seconds": 0.01 * step, "steps": 9})
        until = time.monotonic() + rule.get("pause", 0)
        while not interrupted and time.monotonic() < until:
            time.sleep(0.005)
        if interrupted:
            early = {"exhausted": False, "ended": "interrupted", "executions": 1000 * step}
            say("result", {**result({}), **early})
            return 3
    if "status" in rule:
        print(rule.get("stderr", ""), file=sys.stderr)
        return int(rule["status"])
    print(rule.get("garbage", ""), end="")
    told = result(rule)
    say("result", told)
    return 1 if told["verdict"] == "fails" else 0 if told["exhausted"] else 3


def main() -> int:
    world = json.loads(Path(os.environ["FAKE_CHECK"]).read_text())
    if "--list" in sys.argv:
        print(json.dumps({**LISTS, "budgets": world.get("budgets", LISTS["budgets"])}))
        return 0
    if "--about" in sys.argv:
        print(json.dumps({"scenarios": ["lock"], "readers": False, "broadcasts": False}))
        return 0
    if "--sites" in sys.argv:
        if option("scenario", "lock") in world.get("no_sites", []):
            print("overlock-check: scenario is not for that lock", file=sys.stderr)
            return 2
        other = {"try": "ticket.h:47:acquire\n"}
        print(SITES + other.get(option("scenario", "lock"), ""), end="")
        return 0
    rules = [r for r in world["rules"] if set(r.get("if", [])) <= set(sys.argv[1:])]
    return explore(rules[0] if rules else {}, world.get("log", ""))


sys.exit(main())
