#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LLVM's OpenMP runtime has several kinds of locks, chosen by KMP_LOCK_KIND. One expects of `futex` what futexes
# are for: no system call unless somebody waits. But once the program has more OpenMP threads than CPUs, each
# release calls sched_yield(), although nobody waits for the lock. The kind `tas` does so only while it waits.
# Seen with libomp 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packages "$folder" libomp5-14=1:14.0.6-12 strace=6.1-0.1 libunwind8
cat >"$folder/program.py" <<'END'
import ctypes, os, sys, threading

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
openmp = ctypes.CDLL(sys.argv[1])
pairs, others = 20000, 3
known, over = threading.Barrier(others + 1), threading.Event()


def take_a_lock_of_its_own(times):
    lock = ctypes.create_string_buffer(64)
    openmp.omp_init_lock(lock)
    for _ in range(times):
        openmp.omp_set_lock(lock)
        openmp.omp_unset_lock(lock)


def sleep_from_then_on():
    take_a_lock_of_its_own(1)
    known.wait()
    over.wait()


if sys.argv[2] == "crowded":
    for _ in range(others):
        threading.Thread(target=sleep_from_then_on).start()
    known.wait()
take_a_lock_of_its_own(pairs)
over.set()
END

# yields KIND alone|crowded: how often sched_yield() was called in 20,000 pairs without a waiter.
yields() {
	KMP_LOCK_KIND=$1 calls sched_yield python3 "$folder/program.py" "$root/usr/lib/llvm-14/lib/libomp.so.5" "$2"
}

futex_alone=$(yields futex alone) futex_crowded=$(yields futex crowded) tas_crowded=$(yields tas crowded)
echo "libomp 14.0.6-12, one CPU, a thread that takes and releases a lock of its own 20,000 times"
echo "expected: next to no system calls, whatever the kind"
echo "seen: futex: $futex_alone calls of sched_yield() alone, $futex_crowded beside three threads that sleep"
echo "seen: tas: $tas_crowded beside three threads that sleep"
if ! { [ "$futex_alone" -lt 2000 ] && [ "$futex_crowded" -ge 20000 ] && [ "$tas_crowded" -lt 2000 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
