# SPDX-License-Identifier: MIT
"""overlock hostd: publishes the time slices of host threads on a shared page."""

import os
from pathlib import Path
from typing import Any

import click

from overlock_tools.system.errors import FAILED, Fail

QMP_SECONDS = 10.0
MOST_THREADS = 1024  # of overlock-hostd


def _vcpus(socket: Path) -> tuple[list[int], int]:
    """The vCPUs' threads, as QEMU says, and its process, whose they must be."""
    from overlock_tools.kernel.channel import Ended, Late
    from overlock_tools.kernel.qmp import Monitor

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


@click.command()
@click.option(
    "--page",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Shared page: the file that the guest's ivshmem-plain device, or a program, maps.",
)
@click.option("--threads", metavar="LIST", help="Thread ids, in the order of the vCPUs.")
@click.option(
    "--qmp",
    type=click.Path(path_type=Path, dir_okay=False),
    help="QEMU's monitor socket, from which to read the vCPUs' thread ids.",
)
@click.option(
    "--publisher",
    type=click.Choice(("auto", "direct", "copy")),
    default="auto",
    show_default=True,
    help="Writer of the page. direct: a BPF program in the scheduler's context switch. copy: a "
    "thread of hostd, later.",
)
@click.option(
    "--poll-us", type=click.IntRange(10, 1_000_000), help="Interval between copies, for copy."
)
@click.option(
    "--detail",
    type=click.Choice(("least", "full")),
    default="least",
    show_default=True,
    help="Contents of the page. full: publish also whether other threads wait for the CPU, the "
    "protected part of a slice, and the host's time.",
)
@click.option(
    "--slice-ns",
    type=click.IntRange(1000, 10_000_000_000),
    help="Length of a slice, for schedulers without deadlines (before Linux 6.6).",
)
def command(**options: Any) -> int:
    """Publish the time slices of threads to guests or programs: docs/slice-page.md.

    Needs root to start, and a Linux kernel with BTF. Prints a line of JSON when it begins to
    publish. Stops on Ctrl-C, or when the threads' process ends, and then prints how accurately it
    predicted slice ends.

    \b
    Examples:
      overlock hostd --page /dev/shm/guest1 --qmp /run/guest1.qmp
      overlock hostd --page /dev/shm/mine --threads 1234,1235 --publisher copy
    """
    from overlock_tools.system import native

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
