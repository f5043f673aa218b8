# SPDX-License-Identifier: MIT
"""DPDK's testpmd without hardware: cores take buffers from a pool as received packets, and give
them back as sent ones. The pool has no caches, as if other cores sent than received."""

import os
import re
import time
from collections.abc import Iterator
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.processes import Late, Process
from overlock_tools.apps.trial import READY_SECONDS, Broken, Trial
from overlock_tools.core.model.combine import Answer

MEGABYTES = 256
# A command, and what its output begins with: whatever was asked before has been done.
READY, IS_READY = "show port summary 0", "Number of available ports"
POOL = "mb_pool_0"
# As DPDK 22.11 has it, and as 25.11 does; the other one is no command there.
DUMPS = f"dump_mempool {POOL}\ndump mempool {POOL}"


class Testpmd(app.App):
    name = "testpmd"
    what = "DPDK's testpmd with N forwarding cores and DPDK's usual pool, a ring (ring_mp_mc)"
    unit = "packets"
    packages = (
        "dpdk-dev",
        "librte-mempool-ring23|librte-mempool-ring25|librte-mempool-ring26",
        "librte-mempool-stack23|librte-mempool-stack25|librte-mempool-stack26",
        "librte-net-null23|librte-net-null25|librte-net-null26",
    )
    programs = ("dpdk-testpmd", "stdbuf")
    reach = "none: DPDK's locks and rings are inlined"
    control = True
    service = True  # it needs no root here
    overhead_seconds = 2.0
    presets: ClassVar[dict[str, str]] = {"buffers": "16384"}
    pool: ClassVar[str] = "ring_mp_mc"

    def set_up(self) -> None:
        """It makes its packets."""

    def command(self, threads: int) -> list[str]:
        first, *_ = cpus = sorted(os.sched_getaffinity(0))
        cores = f"(1-{threads})" if threads > 1 else "1"
        return [
            *(app.program("stdbuf"), "-oL"),  # else it would print all at its end
            *(app.program("dpdk-testpmd"), "--no-huge", "-m", str(MEGABYTES), "--no-pci"),
            *("--no-shconf", "--no-telemetry", "--log-level=warning", "--vdev=net_null0"),
            *("--lcores", f"0@{first},{cores}@({','.join(map(str, cpus))})"),
            *(f"--mbuf-pool-ops-name={self.pool}", "--", "-i", "--no-lsc-interrupt"),
            *(f"--nb-cores={threads}", f"--rxq={threads}", f"--txq={threads}", "--mbcache=0"),
            *(f"--total-num-mbufs={self.number('buffers')}", "--port-topology=loop"),
        ]

    def cell(self, trial: Trial) -> Answer:
        home = {"HOME": str(trial.folder), "XDG_RUNTIME_DIR": str(trial.folder)}
        process = trial.start(self.command(trial.threads), variables=home)
        process.say(READY)
        _until(process, IS_READY, time.monotonic() + READY_SECONDS)
        trial.begin()
        process.say("start")
        limit = time.monotonic() + trial.seconds + trial.patience
        _until(process, "packet forwarding", limit)
        trial.mark()
        began = time.monotonic()
        if process.ended(trial.seconds):
            raise Broken(trial.failure(process))
        process.say(f"stop\n{DUMPS}\nquit")
        try:
            _until(process, "cores to stop", limit)
            took = time.monotonic() - began
            said = "\n".join(_lines(process, "pool_count=", limit))
        except Late:
            return trial.end(Answer(1, time.monotonic() - began, cut=True))
        return trial.end(answered(said, took, self.number("buffers")))


class TestpmdStack(Testpmd):
    name = "testpmd-stack"
    what = "the same with a stack as the pool, under a spinlock (rte_spinlock)"
    pool = "stack"


class TestpmdLockFree(Testpmd):
    name = "testpmd-lf"
    what = "the same with a lock-free stack as the pool, a setting of DPDK's"
    pool = "lf_stack"


def _lines(process: Process, last: str, limit: float) -> Iterator[str]:
    """Up to the one that has `last`."""
    while True:
        yield (line := process.line(limit))
        if last in line:
            return


def _until(process: Process, last: str, limit: float) -> None:
    for _ in _lines(process, last, limit):
        pass


def answered(said: str, seconds: float, buffers: int) -> Answer:
    """Of a pool without mutual exclusion, buffers would be lost, or handed out twice."""
    total = said.partition("Accumulated")[2]
    counts = {name: int(n) for name, n in re.findall(r"([RT]X-\w+): (\d+)", total)}
    received, sent = counts.get("RX-packets", 0), counts.get("TX-total", 0)
    there = re.search(r"common_pool_count=(\d+)", said)
    wrong = "" if received == sent else f"{received} packets were received, but {sent} sent"
    if not there or int(there[1]) != buffers:
        wrong = wrong or f"{there[1] if there else 'no'} of {buffers} buffers are in the pool"
    return Answer(received, seconds, wrong=wrong)
