#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mutex with PTHREAD_PRIO_INHERIT lends its holder the priority of who waits for it, so that a holder with a low priority does
# not keep the waiter out for long. Among ordinary threads one expects a holder at nice 19 to run as the waiter at nice 0
# would. The kernel's own account says so: the priority in /proc/PID/stat goes from 39 to 20. But the share of the CPU
# goes by the nice value, which stays: beside a busy process the holder gets a few percent, as if nobody waited. Only
# waiters with a realtime priority help.
# Seen with glibc 2.36, Linux 6.18.44.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nice=$(nice) # of the waiter and the busy process; who runs the script may have lowered it
if [ "$nice" -gt 5 ]; then
	echo "a holder at nice 19 has no small share beside a process at nice $nice" >&2
	exit 77
fi
compilers "$folder"
cat >"$folder/holder.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static volatile int holds;
static int holder_tid;

static void *hold(void *unused)
{
	holder_tid = (int)syscall(SYS_gettid);
	setpriority(PRIO_PROCESS, (id_t)holder_tid, 19);
	pthread_mutex_lock(&mutex);
	holds = 1;
	while (holds)
		;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *wait_for_it(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static int priority(void)
{
	char name[64], line[512], *at;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", holder_tid);
	file = fopen(name, "r");
	at = strrchr(fgets(line, sizeof(line), file), ')');
	fclose(file);
	for (int field = 2; field < 18; field++)
		at = strchr(at + 1, ' ');
	return atoi(at);
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int n, char **words)
{
	pthread_mutexattr_t attributes;
	pthread_t holder, waiter;
	clockid_t holders, others;
	double ran, other_ran;
	cpu_set_t one;
	pid_t other;

	(void)words;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attributes);
	pthread_create(&holder, 0, hold, 0);
	while (!holds)
		usleep(1000);
	if (n > 1)
		pthread_create(&waiter, 0, wait_for_it, 0);
	usleep(300000);
	other = fork();
	if (!other)
		for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
			;
	pthread_getcpuclockid(holder, &holders);
	clock_getcpuclockid(other, &others);
	ran = seconds(holders);
	other_ran = seconds(others);
	sleep(3);
	ran = seconds(holders) - ran;
	other_ran = seconds(others) - other_ran;
	printf("%d %.0f\n", priority(), 100 * ran / (ran + other_ran));
	kill(other, SIGKILL);
	waitpid(other, 0, 0);
	holds = 0;
	pthread_join(holder, 0);
	if (n > 1)
		pthread_join(waiter, 0);
	return 0;
}
C
build gcc "$folder/holder.c" -o "$folder/holder"
read -r free free_share <<<"$("$folder/holder")"
read -r waited waited_share <<<"$("$folder/holder" waiter)"
echo "Linux $(uname -r); the holder of a mutex at nice 19, beside a busy process at nice $nice on its CPU"
echo "expected: the holder has about half of the time that both have, while a thread at nice $nice waits for the mutex"
echo "seen: priority $free and $free_share % while nobody waits, $waited and $waited_share % while a thread at nice $nice does"
if ! { [ "$free $waited" = "39 $((20 + nice))" ] && [ "$free_share" -lt 10 ] && [ "$waited_share" -lt 10 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
