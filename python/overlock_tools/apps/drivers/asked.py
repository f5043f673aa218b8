# SPDX-License-Identifier: MIT
"""A driver works as long as it is asked to: each line of its input is a number of seconds, to which
it answers in one line of JSON, as drivers/asked.h. It always completes a unit of work."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable


def rounded(ns: int) -> int:
    """Three digits are kept, as in a result, so that there are few different times."""
    scale: int = 10 ** max(0, len(str(ns)) - 3)
    return ns // scale * scale


def serve(unit: Callable[[], None], wrong: Callable[[], str]) -> None:
    """`wrong` looks at what the units have computed: why it is not right, or an empty text."""
    for line in sys.stdin:
        wanted = float(line) * 1e9
        times: Counter[int] = Counter()
        began = now = time.perf_counter_ns()
        while True:
            before = now
            unit()
            now = time.perf_counter_ns()
            times[rounded(now - before)] += 1
            if now - began >= wanted:
                break
        answer = {"work": times.total(), "seconds": (now - began) / 1e9, "wrong": wrong()}
        print(json.dumps({**answer, "ns": sorted(times.items())}), flush=True)
