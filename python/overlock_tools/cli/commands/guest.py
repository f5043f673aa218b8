# SPDX-License-Identifier: MIT
"""overlock guest: a Linux kernel with any of the locks, in virtual machines."""

import os
from pathlib import Path
from typing import Any

import click

from overlock_tools.cli import options
from overlock_tools.cli.options import Within
from overlock_tools.core.system import children
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest.paths import PAUSES, VARIANTS, VERSION

MOST_VCPUS = 16
MOST_GUESTS = 5


def _known() -> list[str]:
    from overlock_tools.guest import locks

    return locks.known()


_locks = options.completing(_known)


DIR = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the kernels and build trees.  [default: overlock/guest in the cache folder]",
)
KERNEL = click.option(
    "--kernel",
    "version",
    default=VERSION,
    show_default=True,
    help="Version of Debian's linux-source.",
)
VARIANT = click.option(
    "--variant",
    type=click.Choice(list(VARIANTS)),
    help="Kernel configuration: with counters, without PV spinlocks or Overlock's locks, "
    "or with rseq's slice extension (from 7.0 on).",
)
LOCK = click.option(
    "--lock",
    default="native",
    show_default=True,
    shell_complete=_locks,
    metavar="NAME",
    help="Lock of the kernel: a 4-byte lock of `overlock locks`, busted (no mutual exclusion), "
    "impatient (wrong without a CPU for the holder), native (the kernel's own), native_tas or "
    "native_pv (the kernel's own of that kind). NAME@WORD adds WORD to the kernel's command line.",
)
HOSTS = ("nested", "xen")


def _accel(_: Any, __: Any, given: str | None) -> str | None:
    """What is a host beside QEMU's alone is the lab's, which guests do not know."""
    if given in HOSTS:
        from overlock_tools.guest import hosts
        from overlock_tools.lab.nested import guests
        from overlock_tools.lab.xen import domain

        hosts.MORE.update({guests.NAME: guests.Nested(), domain.NAME: domain.Domains()})
    return given


machine = options.together(
    DIR,
    KERNEL,
    VARIANT,
    click.option(
        "--pause",
        type=click.Choice(PAUSES),
        help="PAUSE instructions of the kernel: kept, or replaced by no-operations.  "
        "[default: nop; as-is if nested or under Xen]",
    ),
    click.option(
        "--accel",
        type=click.Choice(("auto", "kvm", "tcg", *HOSTS)),
        default="auto",
        callback=_accel,
        show_default=True,
        help="Accelerator. auto: KVM if a test guest boots under it, else TCG. nested: KVM on CPUs "
        "that TCG emulates. xen: Xen on CPUs that TCG emulates.",
    ),
    click.option(
        "--host-slice",
        "host_slice",
        type=Within(0.1, 1000),
        metavar="MS",
        help="Time slice of a vCPU in the nested host or Xen.  [default: the scheduler's own]",
    ),
    click.option(
        "--hypervisor/--no-hypervisor",
        "seen",
        default=None,
        help="Show the hypervisor to the guest in CPUID, or hide it.  [default: show under KVM]",
    ),
    click.option(
        "--append",
        default="",
        metavar="WORDS",
        help="Extra words for the kernel's command line, such as overlock.tau_ns=2000.",
    ),
    click.option(
        "--placement",
        type=click.Choice(("balanced", "free")),
        default="balanced",
        show_default=True,
        help="Placement of vCPUs: pinned evenly to CPUs, or left to the host's scheduler.",
    ),
    click.option(
        "--pool",
        "pools",
        multiple=True,
        metavar="CPUS",
        help="Host CPUs for vCPUs (0-3,6); repeat it for one pool per guest.",
    ),
)
SMP = click.option(
    "--smp",
    type=click.IntRange(1, MOST_VCPUS),
    default=2,
    show_default=True,
    help="Number of vCPUs.",
)

SLICE_PAGE = click.option(
    "--slice-page/--no-slice-page",
    default=False,
    help="Publish the vCPUs' time slices to guests through overlock-hostd; needs root.",
)


@click.group()
def command() -> None:
    """Run a Linux kernel with any lock as its spinlock, in a VM.

    \b
    Examples:
      overlock guest build
      overlock guest boot --lock preemptable_ticket --smp 4
      overlock guest run --lock ticket --lock native --vms 2 --smp 4
      overlock guest matrix -o results --locks ticket,tas,native
      overlock guest console --lock ticket
    """
    children.end_with_us()


