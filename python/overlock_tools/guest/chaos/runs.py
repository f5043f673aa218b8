# SPDX-License-Identifier: MIT
"""One boot of a guest that is tortured while its vCPUs lose their CPUs."""

import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from overlock_tools.chaos.settings import Settings
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.guest import vm
from overlock_tools.guest.channel import Ended, Late
from overlock_tools.guest.chaos.record import (
    MOMENTS,
    Record,
    Site,
    Symbols,
    lock_functions,
    of_line,
)
from overlock_tools.guest.hosts import HostSetup

PLUGIN = "liboverlock-chaos-guest.so"
TESTS = ("locktorture", "rcutorture")
ANSWER_SECONDS = 60.0
LOOK_SECONDS = 0.2
BILLION = 1_000_000_000

PASSED = "passed"
# What a kernel's log says of what went wrong, the most telling first.
FAULTS: Mapping[str, re.Pattern[str]] = {
    "exclusion was violated": re.compile(r"Writes: .*Fail: [1-9]\d*|Reads : .*Fail: [1-9]\d*"),
    "RCU failed": re.compile(r"rcu-torture:.*!!!"),
    "the kernel has a fault": re.compile(r"\b(BUG:|Oops|WARNING:|Kernel panic|general protection)"),
    "RCU stalled": re.compile(r"rcu: INFO:.*(stall|expedited)"),
    "the test failed": re.compile(r"End of test: (FAILURE|RCU_HOTPLUG|LOCK_HOTPLUG)"),
}
STALL = FAULTS["RCU stalled"]
NUMBERS = re.compile(r"^\[ *\d+\.\d+\] *")


@dataclass(frozen=True)
class Place:
    """A function that takes a lock, and what happened at its calls."""

    name: str
    acquisitions: int
    naps: int
    nap_ns: int
    worst_ns: int
    wait_ns: int

    def plus(self, other: "Place") -> "Place":
        return Place(
            self.name,
            self.acquisitions + other.acquisitions,
            self.naps + other.naps,
            self.nap_ns + other.nap_ns,
            max(self.worst_ns, other.worst_ns),
            self.wait_ns + other.wait_ns,
        )


@dataclass
class Run:
    seed: int
    how: str
    said: str = ""  # the line that shows it
    stalls: int = 0  # of RCU
    seconds: float = 0.0  # under chaos
    lock: str = ""  # in force
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.how != PASSED

    def to_json(self) -> dict[str, Any]:
        places = [vars(place) for place in self.places.values()]
        return {**vars(self), "places": places}


def judged(log: Sequence[str]) -> tuple[str, str]:
    for how, fault in FAULTS.items():
        for line in log:
            if fault.search(line):
                return how, NUMBERS.sub("", line)
    return PASSED, ""


def places(sites: Iterator[Site], symbols: Symbols) -> dict[str, Place]:
    """A release counts for the function that makes it."""
    found: dict[str, Place] = {}
    for s in sites:
        name = symbols.at(s.at).shown
        one = Place(name, s.acquisitions, sum(s.naps), s.nap_ns, s.worst_ns, s.wait_ns)
        found[name] = found[name].plus(one) if name in found else one
    return found


@dataclass(frozen=True)
class Torture:
    on: HostSetup
    lock: str
    smp: int
    test: str
    words: Sequence[str]  # NAME=VALUE for the test
    seconds: float
    symbols: Symbols  # the kernel's

    def run(self, settings: Settings) -> Run:
        with tempfile.TemporaryDirectory(prefix="overlock-chaos-") as name:
            folder = Path(name)
            record = Record(folder / "record")
            (folder / "functions").write_text(lock_functions(self.symbols.functions))
            try:
                return self._booted(settings, folder, record)
            finally:
                record.close()

    def _booted(self, settings: Settings, folder: Path, record: Record) -> Run:
        spec = self.on.spec(self.lock, self.smp)
        plugin = _plugin(settings, folder, self.symbols.end)
        spec = replace(spec, devices=(*spec.devices, "-plugin", plugin))
        run = Run(settings.seed, PASSED)
        with vm.booted([spec], self.on.where) as up:
            guest = up.guests[0]
            run.lock = guest.facts["lock"]
            known, log = self.symbols, []
            try:
                with self._begun(guest) as functions:
                    known = Symbols([*self.symbols.functions, *functions])
                    log = self._tortured(guest, record, known.ranges(settings.patterns), run)
            except (Late, Ended) as error:
                log = _console(guest)
                run.how = "the guest hung" if isinstance(error, Late) else "the guest ended"
            finally:
                record.end()
        how, said = judged(log)
        run.how = run.how if run.failed and how == PASSED else how
        run.said, run.stalls = said, sum(bool(STALL.search(line)) for line in log)
        run.places = places(record.sites(), known)
        return run

    @contextmanager
    def _begun(self, guest: vm.Told) -> Iterator[list[Any]]:
        lines, code = guest.asked(
            " ".join(["torture begin", self.test, *self.words]), ANSWER_SECONDS
        )
        if code:
            said = " | ".join(lines[-2:])
            raise Fail(f"{self.test} does not start in the guest: {said}", FAILED)
        yield [function for function in map(of_line, lines) if function]

    def _tortured(
        self, guest: vm.Told, record: Record, ranges: Sequence[tuple[int, int]], run: Run
    ) -> list[str]:
        began = time.monotonic()
        record.begin(ranges)
        while time.monotonic() < began + self.seconds and _lives(guest):
            time.sleep(LOOK_SECONDS)
        record.end()
        run.seconds = time.monotonic() - began
        return guest.asked(f"torture end {self.test}", ANSWER_SECONDS)[0]


def _console(guest: vm.Told) -> list[str]:
    return guest.console() if isinstance(guest, vm.Guest) else []


def _lives(guest: vm.Told) -> bool:
    return not isinstance(guest, vm.Guest) or guest.lives()


def _plugin(settings: Settings, folder: Path, end: int) -> str:
    """Modules are loaded behind the kernel's end."""
    bits = sum(1 << MOMENTS.index(kind) for kind in settings.at)
    told = {
        "functions": folder / "functions",
        "record": folder / "record",
        "seed": settings.seed,
        "rate": round(settings.rate * BILLION),
        "length": f"{settings.length.least_ns}-{settings.length.most_ns}",
        "moments": bits,
        "modules": f"{end:x}",
    }
    return ",".join(
        [str(native.file(PLUGIN)), *(f"{name}={value}" for name, value in told.items())]
    )
