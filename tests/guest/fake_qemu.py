# SPDX-License-Identifier: MIT
"""Stands in for QEMU. FAKE_QEMU says how: good, silent, dead, late-once, other-lock,
hung, page-unseen."""

import json
import os
import re
import socket
import sys
import threading
import time
from pathlib import Path

BEHAVIOUR = os.environ["FAKE_QEMU"]
PIDS = Path(os.environ["FAKE_PIDS"])
with PIDS.open("a") as out:
    out.write(f"{os.getpid()}\n")
ARGUMENTS = sys.argv[1:]


def after(option: str) -> str:
    return ARGUMENTS[ARGUMENTS.index(option) + 1]


TEXT = " ".join(ARGUMENTS)
QMP = re.search(r"unix:(\S+?),", TEXT)
RIG = re.search(r"path=(\S+?),", TEXT)
CONSOLE = re.search(r"file:(\S+)", TEXT)
LOCK = re.search(r"spinlock=(\w+)", TEXT)
assert QMP
assert RIG
assert CONSOLE
assert LOCK
SMP = int(after("-smp"))
# As many as a lock that holds makes of it, and one that collapses.
RATES = {"ticket": 1_000, "native": 900}


def server(path: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    found.listen(1)
    return found


def facts() -> str:
    assert LOCK
    lock = "ticket" if BEHAVIOUR == "other-lock" else LOCK[1]
    lock = "native qspinlock" if lock == "native" else lock
    known = {"kernel": "6.1-fake", "cpus": SMP, "lock": lock, "parking": "spin", "said": ""}
    paged = "ivshmem-plain" in TEXT and BEHAVIOUR != "page-unseen"
    known |= {"slices": "ivshmem" if paged else "none"}
    known |= {"clocksource": "tsc", "hypervisor": False, "steal_ticks": 0, "uptime": "1.0"}
    return json.dumps(known)


def answer(line: str) -> str:
    assert LOCK
    if "debug/overlock/slice" in line:
        return "source ivshmem\nlooks 50 2\nage 900 1800 900:40 1800:8\nclock 70"
    words = dict(word.split("=", 1) for word in line.split()[1:])
    seconds = int(words["milliseconds"]) / 1000
    time.sleep(seconds)
    each = round(RATES.get(LOCK[1], 100_000) * seconds)
    wrong = "two contexts were in the critical section at once" if LOCK[1] == "busted" else ""
    times = [[100, 10], [1000, 1]]
    told = {"workload": words["workload"], "window_ns": round(seconds * 1e9), "wrong": wrong}
    told |= {"per_thread": [each] * SMP, "wait": times, "hold": times, "handover": times}
    told |= {"gap_ns": 5000, "unit_ps": 1000, "drained": True, "drain_ns": 1000}
    return json.dumps(told)


def guest(listening: socket.socket, go: threading.Event) -> None:
    line, _ = listening.accept()
    go.wait()
    if BEHAVIOUR == "silent" or (BEHAVIOUR == "late-once" and len(PIDS.read_text().split()) == 1):
        return
    line.sendall(f"{facts()}\ndone 0\n".encode())
    for told in line.makefile():
        if BEHAVIOUR == "hung":
            return
        line.sendall(f"{answer(told)}\ndone 0\n".encode())


def monitor(listening: socket.socket, go: threading.Event) -> None:
    line, _ = listening.accept()
    line.sendall(b'{"QMP": {}}\n')
    for told in line.makefile():
        command = json.loads(told)["execute"]
        result: object = {}
        if command == "query-cpus-fast":
            mine = threading.get_native_id()
            result = [{"cpu-index": i, "thread-id": mine} for i in reversed(range(SMP))]
        if command == "cont":
            go.set()
            line.sendall(b'{"event": "RESUME"}\n')
        line.sendall(json.dumps({"return": result}).encode() + b"\n")


def main() -> None:
    assert QMP
    assert RIG
    assert CONSOLE
    if BEHAVIOUR == "dead":
        sys.exit("qemu-system-x86_64: no such machine")
    if "kvm" in TEXT:
        sys.exit("qemu-system-x86_64: no KVM for a fake")
    Path(CONSOLE[1]).write_text("[    0.1] Kernel panic - not syncing: a fake one\n")
    go = threading.Event()
    rig, qmp = server(RIG[1]), server(QMP[1])
    for target, listening in ((guest, rig), (monitor, qmp)):
        threading.Thread(target=target, args=(listening, go), daemon=True).start()
    time.sleep(600)


main()
