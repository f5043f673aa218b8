# SPDX-License-Identifier: MIT
"""What a thread waits for at a futex: a lock, or something else that one waits for on purpose.

The functions that it has called tell: the innermost that FUNCTIONS has decides. Some are built on
others, a queue on a condition: such an inner one decides only if no function of a library around it
does. Where functions have no names, and where one may be used for both, as a semaphore, what
threads do at the futex tells (profile/account.h), or it is unknown.
"""

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import functions
from overlock_tools.profile.seen import Lock

FUTEX_LOCK_PI, FUTEX_LOCK_PI2 = 6, 13
CONTENDED = 2  # the word of glibc's mutex with waiters: profile/sampler.py


class Use(enum.Enum):
    LOCK = "lock"
    PURPOSE = "purpose"  # what is waited for is work, or time: that is no time lost to locks
    SPIN = "spin"  # on no lock: CPU time is lost to it where somebody lacks it
    EITHER = "either"  # by what threads do there
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Kind:
    name: str
    use: Use
    single: bool = False  # a process has one, of several futexes
    of_thread: bool = False  # each thread waits at a futex of its own
    by_yields: str = "yields"  # profile/causes.py
    advice: tuple[str, tuple[str, ...]] | None = None  # words; what to put before the command

    @property
    def is_lock(self) -> bool:
        return self.use == Use.LOCK

    @property
    def spins(self) -> bool:
        return self.use == Use.SPIN


MUTEX = Kind("mutex", Use.LOCK)
PI_MUTEX = Kind("mutex with priority inheritance", Use.LOCK)
RWLOCK = Kind("rwlock", Use.LOCK)
GIL = Kind(
    "Python's GIL",
    Use.LOCK,
    single=True,
    advice=("let processes do the work, or code that releases the GIL: it has one holder", ()),
)
OPENMP = Kind("OpenMP lock", Use.LOCK)
YIELDED = Kind(
    "OpenMP lock's release",
    Use.LOCK,
    advice=(
        "set KMP_LOCK_KIND=tas: the runtime's futex lock yields at every release while threads "
        "outnumber CPUs",
        ("env", "KMP_LOCK_KIND=tas"),
    ),
    by_yields="release_yields",
)
RUNTIME_LOCK = Kind("lock of a library", Use.LOCK)
SEMAPHORE = Kind("semaphore", Use.EITHER)
ATOMIC_WAIT = Kind("atomic wait", Use.EITHER)
PYTHON_LOCK = Kind("Python's lock", Use.EITHER)
CONDITION = Kind("condition", Use.PURPOSE)
BARRIER = Kind("barrier", Use.PURPOSE)
JOIN = Kind("join", Use.PURPOSE)
ONCE = Kind("once", Use.PURPOSE)
LATCH = Kind("latch", Use.PURPOSE)
QUEUE = Kind("queue", Use.PURPOSE)
PARK = Kind("park", Use.PURPOSE)
FUTURE = Kind("future", Use.PURPOSE)
IDLE = Kind("idle", Use.PURPOSE)
GO_SCHEDULER = Kind("Go's scheduler", Use.PURPOSE)

# Who waits there has nothing to do: a thread that comes later is woken no later.
FOR_WORK = {kind.name for kind in (CONDITION, QUEUE, PARK, IDLE)}

LIKELY = Kind("lock", Use.LOCK)  # by what threads do there alone
OTHER = Kind("unknown futex", Use.UNKNOWN)
SPINLOCK = Kind("spinlock", Use.LOCK)
FIFO_SPINLOCK = Kind("FIFO spinlock", Use.LOCK)
SPIN_BARRIER = Kind("spin barrier", Use.SPIN)
POLL = Kind("poll", Use.SPIN)
SPINNING_POOL = Kind("pool that spins", Use.SPIN)
SPIN_WAIT = Kind("spin wait", Use.SPIN)
YIELDING = Kind("yield loop", Use.SPIN)
MAY_YIELD = Kind("yields where it also sleeps", Use.UNKNOWN)
# Compiled into the program, these may yield before they sleep.
MAY_YIELD_FIRST = {kind.name for kind in (ATOMIC_WAIT, SEMAPHORE, LATCH, QUEUE, PARK, OTHER)}
UNSEEN_YIELDS = Kind("yields of unknown purpose", Use.UNKNOWN)


@dataclass(frozen=True)
class Functions:
    """Of a library, by qualified names. `kind` is none of those that only pass the wait on."""

    names: str
    kind: Kind | None
    beneath: bool = False  # others are built on it: they decide
    of_thread: bool = False  # it waits at a futex of the thread's own


