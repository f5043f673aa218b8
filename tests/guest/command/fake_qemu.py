# SPDX-License-Identifier: MIT
"""Stands in for QEMU. FAKE_QEMU says how: good, silent, dead, late-once, other-lock,
hung, page-unseen, told (of its slices).

With a line for a guest of its own it is a host: FAKE_QEMU is then its guest's behaviour, too.
"""

import json
import os
import re
import socket
import struct
import sys
import threading
import time
import zlib
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
INNER = re.search(r"path=(\S+?/inner),", TEXT)
CONSOLE = re.search(r"file:(\S+)", TEXT)
LOCK = re.search(r"spinlock=(\w+)", TEXT)
assert QMP
assert RIG
assert CONSOLE
assert LOCK
SMP = int(after("-smp"))
# As many as a lock that holds makes of it, and one that collapses.
RATES = {"ticket": 1_000, "native": 900, "spin_barrier": 800}


def server(path: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    found.listen(1)
    return found


INNER_LISTENING = server(INNER[1]) if INNER else socket.socket()


def facts() -> str:
    assert LOCK
    if INNER:
        return json.dumps({"kernel": "6.1-host", "cpus": SMP, "line": "/dev/ttyS2"})
    return guest_facts(LOCK[1], SMP, TEXT)


def own_lock(told: str) -> str:
    """What Linux takes under such a QEMU: native_pv_lock_init(), kvm_spinlock_init()."""
    if "-hypervisor" in told:
        return "native qspinlock"
    if "-accel kvm" not in told or "-kvm-pv-unhalt" in told:
        return "native test-and-set"
    return "native qspinlock" if "nopvspin" in told else "native pv_qspinlock"


def guest_facts(asked: str, smp: int, told: str) -> str:
    lock = "ticket" if BEHAVIOUR == "other-lock" else asked
    lock = own_lock(told) if lock == "native" else lock
    known = {"kernel": "6.1-fake", "cpus": smp, "lock": lock, "parking": "spin", "said": ""}
    known |= {"waits": "halt+nmi" if "overlock.park=auto" in told else "spin"}
    paged = "ivshmem-plain" in TEXT and BEHAVIOUR != "page-unseen"
    known |= {"slices": "ivshmem" if paged else "kvm" if BEHAVIOUR == "told" else "none"}
    known |= {"clocksource": "tsc", "hypervisor": False, "steal_ticks": 0, "uptime": "1.0"}
    return json.dumps(known)


# Of a lock and unlock, and what the look at the counter takes of each.
PAIRS = {"native": (12, 8), "ticket": (15, 9)}
LOOK = 2

SLICES = """source ivshmem
looks 50 2
age 900 1800 900:40 1800:8
early 300000 2000000 300000:2 2000000:1
late 40000 40000 40000:1
clock 70"""


PLAN_HEAD = struct.Struct("=8sIIQ2048Q")
PLAN_OP = struct.Struct("=QQII")
RELEASE = 1


def replayed() -> dict[str, object]:
    """Of the plan in the initramfs; each acquisition waited for 1 us."""
    packed = Path(after("-initrd")).read_bytes()
    archive = zlib.decompress(packed[packed.index(b"\x1f\x8b") :], 31)
    at = archive.index(b"OLREPLY1")
    head = PLAN_HEAD.unpack_from(archive, at)
    threads, taken = [], dict.fromkeys(range(head[2]), 0)
    for i in range(head[1]):
        first, n = head[4 + 2 * i : 6 + 2 * i]
        hashed = done = 0
        for k in range(first, first + n - 1):
            _, _, lock, kind = PLAN_OP.unpack_from(archive, at + PLAN_HEAD.size + k * PLAN_OP.size)
            done, hashed = done + 1, (hashed * 0x9E3779B97F4A7C15 + 2 * lock + kind + 1) % 2**64
            taken[lock] += kind != RELEASE
        threads.append([done, hashed, 0, 1_000_000, True])
    return {"locks": [[i, n, n, n * 1000] for i, n in taken.items()], "threads": threads}


def answer(line: str, lock: str, smp: int) -> str:
    if line.strip() == "pair":
        taken, given = PAIRS[lock]
        return json.dumps({"lock": taken + LOOK, "unlock": given + LOOK, "nothing": LOOK})
    if "debug/overlock/slice" in line:
        return SLICES
    if "/proc/stat" in line:
        return str(100 * smp)
    words = dict(word.split("=", 1) for word in line.split()[1:])
    seconds = int(words["milliseconds"]) / 1000
    time.sleep(seconds)
    each = round(RATES.get(words.get("barrier", lock), 100_000) * seconds)
    wrong = "two contexts were in the critical section at once" if lock == "busted" else ""
    if words.get("barrier") == "busted_barrier":
        wrong = "a context passed the barrier before another had arrived"
    times = [[100, 10], [1000, 1]]
    told = {"workload": words["workload"], "window_ns": round(seconds * 1e9), "wrong": wrong}
    told |= {"per_thread": [each] * smp, "wait": times, "hold": times, "handover": times}
    if words["workload"] == "replay":
        told |= {"replay": replayed()}
    told |= {"gap_ns": 5000, "unit_ps": 1000, "drained": True, "drain_ns": 1000}
    return json.dumps(told)


def host(listening: socket.socket) -> None:
    """Does what lab/nested/loads/inner is told to."""
    line, _ = listening.accept()
    inner: socket.socket | None = None
    line.sendall(f"{facts()}\ndone 0\n".encode())
    for told in line.makefile():
        said = ["1000000000 0 1 2"] if told.startswith("inner ran") else []
        said += [told.split()[1]] if told.startswith("host-slice") else []
        if told.startswith("inner begin"):
            inner = inner or INNER_LISTENING.accept()[0]
            silent = BEHAVIOUR == "silent" or (BEHAVIOUR == "late-once" and first())
            threading.Thread(target=nested, args=(inner, told, silent), daemon=True).start()
        line.sendall("".join(f"{text}\n" for text in [*said, "done 0"]).encode())


def nested(line: socket.socket, told: str, silent: bool) -> None:
    lock = re.search(r"spinlock=(\w+)", told)
    smp = re.search(r"-smp (\d+)", told)
    assert lock
    assert smp
    line.sendall(b"of the one before\nbegin\n")
    if silent:
        return
    line.sendall(f"{guest_facts(lock[1], int(smp[1]), told)}\ndone 0\n".encode())
    for asked in line.makefile():
        line.sendall(f"{answer(asked, lock[1], int(smp[1]))}\ndone 0\n".encode())


def first() -> bool:
    return len(PIDS.read_text().split()) == 1


def guest(listening: socket.socket, go: threading.Event) -> None:
    go.wait()
    if INNER:
        host(listening)
        return
    line, _ = listening.accept()
    assert LOCK
    if BEHAVIOUR == "silent" or (BEHAVIOUR == "late-once" and first()):
        return
    line.sendall(f"{facts()}\ndone 0\n".encode())
    for told in line.makefile():
        if BEHAVIOUR == "hung":
            return
        line.sendall(f"{answer(told, LOCK[1], SMP)}\ndone 0\n".encode())


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
    if after("-accel") in {"kvm", "xen"}:
        sys.exit(f"qemu-system-x86_64: no {after('-accel').upper()} for a fake")
    Path(CONSOLE[1]).write_text("[    0.1] Kernel panic - not syncing: a fake one\n")
    go = threading.Event()
    rig, qmp = server(RIG[1]), server(QMP[1])
    for target, listening in ((guest, rig), (monitor, qmp)):
        threading.Thread(target=target, args=(listening, go), daemon=True).start()
    time.sleep(600)


main()
