#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One thread fills 16 bytes by memset(), another reads one of them, without a lock: a data race. Clang's
# ThreadSanitizer reports it. GCC turns a memset() of constant length into stores after its sanitizer has passed
# over the code, so nothing announces them, and the race is not reported: with -O1 and -O2 the writer's function
# calls nothing of the sanitizer's but entry and exit.
# Seen with gcc 12.2.0-14+deb12u1; Clang 14.0.6 beside it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libtsan2 clang-14=1:14.0.6-12 libclang-cpp14=1:14.0.6-12 libllvm14=1:14.0.6-12 \
	libclang-common-14-dev=1:14.0.6-12 libclang-rt-14-dev=1:14.0.6-12 libedit2 libxml2 libicu72 libbsd0 libmd0 \
	libtinfo6 libz3-4 libffi8
cat >"$folder/race.c" <<'C'
#include <pthread.h>
#include <string.h>

static char bytes[16];
static volatile int sum;

static void *fill(void *unused)
{
	for (int i = 0; i < 20000; i++)
		memset(bytes, i, sizeof(bytes));
	return unused;
}

static void *look(void *unused)
{
	for (int i = 0; i < 20000; i++)
		sum += bytes[3];
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, 0, fill, 0);
	pthread_create(&b, 0, look, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
C

# races COMPILER...: how many reports the program gives, by that compiler with -O2.
races() {
	unpacked "$@" --sysroot="$root" -B "$root/usr/bin/x86_64-linux-gnu-" -O2 -g -fsanitize=thread -pthread \
		"$folder/race.c" -o "$folder/race"
	unpacked "$folder/race" 2>&1 | grep -c 'WARNING: ThreadSanitizer: data race' || true
}

unpacked "$root/usr/bin/gcc-12" --version | sed -n 1p
unpacked "$root/usr/lib/llvm-14/bin/clang" --version | sed -n 1p
gcc=$(races "$root/usr/bin/gcc-12")
clang=$(races "$root/usr/lib/llvm-14/bin/clang")
echo "expected: each reports at least one data race"
echo "seen: gcc's reports $gcc, clang's $clang"
if ! { [ "$gcc" = 0 ] && [ "$clang" -gt 0 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
