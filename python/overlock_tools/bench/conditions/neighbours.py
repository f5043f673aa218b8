# SPDX-License-Identifier: MIT
"""Copies of the same program at once, as the papers' virtual machines on one host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from overlock_tools.bench.conditions import proc
from overlock_tools.bench.conditions.base import Measured, Proof, Scenario, whole


@dataclass(frozen=True)
class Neighbours(Scenario):
    copies: int

    name: ClassVar[str] = "neighbours"
    metavar: ClassVar[str] = "K"
    help: ClassVar[str] = "Run K copies of the program at once (2 to 5), each with its own lock."

    @classmethod
    def parse(cls, text: str) -> "Neighbours":
        return cls(whole("neighbours", text, 2, 5, "--neighbours 2"))

    def cell_options(self) -> dict[str, str]:
        return {"copies": str(self.copies)}

    @contextmanager
    def applied(self, measured: Measured) -> Iterator[Callable[[], Proof]]:
        most = 0

        def look() -> bool:
            nonlocal most
            most = max(most, len(proc.children(measured.pid)))
            return most >= self.copies

        def proof() -> Proof:
            return Proof(
                asked={"copies": self.copies},
                seen={"copies": most},
                held=most == self.copies,
                words=f"{most} copies at once",
            )

        with proc.looking(look):
            yield proof
