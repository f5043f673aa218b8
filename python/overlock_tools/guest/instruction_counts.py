# SPDX-License-Identifier: MIT
"""Instructions of an uncontended acquisition and release: a guest's module, counted by QEMU."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.guest.vm import Told

# It takes a moment; a guest that counts instructions is slow.
SECONDS = 60.0
FORMAT = "overlock-guest-instructions"


@dataclass(frozen=True)
class Pair:
    lock: int
    unlock: int

    @property
    def both(self) -> int:
        return self.lock + self.unlock


def of(line: str) -> Pair:
    """As guest/loads/pair prints it; without what the look at the counter itself takes."""
    said = json.loads(line)
    return Pair(said["lock"] - said["nothing"], said["unlock"] - said["nothing"])


def measured(guest: Told) -> Pair:
    guest.tell("pair")
    lines, code = guest.answer(SECONDS)
    if code or not lines:
        raise Fail(f"the pair was not measured: {' | '.join(lines[-2:]) or 'no answer'}", FAILED)
    return of(lines[-1])


def to_json(found: Mapping[str, Pair]) -> str:
    pairs = {lock: {**asdict(pair), "both": pair.both} for lock, pair in found.items()}
    return json.dumps({"format": FORMAT, "instructions": pairs}, indent=1) + "\n"
