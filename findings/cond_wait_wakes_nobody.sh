#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mutex of glibc makes a system call at its release only if somebody may sleep for it: none where no second thread ever
# touches it. But whoever returns from pthread_cond_wait() or pthread_cond_timedwait() has
# the mutex in the state "somebody sleeps", and the next release calls the kernel to wake nobody. That was right while a
# broadcast moved waiters to the mutex; since glibc 2.25 none does. So each wait at a condition costs a second call.
# Seen with glibc 2.36, and by hand with 2.41.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder"
cat >"$folder/waits.c" <<'C'
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *other(void *unused)
{
	pause();
	return unused;
}

int main(int n, char **words)
{
	struct timespec until;
	pthread_t thread;

	(void)words;
	pthread_create(&thread, 0, other, 0); /* glibc knows whether there is one */
	for (int i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += (until.tv_nsec += 100000) / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&mutex);
		if (n > 1)
			pthread_cond_timedwait(&never, &mutex, &until);
		pthread_mutex_unlock(&mutex);
	}
	printf("glibc %s\n", gnu_get_libc_version());
	return 0;
}
C
build gcc "$folder/waits.c" -o "$folder/waits"
unpacked "$folder/waits"
without=$(calls futex "$folder/waits")
with=$(calls futex "$folder/waits" wait)
echo "a thread takes and releases a mutex 1,000 times that no other thread uses; futex calls"
echo "expected: 0, and 1,000 if it waits at a condition in between until 0.1 ms have passed"
echo "seen: $without, and $with"
[ "$without $with" = "0 2000" ] || { echo "that has changed" >&2; exit 1; }
