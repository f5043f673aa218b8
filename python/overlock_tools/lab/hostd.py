# SPDX-License-Identifier: MIT
"""Starts overlock-hostd for the threads of a program, or of a QEMU's vCPUs."""

import os
from pathlib import Path
from typing import Any, NoReturn

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.guest.channel import Ended, Late
from overlock_tools.guest.qmp import Monitor

QMP_SECONDS = 10.0
MOST_THREADS = 1024  # of overlock-hostd


def _vcpus(socket: Path) -> tuple[list[int], int]:
    """The vCPUs' threads, as QEMU says, and its process, whose they must be."""
    try:
        monitor = Monitor(socket, QMP_SECONDS, socket.exists)
        try:
            ids, process = monitor.vcpu_threads(), monitor.process()
        finally:
            monitor.close()
    except (Late, Ended, OSError, ValueError) as error:
        why = str(error) or "no answer"
        raise Fail(
            f"--qmp {socket}: {why}; start QEMU with `-qmp unix:FILE,server`", FAILED
        ) from error
    if not process:
        raise Fail(f"--qmp {socket}: QEMU is in another PID namespace; give --threads", FAILED)
    if not 0 < len(ids) <= MOST_THREADS:
        raise Fail(f"--qmp {socket}: {len(ids)} vCPUs instead of 1 to {MOST_THREADS}", FAILED)
    return ids, process


def _threads(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise Fail(f"--threads {text}: expected thread ids, such as 1234,1235")
    return [int(word) for word in words]


def run(options: dict[str, Any]) -> NoReturn:
    threads, qmp = options["threads"], options["qmp"]
    if (threads is None) == (qmp is None):
        raise Fail("expected exactly one of --threads and --qmp")
    program = str(native.hostd())
    ids, process = _vcpus(qmp) if qmp else (_threads(threads), 0)
    words = ["--page", str(options["page"]), "--threads", ",".join(map(str, ids))]
    if process:
        words += ["--process", str(process)]
    for name in ("publisher", "detail", "poll_us", "slice_ns"):
        if (given := options[name]) is not None:
            words += [f"--{name.replace('_', '-')}", str(given)]
    os.execv(program, [program, *words])  # noqa: S606 - no shell is wanted
