# SPDX-License-Identifier: MIT
"""A program's OpenMP runtime: its locks, how its barriers wait, how many threads it starts.

What a setting does is read from the runtimes' sources: LLVM's kmp_lock.cpp, kmp_csupport.cpp,
kmp_settings.cpp and kmp_wait_release.h, which Intel's runtime shares; GCC's libgomp/env.c and
libgomp/config/linux.
"""

import re
from dataclasses import dataclass

from overlock_tools.core.model import defs, traits
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.kernel_files import Unknown
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.load_facts import cpus_usable
from overlock_tools.doctor.native_facts import hle, rtm
from overlock_tools.doctor.process_facts import GNU, INTEL, LLVM, environment, known_libraries

GROUP = "openmp"
RUNTIMES = (LLVM, INTEL, GNU)
ENVIRON = "in /proc/PID/environ"


@dataclass(frozen=True)
class Kind:
    """A lock of LLVM's and Intel's runtime; neither a setting's case nor all its letters count."""

    name: str
    least: int  # so many letters do
    fifo: bool
    waits: str

    @property
    def words(self) -> str:
        return f"{'FIFO' if self.fifo else 'in no order'}, {self.waits}"


YIELDS = "waiters spin and yield, and never sleep"
QUEUING = Kind("queuing", 1, True, YIELDS)
KINDS = (  # in the order in which the runtime compares
    Kind("tas", 2, False, YIELDS),
    Kind("testandset", 2, False, YIELDS),
    Kind("futex", 1, False, "waiters sleep; each release yields while threads outnumber CPUs"),
    Kind("ticket", 2, True, YIELDS),
    QUEUING,
    Kind("queue", 1, True, YIELDS),
    Kind("drdpaticket", 1, True, YIELDS),
)
# With transactions; on a CPU that has none the runtime takes the queuing lock, and says so.
TRANSACTIONS = ("adaptive", "rtmqueuing", "rtmspin")
HLE = Kind("hle", 1, False, "waiters only spin: without transactions it is a test-and-set lock")


@dataclass(frozen=True)
class Lock:
    """In force for a runtime."""

    fifo: bool  # with waiters that need a CPU to pass it on
    text: str


GLIBCS = "pthread_adaptive"  # OVERLOCK_LOCK: nothing takes the place of a runtime's lock
CHECKS = "KMP_CONSISTENCY_CHECK"  # needs the runtime's own locks, unless it is `none`
MUTEX = Lock(False, "a mutex (in no order, waiters spin, then sleep)")


def _loaded(w: World) -> list[str]:
    return [one.name for one in known_libraries(w) if one.name in RUNTIMES]


def _runtimes(w: World) -> list[str]:
    """Those that it has loaded, one at least."""
    if found := _loaded(w):
        return found
    raise Unknown("it has loaded no OpenMP runtime")


def _kind(w: World, setting: str) -> Kind:
    said = re.sub(r"[ _-]", "", setting.lower())
    if said and HLE.name.startswith(said):
        return _unless(setting, bool(hle(w).value), HLE)
    if said and any(name.startswith(said) for name in TRANSACTIONS):
        return _unless(setting, rtm(w).value == "works", QUEUING)
    fits = (one for one in KINDS if len(said) >= one.least and one.name.startswith(said))
    return next(fits, QUEUING)  # as the runtime does, with a warning


def _unless(setting: str, has_transactions: bool, kind: Kind) -> Kind:
    if has_transactions:
        raise Unknown(f"KMP_LOCK_KIND={setting} depends on whether its transactions commit")
    return kind


def _served(w: World, runtime: str, variables: dict[str, str]) -> bool:
    """`overlock run` has put a lock of its own in the place of the runtime's."""
    which = {"all": RUNTIMES, "none": ()}.get(variables.get("OVERLOCK_OPENMP", ""), (LLVM, INTEL))
    checks = runtime != GNU and variables.get(CHECKS, "none") != "none"
    if runtime not in which or checks or variables.get("OVERLOCK_LOCK") == GLIBCS:
        return False
    return any(one.name == "overlock run" for one in known_libraries(w))


def _ours(name: str) -> Lock:
    try:
        lists = defs.load()
        lock = lists.locks.get(lists.aliases.get(name, name))
    except Fail as error:
        raise Unknown(error.message) from error
    return Lock(lock is not None and traits.collapses(lock), f"{name} (of overlock run)")