# What is waited for, by the function that waits. Those of one library are together; the first that
# fits counts.
FUNCTIONS = (
    # The C library: glibc, musl.
    Functions(
        r"syscall|__syscall\w*|__cp_\w+|__internal_syscall_cancel|sched_yield|__sched_yield|"
        r"_*futex_\w+|__timedwait(_cp)?|__wait|__futexwait",
        None,
    ),
    Functions(
        r"_*pthread_mutex_(timed|clock|cond_)?lock\w*|lll_mutex_lock_optimized|_*mtx_(timed)?lock",
        MUTEX,
    ),
    Functions(r"_*pthread_rwlock_(timed|clock)?(rd|wr)lock\w*", RWLOCK),
    Functions(r"_*lll_(timed|clock)?lock\w*|__lll_\w*lock\w*|__lock|__tl_lock", RUNTIME_LOCK, True),
    Functions(r"_*pthread_cond_(timed|clock)?wait\w*|_*cnd_(timed)?wait", CONDITION, True),
    Functions(r"_*pthread_barrier_wait", BARRIER),
    Functions(r"_*pthread_(timed|clock|try)?join\w*|_*thrd_join", JOIN),
    Functions(r"_*pthread_once\w*|call_once|__cxa_guard_acquire", ONCE),
    Functions(r"(__new_|__old_)?_*sem_(timed|clock)?wait\w*", SEMAPHORE, True),
    Functions(r"_*aio_suspend\w*|_*gai_suspend|lio_listio\w*", QUEUE),
    # C++.
    Functions(r"std::__(shared_mutex|shared_timed_mutex|recursive_mutex)\w*::\w*lock\w*", MUTEX),
    Functions(r"std::(\w*mutex|unique_lock|lock_guard|scoped_lock|shared_lock)::\w*", MUTEX),
    Functions(r"std::condition_variable(_any)?::wait\w*", CONDITION),
    Functions(r"std::(latch|barrier|__tree_barrier\w*|__barrier\w*)(::\w+)+", LATCH),
    Functions(r"std::(thread|jthread)::join", JOIN),
    Functions(r"std::__atomic_futex_unsigned_base::\w+|std::__basic_future::\w+", FUTURE),
    Functions(
        r"std::(counting_semaphore|__(atomic|platform)_semaphore\w*)::(_M_)?\w*acquire\w*",
        SEMAPHORE,
    ),
    Functions(
        r"std::__detail::__platform_wait|std::__atomic_wait\w*|std::__atomic_(base|ref)\w*::wait|"
        r"std::atomic(_flag)?::wait|std::__detail::__\w*wait\w*(::\w+)*",
        ATOMIC_WAIT,
        True,
    ),
    Functions(r"std::this_thread::yield", None),
    # Rust's library.
    Functions(r"std::(sys|sys_common)::(\w+::)*futex(_wait)?", None),
    Functions(
        r"std::sys::(\w+::)*(futex_)?mutex::(\w+::)*Mutex::\w+|std::sync::(\w+::)*Mutex::lock|"
        r"std::sync::(\w+::)*Reentrant(Mutex|Lock)::lock",
        MUTEX,
    ),
    Functions(
        r"std::sys::(\w+::)*(futex_)?rwlock::(\w+::)*RwLock::\w+|"
        r"std::sync::(\w+::)*RwLock::(read|write)",
        RWLOCK,
    ),
    Functions(
        r"std::sys::(\w+::)*(futex_)?condvar::(\w+::)*Condvar::\w+|"
        r"std::sync::(\w+::)*Condvar::wait\w*",
        CONDITION,
        True,
    ),
    Functions(r"std::sync::(\w+::)*Barrier::wait", BARRIER),
    Functions(r"std::(sync|sys)::(\w+::)*(mpmc|mpsc)(::\w+)*(::\{.*\})?", QUEUE),
    Functions(
        r"std::sys::(\w+::)*once::(\w+::)*Once::\w+|"
        r"std::sync::(\w+::)*(Once|OnceLock|LazyLock|OnceBox)::\w+",
        ONCE,
    ),
    Functions(r"std::(\w+::)*(Thread|JoinInner|JoinHandle|ScopedJoinHandle)::join", JOIN),
    Functions(r"std::thread::scoped::scope", JOIN),
    Functions(r"std::(\w+::)*Parker::park\w*|std::thread::(\w+::)*park\w*", PARK, True, True),
    Functions(r"std::thread::(\w+::)*yield_now", None),
    Functions(r"crossbeam_channel(::\w+)*|flume(::\w+)*", QUEUE),
    Functions(r"rayon_core::(sleep|latch)(::\w+)*", IDLE),
    Functions(r"tokio::runtime(::\w+)*::park\w*", IDLE, True),
    # parking_lot.
    Functions(r"(parking_lot::raw_(fair_)?mutex|lock_api::mutex)(::\w+)*::\w*lock\w*", MUTEX),
    Functions(r"parking_lot::remutex(::\w+)*|lock_api::remutex(::\w+)*::\w*lock\w*", MUTEX),
    Functions(
        r"(parking_lot::raw_rwlock|lock_api::rwlock)(::\w+)*::\w*(lock|read|write)\w*", RWLOCK
    ),
    Functions(r"parking_lot::condvar(::\w+)*::wait\w*(::\{.*\})?", CONDITION),
    Functions(r"parking_lot::once(::\w+)*::call\w*", ONCE),
    Functions(r"parking_lot_core::parking_lot::park", PARK, True, True),
    Functions(r"parking_lot(_core)?(::\w+)*(::\{.*\})?", None),
    # Abseil.
    Functions(r"absl::Mutex::(Await|LockWhen|ReaderLockWhen|WriterLockWhen)\w*", CONDITION),
    Functions(r"absl::CondVar::Wait\w*", CONDITION),
    Functions(r"absl::(Notification|BlockingCounter|Barrier)::\w+", LATCH),
    Functions(r"absl::Mutex::(Lock|ReaderLock|WriterLock|lock|lock_shared|Fer)", MUTEX),
    Functions(r"absl::\w*MutexLock\w*::\w+", MUTEX),
    Functions(r"absl::Mutex::LockSlow\w*", MUTEX, True),
    Functions(r"absl::base_internal::SpinLock::SlowLock|AbslInternalSpinLockDelay\w*", SPINLOCK),
    Functions(r"AbslInternalPerThreadSemWait\w*", PARK, True, True),
    Functions(
        r"AbslInternal\w+|absl::(synchronization|base)_internal(::\w+)+|absl::Mutex::Block", None
    ),
    # nsync.
    Functions(r"(nsync::)?nsync_mu_(lock|rlock)\w*", MUTEX),
    Functions(r"(nsync::)?nsync_(cv_wait|mu_wait)\w*", CONDITION),
    Functions(r"(nsync::)?nsync_(note_wait|counter_wait|wait_n)\w*", LATCH),
    Functions(r"(nsync::)?nsync_(mu_semaphore_p|sem_wait)\w*", PARK, True, True),
    Functions(r"(nsync::)?futex", None),
    # Zig.
    Functions(r"(std\.)?Thread\.Futex\.\S+|os\.linux\.\S+", None),
    Functions(r"(std\.)?Thread\.Mutex\.\S*lock\S*", MUTEX),
    Functions(r"(std\.)?Thread\.RwLock\.\S*lock\S*", RWLOCK),
    Functions(r"(std\.)?Thread\.Condition\.\S+", CONDITION, True),
    Functions(r"(std\.)?Thread\.(ResetEvent|WaitGroup)\.\S+", LATCH, True),
    Functions(r"(std\.)?Thread\.Semaphore\.\S+", SEMAPHORE),
    Functions(r"(std\.)?Thread\.(\w+\.)*join", JOIN),
    # libuv.
    Functions(r"uv_mutex_lock", MUTEX),
    Functions(r"uv__?(custom_)?sem_wait", SEMAPHORE, True),
    Functions(r"uv_cond_(timed)?wait", CONDITION, True),
    Functions(r"uv_barrier_wait", BARRIER),
    # OpenMP: GNU's, LLVM's and Intel's.
    Functions(
        r"gomp_mutex_lock\w*|GOMP_(critical(_name)?|atomic)_start|omp_set(_nest)?_lock\w*|"
        r"gomp_set(_nest)?_lock\w*|__kmpc_(critical|ordered|set_(nest_)?lock)\w*|"
        r"__kmp_acquire_\w*lock\w*",
        OPENMP,
    ),
    Functions(
        r"omp_unset(_nest)?_lock\w*|__kmpc_(end_critical|unset_(nest_)?lock)\w*|"
        r"__kmp_release_\w*lock\w*",
        YIELDED,
    ),
    Functions(
        r"gomp_(team_|simple_)?barrier\w*|GOMP_(barrier|parallel|taskwait|taskgroup_end|single)\w*|"
        r"GOMP_(loop|sections)\w*_end|gomp_team_end|gomp_sem_wait\w*|__kmpc_barrier|"
        r"__kmp_\w*(barrier|suspend|fork_call|join_call)\w*|__kmpc_fork_call|"
        r"__kmpc_(reduce|single|omp_taskwait)\w*",
        BARRIER,
    ),
    Functions(r"__kmp_(wait|yield|x86_pause|eq|launch|reap)\w*", None),
    # oneTBB.
    Functions(r"tbb::detail::d\d::\w*mutex(::\w+)*", MUTEX),
    Functions(r"tbb::detail::r\d::wait_on_address", MUTEX, True, True),
    Functions(r"tbb::detail::d\d::timed_spin_wait_until", MUTEX, True),
    Functions(r"tbb::detail::r\d::wait_bounded_queue_monitor", QUEUE),
    Functions(r"tbb::detail::\w+(::\w+)*", IDLE, True),
    # Python.
    Functions(r"take_gil|drop_gil|PyEval_(Acquire|Restore)Thread|PyGILState_Ensure", GIL),
    Functions(r"PyMutex_Lock\w*|_PyMutex_Lock\w*|_PyRWMutex_\w+", MUTEX),
    Functions(r"PyEvent_Wait\w*|_PyOnceFlag_\w+", LATCH),
    Functions(r"_?PyThread_acquire_lock\w*|PyThread_acquire_lock_timed\w*", PYTHON_LOCK),
    Functions(r"_?PySemaphore_\w+|_PyParkingLot_\w+", PARK, True, True),
    # Go's runtime.
    Functions(r"runtime\.(futex|futexsleep|futexsleep1|systemstack\w*|mcall)(\.abi0)?", None),
    Functions(r"runtime\.lock(2|WithRank)?|runtime\.\w*\.lock", RUNTIME_LOCK),
    Functions(r"runtime\.(notesleep|notetsleep\w*)", GO_SCHEDULER),
    # Java's.
    Functions(r"Parker::park|(Platform|Parker)\w*::park\w*|Unsafe_Park", PARK),
)  # fmt: skip

