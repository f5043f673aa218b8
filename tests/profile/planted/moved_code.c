/* SPDX-License-Identifier: MIT */
/*
 * moved_code OTHER FIXED OFFSET: code that is mapped a second time, as V8 does with its own, and waits there; then the same code of
 * another file, a copy of this one, a page away: where it waits, the first one had other code. The profiler reads the
 * objects whenever the process is twice as old; the waits are such that it does not do so in between. At last a file without
 * position-independent code, all of it, where it is not made for; OFFSET is that of the same code in it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 1000, LOOK_US = 10000, PAGE = 4096, SIZE = 16 * PAGE };

__asm__(".text; .skip 16384"); /* so that it is several pages, and each has some code */

static _Atomic int told;

__attribute__((noinline, aligned(64))) void *await_there(void *word)
{
	while (!atomic_load_explicit((_Atomic int *)word, memory_order_relaxed))
		__builtin_ia32_pause();
	return word;
}

static const ElfW(Phdr) * code;
static uintptr_t base;

static int find_code(struct dl_phdr_info *program, size_t size, void *unused)
{
	(void)size, (void)unused;
	base = program->dlpi_addr;
	for (int i = 0; i < program->dlpi_phnum; i++)
		if (program->dlpi_phdr[i].p_type == PT_LOAD &&
		    (program->dlpi_phdr[i].p_flags & PF_X))
			code = &program->dlpi_phdr[i];
	return 1; /* the first one is the program */
}

/* Of the waiting code, from the beginning of what is mapped. */
static uintptr_t distance(void)
{
	return (uintptr_t)await_there - (base + code->p_vaddr);
}

/* On a busy machine it takes the profiler longer, too. */
static void wait_for_cpu_time_of(pthread_t thread)
{
	struct timespec ran = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock))
		abort();
	while (ran.tv_sec * 1000 + ran.tv_nsec / 1000000 < WAIT_MS) {
		usleep(LOOK_US);
		clock_gettime(clock, &ran);
	}
}

static void wait_in(const char *file, off_t offset, char *place, uintptr_t distance)
{
	int fd = open(file, O_RDONLY);
	char *mapped =
		mmap(place, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, offset);
	pthread_t waiter;

	if (fd < 0 || mapped != place)
		abort();
	told = 0;
	if (pthread_create(&waiter, 0, (void *(*)(void *))(mapped + distance), &told))
		abort();
	wait_for_cpu_time_of(waiter);
	told = 1;
	pthread_join(waiter, 0);
	munmap(place, SIZE);
	close(fd);
}

int main(int argc, char **argv)
{
	off_t text;
	char *place;

	if (argc != 4)
		return 2;
	dl_iterate_phdr(find_code, 0);
	text = (off_t)code->p_offset;
	place = mmap(0, SIZE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		abort();
	wait_in("/proc/self/exe", text, place + PAGE, distance());
	wait_in(argv[1], text, distance() < PAGE ? place + 2 * PAGE : place, distance());
	wait_in(argv[2], 0, place, strtoul(argv[3], 0, 10));
	printf("{\"address\": %lu}\n", (unsigned long)(uintptr_t)&told);
	return 0;
}
