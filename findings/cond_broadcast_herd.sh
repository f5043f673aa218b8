#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who calls pthread_cond_broadcast() while it holds the mutex wakes threads that cannot go on yet. Textbooks say that the
# waiters are therefore moved to the mutex, and sleep on until it is their turn. musl does so: each waiter sleeps
# once for each broadcast. glibc did, and does not since 2.25: all of them wake, find the mutex taken, and sleep a second
# time.
# Seen with glibc 2.36, and by hand with 2.41; musl 1.2.3-1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" musl=1.2.3-1 musl-dev=1.2.3-1
cat >"$folder/herd.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { waiters = 16, rounds = 50 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static int round_now, arrived;
static long threads[waiters], sleeps;

static void *wait(void *mine)
{
	struct rusage before, after;

	pthread_mutex_lock(&mutex);
	*(long *)mine = syscall(SYS_gettid);
	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < rounds; i++) {
		arrived++;
		while (round_now == i)
			pthread_cond_wait(&next, &mutex);
	}
	getrusage(RUSAGE_THREAD, &after);
	sleeps += after.ru_nvcsw - before.ru_nvcsw;
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* Whether the kernel says that all of them sleep. */
static int all_sleep(void)
{
	for (int i = 0; i < waiters; i++) {
		char name[64], line[256];
		FILE *file;

		snprintf(name, sizeof(name), "/proc/self/task/%ld/stat", threads[i]);
		file = fopen(name, "r");
		if (!fgets(line, sizeof(line), file))
			line[0] = 0;
		fclose(file);
		if (!strstr(line, ") S "))
			return 0;
	}
	return 1;
}

int main(void)
{
	pthread_t all[waiters];

	for (int i = 0; i < waiters; i++)
		pthread_create(&all[i], 0, wait, &threads[i]);
	while (round_now < rounds) {
		pthread_mutex_lock(&mutex);
		if (arrived == waiters && all_sleep()) {
			arrived = 0;
			round_now++;
			pthread_cond_broadcast(&next);
			while (!all_sleep())
				usleep(100);
		}
		pthread_mutex_unlock(&mutex);
		usleep(100);
	}
	for (int i = 0; i < waiters; i++)
		pthread_join(all[i], 0);
	printf("%.1f\n", sleeps / (double)(waiters * rounds));
	return 0;
}
C
build gcc "$folder/herd.c" -o "$folder/glibc"
build_musl "$folder/herd.c" "$folder/musl"
glibc=$(unpacked "$folder/glibc") musl=$("$folder/musl")
unpacked ldd --version | sed -n 1p
echo "16 threads wait at a condition, another one broadcasts 50 times and holds the mutex until all of them sleep"
echo "expected: each waiter sleeps once for each broadcast"
echo "seen: $musl times with musl, $glibc times with glibc"
awk -v glibc="$glibc" -v musl="$musl" 'BEGIN { exit !(glibc > 1.8 && musl < 1.3) }' || {
	echo "that has changed" >&2
	exit 1
}
