# SPDX-License-Identifier: MIT
"""`overlock guest chaos`: a kernel is tortured while the host takes the CPU from its vCPUs."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from overlock_tools.bench.conditions.base import ended_in_order
from overlock_tools.chaos import rates
from overlock_tools.chaos.progress import Progress
from overlock_tools.chaos.settings import Length, Settings
from overlock_tools.core.model import defs
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import loads, locks
from overlock_tools.guest.chaos.record import MOMENTS, Symbols, of_kernel
from overlock_tools.guest.chaos.runs import Place, Run, Torture
from overlock_tools.guest.hosts import prepared

FORMAT = "overlock-guest-chaos"
SHOWN = 12  # places


def moments(text: str | None) -> tuple[str, ...]:
    chosen = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    for name in chosen:
        known = dict.fromkeys(MOMENTS)
        defs.known(known, name, "moment", f"the moments are {', '.join(MOMENTS)}")
    return chosen or MOMENTS


def settings_of(options: dict[str, Any]) -> Settings:
    return Settings(
        options["seed"],
        options["rate"],
        Length.parse(options["length"]),
        moments(options["at"]),
        tuple(options["sites"]),
    )


def torture_of(options: dict[str, Any]) -> Torture:
    if options["accel"] not in ("auto", "tcg"):
        raise Fail(
            f"--accel {options['accel']}: QEMU's plugins see only what it translates itself: tcg"
        )
    lock = locks.checked(options["lock"])
    with ended_in_order():
        on = prepared(options | {"accel": "tcg"})
        symbols = Symbols(of_kernel(on.spec(lock, options["smp"]).kernel))
    words = [f"{name}={value}" for name, value in loads.given(options["parameters"]).items()]
    return Torture(on, lock, options["smp"], options["test"], words, options["seconds"], symbols)


@dataclass
class Findings:
    torture: Torture
    settings: Settings
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.runs if run.failed]

    def places(self) -> list[Place]:
        found: dict[str, Place] = {}
        for run in self.runs:
            for name, place in run.places.items():
                found[name] = found[name].plus(place) if name in found else place
        return sorted(found.values(), key=lambda place: -place.worst_ns)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "lock": self.torture.lock,
            "smp": self.torture.smp,
            "test": self.torture.test,
            "options": self.settings.options(),
            "interrupted": self.interrupted,
            "runs": [run.to_json() for run in self.runs],
            "places": [vars(place) for place in self.places()],
        }

    def text(self) -> Iterator[str]:
        torture, naps = self.torture, sum(place.naps for place in self.places())
        so_far = ", interrupted" if self.interrupted else ""
        lock = self.runs[0].lock if self.runs else torture.lock
        yield f"overlock guest chaos: {torture.test} on {lock}, {torture.smp} vCPUs{so_far}"
        if not self.runs:
            yield "No run ended."
            return
        failed = rates.shown(len(self.failed), len(self.runs))
        stalls = sum(run.stalls for run in self.runs)
        yield f"{failed} runs failed; vCPUs lost their CPU {naps} times; {stalls} RCU stalls."
        yield from _failures(self.failed)
        yield from _table(self.places(), sum(run.seconds for run in self.runs))


def _failures(failed: Sequence[Run]) -> Iterator[str]:
    alike: dict[str, list[Run]] = defaultdict(list)
    for run in failed:
        alike[run.how].append(run)
    for how, runs in alike.items():
        what = "run: " if len(runs) == 1 else "runs:"
        seeds = ", ".join(str(run.seed) for run in runs)
        yield f"{len(runs):>6} {what} {how}; {'seed' if len(runs) == 1 else 'seeds'} {seeds}"
        if runs[0].said:
            yield f"             {runs[0].said}"


def _table(found: Sequence[Place], seconds: float) -> Iterator[str]:
    shown = [place for place in found if place.acquisitions or place.naps][:SHOWN]
    if not shown or seconds <= 0:
        return
    yield ""
    yield f"{'per s':>11} {'worst wait':>11} {'stops':>6}  function that takes the lock"
    for place in shown:
        rate = f"{place.acquisitions / seconds:,.0f}"
        yield f"{rate:>11} {place.worst_ns / 1e6:>8.1f} ms {place.naps:>6}  {place.name}"
    if len(found) > len(shown):
        yield f"{len(found) - len(shown)} more functions in the file of --json."


def _series(found: Findings, runs: int) -> None:
    progress, first = Progress(), found.settings.seed
    try:
        for seed in range(first, first + runs):
            progress.tell(
                f"run {seed - first + 1} of {runs}, seed {seed}; {len(found.failed)} failed"
            )
            found.runs.append(found.torture.run(found.settings.with_seed(seed)))
    finally:
        progress.done()


def run(options: dict[str, Any]) -> int:
    out, file = terminal(), options["json_file"]
    settings = settings_of(options)
    if file:
        files.check_writable(file)
    try:
        found = Findings(torture_of(options), settings)
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        _series(found, options["runs"])
    except KeyboardInterrupt:
        found.interrupted = True
    finally:
        if file and found.runs:
            files.write(file, json.dumps(found.to_json(), indent=1) + "\n")
    for line in found.text():
        out.print(line, soft_wrap=True)
    if found.interrupted:
        return INTERRUPTED
    return FAILED if found.failed else 0
