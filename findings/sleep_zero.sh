#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sleep of zero seconds is a way to say "let others run", one guesses, and costs about what sched_yield() costs. In CPython
# time.sleep(0) really sleeps: the thread leaves the CPU though nobody else wants it, and comes back when a timer
# has expired, which without realtime priority takes the timer slack of 50 us and more. C++'s sleep_for(0s) of
# libstdc++ does nothing at all, so a loop that waits with it spins. usleep(0) sleeps.
# Seen with CPython 3.11.2, libstdc++ 12.2.0-14+deb12u1, glibc 2.36.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
cat >"$folder/zero.cpp" <<'C'
#include <chrono>
#include <cstdio>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

int main(int, char **words)
{
	rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < 1000; i++)
		switch (words[1][0]) {
		case 'f':
			std::this_thread::sleep_for(std::chrono::seconds(0));
			break;
		case 'u':
			usleep(0);
			break;
		case 'y':
			sched_yield();
		}
	getrusage(RUSAGE_THREAD, &after);
	std::printf("%ld\n", after.ru_nvcsw - before.ru_nvcsw);
	return 0;
}
C
cat >"$folder/zero.py" <<'END'
import resource
import time

before = resource.getrusage(resource.RUSAGE_THREAD)
for _ in range(1000):
    time.sleep(0)
after = resource.getrusage(resource.RUSAGE_THREAD)
print(after.ru_nvcsw - before.ru_nvcsw)
END
build g++ -std=c++20 "$folder/zero.cpp" -o "$folder/zero"
export PYTHONHOME=$root/usr
unpacked "$root/usr/bin/python3.11" --version
python=$(unpacked "$root/usr/bin/python3.11" "$folder/zero.py")
for_zero=$(unpacked "$folder/zero" f) usleep=$(unpacked "$folder/zero" u) yield=$(unpacked "$folder/zero" y)
echo "1,000 sleeps of zero seconds: how often the thread slept"
echo "expected: 0, as with sched_yield(), which did so $yield times"
echo "seen: time.sleep(0) $python, usleep(0) $usleep, sleep_for(0s) $for_zero"
naps=$(calls clock_nanosleep "$folder/zero" f) yields=$(calls sched_yield "$folder/zero" f)
echo "expected of sleep_for(0s): 1,000 system calls"
echo "seen: $((naps + yields))"
if ! { [ "$python" -ge 900 ] && [ "$usleep" -ge 900 ] && [ "$yield" -lt 100 ] && [ "$((naps + yields))" = 0 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