# Of a library that has no names inside, what is waited for where no function is known.
INSIDE = (
    (re.compile(r"libgomp|libomp|libiomp5"), BARRIER),
    (re.compile(r"onnxruntime"), IDLE),
)
# What a spinning function waits for, by its own name; the first that fits counts.
SPINNING = (
    (re.compile(r"barrier|rendezvous|join|team_end", re.IGNORECASE), SPIN_BARRIER),
    (
        re.compile(r"(?<![bcn])(?<!un)lock(?!_?(free|less))|acquire|mutex", re.IGNORECASE),
        SPINLOCK,
    ),
    (
        re.compile(r"poll|recv|receive|dequeue|(^|_)pop|mailbox|progress|consume", re.IGNORECASE),
        POLL,
    ),
    (
        re.compile(r"idle|worker|pool|thread_server|steal|IOThread", re.IGNORECASE),
        SPINNING_POOL,
    ),
)
# What its spinning is for, of what functions of libraries wait for.
WHILE_SPINNING = {
    kind.name: SPIN_BARRIER for kind in (BARRIER, JOIN, LATCH, ONCE, CONDITION, FUTURE)
} | {kind.name: SPINNING_POOL for kind in (IDLE, QUEUE, PARK, GO_SCHEDULER)}
# Any function of these is the library's, and no place in the program.
OWN = re.compile(
    r"(std|core|alloc|absl|nsync|parking_lot|parking_lot_core|lock_api|crossbeam\w*|__gnu_cxx|"
    r"tbb::detail|rayon_core|boost::(thread|detail|asio::detail))::.*|"
    r"(std\.)?(Thread|os\.linux|start)\..*|runtime\..*|start_thread|clone3?|"
    r"(__\w+::)?__invoke\w*|gthread\w*|__gthread\w*"
)
# By a variable that the word is in: of a program without symbols it is all that is known.
VARIABLES = ((re.compile(r"_PyRuntime(\+|$)"), GIL),)