@command.command()
@DIR
@KERNEL
@VARIANT
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Compile jobs to run in parallel.  [default: number of CPUs]",
)
@click.option(
    "--accel",
    type=click.Choice(HOSTS),
    callback=_accel,
    help="Also build the parts that guests under this accelerator need.",
)
@click.option("--deb", is_flag=True, help="Build Debian packages of the kernel instead of guests.")
@click.option(
    "--config",
    metavar="FILE",
    help="Configuration of the packaged kernel; `guest`: that of the guests, without drivers.  "
    "[default: the running kernel's in /boot]",
)
def build(**given: Any) -> int:
    """Build the kernel, its loads and its initramfs; rebuild only what has changed.

    The source is Debian's linux-source package, installed or fetched; from a newer suite if this
    system's has none. Repeat the command to continue an interrupted build. The build uses ccache if
    it is installed.

    With --deb, the command builds packages of a kernel with the locks, for your own machine. A
    kernel with all of Debian's drivers takes hours on two CPUs.

    \b
    Examples:
      overlock guest build
      overlock guest build --dir /srv/guests --jobs 8
      overlock guest build --variant counted
      overlock guest build --kernel 7.3
      overlock guest build --accel nested
      overlock guest build --deb --config /boot/config-6.1.0-49-amd64
    """
    from overlock_tools.guest import targets

    given["jobs"] = given["jobs"] or len(os.sched_getaffinity(0))
    if given["deb"]:
        return targets.packages(given)
    if given["config"]:
        raise Fail("--config needs --deb; guests always use guest/guest.config")
    return targets.guests(given)


@command.command()
@machine
@LOCK
@SMP
@SLICE_PAGE
def boot(**given: Any) -> int:
    """Boot a guest and print the lock that its kernel reports.

    \b
    Examples:
      overlock guest boot --lock preemptable_ticket --smp 4
      overlock guest boot --lock native_tas     the fallback of a stock guest
    """
    from overlock_tools.guest import campaign

    return campaign.boot(given)


@command.command()
@machine
@LOCK
@SMP
def console(**given: Any) -> int:
    """Open a shell in a guest; leave it with `exit`, or stop QEMU with Ctrl-A x.

    \b
    Examples:
      overlock guest console --lock ticket --smp 4
    """
    from overlock_tools.guest import campaign

    return campaign.console(given)


def _load_names() -> list[str]:
    from overlock_tools.guest import loads

    return [*loads.LOADS]


_loads = options.completing(_load_names)


cells = options.together(
    click.option(
        "--lock",
        "--locks",
        "locks",
        multiple=True,
        metavar="LIST",
        shell_complete=_locks,
        help="4-byte locks, all, native (the kernel's own), native_tas or native_pv (the kernel's "
        "own of that kind), busted (no mutual exclusion). NAME@WORD adds WORD to the kernel's "
        "command line (native@nopvspin); NAME@kernel=VARIANT selects another kernel.",
    ),
    options.baseline("native", _locks),
    options.rounds(1000, 3, "Number of rounds; each shuffles the locks."),
    options.seconds(0.1, 2.0),
    options.seed(2**31),
    options.parameters("Parameter of the load, such as sections_cs=300; repeatable."),
)


@command.command()
@machine
@SLICE_PAGE
@cells
@SMP
@click.option(
    "--vms",
    type=click.IntRange(1, MOST_GUESTS),
    default=1,
    show_default=True,
    help="Number of guests to run at once.",
)
@click.option(
    "--load",
    default="loop",
    show_default=True,
    shell_complete=_loads,
    help="Load to run in the guests.",
)
@click.option(
    "--replay",
    "trace",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    help="Replay what a program does with its locks, as recorded by `overlock run --record`, in "
    "kernel threads. It is the load.",
)
@options.file("--json", "File for the result, for `overlock report`.")
@options.RESUME
def run(**given: Any) -> int:
    """Measure the speed of one or more guests under each lock in turn.

    Each cell boots fresh guests, starts their loads together and measures over the same time.
    Loads: loop, torture-dice2019, locktorture, hackbench, ebizzy, kernbench, pbzip2, pgbench, boot;
    and rounds, which takes barriers for --lock: barrier, tree_barrier, spin_barrier (its baseline),
    yield_barrier, sleep_barrier, all, busted_barrier (opens too early).

    \b
    Examples:
      overlock guest run --lock ticket,tas --smp 4
      overlock guest run --lock all --vms 2 --smp 4 --rounds 5 --json result.json
      overlock guest run --lock ticket --load hackbench --smp 8 --pause as-is
      overlock guest run --lock busted --smp 2       fails: exclusion is checked
      overlock guest run --load rounds --lock barrier,sleep_barrier --smp 4
      overlock guest run --accel nested --lock native@nopvspin,byte --host-slice 6
      overlock guest run --replay server.trace --lock ticket --smp 4
    """
    from overlock_tools.guest import campaign, loads

    asked = options.explicit()
    if "baseline" not in asked:
        given["baseline"] = loads.known(given["load"]).baseline
    if given["trace"]:
        if "load" in asked:
            raise Fail("--replay is a load; remove --load")
        given["seconds"] = given["seconds"] if "seconds" in asked else None  # the trace's
    return campaign.run(given)


