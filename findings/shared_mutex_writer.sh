#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C++'s std::shared_mutex may serve its waiters in any order, and one expects that a writer which waits keeps new readers
# out. LLVM's library does that. GCC's is glibc's rwlock with its default: as long as some reader holds the lock, more
# readers get it, so a writer waits for ever while readers overlap. Which library a compiler brings decides.
# Seen with libstdc++ 12.2.0-14+deb12u1 on glibc 2.36, libc++ 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libc++-14-dev=1:14.0.6-12 libc++1-14=1:14.0.6-12 libc++abi-14-dev=1:14.0.6-12 \
	libc++abi1-14=1:14.0.6-12 libunwind-14=1:14.0.6-12
cat >"$folder/writer.cpp" <<'C'
#include <atomic>
#include <cstdio>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static std::shared_mutex mutex;
static std::atomic<bool> comes, wrote;

int main()
{
	int readers = 0;

	mutex.lock_shared();
	std::thread writer([] {
		comes = true;
		mutex.lock();
		wrote = true;
		mutex.unlock();
	});
	while (!comes)
		usleep(1000);
	sleep(2); // it waits by then
	std::thread([&] {
		for (int i = 0; i < 1000 && !wrote && mutex.try_lock_shared(); i++) {
			readers++;
			mutex.unlock_shared();
		}
	}).join();
	mutex.unlock_shared();
	writer.join();
	std::printf("%d\n", readers);
	return 0;
}
C
build g++ -std=c++20 "$folder/writer.cpp" -o "$folder/gcc"
build g++ -std=c++20 -nostdinc++ -isystem "$root/usr/lib/llvm-14/include/c++/v1" "$folder/writer.cpp" -nodefaultlibs \
	"$root/usr/lib/llvm-14/lib/libc++.so.1" "$root/usr/lib/llvm-14/lib/libc++abi.so.1" -lm -lc -lgcc_s -lgcc -o "$folder/llvm"
gcc=$(unpacked "$folder/gcc")
llvm=$(LD_LIBRARY_PATH=$root/usr/lib/llvm-14/lib:$root/usr/lib/x86_64-linux-gnu "$folder/llvm")
echo "a reader holds a std::shared_mutex, a writer waits: how many of 1,000 further readers get in before it"
echo "expected: 0"
echo "seen: $gcc with libstdc++ 12.2.0-14+deb12u1, $llvm with libc++ 14.0.6-12"
[ "$gcc $llvm" = "1000 0" ] || { echo "that has changed" >&2; exit 1; }
