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

/*
 * The functions behind ours. They are found before main: dlsym() takes the loader's lock, for which a thread waits that
 * another one in dlopen() waits for. Who asks before that is alone; two find the same.
 */
#define ALL(EACH)                                                                                        \
	EACH(sysconf) EACH(sched_getaffinity) EACH(pthread_getaffinity_np) EACH(sched_setaffinity)       \
	EACH(pthread_setaffinity_np) EACH(pthread_attr_setaffinity_np) EACH(sched_getcpu) EACH(getcpu)   \
	EACH(syscall) EACH(open) EACH(open64) EACH(openat) EACH(openat64) EACH(fopen) EACH(fopen64)      \
	EACH(freopen) EACH(freopen64)

#define POINTER(name) __typeof__(&(name)) name;
static struct {
	ALL(POINTER)
} behind;
#undef POINTER

#define BEHIND(name)                                                         \
	({                                                                   \
		if (!behind.name) {                                          \
			void *found = dlsym(RTLD_NEXT, #name);               \
			memcpy(&behind.name, &found, sizeof(behind.name));   \
		}                                                            \
		behind.name;                                                 \
	})

#define FIND(name) (void)BEHIND(name);
__attribute__((constructor(101))) static void find_all(void)
{
	ALL(FIND)
}
#undef FIND

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

/*
 * A call that gives a thread a mask, and gives it the whole one if it was given what was told. The kernel reads the mask
 * first: it may be no memory.
 */
#define SETS(call, is_own, given, size)                                      \
	({                                                                   \
		struct ol_fit_mask mask = { given, size };                   \
		bool own = is_own;                                           \
		long failed;                                                 \
                                                                             \
		if (own)                                                     \
			ol_fit_will_pin();                                   \
		failed = call;                                               \
		if (!failed && own) {                                        \
			mask = ol_fit_whole(given, size);                    \
			if (mask.n)                                          \
				failed = call;                               \
		}                                                            \
		failed;                                                      \
	})

int sched_setaffinity(pid_t id, size_t size, const cpu_set_t *set)
{
	return (int)SETS(BEHIND(sched_setaffinity)(id, mask.n, mask.bytes), is_own_thread(id), set,
			 size);
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	return (int)SETS(BEHIND(pthread_setaffinity_np)(thread, mask.n, mask.bytes), true, set,
			 size);
}

int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *set)
{
	return (int)SETS(BEHIND(pthread_attr_setaffinity_np)(attributes, mask.n, mask.bytes), true,
			 set, size);
}

int sched_getcpu(void)
{
	int cpu = BEHIND(sched_getcpu)();

	return cpu < 0 ? cpu : (int)ol_fit_place((unsigned)cpu);
}

int getcpu(unsigned *cpu, unsigned *node)
{
	int failed = BEHIND(getcpu)(cpu, node);

	if (!failed && cpu)
		*cpu = ol_fit_place(*cpu);
	return failed;
}

__attribute__((visibility("hidden"))) long ol_fit_real_mask(pid_t thread, size_t bytes, void *mask)
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
	if (number == SYS_sched_setaffinity)
		return SETS(BEHIND(syscall)(number, a[0], mask.n, mask.bytes),
			    is_own_thread((pid_t)a[0]), (void *)a[2], (size_t)a[1]);
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

#define OPENS(name)                                                          \
	int name(const char *path, int flags, ...)                           \
	{                                                                    \
		mode_t mode = MODE(flags, flags);                            \
		int fd = BEHIND(name)(path, flags, mode);                    \
                                                                             \
		if (fd >= 0)                                                 \
			ol_fit_file(fd, path);                               \
		return fd;                                                   \
	}

#define OPENS_AT(name)                                                       \
	int name(int folder, const char *path, int flags, ...)               \
	{                                                                    \
		mode_t mode = MODE(flags, flags);                            \
		int fd = BEHIND(name)(folder, path, flags, mode);            \
                                                                             \
		if (fd >= 0)                                                 \
			ol_fit_file(fd, path);                               \
		return fd;                                                   \
	}

#define OPENS_STREAM(name)                                                   \
	FILE *name(const char *path, const char *how)                        \
	{                                                                    \
		FILE *stream = BEHIND(name)(path, how);                      \
                                                                             \
		if (stream)                                                  \
			ol_fit_file(fileno(stream), path);                   \
		return stream;                                               \
	}

#define OPENS_AGAIN(name)                                                    \
	FILE *name(const char *path, const char *how, FILE *before)          \
	{                                                                    \
		FILE *stream = BEHIND(name)(path, how, before);              \
                                                                             \
		if (stream && path)                                          \
			ol_fit_file(fileno(stream), path);                   \
		return stream;                                               \
	}

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)
OPENS_AGAIN(freopen)
OPENS_AGAIN(freopen64)
