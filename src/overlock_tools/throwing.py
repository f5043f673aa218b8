# SPDX-License-Identifier: MIT
"""What a throw locks: 004 §4.2 measured mutexes of the C++ runtime that newer ones do not take.

It is counted, not believed. Where a throw takes no lock, its twin is measured instead, and said to
be: it holds the lock under test around each search for an exception table.
"""

import json
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from overlock_tools import native
from overlock_tools.errors import FAILED, Fail
from overlock_tools.workloads import Workload

THROW, TWIN = "throw", "throw_twin"


@dataclass(frozen=True)
class Count:
    """Of overlock-throw, while it threw so often."""

    throws: int
    searches: int
    mutex_calls: int
    loader_calls: int
    libc: str

    @property
    def contends(self) -> bool:
        return self.mutex_calls + self.loader_calls > 0

    def sentence(self) -> str:
        counted = (
            f"{self.throws} throws made {self.searches} searches for exception tables, "
            f"{self.mutex_calls} calls to pthread_mutex_lock and {self.loader_calls} to "
            f"dl_iterate_phdr, which takes the loader's lock ({self.libc})"
        )
        if self.contends:
            return (
                f"{counted}. throw contends on locks of the C++ runtime, whatever --locks says; "
                f"{TWIN} takes the lock under test."
            )
        return (
            f"{counted}. throw takes no lock here. {TWIN} replaces it, and holds the lock under "
            "test around each search."
        )


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
