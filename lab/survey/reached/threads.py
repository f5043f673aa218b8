# SPDX-License-Identifier: MIT
"""Four threads at one lock, beside the interpreter's own."""

import threading

lock, counted = threading.Lock(), [0]


def work() -> None:
    for _ in range(50_000):
        with lock:
            counted[0] += 1


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert counted[0] == 200_000