# So often threads came back with work done and nobody woken; else it may be a hoarded lock.
FEW = 4


@dataclass(frozen=True)
class Step:
    """A call, and the object that it is in."""

    call: Call
    path: str  # empty: none
    in_library: bool


@cache
def _known(name: str) -> Functions | None:
    return next((one for one in FUNCTIONS if re.fullmatch(one.names, name)), None)


def _names(call: Call) -> Iterator[str]:
    """The function's, then of those whose lambdas it was given."""
    if call.function:
        yield functions.qualified(call.function)
        yield from functions.passed_by(call.function)


def is_own(step: Step) -> bool:
    """Of a library, or a function that waits: no place in the program."""
    if step.in_library or not step.call.function:
        return True
    return bool(OWN.fullmatch(functions.qualified(step.call.function))) or is_known(step)


def is_known(step: Step) -> bool:
    return bool(step.call.function and _known(functions.qualified(step.call.function)))


def by_functions(steps: Iterable[Step]) -> Kind | None:
    """The innermost calls first. None: no function that is known waits."""
    found: Kind | None = None
    inside: Kind | None = None
    of_thread = False
    for step in steps:
        inside = inside or next((k for path, k in INSIDE if path.search(step.path)), None)
        rows = [row for name in _names(step.call) if (row := _known(name))]
        found = next((row.kind for row in reversed(rows) if row.kind), found)
        of_thread = of_thread or any(row.of_thread for row in rows)
        decides = any(row.kind and not row.beneath for row in rows)
        if decides or (not rows and not is_own(step)):
            break
    found = found or inside
    return replace(found, of_thread=of_thread) if found else None


