/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs there are, by all ways of asking: asks [again|alarmed|pins|restores|threads|where]. NAME=NUMBER a line; `again`: the same
 * once more for each line of input. The allocator of this program asks, too, before anything else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long first_asked;
static _Alignas(16) char room[64 << 20];
static size_t used;

/* Never given back. One that asks for CPUs when it is first used, as jemalloc does. */
void *malloc(size_t n)
{
	size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);

	if (!first_asked) {
		cpu_set_t set;

		first_asked = -1;
		sched_getaffinity(0, sizeof(set), &set);
		first_asked = sysconf(_SC_NPROCESSORS_ONLN);
	}
	*(size_t *)(room + at) = n;
	return room + at + 16;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *realloc(void *p, size_t n)
{
	void *new = malloc(n);
	size_t old = p ? *(size_t *)((char *)p - 16) : 0;

	return p ? memcpy(new, p, old < n ? old : n) : new;
}

static int by_affinity(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? -1 : CPU_COUNT(&set);
}

static int by_other_size(void)
{
	unsigned char set[8192] = { 0 };
	int n = 0;

	if (sched_getaffinity(gettid(), sizeof(set), (cpu_set_t *)set))
		return -1;
	for (size_t k = 0; k < sizeof(set); k++)
		n += __builtin_popcount(set[k]);
	return n;
}

static int by_pthread(void)
{
	cpu_set_t set;

	return pthread_getaffinity_np(pthread_self(), sizeof(set), &set) ? -1 : CPU_COUNT(&set);
}

static int by_call(void)
{
	cpu_set_t set;
	long n = syscall(SYS_sched_getaffinity, 0, sizeof(set), &set);

	return n < 0 ? -1 : CPU_COUNT_S((size_t)n, &set);
}

static int of_parent(void)
{
	cpu_set_t set;

	return sched_getaffinity(getppid(), sizeof(set), &set) ? -1 : CPU_COUNT(&set);
}

static int lines_that_begin(FILE *file, const char *with)
{
	char line[65536];
	int n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += !strncmp(line, with, strlen(with));
	return file ? fclose(file), n : -1;
}

static int in_ranges(int fd)
{
	char text[4096];
	ssize_t size = read(fd, text, sizeof(text) - 1);
	int n = 0;

	close(fd);
	text[size > 0 ? size : 0] = 0;
	for (char *at = text; at && *at && *at != '\n'; at = strchr(at, ','), at += at != 0) {
		int first, last, got = sscanf(at, "%d-%d", &first, &last);

		n += got == 2 ? last - first + 1 : 1;
	}
	return n;
}

static unsigned greatest_cpu(void)
{
	unsigned cpu = 0, other = (unsigned)sched_getcpu();

	getcpu(&cpu, 0);
	return cpu > other ? cpu : other;
}

static void tell(void)
{
	static const char online[] = "/sys/devices/system/cpu/online";

	printf("sysconf=%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	printf("nprocs=%d\n", get_nprocs());
	printf("affinity=%d\n", by_affinity());
	printf("other size=%d\n", by_other_size());
	printf("pthread=%d\n", by_pthread());
	printf("call=%d\n", by_call());
	printf("cpuinfo=%d\n", lines_that_begin(fopen("/proc/cpuinfo", "r"), "processor"));
	printf("cpuinfo64=%d\n", lines_that_begin(fopen64("/proc/cpuinfo", "re"), "processor"));
	printf("stat=%d\n", lines_that_begin(fopen("/proc/stat", "r"), "cpu") - 1);
	printf("online=%d\n", in_ranges(open(online, O_RDONLY)));
	printf("online64=%d\n", in_ranges(open64(online, O_RDONLY | O_CLOEXEC)));
	printf("online at=%d\n", in_ranges(openat(AT_FDCWD, online, O_RDONLY)));
	printf("malloc=%ld\n", first_asked);
	/* These stay as they are. */
	printf("-configured=%ld\n", sysconf(_SC_NPROCESSORS_CONF));
	printf("-possible=%d\n", in_ranges(open("/sys/devices/system/cpu/possible", O_RDONLY)));
	printf("-of the parent=%d\n", of_parent());
	printf("-interrupts=%d\n", lines_that_begin(fopen("/proc/stat", "r"), "intr"));
	puts("all told");
	fflush(stdout);
}

static volatile sig_atomic_t alarms;

static void handler(int signal)
{
	(void)signal;
	alarms += sysconf(_SC_NPROCESSORS_ONLN) > 0 && by_affinity() > 0;
}

/* A handler asks in the midst of whoever asks. */
static void be_alarmed(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, 0);
	while (alarms < 3000)
		if (sysconf(_SC_NPROCESSORS_ONLN) < 1)
			exit(3);
	signal(SIGALRM, SIG_IGN);
}

static void *asks_often(void *unused)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		if (sysconf(_SC_NPROCESSORS_ONLN) != first_asked || by_affinity() != first_asked)
			exit(4);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - began.tv_sec < 3);
	return unused;
}

static void ask_in_threads(void)
{
	pthread_t threads[8];

	for (int k = 0; k < 8; k++)
		pthread_create(&threads[k], 0, asks_often, 0);
	for (int k = 0; k < 8; k++)
		pthread_join(threads[k], 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char line[16];

	if (!strcmp(how, "pins") &&
	    argc > 2) { /* to that CPU; what the process may use is the same */
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(atoi(argv[2]), &one);
		sched_setaffinity(0, sizeof(one), &one);
		printf("sysconf=%ld\naffinity=%d\non=%u\n", sysconf(_SC_NPROCESSORS_ONLN),
		       by_affinity(), greatest_cpu());
		return 0;
	}
	if (!strcmp(how, "where")) {
		printf("on=%u\n", greatest_cpu());
		return 0;
	}
	if (!strcmp(how, "restores")) { /* what it saved, in each way; then how many CPUs it has */
		unsigned char saved[128];
		long n = syscall(SYS_sched_getaffinity, 0, sizeof(saved), saved);
		cpu_set_t set, one;

		sched_getaffinity(0, sizeof(set), &set);
		CPU_ZERO(&one);
		for (int cpu = 0; !CPU_COUNT(&one); cpu++)
			if (CPU_ISSET(cpu, &set))
				CPU_SET(cpu, &one);
		if (argc < 3) {
			sched_setaffinity(0, sizeof(one), &one);
			sched_setaffinity(0, sizeof(set), &set);
		} else if (!strcmp(argv[2], "pthread")) {
			pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
		} else {
			syscall(SYS_sched_setaffinity, 0, n, saved);
		}
		return execlp("grep", "grep", "Cpus_allowed_list", "/proc/self/status", NULL);
	}
	if (!strcmp(how, "alarmed"))
		be_alarmed();
	if (!strcmp(how, "threads"))
		ask_in_threads();
	tell();
	while (!strcmp(how, "again") && fgets(line, sizeof(line), stdin))
		tell();
	return 0;
}