def _lock(w: World, runtime: str, variables: dict[str, str]) -> Lock:
    if _served(w, runtime, variables):
        return _ours(variables.get("OVERLOCK_OPENMP_LOCK") or variables.get("OVERLOCK_LOCK", ""))
    if runtime == GNU:
        return MUTEX
    setting = variables.get("KMP_LOCK_KIND", "")
    kind = _kind(w, setting)
    return Lock(kind.fifo, f"{kind.name}{'' if setting else ', the default'} ({kind.words})")


def _of_each(texts: dict[str, str]) -> str:
    """The only one, or each with its runtime's name."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{runtime}: {text}" for runtime, text in texts.items())


@fact(
    "openmp",
    GROUP,
    "runtime",
    how="names of mapped files in /proc/PID/maps: libomp, libiomp5, libgomp",
    means="it brings locks and barriers of its own; one that is linked statically is not visible",
)
def openmp(w: World) -> Found:
    found = _loaded(w)
    return Found(found, " and ".join(found) or "none")


@fact(
    "openmp_lock",
    GROUP,
    "omp_*_lock, critical",
    how=f"KMP_LOCK_KIND, OVERLOCK_OPENMP, OVERLOCK_OPENMP_LOCK, OVERLOCK_LOCK {ENVIRON}; "
    "else the runtime's default",
    means="a FIFO lock stops all waiters behind one that has no CPU; not visible: what the program "
    "set itself (setenv, kmp_set_defaults), locks with a hint, whether threads wait for any",
)
def openmp_lock(w: World) -> Found:
    loaded, variables = _runtimes(w), environment(w)
    locks = {runtime: _lock(w, runtime, variables) for runtime in loaded}
    fifo = any(lock.fifo for lock in locks.values())
    return Found({"fifo": fifo}, _of_each({name: lock.text for name, lock in locks.items()}))


@fact(
    "openmp_threads",
    GROUP,
    "threads of a team",
    how=f"OMP_NUM_THREADS {ENVIRON}, its first number; else the CPUs that it may use",
    means="the runtimes count CPUs, and not the quota; not visible: num_threads() in the program, "
    "omp_set_num_threads(), nested teams",
)
def openmp_threads(w: World) -> Found:
    _runtimes(w)
    said = environment(w).get("OMP_NUM_THREADS", "")
    if first := re.match(r"\d+", said):
        return Found(int(first[0]), f"{first[0]}, by OMP_NUM_THREADS")
    n = cpus_usable(w).value
    return Found(n, f"{n}, one for each CPU that it may use")


@dataclass(frozen=True)
class Barriers:
    spin: bool
    text: str


def _barriers(w: World, runtime: str, variables: dict[str, str]) -> Barriers:
    if runtime == GNU and openmp_threads(w).value > cpus_usable(w).value:
        return Barriers(False, "waiters spin briefly, then sleep, for threads outnumber the CPUs")
    variable = "GOMP_SPINCOUNT" if runtime == GNU else "KMP_BLOCKTIME"
    if setting := variables.get(variable, "").strip():
        return Barriers(not re.match(r"0+(?!\d)", setting), f"{variable}={setting}")
    policy = variables.get("OMP_WAIT_POLICY", "").strip().lower()
    if policy == "passive":
        return Barriers(False, "OMP_WAIT_POLICY=passive: waiters sleep")
    if policy == "active":
        return Barriers(True, "OMP_WAIT_POLICY=active: waiters spin")
    time = "some ms" if runtime == GNU else "200 ms"
    return Barriers(True, f"waiters spin for {time}, then sleep")


@fact(
    "openmp_barriers",
    GROUP,
    "barriers",
    how=f"KMP_BLOCKTIME, GOMP_SPINCOUNT, OMP_WAIT_POLICY {ENVIRON}; else the runtime's default",
    means="waiters that spin take CPU time from the threads for which they wait, and use up the "
    "quota; not visible: kmp_set_blocktime(), KMP_LIBRARY",
)
def openmp_barriers(w: World) -> Found:
    loaded, variables = _runtimes(w), environment(w)
    found = {runtime: _barriers(w, runtime, variables) for runtime in loaded}
    spin = any(one.spin for one in found.values())
    return Found({"spin": spin}, _of_each({name: one.text for name, one in found.items()}))
