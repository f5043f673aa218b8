#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh THREADS SECONDS: packets per second that dpdk-testpmd forwards without hardware, by so many cores
# that share the CPUs and take each buffer from one pool: `built_stack` is the one that build.sh has built, the
# others are DPDK's, its usual one first. Every packet that was received has to be sent, and all buffers have
# to be back in the pool.
threads=$1 seconds=$2 buffers=16384 last_cpu=$(($(nproc) - 1))

# Reads what testpmd says, up to a line that has the text.
await() {
	while read -r -u "${pmd[0]}" line; do
		echo "$line" >>out
		[[ $line != *"$1"* ]] || return 0
	done
	cat out >&2
	exit 1
}

measure() {
	: >out
	coproc pmd { HOME=$PWD XDG_RUNTIME_DIR=$PWD exec stdbuf -oL dpdk-testpmd \
		--no-huge -m 256 --no-pci --no-shconf --no-telemetry --log-level=warning \
		--vdev=net_null0 -d "$PWD/librte_mempool_built.so" \
		--lcores "0@0,(1-$threads)@(0-$last_cpu)" --mbuf-pool-ops-name="$1" \
		-- -i --no-lsc-interrupt --nb-cores="$threads" --rxq="$threads" --txq="$threads" \
		--mbcache=0 --total-num-mbufs=$buffers --port-topology=loop 2>&1; }
	pid=$!
	echo 'show port summary 0' >&"${pmd[1]}"
	await 'Number of available ports'
	echo start >&"${pmd[1]}"
	await 'packet forwarding'
	began=$(date +%s%N)
	sleep "$seconds"
	printf 'stop\ndump_mempool mb_pool_0\nquit\n' >&"${pmd[1]}"
	await 'cores to stop'
	took=$(($(date +%s%N) - began))
	await common_pool_count=
	wait "$pid"
	awk -v pool="$1" -v took=$took -v buffers=$buffers -F '[:= ]+' '
		/Accumulated/ { all = 1 }
		all && /RX-packets/ { received = $2 }
		all && /TX-packets/ { sent = $NF }
		/common_pool_count/ { there = $NF }
		END { if (!received || received != sent || there != buffers) exit 1
			printf "%s %.6g\n", pool, received * 1e9 / took }' out || { cat out >&2; exit 1; }
}

for pool in built_stack ring_mp_mc lf_stack; do
	measure $pool
done
