# SPDX-License-Identifier: MIT
"""The mutexes that a throw takes: Dice & Kogan 2019 (§4.2) measured some that newer runtimes lack.

overlock-throw counts them. Where a throw takes no lock, throw_locked is measured instead, and the
result says so: it holds the lock under test around each search for an exception table.
"""

import json
import subprocess
from dataclasses import asdict
from functools import cache
from typing import Any

from overlock_tools.core.analyze.throw_count import MUTANT, THROW, Count
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, Fail


@cache
def count() -> Count:
    program = native.file("overlock-throw")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(f"overlock-throw ended with status {done.returncode}", FAILED)
    return Count(**json.loads(done.stdout))


def facts(workload: str) -> dict[str, Any]:
    """What belongs to the facts of a result."""
    return {"throw": asdict(count())} if workload in (THROW, MUTANT) else {}


def chosen(workload: Workload, workloads: dict[str, Workload]) -> Workload:
    """The one to measure when this one is asked for."""
    if workload.name != THROW or count().contends:
        return workload
    return workloads[MUTANT]
