#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C++20's std::barrier waits by std::atomic's wait(), which sleeps on a futex, as pthread_barrier_wait() does. One expects
# both to mind a busy neighbour about as little. But libstdc++ calls sched_yield() four times before it sleeps. Beside one
# busy process on its CPU, each of these gives a time slice away, so threads that meet often hardly run.
# Seen with libstdc++ 12.2.0-14+deb12u1, Linux 6.18.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
neighbour=
trap 'rm -rf "$folder"; [ -z "$neighbour" ] || kill "$neighbour"' EXIT
compilers "$folder"
cat >"$folder/meet.cpp" <<'END'
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

constexpr int threads = 4;
static pthread_barrier_t glibcs;
static std::barrier<> libstdcxxs(threads);
static std::atomic<bool> over;

int main(int n, char **)
{
	std::vector<std::thread> all;
	long rounds = 0;
	bool last = false; // written between two meetings

	pthread_barrier_init(&glibcs, nullptr, threads);
	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			for (;; rounds += i == 0) {
				n > 1 ? libstdcxxs.arrive_and_wait() : (void)pthread_barrier_wait(&glibcs);
				if (i == 0)
					last = over;
				n > 1 ? libstdcxxs.arrive_and_wait() : (void)pthread_barrier_wait(&glibcs);
				if (last)
					break;
			}
		});
	std::this_thread::sleep_for(std::chrono::seconds(2));
	over = true;
	for (auto &thread : all)
		thread.join();
	std::printf("%ld %.0f\n", rounds, (double)rounds * CLOCKS_PER_SEC / (double)std::clock());
}
END

# meet [std]: rounds of four threads on one CPU in two seconds, and rounds in a second of their own CPU time, which other
# processes on that CPU hardly change.
meet() {
	taskset -c "$cpu" "$folder/meet" "$@"
}

build g++ -std=c++20 "$folder/meet.cpp" -o "$folder/meet"
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
read -r _ glibc_own <<<"$(meet)"
read -r _ std_own <<<"$(meet std)"
taskset -c "$cpu" sh -c 'while :; do :; done' &
neighbour=$!
read -r glibc_beside _ <<<"$(meet)"
read -r std_beside _ <<<"$(meet std)"
yields=$(calls sched_yield taskset -c "$cpu" "$folder/meet" std)
echo "libstdc++ 12.2.0-14+deb12u1, $(uname -r), four threads that meet on one CPU"
echo "seen without a neighbour, rounds in a second of CPU time: pthread_barrier_t $glibc_own, std::barrier $std_own"
echo "expected beside a busy process: about as much less of each"
echo "seen, rounds in 2 s: pthread_barrier_t $glibc_beside, std::barrier $std_beside, which calls sched_yield() ($yields times under strace)"
if ! { [ "$std_beside" -lt $((glibc_beside / 5)) ] && [ "$std_own" -gt $((glibc_own / 2)) ] && [ "$yields" -gt 100 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
