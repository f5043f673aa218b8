/* SPDX-License-Identifier: MIT */
/*
 * Code of this process is changed through /proc/self/mem: the memory is never writable and executable, and what is
 * mapped there keeps its name. The kernel copies the page first, so the file and other processes stay as they are.
 *
 * Some kernels let only debuggers write so where the memory itself does not allow it (CONFIG_PROC_MEM_FORCE_PTRACE, as
 * Debian's 7.3). There the pages are writable while they are written, and still executable, for other threads run them.
 */
#include "spins.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With many threads this takes milliseconds; before there are any, none. */
static bool can_settle;

/* Of code, which can be read and executed: had it been writable, no force were needed. */
static bool write_unlocked(unsigned char *at, const void *bytes, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)at & -page;
	size_t length = (uintptr_t)at + size - begin;

	if (mprotect((void *)begin, length, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy(at, bytes, size);
	return !mprotect((void *)begin, length, PROT_READ | PROT_EXEC);
}

static bool write_at(int fd, unsigned char *at, const void *bytes, size_t size)
{
	if (pwrite(fd, bytes, size, (off_t)(uintptr_t)at) == (ssize_t)size)
		return true;
	return errno == EIO && write_unlocked(at, bytes, size); /* the kernel uses no force */
}

static int open_memory(void)
{
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

/* A page of code as the program's own are, to try it with. */
static bool can_write(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *trial =
		mmap(0, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool done;

	if (trial == MAP_FAILED)
		return false;
	done = write_at(fd, trial, "\xc3", 1) && *trial == 0xc3;
	munmap(trial, page);
	return done;
}

const char *ol_spins_text_start(void)
{
	int fd = open_memory();
	bool can;

	if (fd < 0)
		return "/proc/self/mem cannot be opened";
	can = can_write(fd);
	close(fd);
	if (!can)
		return "/proc/self/mem does not let code be changed";
	can_settle =
		!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	return can_settle ? 0 : "membarrier() cannot tell all CPUs of changed code";
}

bool ol_spins_text_write(unsigned char *at, const void *bytes, size_t size)
{
	int fd = open_memory();
	bool done = fd >= 0 && write_at(fd, at, bytes, size) && !memcmp(at, bytes, size);

	if (fd >= 0)
		close(fd);
	return done;
}

void ol_spins_text_settle(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}
