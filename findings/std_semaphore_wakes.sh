#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C++20's std::counting_semaphore and std::binary_semaphore are the light ones, the standard's note says, and glibc's sem_t
# needs no system call while nobody waits. But libstdc++'s release() calls the kernel whenever the count was 0,
# whether or not anybody waits, so a binary semaphore around a section costs a call each time. And that call wakes all
# waiters for the one unit, not one of them.
# Seen with libstdc++ 12.2.0-14+deb12u1; 14.2.0 reads the same.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder"
cat >"$folder/units.cpp" <<'C'
#include <cstdlib>
#include <semaphore>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <vector>

static sem_t glibcs;
static std::counting_semaphore<> counting(0);
static std::binary_semaphore binary(0);

static void release(char kind)
{
	kind == 'g' ? (void)sem_post(&glibcs) : kind == 'c' ? counting.release() : binary.release();
}

static void acquire(char kind)
{
	kind == 'g' ? (void)sem_wait(&glibcs) : kind == 'c' ? counting.acquire() : binary.acquire();
}

int main(int, char **words)
{
	const char kind = words[1][0];
	std::vector<std::thread> waiters;

	sem_init(&glibcs, 0, 0);
	if (!words[2])
		for (int i = 0; i < 1000; i++) {
			release(kind);
			acquire(kind);
		}
	else {
		for (int i = 0; i < 8; i++)
			waiters.emplace_back([=] { acquire(kind); });
		sleep(2); // they sleep by then
		for (auto &waiter : waiters) {
			release(kind);
			usleep(100000);
		}
		for (auto &waiter : waiters)
			waiter.join();
	}
	return 0;
}
C
build g++ -std=c++20 "$folder/units.cpp" -o "$folder/units"

# woken KIND: how many threads the first release() of one unit wakes.
woken() {
	unpacked "$root/usr/bin/strace" -f -e trace=futex -o "$folder/trace" "$folder/units" "$1" waiters
	sed -nE '/FUTEX_WAKE.*= [0-9]+$/ { s/.*= //p; q }' "$folder/trace"
}
glibc=$(calls futex "$folder/units" g) counting=$(calls futex "$folder/units" c) binary=$(calls futex "$folder/units" b)
glibc_woken=$(woken g) counting_woken=$(woken c)
echo "libstdc++ 12.2.0-14+deb12u1; futex calls of a thread that releases and acquires 1,000 times, alone"
echo "expected: 0; and with 8 waiters, that the release of one unit wakes one"
echo "seen: sem_t $glibc, std::counting_semaphore $counting, std::binary_semaphore $binary"
echo "seen: sem_t wakes $glibc_woken, std::counting_semaphore wakes $counting_woken"
if [ "$glibc $counting $binary $glibc_woken" != "0 1000 1000 1" ] || [ "$counting_woken" -lt 2 ]; then
	echo "that has changed" >&2
	exit 1
fi
