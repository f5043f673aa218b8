#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh THREADS SECONDS: acquisitions per second in the load of DPDK's own tests of its locks, by lcores
# that share the CPUs. Each test first checks what its lock does, and must pass.
threads=$1 seconds=$2
lcores="(0-$((threads - 1)))@(0-$(($(nproc) - 1)))"
for lock in spinlock ticketlock mcslock; do
	# A test loads three times, two of them by one lcore.
	./locks --lcores "$lcores" --no-huge --no-pci --no-shconf --no-telemetry -m 64 --log-level 1 \
		-- $((seconds * 1000 / 9)) "${lock}_autotest" >out 2>&1 || { cat out >&2; exit 1; }
	awk -v lock="$lock" '/with lock on [0-9]+ cores/ { n = us = 0 }
		/^acquired / { n += $2; if ($4 > us) us = $4 }
		END { printf "%s %.6g\n", lock, n * 1e6 / us }' out
done
