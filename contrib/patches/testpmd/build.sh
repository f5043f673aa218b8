#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A pool of buffers for DPDK's programs, in place of the source's drivers/mempool/stack: a stack behind a
# spinlock. It is a plug-in, so Debian's dpdk-testpmd can use it. Its names are others than Debian's pools
# have. librte_stack, which only initialises the lock, stays Debian's.
[ -z "$OL_CFLAGS" ] || front="-include overlock/compat/dpdk.h"
pool=drivers/mempool/stack/rte_mempool_stack.c
sed -i 's/\.name = "/&built_/' "$pool"
# shellcheck disable=SC2046,SC2086 # lists of options
gcc -O2 -fPIC -shared $OL_CFLAGS ${front:-} $(pkg-config --cflags libdpdk) -DALLOW_EXPERIMENTAL_API \
	"$pool" -o librte_mempool_built.so -lrte_eal -lrte_mempool -lrte_stack $OL_LIBS
