# SPDX-License-Identifier: MIT
"""Traces that nobody recorded: for each thread, events of kind, lock and work before it, in ns."""

from collections.abc import Sequence

import numpy as np

from overlock_tools.core.trace.format import EVENT, Lock, Thread, Trace

Step = tuple[int, int, int]


def made_up(threads: Sequence[Sequence[Step]], locks: int = 0) -> Trace:
    rows, found, first = [], [], 0
    for n, steps in enumerate(threads):
        at = 0
        for kind, lock, work in steps:
            at += work
            rows.append((at, work, 0, 0, lock, 0xFFFF, 0, kind, 0))
        found.append(Thread(f"thread-{n}", 100 + n, 0, first, len(steps)))
        first += len(steps)
    events = np.array(rows, EVENT)
    n_locks = max([locks, *(row[4] + 1 for row in rows)])
    return Trace(
        "made up",
        {"cpus_allowed": [0, 1]},
        int(events["at_ns"].max()) if len(events) else 0,
        tuple(Lock("mutex", 64 * (i + 1)) for i in range(n_locks)),
        (),
        tuple(found),
        {"limit": 0, "threads": 0, "locks": 0},
        events,
    )