@command.command()
@machine
@SLICE_PAGE
@cells
@options.folder("Folder for the results.")
@click.option(
    "--rigs",
    default="1x1,1x2,1x4,1x8,2x4",
    show_default=True,
    metavar="LIST",
    help="Rigs to measure: number of guests x vCPUs of each.",
)
@click.option(
    "--loads",
    default="loop,locktorture,hackbench",
    show_default=True,
    metavar="LIST",
    shell_complete=_loads,
    help="Loads to run.",
)
@click.option("--pilot", is_flag=True, help="Skip cells that collapse in round 1 in later rounds.")
@options.IF_BUSY
def matrix(**given: Any) -> int:
    """Measure locks in many rigs under many loads.

    Writes one result file for each load and number of guests. The locks are interleaved in rounds.
    The report claims a difference only if the ranges do not overlap. Without --lock, the matrix
    has all 4-byte locks. Repeat the command to complete an interrupted matrix.

    \b
    Examples:
      overlock guest matrix -o results
      overlock guest matrix -o results --locks ticket,tas --rigs 1x4 --loads loop
    """
    from overlock_tools.guest import campaign

    return campaign.run_matrix(given)


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
@options.baseline("native", _locks)
@options.file("--json", "File for the numbers.")
def instructions(**given: Any) -> int:
    """Count the instructions of an uncontended spin_lock() and spin_unlock().

    QEMU counts them exactly, from call to return. The count is no measure of time. The command
    boots one guest per lock.

    \b
    Examples:
      overlock guest instructions
      overlock guest instructions --lock ticket,tas_yield --baseline ticket
    """
    from overlock_tools.guest import campaign

    return campaign.instructions(given)


@command.command()
@machine
@LOCK
@SMP
@click.option(
    "--test",
    type=click.Choice(("locktorture", "rcutorture")),
    default="locktorture",
    show_default=True,
    help="Torture test of the kernel's to run meanwhile.",
)
@options.parameters("Parameter of the test, such as torture_type=spin_lock_irq; repeatable.")
@options.seconds(0.1, 5.0, "Time of the test in a run, each after a boot.")
@options.stops("vCPU", "moments", runs=4, length="1ms..200ms")
@click.option(
    "--at",
    metavar="MOMENT,...",
    help="Moments: waiter, holder, inside, before-unlock, after-unlock.  [default: all]",
)
@click.option(
    "--sites",
    multiple=True,
    metavar="PATTERN",
    help="Functions of the kernel whose calls count: [MODULE:]FUNCTION, with * and ?; repeatable.  "
    "[default: all]",
)
@options.file("--json", "File for the report.")
def chaos(**given: Any) -> int:
    """Take the CPU from the vCPU that holds a spinlock, or asks for it.

    A plugin of QEMU's stops a vCPU at the calls of the kernel's lock functions, while locktorture
    or rcutorture runs. The kernel is unmodified. A run fails if the test or the kernel's log says
    so, or if the guest hangs. It needs guests that QEMU translates (TCG).

    \b
    Examples:
      overlock guest chaos --lock ticket
      overlock guest chaos --lock impatient --length 800ms    a planted mistake
      overlock guest chaos --test rcutorture --lock native --smp 4
      overlock guest chaos --at holder --sites 'locktorture:*' --length 300ms
    """
    from overlock_tools.guest.chaos import command as chaos

    return chaos.run(given)


def _listed(_: Any, parameter: Any, given: Any) -> list[str]:
    words = [word for text in given for word in text.split(",") if word]
    if given and not words:
        raise Fail(f"{parameter.opts[0]} '{','.join(given)}': it names nothing")
    return words


def _numbers(context: Any, parameter: Any, given: Any) -> list[int]:
    words = _listed(context, parameter, given)
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= 1024 for word in words):
        raise Fail(f"--threads {','.join(given)}: expected numbers from 1 to 1024")
    return [int(word) for word in words]


