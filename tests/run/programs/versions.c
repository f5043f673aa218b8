/* SPDX-License-Identifier: MIT */
/*
 * References to every version glibc has ever had for these names. Prints, for each, the object that
 * serves it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Each bound by the linker as it says. */
#define BOUND(alias, name, version)                                   \
	extern int alias(void);                                       \
	__asm__(".symver " #alias "," #name "@" version);

#define EACH(X)                                                        \
	X(lock_old, pthread_mutex_lock, "GLIBC_2.2.5")                 \
	X(unlock_old, pthread_mutex_unlock, "GLIBC_2.2.5")             \
	X(trylock_old, pthread_mutex_trylock, "GLIBC_2.2.5")           \
	X(trylock_new, pthread_mutex_trylock, "GLIBC_2.34")            \
	X(timedlock_old, pthread_mutex_timedlock, "GLIBC_2.2.5")       \
	X(timedlock_new, pthread_mutex_timedlock, "GLIBC_2.34")        \
	X(clocklock_old, pthread_mutex_clocklock, "GLIBC_2.30")        \
	X(clocklock_new, pthread_mutex_clocklock, "GLIBC_2.34")        \
	X(init_old, pthread_mutex_init, "GLIBC_2.2.5")                 \
	X(destroy_old, pthread_mutex_destroy, "GLIBC_2.2.5")           \
	X(reserved_lock, __pthread_mutex_lock, "GLIBC_2.2.5")          \
	X(reserved_unlock, __pthread_mutex_unlock, "GLIBC_2.2.5")      \
	X(reserved_trylock, __pthread_mutex_trylock, "GLIBC_2.2.5")    \
	X(wait_oldest, pthread_cond_wait, "GLIBC_2.2.5")               \
	X(wait_old, pthread_cond_wait, "GLIBC_2.3.2")                  \
	X(timedwait_oldest, pthread_cond_timedwait, "GLIBC_2.2.5")     \
	X(timedwait_old, pthread_cond_timedwait, "GLIBC_2.3.2")        \
	X(clockwait_old, pthread_cond_clockwait, "GLIBC_2.30")         \
	X(clockwait_new, pthread_cond_clockwait, "GLIBC_2.34")         \
	X(signal_oldest, pthread_cond_signal, "GLIBC_2.2.5")           \
	X(signal_old, pthread_cond_signal, "GLIBC_2.3.2")              \
	X(broadcast_oldest, pthread_cond_broadcast, "GLIBC_2.2.5")     \
	X(broadcast_old, pthread_cond_broadcast, "GLIBC_2.3.2")        \
	X(cond_init_oldest, pthread_cond_init, "GLIBC_2.2.5")          \
	X(cond_init_old, pthread_cond_init, "GLIBC_2.3.2")             \
	X(cond_destroy_oldest, pthread_cond_destroy, "GLIBC_2.2.5")    \
	X(cond_destroy_old, pthread_cond_destroy, "GLIBC_2.3.2")       \
	X(mtx_old, mtx_lock, "GLIBC_2.28")                             \
	X(mtx_new, mtx_lock, "GLIBC_2.34")                             \
	X(mtx_timed_new, mtx_timedlock, "GLIBC_2.34")                  \
	X(mtx_unlock_new, mtx_unlock, "GLIBC_2.34")                    \
	X(cnd_old, cnd_wait, "GLIBC_2.28")                             \
	X(cnd_new, cnd_wait, "GLIBC_2.34")                             \
	X(cnd_signal_new, cnd_signal, "GLIBC_2.34")                    \
	X(atfork_old, __register_atfork, "GLIBC_2.3.2")

EACH(BOUND)

static void serve(const char *name, const char *version, int (*function)(void))
{
	Dl_info info;

	dladdr((void *)function, &info);
	printf("%s@%s %s\n", name, version, strrchr(info.dli_fname, '/') + 1);
}

/* And the old condition variable works through its old names. */
static void use_oldest(void)
{
	int (*lock)(pthread_mutex_t *) = (void *)lock_old;
	int (*send)(pthread_cond_t *) = (void *)signal_oldest;
	int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
		(void *)timedwait_oldest;
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = { 1, 0 };
	pthread_cond_t c;

	memset(&c, 0, sizeof(c)); /* as the oldest initialiser leaves it */
	lock(&m);
	printf("oldest wait: %s\n", strerrorname_np(wait(&c, &m, &past)));
	printf("oldest signal: %d\n", send(&c));
}

int main(void)
{
#define SERVE(alias, name, version) serve(#name, version, alias);
	EACH(SERVE)
	use_oldest();
	return 0;
}
