# SPDX-License-Identifier: MIT
"""What a thread waits for, by the functions that it has called, or by what threads do there."""

import json
from typing import Any

import pytest

from overlock_tools.core.system import reading
from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import functions, kinds, placing
from overlock_tools.profile.kinds import Step, Use
from overlock_tools.profile.seen import Lock
from tests.profile.test_report import lock

# As llvm-symbolizer writes them, of rustc 1.95, g++ 12, clang 14, Zig 0.13.
QUALIFIED = [
    ("<std::sys::sync::mutex::futex::Mutex>::lock_contended",
     "std::sys::sync::mutex::futex::Mutex::lock_contended"),
    ("std::sync::poison::mutex::Mutex$LT$T$GT$::lock::hd839dee0b7fe0268",
     "std::sync::poison::mutex::Mutex::lock"),
    ("_$LT$parking_lot..raw_mutex..RawMutex$u20$as$u20$lock_api..mutex..RawMutex$GT$::lock::"
     "h38cafc12b9ac3a13", "parking_lot::raw_mutex::RawMutex::lock"),
    ("<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), Output = ()> + core::marker::Send> as "
     "core::ops::function::FnOnce<()>>::call_once", "alloc::boxed::Box::call_once"),
    ("core::ptr::drop_in_place::<std::sys::Handler>", "core::ptr::drop_in_place"),
    ("std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::h91946ac124a9a9c0 (.llvm.128478)",
     "std::rt::lang_start::{closure}"),
    ("absl::debian3::Mutex::LockSlow(absl::debian3::MuHowS const*, absl::debian3::Condition const*"
     ", int)", "absl::Mutex::LockSlow"),
    ("void std::__atomic_wait_address<int, std::latch::wait() const::'lambda'()>(int const*, "
     "std::latch::wait() const::'lambda'())", "std::__atomic_wait_address"),
    ("std::__1::mutex::lock()", "std::mutex::lock"),
    ("Queue<std::pair<int, char>>::push(std::function<void (int)>) const", "Queue::push"),
    ("bool operator<< <A>(A const&, A const&)", "operator"),
    ("(anonymous namespace)::Cache::find(int)", "{anonymous}::Cache::find"),
    ("section.constprop.0.isra.0", "section"),
    ("__GI___lll_lock_wait", "__lll_lock_wait"),
    ("runtime.(*mutex).lock", "runtime..lock"),
    ("Thread.Mutex.FutexImpl.lockSlow", "Thread.Mutex.FutexImpl.lockSlow"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "qualified"), QUALIFIED)
def test_qualified_names(name: str, qualified: str) -> None:
    assert functions.qualified(name) == qualified


def test_who_passed_a_lambda() -> None:
    name = "void f<int, std::latch::wait() const::'lambda'()>(int const*)"
    assert list(functions.passed_by(name)) == ["std::latch::wait"]
    name = "std::thread::_State_impl<std::_Invoker<std::tuple<main::'lambda'()> > >::_M_run()"
    assert list(functions.passed_by(name)) == ["main"]


def steps(*names: str) -> list[Step]:
    """Innermost first; a name after `/` is of that object, a library."""
    return [
        Step(Call(name.rpartition("/")[2]), name.rpartition("/")[0], "/" in name) for name in names
    ]


RUST = "std::sys::pal::unix::futex::futex_wait"
PARKED = (RUST, "std::sys::sync::thread_parking::futex::Parker::park", "std::thread::park")
ABSL = "absl::debian3::synchronization_internal::Waiter::Wait(absl::KernelTimeout)"
SLOW = "absl::debian3::Mutex::LockSlowLoop(absl::debian3::SynchWaitParams*, int)"
GLIBC = "__futex_abstimed_wait_common64"
# What is called, what it is, whether that is a lock.
BY_NAME = [
    # A function around a lock is called as another kind's are.
    ((RUST, "<std::sys::sync::mutex::futex::Mutex>::lock_contended",
      "core::ops::function::FnOnce::call_once$u7b$$u7b$vtable.shim$u7d$$u7d$::h0cfae8fc413a44cf"),
     "mutex", Use.LOCK),
    ((ABSL, "AbslInternalPerThreadSemWait_debian3", SLOW,
      "absl::debian3::Mutex::LockSlow(absl::debian3::MuHowS const*, absl::debian3::Condition "
      "const*, int)", "absl::debian3::Mutex::Lock()", "hot()"), "mutex", Use.LOCK),
    ((ABSL, SLOW, "absl::lts_20230125::Mutex::Await(absl::Condition const&)", "f()"),
     "condition", Use.PURPOSE),
    ((ABSL, "absl::CondVar::WaitCommon(absl::Mutex*, int)", "f()"), "condition", Use.PURPOSE),
    ((RUST, "std::sys::sync::condvar::futex::Condvar::wait", "pool::work"),
     "condition", Use.PURPOSE),
    ((RUST, "std::sys::sync::condvar::futex::Condvar::wait", "std::sync::barrier::Barrier::wait"),
     "barrier", Use.PURPOSE),
    (PARKED, "park", Use.PURPOSE),
    ((*PARKED, "std::sync::mpmc::list::Channel$LT$T$GT$::recv::hfa373b400e64e68e"),
     "queue", Use.PURPOSE),
    (("parking_lot_core::parking_lot::park::hea83184d53c34dbe",
      "parking_lot::raw_mutex::RawMutex::lock_slow::hde81d12cff3dc271"), "mutex", Use.LOCK),
    (("parking_lot_core::parking_lot::park", "parking_lot::condvar::Condvar::wait_until_internal"),
     "condition", Use.PURPOSE),
    (("nsync_mu_semaphore_p", "nsync_mu_lock_slow_", "f"), "mutex", Use.LOCK),
    (("nsync_mu_semaphore_p", "nsync_cv_wait_with_deadline_generic", "f"),
     "condition", Use.PURPOSE),
    (("futex_wait", "__GI___lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait"),
     "mutex", Use.LOCK),  # it has been signalled, and wants the mutex back
    ((GLIBC, "__pthread_cond_wait_common", "pthread_cond_wait", "f"), "condition", Use.PURPOSE),
    ((GLIBC, "pthread_cond_timedwait", "take_gil"), "Python's GIL", Use.LOCK),
    ((GLIBC, "__pthread_clockjoin_ex", "std::thread::join()", "f"), "join", Use.PURPOSE),
    (("__lll_lock_wait_private", "libc.so.6/free", "f"), "lock of a library", Use.LOCK),
    (("__syscall_cp_c", "pthread_mutex_lock", "first_section"), "mutex", Use.LOCK),
    (("pthread_rwlock_rdlock", "f"), "rwlock", Use.LOCK),
    (("void std::__atomic_wait_address<int, std::latch::wait() const::'lambda'()>(int const*)",
      "f()"), "latch", Use.PURPOSE),
    (("libgomp.so.1/libgomp.so.1+0x1df5f", "start_thread"), "barrier", Use.PURPOSE),
    (("libgomp.so.1/libgomp.so.1+0x1df5f", "libgomp.so.1/GOMP_critical_start", "f"),
     "OpenMP lock", Use.LOCK),
    (("sched_yield", "libomp.so.5/libomp.so.5+0xa0a5c", "libomp.so.5/__kmpc_unset_lock"),
     "OpenMP lock's release", Use.LOCK),
    (("tbb::detail::r1::wait_on_address(void*, int)", "f()"), "mutex", Use.LOCK),
    (("Thread.Futex.LinuxImpl.wait", "Thread.Mutex.FutexImpl.lockSlow", "main.hot"),
     "mutex", Use.LOCK),
    (("runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.stopm"),
     "Go's scheduler", Use.PURPOSE),
]  # fmt: skip


