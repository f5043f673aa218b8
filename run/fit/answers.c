/* SPDX-License-Identifier: MIT */
/*
 * The functions that programs ask for CPUs. How many CPUs are configured (_SC_NPROCESSORS_CONF) stays: arrays are made of
 * that size, for numbers of CPUs that a thread may be on.
 */
#include "fit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* The function of that name behind ours. Two threads find the same. */
#define BEHIND(name)                                                                \
	({                                                                          \
		static __typeof__(&(name)) found;                                   \
		__typeof__(&(name)) now = __atomic_load_n(&found, __ATOMIC_RELAXED); \
		if (!now) {                                                         \
			void *symbol = dlsym(RTLD_NEXT, #name);                     \
			memcpy(&now, &symbol, sizeof(now));                         \
			__atomic_store_n(&found, now, __ATOMIC_RELAXED);            \
		}                                                                   \
		now;                                                                \
	})

long sysconf(int name)
{
	long said = BEHIND(sysconf)(name), cpus;

	if (name != _SC_NPROCESSORS_ONLN || said <= 0)
		return said;
	cpus = (long)ol_fit_cpus();
	return cpus < said ? cpus : said;
}

int get_nprocs(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Of another process nothing is changed. */
static bool is_own_thread(pid_t id)
{
	int saved = errno;
	bool is = !id || !syscall(SYS_tgkill, getpid(), id, 0);

	errno = saved;
	return is;
}

int sched_getaffinity(pid_t id, size_t size, cpu_set_t *set)
{
	int failed = BEHIND(sched_getaffinity)(id, size, set);

	if (!failed && is_own_thread(id))
		ol_fit_cut(set, size);
	return failed;
}

int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
	int failed = BEHIND(pthread_getaffinity_np)(thread, size, set);

	if (!failed)
		ol_fit_cut(set, size);
	return failed;
}

int sched_setaffinity(pid_t id, size_t size, const cpu_set_t *set)
{
	struct ol_fit_mask given = { set, size };

	if (is_own_thread(id))
		given = ol_fit_pins(set, size);
	return BEHIND(sched_setaffinity)(id, given.n, given.bytes);
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	const struct ol_fit_mask given = ol_fit_pins(set, size);

	return BEHIND(pthread_setaffinity_np)(thread, given.n, given.bytes);
}

/* Arrays for as many CPUs as the program was told have a place for each. */
static unsigned within(unsigned cpu)
{
	return cpu % ol_fit_cpus_lately();
}

int sched_getcpu(void)
{
	int cpu = BEHIND(sched_getcpu)();

	return cpu < 0 ? cpu : (int)within((unsigned)cpu);
}

int getcpu(unsigned *cpu, unsigned *node)
{
	int failed = BEHIND(getcpu)(cpu, node);

	if (!failed && cpu)
		*cpu = within(*cpu);
	return failed;
}

long ol_fit_real_mask(pid_t thread, size_t bytes, void *mask)
{
	return BEHIND(syscall)(SYS_sched_getaffinity, thread, bytes, mask);
}

/* Some, LLVM's OpenMP for one, make the call themselves by way of this. */
long syscall(long number, ...)
{
	long a[6], said;
	va_list list;

	va_start(list, number);
	for (unsigned k = 0; k < 6; k++)
		a[k] = va_arg(list, long);
	va_end(list);
	if (number == SYS_sched_setaffinity && a[2] && is_own_thread((pid_t)a[0])) {
		const struct ol_fit_mask given = ol_fit_pins((void *)a[2], (size_t)a[1]);

		a[1] = (long)given.n;
		a[2] = (long)given.bytes;
	}
	said = BEHIND(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_sched_getaffinity && said > 0 && is_own_thread((pid_t)a[0]))
		ol_fit_cut((void *)a[2], (size_t)said);
	return said;
}

/* Files. */

#define MODE(flags, last)                                                  \
	({                                                                 \
		mode_t mode = 0;                                           \
		if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
			va_list list;                                      \
			va_start(list, last);                              \
			mode = va_arg(list, mode_t);                       \
			va_end(list);                                      \
		}                                                          \
		mode;                                                      \
	})

#define OPENS(name)                                                             \
	int name(const char *path, int flags, ...)                              \
	{                                                                       \
		mode_t mode = MODE(flags, flags);                               \
		int fd = ol_fit_file(path, flags);                              \
                                                                                \
		return fd >= 0 ? fd : BEHIND(name)(path, flags, mode);          \
	}

#define OPENS_AT(name)                                                          \
	int name(int folder, const char *path, int flags, ...)                  \
	{                                                                       \
		mode_t mode = MODE(flags, flags);                               \
		int fd = ol_fit_file(path, flags);                              \
                                                                                \
		return fd >= 0 ? fd : BEHIND(name)(folder, path, flags, mode);  \
	}

/* A stream of it can be read only, as one of the file. */
#define OPENS_STREAM(name)                                                      \
	FILE *name(const char *path, const char *how)                           \
	{                                                                       \
		int fd = strchr(how, '+') || *how != 'r' ? -1                   \
							 : ol_fit_file(path, O_RDONLY | O_CLOEXEC); \
		FILE *stream = fd >= 0 ? fdopen(fd, how) : 0;                   \
                                                                                \
		if (fd >= 0 && !stream)                                         \
			close(fd);                                              \
		return stream ? stream : BEHIND(name)(path, how);               \
	}

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)
