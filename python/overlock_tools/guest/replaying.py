# SPDX-License-Identifier: MIT
"""A recorded program's locks as a load of guests: kernel threads repeat what its threads did."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from overlock_tools.core.model.combine import Answer
from overlock_tools.core.trace import fidelity, plan
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.plan import Plan
from overlock_tools.guest import initramfs, vm
from overlock_tools.guest.loads import Loop, Parameters

NAME = "replay"
PLAN = "lib/overlock/replay"  # in the guest
SHOWN = 8  # locks, by their share of the waiting
LONGER = 1.5  # than the trace: its first pass ends, even if it is slower
LEAST_S, MOST_S = 1.0, 15.0  # of a cell, unless it is said
COPIES = 3  # of the plan that a guest has at once: packed, as a file, and in the module


class Replay(Loop):
    name = NAME
    unit = "sections"
    presets: ClassVar[Parameters] = {"sample": "8"}
    free: ClassVar[tuple[str, ...]] = ()

    def __init__(self, path: Path, replayed: Plan, recorded: fidelity.Measures) -> None:
        self.path, self.plan, self.recorded = path, replayed, recorded

    @property
    def seconds(self) -> float:
        return min(max(LONGER * self.plan.duration_ns / 1e9, LEAST_S), MOST_S)

    def notes(self) -> dict[str, str]:
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        return {"trace": str(self.path), "trace_sha256": digest}

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        told = {"workload": NAME, "plan": f"/{PLAN}", **parameters}
        return super().line(seconds, seed, told)

    def answer(self, lines: Sequence[str]) -> Answer:
        """Its threads differ, and sleep: how evenly they take turns says nothing."""
        said = json.loads(lines[-1])["replay"]
        found = fidelity.in_guest(self.plan, self.recorded, said)
        threads = said["threads"]
        whole = all(thread[4] for thread in threads)
        took = max(t[3] for t in threads) - min(t[2] for t in threads)
        replay = {
            **found.to_json(SHOWN),
            "misses": found.misses(),
            "pass_seconds": took / 1e9 if whole else None,
        }
        return replace(super().answer(lines), replay=replay, per_thread=[], gap_ns=None)


@contextmanager
def load(path: Path, out: Console) -> Iterator[Replay]:
    """With the archive that takes the plan into guests, which is gone afterwards."""
    trace = traces.read(path)
    made = plan.awake_inside(plan.of(trace))
    for line in made.introduced(path, trace):
        out.print(line, highlight=False)
    packed = plan.packed(made)
    found = Replay(path, made, fidelity.recorded(trace, made))
    found.what = f"{trace.program}, replayed by {len(made.ops)} kernel threads"
    found.memory_mb = vm.MEMORY_MB + COPIES * (len(packed) >> 20)
    with tempfile.TemporaryDirectory(prefix="overlock-replay-") as folder:
        found.archive = Path(folder) / "plan.gz"
        contents = {PLAN: (0o644, packed)}
        found.archive.write_bytes(initramfs.compressed(initramfs.archive(contents)))
        yield found
