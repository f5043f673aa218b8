#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# notify_one() of std::atomic wakes one thread, of those that wait for this object. But what is not an int waits in libstdc++
# at one of 16 words that all atomics of the program share, and notify_one() there wakes all threads at the word: those
# that wait for another atomic wake, find nothing changed, and sleep again. An int waits at its own word, but whether
# anybody waits is counted in the 16, so notifying one for which nobody waits may cost a system call each time.
# Seen with libstdc++ 12.2.0-14+deb12u1; 14.2.0 reads the same.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder"
cat >"$folder/strangers.cpp" <<'C'
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

struct alignas(64) Word {
	std::atomic<TYPE> value{0};
};
static Word words[5];

int main(int n, char **)
{
	std::vector<std::thread> waiters;

	if (n > 1)
		for (int i = 1; i < 5; i++)
			waiters.emplace_back([=] { words[i].value.wait(0); });
	usleep(500000);
	for (int i = 0; i < 100; i++) {
		words[0].value.notify_one(); // nobody waits for it
		usleep(5000);
	}
	for (int i = 1; i < 5; i++) {
		words[i].value = 1;
		words[i].value.notify_one();
	}
	for (auto &waiter : waiters)
		waiter.join();
	return 0;
}
C
# seen TYPE [waiters]: how often threads went to sleep, and were to be woken, by futex.
seen() {
	build g++ -std=c++20 "-DTYPE=$1" "$folder/strangers.cpp" -o "$folder/strangers"
	unpacked "$root/usr/bin/strace" -f -e trace=futex -o "$folder/trace" "$folder/strangers" "${@:2}"
	echo "$(grep -cE 'FUTEX_WAIT,' "$folder/trace") $(grep -cE 'FUTEX_WAKE,' "$folder/trace")"
}
alone=$(seen long) long=$(seen long waiters) int=$(seen int waiters)
echo "libstdc++ 12.2.0-14+deb12u1; notify_one(), 100 times, of an atomic for which nobody waits; sleeps and wakes by futex"
echo "expected: 0 0; beside four threads that wait for one atomic each, about 4 4"
echo "seen: $alone alone; $long beside them if all are of type long, $int if of type int"
read -r long_sleeps long_wakes int_sleeps int_wakes <<<"$long $int"
if ! { [ "$alone" = "0 0" ] && [ "$long_sleeps" -gt 100 ] && [ "$long_wakes" -ge 100 ] &&
	[ "$int_sleeps" -lt 20 ] && [ "$int_wakes" -ge 100 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
