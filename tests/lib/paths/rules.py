# SPDX-License-Identifier: MIT
"""What a thread may call while it waits for a lock, releases one, or has just forked.

The program may hold any lock then, its allocator's among them, and may be about to end the
thread. So nothing there may allocate, use stdio or the loader, wait for anything but the lock, or
be a cancellation point. Whatever is not named here is refused. A name that ends with `*` stands
for all that begin so; a name without a file is no file's own.
"""

# Functions of other libraries, and why each is harmless.
ALLOWED = {
    "bytes only": """memchr memcmp memcpy memmove memset stpcpy stpncpy strchr strcmp strcpy strcspn
        strlen strncmp strrchr strstr""",
    "system calls that are no cancellation points, and take no time to speak of": """access
        clock_gettime fchmod fcntl fstat getpgrp getpid getrlimit getrusage mmap mremap munmap prctl
        rename sched_getaffinity sched_getcpu sched_getparam sched_getscheduler sched_yield
        setsockopt sigaction sigpending socket stat tcgetattr tcgetpgrp unlink""",
    "by its number: lib/bare.h and its like, which this cannot see into": "syscall",
    "of the calling thread alone": """__errno_location getcontext makecontext
        pthread_setcancelstate pthread_setcanceltype pthread_sigmask sigaddset sigemptyset
        sigismember swapcontext __sched_cpucount""",
    "allocates for keys from the 32nd on, and ours is made at the start": "pthread_setspecific",
    "reads the environment; by the child of a fork, which has one thread": "secure_getenv",
    "by tables, once they are loaded, which happens at the start": "backtrace",
    "of a constant": "strerrordesc_np",
    "wakes, and waits for nobody: a signal handler's": "sem_post",
    "ends the program": "abort _exit __stack_chk_fail",
    "sets an attribute on the stack": """pthread_condattr_init pthread_condattr_setclock
        pthread_condattr_setpshared pthread_mutexattr_init pthread_mutexattr_settype
        pthread_rwlockattr_init pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared""",
    "reads an attribute of the caller's": "pthread_barrierattr_getpshared",
    "libstdc++'s demangler writes numbers by it, into an array of its own": "sprintf",
}

# Not followed, and why.
LEFT_OUT = {
    "ol_run_start": "once in a process, by its first call or our constructor",
    "openmp.c:learn": "once for each place that calls OpenMP's locks, before the lock is asked for",
}

OPS = ["lock_unit.c:do_*", "outside.c:do_*"]  # of any lock; glibc's, if it is left to that
CLEAN_UPS = "glibc's list of clean-up handlers, of the thread alone"
OPENMP = "the runtime's, if the lock is left to that"

# Functions that call through pointers, and what these may point to. What is no function of the
# library is in words.
POINTERS: dict[str, list[str]] = {
    "pthread_mutex_*": OPS,
    "pthread_rwlock_*": ["glibc's rwlock"],
    "pthread_spin_*": OPS,
    "pthread_barrier_*": ["glibc's barrier"],
    "pthread_cond_*": ["glibc's condition variable"],
    "mtx_*": OPS,
    "cnd_*": ["glibc's condition variable"],
    "mutex.c:*": OPS,
    "spin.c:*": OPS,
    "outside.c:*": [*OPS, "misuse.c:is_held"],
    "ol_run_outside_*": [*OPS, "misuse.c:is_held"],
    "ol_run_mutex_*": OPS,
    "ol_run_gate_*": [*OPS, CLEAN_UPS],
    "ol_run_spin_*": OPS,
    "ol_run_sleepers_release": OPS,
    "ol_run_wait_realtime": [*OPS, "glibc's mutex, of the list", CLEAN_UPS],
    "ol_run_hand_to_realtime": [*OPS, "glibc's mutex, of the list"],
    "ol_clock": ["clock.c:by_system_call", "the kernel's vDSO"],
    "ol_clock_read": ["clock.c:by_system_call", "the kernel's vDSO"],
    "ol_run_barrier_*": ["barrier.c:ol_*", "glibc's barrier"],
    "barrier.c:*": ["barrier.c:ol_*", "glibc's barrier"],
    "ol_run_cond_*": ["glibc's condition variable"],
    "cond.c:*": [CLEAN_UPS],
    "gate.c:*": [*OPS, CLEAN_UPS],
    "sleep.c:*": ["glibc's mutex, of the list", CLEAN_UPS],
    "ol_run_wait_begin": [CLEAN_UPS],
    "ol_run_wait_end": ["glibc's mutex, of the list", CLEAN_UPS],
    "start.c:find_my_id": ["glibc's mutex, on the stack"],
    "ol_run_self": ["glibc's mutex, on the stack"],
    "rwlock.c:*": ["rwlock.c:*", "sleep.c:polled"],
    "ol_run_rwlock_*": ["rwlock.c:*", "sleep.c:polled", "glibc's rwlock"],
    "lock_unit.c:*": ["sleep.c:polled"],  # OL_POLL_HOOK
    "ol_yield": ["sleep.c:polled"],
    "ol_yield_to": ["sleep.c:polled"],
    "ol_park": ["sleep.c:polled"],
    "context.c:*": ["context.c:id_below", "context.c:slot_below"],
    "rseq.c:*": ["rseq.c:has", "rseq.c:enable", "rseq.c:yield", "rseq.c:registered"],
    "ol_rseq_*": ["rseq.c:has", "rseq.c:enable", "rseq.c:yield", "rseq.c:registered"],
    "ol_defer_*": ["rseq.c:has", "rseq.c:enable", "rseq.c:yield", "rseq.c:registered"],
    "waits.c:*": ["misuse.c:look", "stacks.c:take"],
    "ol_count_*": ["misuse.c:look", "stacks.c:take"],
    "stacks.c:*": ["stacks.c:take"],
    "ol_stack_take": ["stacks.c:take"],
    "ol_sites_take_for_hold": ["stacks.c:take"],
    "ol_run_object_at": ["glibc's _dl_find_object(), which takes no lock"],
    "symbols.c:begin": ["choice.c:learn", "misuse.c:put_found"],  # reports are no wait's
    "symbols.c:each_in": ["choice.c:look_at", "symbols.c:take_name"],
    "ol_run_symbols_each": ["choice.c:look_at", "symbols.c:take_name"],
    "ol_run_rules_each": ["report_text.c:put_rule"],
    "report.c:*": ["ol_run_report_write_found"],  # the whole report is no wait's
    "ol_run_string_put": ["none: a switch"],
    "symbols.c:add_argument": ["none: a switch"],
    "cp-demangle.o:*": ["ol_run_string_add"],
    "omp_*": [*OPS, OPENMP],
    "__kmpc_*": [*OPS, OPENMP],
    "GOMP_*": [*OPS, OPENMP],
    "openmp.c:*": [*OPS, OPENMP],
}

# Asked before anybody waits.
NO_WAIT = {
    *("__register_atfork", "ol_calibration", "ol_find_lock", "ol_get_tunable"),
    *("ol_set_tunable", "ol_sources", "dlmopen", "prctl"),
}
# What no caller names: what glibc calls in the child of a fork, and the tables of locks.
ALSO = ("start.c:child", "platform.c:child", "lock_unit.c:do_*")
