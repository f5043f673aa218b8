#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# taskset and schedulers of jobs give a program a CPU mask, and one expects its threads to stay within. But a mask only says where
# threads start; who binds threads by number may choose any CPU of the machine. ONNX Runtime does so by default: it counts the
# machine's cores, and binds a thread to each of them but the first. nginx does with "worker_cpu_affinity auto", which its
# documentation says takes the CPUs that are available. Only a cpuset keeps them in. So programs that were given a
# CPU each share one nevertheless.
# Seen with ONNX Runtime 1.23.2, nginx 1.22.1-9+deb12u11.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
[ "$(nproc)" -gt 1 ] || { echo "needs two CPUs" >&2; exit 77; }
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait; rm -rf "$folder"' EXIT
packages "$folder" nginx=1.22.1-9+deb12u11 libpcre2-8-0 libssl3 libcrypt1 zlib1g
wheels "$folder" onnxruntime==1.23.2 numpy==2.3.5
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
cat >"$folder/session.py" <<'END'
import os
import time

import onnxruntime
from onnxruntime.datasets import get_example

session = onnxruntime.InferenceSession(get_example("mul_1.onnx"))
mask, outside, end = os.sched_getaffinity(0), 0, time.monotonic() + 30
while not outside and time.monotonic() < end:  # a thread binds itself, once it runs
    masks = [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")]
    outside = sum(not one <= mask for one in masks)
print(outside)
END
onnx=$(taskset -c "$cpu" "$venv/bin/python" "$folder/session.py")
cat >"$folder/nginx.conf" <<END
worker_processes auto;
worker_cpu_affinity auto;
daemon off;
pid $folder/pid;
error_log $folder/log;
events {}
END
taskset -c "$cpu" "$root/usr/sbin/nginx" -p "$folder" -c nginx.conf 2>/dev/null &
server=$!
nginx=0
for _ in $(seq 100); do
	read -ra workers <"/proc/$server/task/$server/children" || true # a line without an end
	for worker in "${workers[@]}"; do
		allowed=$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$worker/status")
		[ "$allowed" = "$cpu" ] || nginx=1
	done
	[ "$nginx" = 0 ] || break
	sleep 0.1
done
echo "programs under taskset -c $cpu, of $(nproc) CPUs"
echo "expected: no thread or process is bound to another CPU"
echo "seen: ONNX Runtime 1.23.2 has $onnx such threads; nginx 1.22.1-9+deb12u11 has such workers: $nginx"
if [ "$onnx" = 0 ] || [ "$nginx" = 0 ]; then
	echo "that has changed" >&2
	exit 1
fi
