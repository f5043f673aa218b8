#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OMP_PROC_BIND=true binds the threads of OpenMP's parallel regions to CPUs. One expects it to do nothing before
# the first such region. But GCC's runtime binds the thread that loads it, when it is loaded. All threads and
# processes that are started later, which need not be OpenMP's, inherit this one CPU: a pool with a thread per CPU
# has one thread, or has all of them on one CPU. LLVM's runtime does the same when it is first asked for something.
# Seen with libgomp 12.2.0-14+deb12u1 and libomp 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
[ "$(nproc)" -gt 1 ] || { echo "needs two CPUs, of two cores" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packages "$folder" libgomp1=12.2.0-14+deb12u1 libomp5-14=1:14.0.6-12
cat >"$folder/program.py" <<'END'
import ctypes, os, subprocess, sys, threading


def thread():
    found = []
    one = threading.Thread(target=lambda: found.append(len(os.sched_getaffinity(0))))
    one.start()
    one.join()
    return found[0]


def tell(what, cpus, end=", "):
    print(f"{what}: {'all' if cpus == all_cpus else 'fewer'}", end=end)


all_cpus = len(os.sched_getaffinity(0))
openmp = ctypes.CDLL(sys.argv[1])
tell("loaded", len(os.sched_getaffinity(0)))
said = openmp.omp_get_num_procs()
tell("asked for something", len(os.sched_getaffinity(0)))
tell("a thread", thread())
tell("a process", int(subprocess.check_output(["nproc"])))
tell("omp_get_num_procs()", said, "\n")
END
seen() { OMP_PROC_BIND=true python3 "$folder/program.py" "$1"; }

gcc=$(seen "$root/usr/lib/x86_64-linux-gnu/libgomp.so.1")
llvm=$(seen "$root/usr/lib/llvm-14/lib/libomp.so.5")
later="asked for something: fewer, a thread: fewer, a process: fewer, omp_get_num_procs(): all"
echo "CPUs that a program without a parallel region may use, with OMP_PROC_BIND=true, of $(nproc)"
echo "expected: all"
echo "seen, libgomp 12.2.0-14+deb12u1: $gcc"
echo "seen, libomp 14.0.6-12: $llvm"
if [ "$gcc" != "loaded: fewer, $later" ] ||
	[ "$llvm" != "loaded: all, $later" ]; then
	echo "that has changed" >&2
	exit 1
fi
