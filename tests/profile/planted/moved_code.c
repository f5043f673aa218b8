/* SPDX-License-Identifier: MIT */
/*
 * moved_code OTHER: code that is mapped a second time, as V8 does with its own, and waits there; then the same code of
 * another file, a copy of this one, a page below.
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
#include <unistd.h>

enum { WAIT_US = 700000, PAGE = 4096 };

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

static void wait_in(const char *file, char *place)
{
	int fd = open(file, O_RDONLY);
	char *mapped = mmap(place, code->p_memsz, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			    fd, (off_t)code->p_offset);
	uintptr_t distance = (uintptr_t)await_there - (base + code->p_vaddr);
	pthread_t waiter;

	if (fd < 0 || mapped != place)
		abort();
	told = 0;
	if (pthread_create(&waiter, 0, (void *(*)(void *))(mapped + distance), &told))
		abort();
	usleep(WAIT_US);
	told = 1;
	pthread_join(waiter, 0);
	munmap(place, code->p_memsz);
	close(fd);
}

int main(int argc, char **argv)
{
	char *place;

	if (argc != 2)
		return 2;
	dl_iterate_phdr(find_code, 0);
	place = mmap(0, code->p_memsz + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		abort();
	wait_in("/proc/self/exe", place + PAGE);
	wait_in(argv[1], place);
	printf("{\"address\": %lu}\n", (unsigned long)(uintptr_t)&told);
	return 0;
}
