# SPDX-License-Identifier: MIT
"""Threads that only run bytecode: all of them want the one lock that the interpreter has."""

import threading
import time


def turn() -> None:
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        pass


threads = [threading.Thread(target=turn) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print("{}")
