# SPDX-License-Identifier: MIT
"""A sweep: the values of a tunable, under the locks that read it."""

import shlex
from dataclasses import dataclass

from overlock_tools.core.model.defs import Tunable
from overlock_tools.core.model.results import Result


@dataclass(frozen=True)
class Sweep:
    tunable: Tunable
    values: list[str]
    locks: list[str]  # as asked for: with other settings, or header files

    def variant(self, lock: str, value: str) -> str:
        return f"{lock}@{self.tunable.name}={value}"

    @property
    def variants(self) -> list[str]:
        return [self.variant(lock, value) for lock in self.locks for value in self.values]

    def parted(self, variant: str) -> tuple[str, str]:
        """The lock and the value of a variant as a result names it."""
        lock, _, value = variant.rpartition(f"@{self.tunable.name}=")
        return lock, value

    def default(self, variant: str) -> str:
        """The same lock at the default."""
        return self.variant(self.parted(variant)[0], str(self.tunable.default))

    def command(self, result: Result) -> str:
        """Sweeps again."""
        words = ["overlock", "bench", "sweep", self.tunable.name, "--values", ",".join(self.values)]
        words += ["--lock", ",".join(self.locks), "--workload", result.kind]
        words += ["--threads", ",".join(map(str, result.threads))]
        words += [f"--parameter={name}={value}" for name, value in result.parameters.items()]
        words += [f"--{name}={result.settings[name]}" for name in ("rounds", "seconds", "seed")]
        return shlex.join(words)

    def series(self, result: Result) -> dict[str, list[str]]:
        """Each lock's variants, by value."""
        found: dict[str, list[str]] = {}
        for variant in result.variants:
            found.setdefault(self.parted(variant)[0], []).append(variant)
        return found
