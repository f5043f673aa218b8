#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel counts context switches of two kinds: by its manual, voluntary ones are those in which a thread gives its CPU away
# early, involuntary ones those in which it is taken. Nothing is more voluntary than sched_yield(), but it counts as
# involuntary, since the thread can still run. So a loop that yields looks like a thread that is preempted thousands of times
# a second.
# Seen with Linux 6.18.44.
set -euo pipefail
echo "Linux $(uname -r), $(python3 --version)"
python3 - <<'PYTHON'
import os
import resource
import signal
import time

cpu = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})
other = os.fork()
if not other:
    while True:
        os.sched_yield()
try:
    time.sleep(0.2)
    before = resource.getrusage(resource.RUSAGE_THREAD)
    for _ in range(10_000):
        os.sched_yield()
    after = resource.getrusage(resource.RUSAGE_THREAD)
finally:
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
voluntary, involuntary = after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw
print("expected: two processes that yield to each other, 10,000 times, make voluntary switches")
print(f"seen: {voluntary} voluntary and {involuntary} involuntary ones")
assert involuntary > 2_000 and voluntary < involuntary / 20, "that has changed"
PYTHON