def _schedulers(context: Any, parameter: Any, given: Any) -> list[str]:
    schedulers = _listed(context, parameter, given)
    for each in schedulers:
        if each not in {"kernel", "plain"} and each.partition(" ")[0] != "sched":
            raise Fail(f"--under {each}: expected kernel, plain, or sched with options")
    return schedulers


def _programs(context: Any, parameter: Any, given: Any) -> list[str]:
    from overlock_tools.lab.sched.programs import checked

    return [checked(each) for each in _listed(context, parameter, given)]


@command.command()
@DIR
@SMP
@click.option(
    "--lock",
    "--locks",
    "locks",
    multiple=True,
    default=("ticket,mcs,ticket_told,owner_qspin,i_spin@csd=200000",),
    show_default=True,
    metavar="LIST",
    callback=_listed,
    shell_complete=options.LOCKS,
    help="Locks of `overlock locks`, with tunables, and ticket_told, which talks with the "
    "scheduler.",
)
@click.option(
    "--threads",
    multiple=True,
    metavar="LIST",
    callback=_numbers,
    help="Numbers of threads.  [default: four for each vCPU]",
)
@click.option(
    "--under",
    multiple=True,
    default=("kernel,sched",),
    show_default=True,
    metavar="LIST",
    callback=_schedulers,
    help="Schedulers: `kernel`; `sched` with options of `overlock sched`: 'sched --no-lead'; "
    "`plain`, a sched_ext scheduler with none of them.",
)
@click.option(
    "--program",
    "--programs",
    "programs",
    multiple=True,
    metavar="LIST",
    callback=_programs,
    help="Instead of locks, unmodified programs: mutexes, deferring (the same, but holders ask "
    "not to be preempted), spinlocks, openmp, leveldb, pgbench, "
    "ebizzy, kernbench, pbzip2; with options of `overlock run` to replace their mutexes, "
    "'pbzip2 --lock ticket'; the first three with @N run beside N processes that compute; "
    "ebizzy@LOCK has that lock itself; guest@LOCK is a virtual machine with that spinlock in its "
    "kernel, told of its "
    "slices by overlock-hostd.",
)
@click.option(
    "--counted", is_flag=True, help="Count preemptions of waiters in line and of holders, too."
)
@click.option("--workload", default="sections", show_default=True, help="As of `overlock bench`.")
@options.parameters("Parameter of the workload, such as cs=300; repeatable.")
@options.rounds(1000, 1, "Number of rounds; each shuffles the schedulers.")
@options.seconds(0.01, 0.3)
@options.seed(2**31)
@options.file("--json", "File for the result.")
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    help="Version of Debian's kernel.  [default: 6.18]",
)
@click.option(
    "--variant",
    type=click.Choice(list(VARIANTS)),
    help="Instead of Debian's kernel, that of `overlock guest build --kernel VERSION --variant "
    "VARIANT`. `extension` has rseq's slice extension. Without sched_ext, as before 6.12 and in "
    "these variants, --under is `kernel`.",
)
@click.option(
    "--extension-us",
    type=click.FloatRange(5, 50),
    default=5,
    show_default=True,
    help="Time by which such an extension puts a preemption off.",
)
@click.option(
    "--turn-us",
    type=click.IntRange(2, 1_000_000),
    default=20,
    show_default=True,
    help="A vCPU has its turn for half of so many microseconds. Long turns make an idle guest's "
    "time pass faster.",
)
@click.option("--command", metavar="LINE", help="Run this line of shell in the guest instead.")
@click.option("--console", is_flag=True, help="Open a shell in the guest instead.")
def sched(**given: Any) -> int:
    """Compare locks under `overlock sched` and the kernel's scheduler, in a guest.

    The guest has a kernel of Debian's with sched_ext, and locks in user space. QEMU counts
    instructions and derives the guest's time from them, so the host's load does not matter, and
    one counted second takes ten or more of the host's. Fetches and builds what it needs at the
    first use: 1.5 GB, a minute. docs/scheduler.md explains the results.

    \b
    Examples:
      overlock guest sched
      overlock guest sched --lock ticket,mcs --threads 8,16 --json result.json
      overlock guest sched --lock ticket_told --under 'sched,sched --no-lead'
      overlock guest sched --program openmp,leveldb --under kernel,plain,sched
      overlock guest sched --program 'pbzip2,pbzip2 --lock ticket' --threads 4
      overlock guest sched --command 'kills 100'
      overlock guest sched --kernel 7.3 --command 'yields 1 0.3'
      overlock guest sched --kernel 7.3 --variant extension --program mutexes
      overlock guest sched --console
    """
    from overlock_tools.lab.sched import run as scx_run

    return scx_run.run(given)
