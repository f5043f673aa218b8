# SPDX-License-Identifier: MIT
"""A running program, looked at from outside."""

import re
from contextlib import suppress
from dataclasses import dataclass

from overlock_tools.core.system.kernel_files import Unknown
from overlock_tools.core.system.text import printable
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.watch import NOTHING, Thread

TASK = "/proc/PID/task/*/"
LLVM, INTEL, GNU = "LLVM's OpenMP", "Intel's OpenMP", "GNU's OpenMP"


def _total(w: World) -> Thread:
    """Of all its threads, over the interval."""
    if not w.watch.threads:
        raise Unknown(w.watch.why_no_threads)
    columns = zip(*(vars(thread).values() for thread in w.watch.threads.values()), strict=True)
    return Thread(*map(sum, columns))


def _scheduled(w: World) -> Thread:
    """The same where the kernel keeps run delays."""
    total = _total(w)
    if total.user_ticks + total.system_ticks > 1 and not total.run_ns:
        raise Unknown("this kernel keeps no run delays: /proc/PID/schedstat is 0")
    return total


@fact(
    "program",
    "process",
    "program",
    how="/proc/PID/comm, exe",
    means="the process under observation",
)
def program(w: World) -> Found:
    if w.pid is None:
        raise Unknown("no process was asked for")
    name = w.tree.read(f"/proc/{w.pid}/comm")
    return Found(name, f"{name} (process {w.pid})")


@fact(
    "threads",
    "process",
    "threads",
    how="/proc/PID/task",
    means="sleeping threads cost nothing; see the number of runnable threads",
)
def threads(w: World) -> Found:
    _total(w)
    return Found(len(w.watch.threads), f"{len(w.watch.threads)}")


@fact(
    "wanting",
    "process",
    "runnable threads",
    how=TASK + "schedstat: time on CPUs and run delay, over the interval; states are sampled",
    means="on average; if there are more than CPUs, some are always preempted",
)
def wanting(w: World) -> Found:
    total = _scheduled(w)
    mean = (total.run_ns + total.delay_ns) / 1e9 / w.watch.seconds
    # A delay is counted when it ends, so an interval may be charged for more than its length.
    mean = min(mean, float(len(w.watch.threads)))
    most = f", {max(w.watch.running)} at most" if w.watch.running else ""
    return Found(mean, f"{mean:.1f} on average{most}")


@fact(
    "on_cpu",
    "process",
    "CPUs it uses",
    how=TASK + "schedstat: time on CPUs, over the interval",
    means="1 is one fully used CPU",
)
def on_cpu(w: World) -> Found:
    mean = _scheduled(w).run_ns / 1e9 / w.watch.seconds
    return Found(mean, f"{mean:.2f}")


@fact(
    "waiting",
    "process",
    "waits for a CPU",
    how=TASK + "schedstat: run delay / (run delay + time on CPUs), over the interval",
    means="during this time, a lock that it holds or is next to acquire does not progress",
)
def waiting(w: World) -> Found:
    total = _scheduled(w)
    wanted = total.run_ns + total.delay_ns
    if not wanted:
        return Found(0.0, "never runnable")
    share = total.delay_ns / wanted
    return Found(share, f"{share:.0%} of its runnable time")


@fact(
    "involuntary",
    "process",
    "involuntary switches",
    how=TASK + "status: nonvoluntary_ctxt_switches, over the interval",
    means="each preempted a running thread, perhaps a lock holder, or was its sched_yield()",
)
def involuntary(w: World) -> Found:
    rate = _total(w).involuntary / w.watch.seconds
    return Found(rate, f"{rate:,.0f} a second")


@fact(
    "voluntary",
    "process",
    "voluntary switches",
    how=TASK + "status: voluntary_ctxt_switches, over the interval",
    means="each is a sleep: a wait for work, input or a lock",
)
def voluntary(w: World) -> Found:
    rate = _total(w).voluntary / w.watch.seconds
    return Found(rate, f"{rate:,.0f} a second")


@fact(
    "user_mode",
    "process",
    "time in user mode",
    how=TASK + "stat: utime and stime, over the interval",
    means="spinning and computing are both in user mode and look the same from outside",
)
def user_mode(w: World) -> Found:
    total = _total(w)
    ticks = total.user_ticks + total.system_ticks
    if not ticks:
        raise Unknown("it hardly ran")
    share = total.user_ticks / ticks
    return Found(share, f"{share:.0%}")


@fact(
    "asleep_in",
    "process",
    "where it sleeps",
    how=TASK + "wchan, sampled",
    means="futex_*: a lock that sleeps, a condition, or a pool that waits for work",
)
def asleep_in(w: World) -> Found:
    _total(w)
    places = w.watch.asleep_in
    total = sum(places.values())
    if not total:
        return Found({}, "never seen asleep")
    unseen = places["?"] + places["0"] + places[""]
    if unseen == total:
        raise Unknown("wchan needs the process's owner, and a kernel that provides it")
    shares = {name: count / total for name, count in places.most_common() if name not in "?0"}
    futex = sum(share for name, share in shares.items() if "futex" in name)
    texts = [f"{name} {share:.0%}" for name, share in shares.items()]
    return Found({"futex": futex, "places": shares}, ", ".join(texts[:3]))


