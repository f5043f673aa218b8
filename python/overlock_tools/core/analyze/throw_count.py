# SPDX-License-Identifier: MIT
"""The mutexes that a C++ throw takes, as counted, and what follows for the workload `throw`."""

from dataclasses import dataclass

THROW, MUTANT = "throw", "throw_locked"


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
                f"{MUTANT} takes the lock under test."
            )
        return (
            f"{counted}. throw takes no lock here. {MUTANT} replaces it, and holds the lock under "
            "test around each search."
        )
