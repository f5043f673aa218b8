# SPDX-License-Identifier: MIT
"""What a throw locks: 004 §4.2 measured mutexes of the C++ runtime that newer ones do not take.

It is counted, not believed. Where a throw takes no lock, its twin is measured instead, and said to
be: it holds the lock under test around each search for an exception table.
"""

import json
import subprocess
from dataclasses import asdict
from functools import cache
from typing import Any

from overlock_tools.analyze.throw_count import THROW, TWIN, Count
from overlock_tools.model.workloads import Workload
from overlock_tools.system import native
from overlock_tools.system.errors import FAILED, Fail


@cache
def count() -> Count:
    program = native.file("overlock-throw")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(f"overlock-throw ended with status {done.returncode}", FAILED)
    return Count(**json.loads(done.stdout))


def facts(workload: str) -> dict[str, Any]:
    """What belongs to the facts of a result."""
    return {"throw": asdict(count())} if workload in (THROW, TWIN) else {}


def chosen(workload: Workload, workloads: dict[str, Workload]) -> Workload:
    """The one to measure when this one is asked for."""
    if workload.name != THROW or count().contends:
        return workload
    return workloads[TWIN]