def mapped(w: World) -> set[str]:
    """Names of the files that it has mapped, without their folders."""
    if w.pid is None:
        raise Unknown("no process was asked for")
    return set(re.findall(r"/([^/\n]+)$", w.tree.read(f"/proc/{w.pid}/maps"), re.MULTILINE))


def environment(w: World) -> dict[str, str]:
    """At its start: what the program has set since is not in the file. Each value in one line."""
    entries = (one.partition("=") for one in w.tree.read(f"/proc/{w.pid}/environ").split("\0"))
    return {name: printable(" ".join(value.split())) for name, equals, value in entries if equals}


@dataclass(frozen=True)
class Library:
    """Something by which a program's way of waiting can be told."""

    pattern: str  # of the name of a mapped file: a library, or the program itself
    name: str
    locks: str = ""  # those it brings, if not glibc's; read from its sources
    spins: bool = False  # and some of their waiters never sleep


LIBRARIES = (
    Library(r"liboverlock-run(-counted|-checked)?\.so", "overlock run"),
    Library(r"liboverlock\.so", "Overlock"),
    Library(
        r"libjemalloc", "jemalloc", "pthread mutexes; it tries some hundred times, then sleeps"
    ),
    Library(r"libtcmalloc", "tcmalloc"),
    Library(r"libmimalloc", "mimalloc"),
    Library(
        r"libtbb",
        "oneTBB",
        "queuing_mutex is FIFO, spin_mutex has no order; their waiters spin, then yield; waiters "
        "of mutex sleep",
        spins=True,
    ),
    Library(
        r"libck\.so",
        "Concurrency Kit",
        "ticket, MCS, CLH and Anderson's lock are FIFO, others have no order; waiters spin",
        spins=True,
    ),
    Library(
        r"librte_eal\b",
        "DPDK",
        "ticket and MCS locks are FIFO, rte_spinlock_t has no order; waiters spin",
        spins=True,
    ),
    Library(
        r"haproxy$", "HAProxy", "plock has no order; waiters spin longer and longer", spins=True
    ),
    Library(
        r"postgres$", "PostgreSQL", "spinlocks have no order; waiters spin, then sleep for 1 ms"
    ),
    Library(r"libabsl_", "abseil"),
    Library(r"libomp(-\w+)?\.so", LLVM),
    Library(r"libiomp5(-\w+)?\.so", INTEL),
    Library(r"libgomp(-\w+)?\.so", GNU),
    Library(r"libjvm\.so", "a Java VM"),
    Library(r"libpython", "Python"),
    Library(r"(libpthread|libc)[-.].*so", "glibc's mutexes"),
    Library(r"ld-musl", "musl's mutexes"),
)


def known_libraries(w: World) -> list[Library]:
    files = mapped(w)
    return [one for one in LIBRARIES if any(re.match(one.pattern, file) for file in files)]


def _named(w: World, library: Library) -> str:
    lock = ""
    if library.name == "overlock run":
        with suppress(Unknown):
            lock = environment(w).get("OVERLOCK_LOCK", "")
    return f"{library.name} with {lock}" if lock else library.name


@fact(
    "libraries",
    "process",
    "lock libraries",
    how="names of mapped files in /proc/PID/maps; OVERLOCK_LOCK in /proc/PID/environ",
    means="locks compiled into it, or in a Go or Rust runtime, are not visible",
)
def libraries(w: World) -> Found:
    found = known_libraries(w)
    texts = [_named(w, one) for one in found]
    return Found([one.name for one in found], ", ".join(texts) or "none known by name")


@fact(
    "own_locks",
    "process",
    "locks that they bring",
    how="the sources of the libraries, and programs, that are known by name",
    means="whether its threads wait for them is not visible here: overlock profile --pid PID",
)
def own_locks(w: World) -> Found:
    found = [one for one in known_libraries(w) if one.locks]
    value = [{"name": one.name, "spins": one.spins} for one in found]
    return Found(value, "; ".join(f"{one.name}: {one.locks}" for one in found) or "none known")


@fact(
    "worst_thread",
    "process",
    "thread with the longest wait",
    how=TASK + "schedstat, over the interval",
    means="if it held a lock, all other threads waited too",
)
def worst_thread(w: World) -> Found:
    _scheduled(w)
    tid, worst = max(w.watch.threads.items(), key=lambda item: item[1].delay_ns)
    share = min(1.0, worst.delay_ns / 1e9 / w.watch.seconds)
    if worst == NOTHING or not worst.delay_ns:
        return Found(None, "none waited")
    value = {"tid": tid, "share": share, "involuntary": worst.involuntary}
    return Found(value, f"{tid}: runnable without a CPU for {share:.0%} of the time")
