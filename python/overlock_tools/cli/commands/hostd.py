# SPDX-License-Identifier: MIT
"""overlock hostd: publishes the time slices of host threads on a shared page."""

from pathlib import Path
from typing import Any

import click


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
    """Publish the time slices of threads to guests or programs.

    docs/reference/slice-page.md describes the page.

    Needs root to start, and a Linux kernel with BTF. Prints a line of JSON when it begins to
    publish. Stops on Ctrl-C, or when the threads' process ends, and then prints how accurately it
    predicted slice ends.

    \b
    Examples:
      overlock hostd --page /dev/shm/guest1 --qmp /run/guest1.qmp
      overlock hostd --page /dev/shm/mine --threads 1234,1235 --publisher copy
    """
    from overlock_tools.lab import hostd

    return hostd.run(options)
