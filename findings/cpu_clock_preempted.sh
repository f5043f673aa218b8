#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread that shares its CPU loses it at any place, one would guess: most likely where it spends its time. But a thread
# that asks for its own CPU time, by clock_gettime(CLOCK_THREAD_CPUTIME_ID), mostly loses its CPU in that call, though the
# call takes a few percent of its time: the call brings the scheduler's account up to date, which then finds the time
# slice used up, before the next tick would. So who times sections by this clock has preemptions in between them instead
# of within, and who looks where threads were preempted finds the clock. A call that only asks for a number,
# getppid(), is no such place.
# Seen with Linux 6.18.44, of which fair scheduling is EEVDF.
set -euo pipefail
echo "Linux $(uname -r), $(python3 --version)"
python3 - <<'PYTHON'
import os
import subprocess
import sys
import time

LOSSES, AT_MOST_S, LOST_NS = 300, 90.0, 1_000_000
cpu = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})


def own_time() -> None:
    time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)


def parent() -> None:
    os.getppid()


def lost(call) -> tuple[int, int, float]:
    """How often the CPU was lost in the call, and elsewhere; the call's part of the time."""
    in_call = elsewhere = spent = 0
    began = now = time.perf_counter_ns()
    while in_call + elsewhere < LOSSES and now - began < AT_MOST_S * 1e9:
        for _ in range(2000):
            pass
        before = time.perf_counter_ns()
        call()
        after = time.perf_counter_ns()
        elsewhere += before - now > LOST_NS
        in_call += after - before > LOST_NS
        spent += after - before if after - before < LOST_NS else 0
        now = after
    return in_call, elsewhere, spent / (now - began)


other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    time.sleep(0.5)
    clock, number = lost(own_time), lost(parent)
finally:
    other.kill()
    other.wait()
print("expected: the CPU is lost in a call about as often as the call's part of the time says")
for name, (in_call, elsewhere, part) in (("own CPU clock", clock), ("getppid()", number)):
    share = in_call / (in_call + elsewhere)
    print(f"seen: {name}: {part:.1%} of the time, {share:.0%} of {in_call + elsewhere} losses")
assert sum(clock[:2]) > 100 and sum(number[:2]) > 100, "there was no other thread on this CPU"
assert clock[0] > clock[1], "that has changed"
assert number[0] < 0.2 * number[1], "other calls do the same"
PYTHON