def seen_lock(**more: Any) -> Lock:
    none: dict[str, Any] = {"owners": 0, "value": 0}
    made: Lock = reading.made(Lock, json.loads(json.dumps(lock(**none | more))), "a lock")
    return made


@pytest.mark.parametrize(("names", "name", "use"), BY_NAME)
def test_by_what_is_called(names: tuple[str, ...], name: str, use: Use) -> None:
    kind = kinds.of(seen_lock(), steps(*names))
    assert (kind.name, kind.use) == (name, use)


@pytest.mark.parametrize(
    "name",
    [
        "wait_for(std::condition_variable&, Condition)",
        "my_mutex_lock",
        "Cache<std::mutex>::lock_all()",
    ],
)
def test_a_name_that_sounds_alike_tells_nothing(name: str) -> None:
    kind = kinds.of(seen_lock(value=2), steps("syscall", name))
    assert kind.use == Use.UNKNOWN


LIKE_A_LOCK = {"behaves": True, "own": 50, "woke": 100, "by_waiters": 100}
LIKE_A_QUEUE = {"own": 0, "woke": 100, "by_waiters": 1, "came_back": 50}
HOARDED = {"own": 0, "woke": 100, "by_waiters": 0}  # by one thread, which so never waits


@pytest.mark.parametrize(
    ("names", "use", "name", "is_it"),
    [
        (("sem_wait", "f"), LIKE_A_LOCK, "semaphore used as a lock", Use.LOCK),
        (("__new_sem_wait_slow64", "f"), LIKE_A_QUEUE, "semaphore", Use.PURPOSE),
        (("sem_wait", "f"), HOARDED, "semaphore", Use.UNKNOWN),
        (("sem_wait", "f"), {"own": 2, "woke": 9}, "semaphore", Use.UNKNOWN),
        (("prog+0x10",), LIKE_A_LOCK, "lock", Use.LOCK),
        (("prog+0x10",), LIKE_A_QUEUE, "unknown futex", Use.UNKNOWN),
    ],
)
def test_by_what_threads_do(
    names: tuple[str, ...], use: dict[str, Any], name: str, is_it: Use
) -> None:
    kind = kinds.of(seen_lock(**use), steps(*names))
    assert (kind.name, kind.use) == (name, is_it)


def test_a_variable_tells_where_no_function_does() -> None:
    """Debian's python3 has no symbols but for those that it exports."""
    found = kinds.of(
        seen_lock(), steps("pthread_cond_timedwait", "python3.11+0x4f"), "_PyRuntime+8"
    )
    assert found.name == "Python's GIL"


def test_the_place_is_outside_of_libraries() -> None:
    found = tuple(steps(RUST, "std::sync::poison::mutex::Mutex$LT$T$GT$::lock", "two::section"))
    assert placing.site(found).function == "two::section"


def test_a_closure_inside_a_library_s_function_is_a_place() -> None:
    found = tuple(steps(RUST, "std::sys::sync::mutex::futex::Mutex::lock", "std::backtrace::begin"))
    assert placing.site(found).function == "std::backtrace::begin"


def test_what_locks_share_is_no_place_of_theirs() -> None:
    """No function has a name: the innermost ones are the lock's own."""
    found = placing.sites(
        {
            1: tuple(steps("libc.so.6/syscall", "prog+0x10", "prog+0x20", "prog+0x99")),
            2: tuple(steps("libc.so.6/syscall", "prog+0x10", "prog+0x30", "prog+0x99")),
        }
    )
    assert [found[address].function for address in (1, 2)] == ["prog+0x20", "prog+0x30"]
