#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# FUTEX_WAKE wakes "at most" as many waiters as its count says, so one expects a count of 0 to wake none.
# The kernel counts after it has woken: it wakes one, and says so. A count below 0, which some use for
# "all", wakes one too. Who wakes `waiters - idle` and trusts 0 to be a cheap no-op causes stray wake-ups.
# Seen with Linux 6.18.44.
set -euo pipefail
echo "Linux $(uname -r), $(python3 --version)"
python3 - <<'PYTHON'
import ctypes
import threading
import time

SYS_FUTEX, WAIT, WAKE = 202, 128, 129  # private, x86-64
libc = ctypes.CDLL(None, use_errno=True)
word = ctypes.c_uint32(0)
woken: list[int] = []


def wait() -> None:
    ten_s = (ctypes.c_long * 2)(10, 0)
    woken.append(libc.syscall(SYS_FUTEX, ctypes.byref(word), WAIT, 0, ten_s, None, 0))


def asleep(threads: list[threading.Thread]) -> int:
    """How many wait in the futex call."""
    states = [open(f"/proc/self/task/{t.native_id}/wchan").read() for t in threads if t.is_alive()]
    return sum("futex" in state for state in states)


def wake(count: int) -> tuple[int, int]:
    """What the call returns, and how many threads it woke."""
    before = len(woken)
    told = libc.syscall(SYS_FUTEX, ctypes.byref(word), WAKE, count, None, None, 0)
    time.sleep(0.3)
    return told, len(woken) - before


threads = [threading.Thread(target=wait) for _ in range(4)]
for thread in threads:
    thread.start()
while asleep(threads) < len(threads):
    time.sleep(0.01)
zero, below = wake(0), wake(-1)
wake(len(threads))
for thread in threads:
    thread.join()
print("expected: a count of 0 returns 0 and wakes 0")
print(f"seen: a count of  0 returns {zero[0]} and wakes {zero[1]}")
print(f"seen: a count of -1 returns {below[0]} and wakes {below[1]}")
assert zero == (1, 1) and below == (1, 1), "that has changed"
PYTHON
