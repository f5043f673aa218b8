/* SPDX-License-Identifier: MIT */
/*
 * The start: which lock, and where glibc's own functions are.
 *
 * It happens in our constructor or at the first call, whichever comes first: constructors of other
 * libraries may use mutexes before ours has run.
 */
#include "preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_LOCK	"tas_yield"

const struct ol_lock_ops *chosen;
struct real real;
uint32_t epoch, forker;

static _Thread_local uint32_t my_id __attribute__((tls_model("initial-exec")));

uint32_t self(void)
{
	if (OL_UNLIKELY(!my_id))
		my_id = (uint32_t)syscall(SYS_gettid);
	return my_id;
}

/* _exit(): the program has not begun, so nothing of it may be flushed or cleaned up. */
_Noreturn void refuse(const char *what, const char *why)
{
	dprintf(STDERR_FILENO, "overlock: %s: %s\n", what, why);
	_exit(125);
}

/* The oldest version with today's meaning: newer glibcs keep it, and asking for it cannot fail. */
#if defined(__x86_64__)
#define FIRST_VERSION	"GLIBC_2.2.5"
#define COND_VERSION	"GLIBC_2.3.2"
#elif defined(__aarch64__)
#define FIRST_VERSION	"GLIBC_2.17"
#define COND_VERSION	"GLIBC_2.17"
#else
#error "overlock: add the first glibc version of this machine"
#endif
#define ATFORK_VERSION	COND_VERSION
#define CLOCK_VERSION	"GLIBC_2.30"

static void find(void *function, const char *name, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, name, version);

	if (!found)
		refuse(name, "glibc 2.30 or later was expected to have it; run without overlock");
	memcpy(function, &found, sizeof(found));
}

static void find_real(void)
{
	find(&real.mutex_init, "pthread_mutex_init", FIRST_VERSION);
	find(&real.mutex_destroy, "pthread_mutex_destroy", FIRST_VERSION);
	find(&real.mutex_lock, "pthread_mutex_lock", FIRST_VERSION);
	find(&real.mutex_trylock, "pthread_mutex_trylock", FIRST_VERSION);
	find(&real.mutex_timedlock, "pthread_mutex_timedlock", FIRST_VERSION);
	find(&real.mutex_clocklock, "pthread_mutex_clocklock", CLOCK_VERSION);
	find(&real.mutex_unlock, "pthread_mutex_unlock", FIRST_VERSION);
	find(&real.cond_init, "pthread_cond_init", COND_VERSION);
	find(&real.cond_destroy, "pthread_cond_destroy", COND_VERSION);
	find(&real.cond_wait, "pthread_cond_wait", COND_VERSION);
	find(&real.cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
	find(&real.cond_clockwait, "pthread_cond_clockwait", CLOCK_VERSION);
	find(&real.cond_signal, "pthread_cond_signal", COND_VERSION);
	find(&real.cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
	find(&real.register_atfork, "__register_atfork", ATFORK_VERSION);
}

/*
 * A lock from outside the tree, OVERLOCK_LOCK_SO=ops.so. What it asks of the library it finds in
 * the liboverlock beside us, loaded behind everything the program has so that nothing of the
 * program's is overshadowed.
 */
static const struct ol_lock_ops *load(const char *id, const char *path)
{
	char name[128], library[4096];
	const struct ol_lock_ops *ops;
	Dl_info me;
	void *so;

	if (dladdr(&chosen, &me) && strrchr(me.dli_fname, '/')) {
		int folder = (int)(strrchr(me.dli_fname, '/') - me.dli_fname);

		snprintf(library, sizeof(library), "%.*s/liboverlock.so.0", folder, me.dli_fname);
		dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	}
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		refuse("OVERLOCK_LOCK_SO", dlerror());
	snprintf(name, sizeof(name), "ol_ops_%s", id);
	ops = dlsym(so, name);
	if (!ops)
		refuse("OVERLOCK_LOCK_SO", dlerror());
	if (ops->abi != OL_ABI)
		refuse(path, "is compiled for another version of overlock; compile it again");
	return ops;
}

static const struct ol_lock_ops *choose(void)
{
	const char *id = secure_getenv("OVERLOCK_LOCK");
	const char *so = secure_getenv("OVERLOCK_LOCK_SO");
	const struct ol_lock_ops *ops;

	if (!id || !*id)
		id = DEFAULT_LOCK;
	ops = so && *so ? load(id, so) : ol_find_lock(id);
	if (!ops)
		refuse(id, "no such lock was built in; set OVERLOCK_LOCK to one that `overlock "
			   "locks` lists");
	if (ops->traits & OL_ELIDES) /* it knows its holder: no gate, no release from a child */
		refuse(id, "must be released by whoever acquired it, which mutexes are not; choose "
			   "another lock");
	if (ops->size > sizeof(((struct mutex *)0)->lock) || ops->align > _Alignof(struct mutex))
		return outside_ops(ops);
	return ops;
}

static void child(void)
{
	epoch++;
	forker = my_id; /* copied from the parent; 0 if it never asked, so that it owns nothing */
	my_id = 0;
}

enum { FRESH, STARTING, STARTED };
static uint32_t state, starter;

static void start_once(void)
{
	const char *disable = secure_getenv("OVERLOCK_DISABLE");

	find_real();
	if (!disable || !*disable || !strcmp(disable, "0"))
		ol_store_release(&chosen, choose()); /* with `real` */
	real.register_atfork(0, 0, child, 0);
#ifdef OL_COUNTED
	if (chosen)
		report_start(secure_getenv("OVERLOCK_OUTPUT"));
#endif
}

/*
 * What the start itself calls may lock mutexes: those go to glibc, which leaves a mutex all zero
 * when it is free again, as we do.
 */
OL_COLD const struct ol_lock_ops *start(void)
{
	if (ol_load_acquire(&state) == STARTED)
		return chosen; /* null: disabled */
	if (ol_cas_acquire(&state, (uint32_t)FRESH, (uint32_t)STARTING)) {
		ol_store_relaxed(&starter, self());
		start_once();
		ol_store_release(&state, (uint32_t)STARTED);
	} else if (ol_load_relaxed(&starter) != self()) {
		while (ol_load_acquire(&state) != STARTED)
			ol_yield();
	}
	return ol_load_acquire(&chosen);
}

__attribute__((constructor(102))) static void constructor(void)
{
	start();
}
