#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# DPDK's own tests of its locks, from app/test, linked with the system's libdpdk. Their load ends by time
# instead of after 10000 acquisitions, which with FIFO locks and few CPUs would take hours.
# Of the source's headers, only those that Debian does not install are used.
[ -z "$OL_CFLAGS" ] || front="-include overlock/compat/dpdk.h"
tests=(app/test/test_spinlock.c app/test/test_ticketlock.c app/test/test_mcslock.c)
sed -i 's/^#define MAX_LOOP.*/uint64_t max_loop(void);\n#define MAX_LOOP max_loop()/' "${tests[@]}"
# shellcheck disable=SC2046,SC2086 # lists of options
gcc -O2 $OL_CFLAGS ${front:-} $(pkg-config --cflags libdpdk) -DALLOW_EXPERIMENTAL_API -Iapp/test \
	-idirafter lib/eal/include \
	"$OL_HERE/main.c" "${tests[@]}" -o locks -lrte_eal $OL_LIBS
