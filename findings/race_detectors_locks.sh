#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Race detectors follow a program's locks. So one expects no report for a counter that is only incremented under a lock of
# the C or C++ library. But they follow the functions that somebody has taught them: neither GCC's nor Clang's ThreadSanitizer
# knows C11's mtx_lock(), nor what std::timed_mutex::try_lock_for() calls, which is pthread_mutex_clocklock(), and each
# reports a race. Helgrind and DRD know the former; Helgrind reports the latter.
# Seen with gcc 12.2.0-14+deb12u1, Clang 14.0.6, Valgrind 3.19.0, glibc 2.36.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libtsan2 clang-14=1:14.0.6-12 libclang-cpp14=1:14.0.6-12 libllvm14=1:14.0.6-12 \
	libclang-common-14-dev=1:14.0.6-12 libclang-rt-14-dev=1:14.0.6-12 libedit2 libxml2 libicu72 libbsd0 libmd0 \
	libtinfo6 libz3-4 libffi8 valgrind=1:3.19.0-1 libc6-dbg
cat >"$folder/counter.cpp" <<'C'
#include <chrono>
#include <mutex>
#include <pthread.h>
#include <threads.h>

static std::timed_mutex timed;
static std::mutex plain;
static mtx_t c11;
static long counter;

static void *count(void *unused)
{
	for (int i = 0; i < 1000; i++) {
#if LOCK == 0
		plain.lock();
		counter++;
		plain.unlock();
#elif LOCK == 1
		mtx_lock(&c11);
		counter++;
		mtx_unlock(&c11);
#else
		while (!timed.try_lock_for(std::chrono::seconds(100)))
			;
		counter++;
		timed.unlock();
#endif
	}
	return unused;
}

int main()
{
	pthread_t threads[2];

	mtx_init(&c11, mtx_plain);
	for (auto &thread : threads)
		pthread_create(&thread, nullptr, count, nullptr);
	for (auto &thread : threads)
		pthread_join(thread, nullptr);
	return counter != 2000;
}
C
# Helgrind aborts without the C library's symbols. Valgrind looks for them where the machine has its own, and here by the
# library's folder.
mkdir -p "$folder/symbols/$root/lib/x86_64-linux-gnu"
ln -s "$root"/usr/lib/debug/.build-id/*/*.debug "$folder/symbols/$root/lib/x86_64-linux-gnu"
# reports TOOL LOCK: whether it reports anything of the program with that lock.
reports() {
	local flags=(-g "-DLOCK=$2" "$folder/counter.cpp" -o "$folder/counter") said
	case $1 in
	gcc) build g++ -fsanitize=thread "${flags[@]}" ;;
	clang)
		unpacked "$root/usr/lib/llvm-14/bin/clang++" --sysroot="$root" -B "$root/usr/bin/x86_64-linux-gnu-" \
			-O2 -pthread -fsanitize=thread "${flags[@]}"
		;;
	*) build g++ "${flags[@]}" ;;
	esac
	case $1 in
	gcc | clang) said=$(unpacked "$folder/counter" 2>&1 || true) ;;
	*)
		said=$(VALGRIND_LIB=$root/usr/libexec/valgrind unpacked "$root/usr/bin/valgrind" "--tool=$1" \
			--extra-debuginfo-path="$folder/symbols" "$folder/counter" 2>&1 || true)
		;;
	esac
	if grep -qE 'WARNING: ThreadSanitizer|ERROR SUMMARY: [1-9]' <<<"$said"; then
		echo reported
	elif [ -z "$said" ] || grep -q 'ERROR SUMMARY: 0' <<<"$said"; then
		echo -
	else
		echo "failed: $said"
	fi
}
seen=
for tool in gcc clang helgrind drd; do
	seen+="$tool: $(reports "$tool" 0) $(reports "$tool" 1) $(reports "$tool" 2)"$'\n'
done
echo "a counter under std::mutex, C11's mtx_t, and std::timed_mutex by try_lock_for()"
echo "expected: - - -"
printf 'seen: %s' "${seen//$'\n'/$'\n'      }" | sed '$d'
[ "$seen" = "gcc: - reported reported
clang: - reported reported
helgrind: - - reported
drd: - - -
" ] || { echo "that has changed" >&2; exit 1; }
