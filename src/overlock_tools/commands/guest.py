# SPDX-License-Identifier: MIT
"""overlock guest: a Linux kernel with any of the locks, in virtual machines."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.errors import Fail
from overlock_tools.guest.places import PAUSES, VARIANTS, VERSION
from overlock_tools.options import Within

Command = Callable[..., int]
MOST_VCPUS = 16
MOST_GUESTS = 5


def _locks(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    from overlock_tools.guest import locks

    try:
        names = locks.known()
    except Fail:  # not built
        return []
    return [CompletionItem(name) for name in names if name.startswith(word)]


DIR = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where kernels are built and kept.  [default: overlock/guest in the cache folder]",
)
KERNEL = click.option(
    "--kernel", "version", default=VERSION, show_default=True, help="Debian's linux-source-VERSION."
)
VARIANT = click.option(
    "--variant",
    type=click.Choice(list(VARIANTS)),
    help="A kernel configured otherwise: counting, or without PV spinlocks or ours.",
)
LOCK = click.option(
    "--lock",
    default="native",
    show_default=True,
    shell_complete=_locks,
    metavar="NAME",
    help="A 4-byte lock of `overlock locks`, busted (excludes nobody), native (the kernel's own), "
    "native_tas or native_pv (of that kind); NAME@WORD: that word on its kernel's command line.",
)
MACHINE = (
    DIR,
    KERNEL,
    VARIANT,
    click.option(
        "--pause",
        type=click.Choice(PAUSES),
        help="The kernel's PAUSE as it is, or made a no-operation.  "
        "[default: nop; as-is if nested or under Xen]",
    ),
    click.option(
        "--accel",
        type=click.Choice(("auto", "kvm", "tcg", "nested", "xen")),
        default="auto",
        show_default=True,
        help="auto: KVM if a guest really boots under it, else TCG. nested: KVM, and xen: Xen, on "
        "CPUs that TCG translates.",
    ),
    click.option(
        "--host-slice",
        "host_slice",
        type=Within(0.1, 1000),
        metavar="MS",
        help="How long the nested host or Xen runs a vCPU while others wait.  [default: its own]",
    ),
    click.option(
        "--hypervisor/--no-hypervisor",
        "seen",
        default=None,
        help="Whether the guest sees that there is one.  [default: under KVM]",
    ),
    click.option(
        "--append",
        default="",
        metavar="WORDS",
        help="More for the kernel's command line: overlock.tau_ns=2000.",
    ),
    click.option(
        "--placement",
        type=click.Choice(("balanced", "free")),
        default="balanced",
        show_default=True,
        help="Each vCPU bound to a CPU, evenly, or moved by the host's scheduler.",
    ),
    click.option(
        "--pool",
        "pools",
        multiple=True,
        metavar="CPUS",
        help="Host CPUs for the guests' vCPUs (0-3,6); repeated: guest by guest.",
    ),
)
SMP = click.option(
    "--smp", type=click.IntRange(1, MOST_VCPUS), default=2, show_default=True, help="vCPUs."
)


SLICE_PAGE = click.option(
    "--slice-page/--no-slice-page",
    default=False,
    help="Tell guests of their vCPUs' time slices, by overlock-hostd; needs root.",
)
IF_BUSY = click.option(
    "--if-busy",
    type=click.Choice(("warn", "refuse", "wait")),
    default="warn",
    show_default=True,
    help="If something else uses the CPUs at the start.",
)


def _with(options: Any, function: Command) -> Command:
    for option in reversed(options):
        function = option(function)
    return function


def machine(function: Command) -> Command:
    return _with(MACHINE, function)


@click.group()
def command() -> None:
    """A Linux kernel whose spinlock is any of the locks, in virtual machines.

    \b
    Examples:
      overlock guest build
      overlock guest boot --lock preemptable_ticket --smp 4
      overlock guest run --lock ticket --lock native --vms 2 --smp 4
      overlock guest matrix -o results --locks ticket,tas,native
      overlock guest console --lock ticket
    """


@command.command()
@DIR
@KERNEL
@VARIANT
@click.option("--jobs", type=click.IntRange(1, 1024), help="At once.  [default: the CPUs]")
@click.option(
    "--accel",
    type=click.Choice(("nested", "xen")),
    help="What guests under this need, too.",
)
@click.option("--deb", is_flag=True, help="Debian packages of such a kernel, and no guest.")
@click.option(
    "--config",
    metavar="FILE",
    help="Of the packages' kernel; `guest`: the guests' own, without drivers.  "
    "[default: the running kernel's in /boot]",
)
def build(**options: Any) -> int:
    """Build the kernel, its loads and its initramfs; again: only what has changed.

    The source is Debian's linux-source package, installed or fetched. Interrupted, the same command
    goes on. ccache is used where it is installed.

    With --deb: packages of a kernel with the locks, for a machine of your own; a kernel with all of
    Debian's drivers takes hours on two CPUs.

    \b
    Examples:
      overlock guest build
      overlock guest build --dir /srv/guests --jobs 8
      overlock guest build --variant counted
      overlock guest build --accel nested
      overlock guest build --deb --config /boot/config-6.1.0-49-amd64
    """
    from overlock_tools.guest import making

    options["jobs"] = options["jobs"] or len(os.sched_getaffinity(0))
    if options["deb"]:
        return making.packages(options)
    if options["config"]:
        raise Fail("--config is for --deb; the guests have guest/guest.config")
    return making.guests(options)


@command.command()
@machine
@LOCK
@SMP
@SLICE_PAGE
def boot(**options: Any) -> int:
    """Boot a guest and print the lock that it really runs, as its kernel says.

    \b
    Examples:
      overlock guest boot --lock preemptable_ticket --smp 4
      overlock guest boot --lock native_tas     what a stock guest falls back to
    """
    from overlock_tools.guest import session

    return session.boot(options)


@command.command()
@machine
@LOCK
@SMP
def console(**options: Any) -> int:
    """A shell in a guest; leave it by `exit`, or end QEMU by Ctrl-A x.

    \b
    Examples:
      overlock guest console --lock ticket --smp 4
    """
    from overlock_tools.guest import session

    return session.console(options)


def _load_names(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    from overlock_tools.guest import loads

    return [CompletionItem(name) for name in loads.LOADS if name.startswith(word)]


def _experiments(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    from overlock_tools.guest.experiments import EXPERIMENTS

    return [CompletionItem(name) for name in EXPERIMENTS if name.startswith(word)]


CELLS = (
    click.option(
        "--lock",
        "--locks",
        "locks",
        multiple=True,
        metavar="LIST",
        shell_complete=_locks,
        help="4-byte locks, all, native (the kernel's own), native_tas or native_pv (of that "
        "kind), busted (excludes nobody); NAME@WORD: that word on its kernel's command line, as in "
        "native@nopvspin; @kernel=VARIANT: another.",
    ),
    click.option("--baseline", default="native", show_default=True, help="Ratios are to this one."),
    click.option(
        "--rounds",
        type=click.IntRange(1, 1000),
        default=3,
        show_default=True,
        help="Repetitions, locks shuffled in each.",
    ),
    click.option(
        "--seconds",
        type=Within(0.1, 3600),
        default=2.0,
        show_default=True,
        help="Counted in each cell.",
    ),
    click.option("--seed", type=click.IntRange(0, 2**31), help="Of the order in each round."),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of the load, as in sections_cs=300.",
    ),
)


@command.command()
@machine
@SLICE_PAGE
@lambda function: _with(CELLS, function)
@SMP
@click.option(
    "--vms", type=click.IntRange(1, MOST_GUESTS), default=1, show_default=True, help="At once."
)
@click.option("--load", default="loop", show_default=True, shell_complete=_load_names)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write the result to this file, for `overlock report`.",
)
@click.option("--resume", is_flag=True, help="Complete the interrupted result of --json.")
def run(**options: Any) -> int:
    """Load one or several guests at once, under each lock in turn, and say how fast they were.

    Each cell is guests freshly booted; they begin together and are measured over the same time.
    Loads: loop, torture-004, locktorture, hackbench, ebizzy, kernbench, pbzip2, pgbench, boot.

    \b
    Examples:
      overlock guest run --lock ticket,tas --smp 4
      overlock guest run --lock all --vms 2 --smp 4 --rounds 5 --json result.json
      overlock guest run --lock ticket --load hackbench --smp 8 --pause as-is
      overlock guest run --lock busted --smp 2              exclusion is checked: this fails
      overlock guest run --accel nested --lock native@nopvspin,byte --smp 4 --host-slice 6
    """
    from overlock_tools.guest import session

    return session.run(options)


@command.command()
@machine
@SLICE_PAGE
@lambda function: _with(CELLS, function)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the results.",
)
@click.option(
    "--rigs",
    default="1x1,1x2,1x4,1x8,2x4",
    show_default=True,
    metavar="LIST",
    help="Guests times vCPUs of each.",
)
@click.option("--loads", default="loop,locktorture,hackbench", show_default=True, metavar="LIST")
@click.option("--pilot", is_flag=True, help="Do not repeat what collapses in round 1.")
@IF_BUSY
def matrix(**options: Any) -> int:
    """Measure locks in many rigs under many loads; the same command again completes it.

    A result file for each load and number of guests, locks interleaved in rounds. Claims are of
    ranges that do not overlap. Without --lock: all 4-byte locks.

    \b
    Examples:
      overlock guest matrix -o results
      overlock guest matrix -o results --locks ticket,tas --rigs 1x4,2x4 --loads loop --rounds 5
    """
    from overlock_tools.guest import session

    return session.run_matrix(options)


@command.command()
@machine
@SLICE_PAGE
@click.argument("name", required=False, shell_complete=_experiments)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("guest-papers"),
    show_default=True,
    help="The folder for the results.",
)
@click.option("--rounds", type=click.IntRange(1, 1000), help="[default: the paper's]")
@click.option(
    "--seconds", type=Within(0.1, 3600), help="Counted in each cell.  [default: the experiment's]"
)
@click.option("--vcpus", metavar="LIST", help="As in 2,4 or 1x,2x.  [default: the experiment's]")
@click.option("--seed", type=click.IntRange(0, 2**31), help="Of the order in each round.")
@IF_BUSY
def paper(name: str | None, **options: Any) -> int:
    """An experiment of the papers in guests: its tables, and whether its sentences hold here.

    Without a name it lists them. The same command again completes what was interrupted. Some need
    kernels of their own: overlock guest build --variant counted, and for 001 the others.

    \b
    Examples:
      overlock guest paper
      overlock guest paper 004-fig7
      overlock guest paper 000-table1 --rounds 3 --seconds 5 -o results
      overlock guest paper 002-fig7 --slice-page
    """
    from overlock_tools.guest import session

    return session.run_paper(name, options) if name else session.list_papers()


@command.command()
@machine
@click.option(
    "--lock",
    "--locks",
    "locks",
    multiple=True,
    metavar="LIST",
    shell_complete=_locks,
    help="4-byte locks, or native.  [default: all]",
)
@click.option("--baseline", default="native", show_default=True, help="Ratios are to this one.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write the numbers to this file.",
)
def instructions(**options: Any) -> int:
    """Count the instructions of a spin_lock() and spin_unlock() that nobody else wants.

    From call to return, as QEMU counts them: exact, and no measure of time. A boot for each lock.

    \b
    Examples:
      overlock guest instructions
      overlock guest instructions --lock ticket,preemptable_ticket --baseline ticket
    """
    from overlock_tools.guest import session

    return session.instructions(options)