def by_use(lock: Lock, kind: Kind | None) -> Kind:
    """What may be both: by what threads did there."""
    if lock.behaves:
        return Kind(f"{kind.name} used as a lock", Use.LOCK) if kind else LIKELY
    if not kind:
        return OTHER
    if lock.shared and not lock.own and lock.came_back >= FEW and lock.by_waiters * 10 <= lock.woke:
        return Kind(kind.name, Use.PURPOSE)
    return Kind(kind.name, Use.UNKNOWN)


def of(lock: Lock, steps: Iterable[Step], variable: str = "") -> Kind:
    if lock.op in (FUTEX_LOCK_PI, FUTEX_LOCK_PI2):
        return PI_MUTEX
    kind = next((kind for name, kind in VARIABLES if name.match(variable)), None)
    kind = kind or by_functions(steps)
    if kind and kind.use != Use.EITHER:
        return kind
    if lock.owners * 2 > lock.waits:
        return MUTEX
    return by_use(lock, kind)


def of_yields(steps: Iterable[Step], same: Kind | None) -> Kind:
    """What a thread waits for that calls sched_yield() there. `same`: what it also sleeps for."""
    steps = list(steps)
    found = by_functions(steps)
    if found and found.use != Use.EITHER:
        return found
    if same:
        return same
    if found:
        return Kind(found.name, Use.UNKNOWN)
    named = _by_name(steps)
    return Kind(f"{named.name} that yields", named.use) if named else YIELDING


BY_NAME = "its function's name"


@dataclass(frozen=True)
class Manner:
    """How threads were seen to spin at one word, or each at one of its own."""

    takes: bool = False  # by a read-modify-write: who finds it free has it
    in_turns: bool = False  # each waits for another value of the word, which is nobody else's
    queues: bool = False  # each waits at a word of its own, after an update of another
    arrives: bool = False  # several threads, each after an update of a word
    alone: bool = False  # one thread
    everybody: bool = False  # at times; all that run


def of_spin(steps: Iterable[Step], manner: Manner) -> tuple[Kind, str]:
    """What is waited for, and what tells that: a lock is one whatever its function is called."""
    steps = list(steps)
    known = by_functions(steps)
    if known and not known.is_lock:
        return WHILE_SPINNING.get(known.name, SPIN_WAIT), "its function"
    named = _by_name(steps)
    if named == SPIN_BARRIER:
        return named, BY_NAME
    if manner.in_turns:
        return FIFO_SPINLOCK, "each of its threads waits for a value of its own"
    if known or manner.takes:
        return SPINLOCK, "its function" if known else "its read-modify-write"
    if named:
        return named, BY_NAME
    return _by_manner(manner)


def _by_manner(manner: Manner) -> tuple[Kind, str]:
    if manner.queues:
        return FIFO_SPINLOCK, "each waits at a word of its own, after an atomic update"
    if manner.alone:
        return POLL, "one thread waits there"
    if manner.arrives:
        return SPIN_BARRIER, "each thread waits there after an atomic update"
    if manner.everybody:
        return SPIN_BARRIER, "all threads that run wait there, at times"
    return SPINNING_POOL, "several threads wait there for what another one sets"


def _by_name(steps: Iterable[Step]) -> Kind | None:
    """The innermost function that is no library's says what it waits for."""
    for name in (name for step in steps for name in _names(step.call) if not OWN.fullmatch(name)):
        last = name.rpartition("::")[2]
        return next((kind for words, kind in SPINNING if words.search(last)), None)
    return None


SINGLE = {kind.name for kind in (GIL,)}
ADVICE = {kind.name: kind.advice for kind in (GIL, YIELDED) if kind.advice}
