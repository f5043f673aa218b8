/* SPDX-License-Identifier: MIT */
/*
 * The start: which lock, and where glibc's own functions are.
 *
 * It happens in our constructor or at the first call, whichever comes first: constructors of other
 * libraries may use mutexes before ours has run.
 */
#include "interposer.h"
#include "environment.h"
#include "defaults.h"
#include "internal.h"
#include "least_glibc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct ol_lock_ops *ol_run_chosen, *ol_run_chosen_rwlock, *ol_run_chosen_spin;
bool ol_run_has_barriers;
uint32_t ol_run_plain_kind = KIND_NONE;
struct real ol_run_real;
bool ol_run_makes_adaptive;
uint32_t ol_run_epoch;
union process ol_run_process __attribute__((aligned(LARGEST_PAGE)));
static bool is_wiped; /* that page, by a fork */

static _Thread_local uint32_t my_id __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t my_former_id __attribute__((tls_model("initial-exec")));

/*
 * glibc knows it, and writes it into its mutexes. Not gettid(): a sandbox that was made for glibc's mutexes may
 * end the program for it.
 */
static OL_COLD uint32_t find_my_id(void)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	uint32_t id;

	ol_run_real.mutex_lock(&m);
	id = (uint32_t)m.__data.__owner;
	ol_run_real.mutex_unlock(&m);
	return id;
}

uint32_t ol_run_self(void)
{
	if (OL_UNLIKELY(!my_id))
		my_id = find_my_id();
	return my_id;
}

uint32_t ol_run_former_self(void)
{
	return my_former_id;
}

/* _exit(): the program has not begun, so nothing of it may be flushed or cleaned up. */
_Noreturn void ol_run_refuse(const char *what, const char *why)
{
	dprintf(STDERR_FILENO, "overlock: %s: %s\n", what, why);
	_exit(125);
}

void ol_run_ignore(const char *variable, const char *value, const char *why)
{
	dprintf(STDERR_FILENO, "overlock: %s=%s ignored: %s\n", variable, value, why);
}

/* The oldest version with today's meaning: newer glibcs keep it, and asking for it cannot fail. */
#if defined(__x86_64__)
#define FIRST_VERSION	"GLIBC_2.2.5"
#define COND_VERSION	"GLIBC_2.3.2"
#define DLMOPEN_VERSION "GLIBC_2.3.4"
#elif defined(__aarch64__)
#define FIRST_VERSION	"GLIBC_2.17"
#define COND_VERSION	"GLIBC_2.17"
#define DLMOPEN_VERSION "GLIBC_2.17"
#else
#error "overlock: add the first glibc version of this machine"
#endif
#define ATFORK_VERSION	COND_VERSION
#define CLOCK_VERSION	"GLIBC_2.30"

static void find(void *function, const char *name, const char *version)
{
	void *found =
		is_glibcs_program() ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);

	if (!found && is_glibcs_program())
		ol_run_refuse(name,
			      "needs glibc " OL_LEAST_GLIBC " or later; run without overlock");
	memcpy(function, &found, sizeof(found));
}

static void find_real(void)
{
	find(&ol_run_real.mutex_init, "pthread_mutex_init", FIRST_VERSION);
	find(&ol_run_real.mutex_destroy, "pthread_mutex_destroy", FIRST_VERSION);
	find(&ol_run_real.mutex_lock, "pthread_mutex_lock", FIRST_VERSION);
	find(&ol_run_real.mutex_trylock, "pthread_mutex_trylock", FIRST_VERSION);
	find(&ol_run_real.mutex_timedlock, "pthread_mutex_timedlock", FIRST_VERSION);
	find(&ol_run_real.mutex_clocklock, "pthread_mutex_clocklock", CLOCK_VERSION);
	find(&ol_run_real.mutex_unlock, "pthread_mutex_unlock", FIRST_VERSION);
	find(&ol_run_real.cond_init, "pthread_cond_init", COND_VERSION);
	find(&ol_run_real.cond_destroy, "pthread_cond_destroy", COND_VERSION);
	find(&ol_run_real.cond_wait, "pthread_cond_wait", COND_VERSION);
	find(&ol_run_real.cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
	find(&ol_run_real.cond_clockwait, "pthread_cond_clockwait", CLOCK_VERSION);
	find(&ol_run_real.cond_signal, "pthread_cond_signal", COND_VERSION);
	find(&ol_run_real.cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
	find(&ol_run_real.rwlock_init, "pthread_rwlock_init", FIRST_VERSION);
	find(&ol_run_real.rwlock_destroy, "pthread_rwlock_destroy", FIRST_VERSION);
	find(&ol_run_real.rwlock_rdlock, "pthread_rwlock_rdlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_wrlock, "pthread_rwlock_wrlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_tryrdlock, "pthread_rwlock_tryrdlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_trywrlock, "pthread_rwlock_trywrlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_timedrdlock, "pthread_rwlock_timedrdlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_timedwrlock, "pthread_rwlock_timedwrlock", FIRST_VERSION);
	find(&ol_run_real.rwlock_clockrdlock, "pthread_rwlock_clockrdlock", CLOCK_VERSION);
	find(&ol_run_real.rwlock_clockwrlock, "pthread_rwlock_clockwrlock", CLOCK_VERSION);
	find(&ol_run_real.rwlock_unlock, "pthread_rwlock_unlock", FIRST_VERSION);
	find(&ol_run_real.barrier_init, "pthread_barrier_init", FIRST_VERSION);
	find(&ol_run_real.barrier_destroy, "pthread_barrier_destroy", FIRST_VERSION);
	find(&ol_run_real.barrier_wait, "pthread_barrier_wait", FIRST_VERSION);
	find(&ol_run_real.spin_init, "pthread_spin_init", FIRST_VERSION);
	find(&ol_run_real.spin_destroy, "pthread_spin_destroy", FIRST_VERSION);
	find(&ol_run_real.spin_lock, "pthread_spin_lock", FIRST_VERSION);
	find(&ol_run_real.spin_trylock, "pthread_spin_trylock", FIRST_VERSION);
	find(&ol_run_real.spin_unlock, "pthread_spin_unlock", FIRST_VERSION);
	find(&ol_run_real.prctl, "prctl", FIRST_VERSION);
	find(&ol_run_real.dlmopen, "dlmopen", DLMOPEN_VERSION);
	find(&ol_run_real.register_atfork, "__register_atfork", ATFORK_VERSION);
	find(&ol_run_real.cleanup_push, "_pthread_cleanup_push", FIRST_VERSION);
	find(&ol_run_real.cleanup_pop, "_pthread_cleanup_pop", FIRST_VERSION);
}

/*
 * A lock from outside the tree, OVERLOCK_LOCK_SO=ops.so. What it asks of the library it finds in
 * the liboverlock beside us, or else in the system's, loaded behind everything the program has so
 * that nothing of the program's is overshadowed.
 */
static const struct ol_lock_ops *load(const char *id, const char *path)
{
	char name[128], library[4096];
	const struct ol_lock_ops *ops;
	Dl_info me;
	void *so;

	if (dladdr(&ol_run_chosen, &me) && strrchr(me.dli_fname, '/')) {
		int folder = (int)(strrchr(me.dli_fname, '/') - me.dli_fname);

		snprintf(library, sizeof(library), "%.*s/liboverlock.so.0", folder, me.dli_fname);
		if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL))
			dlopen("liboverlock.so.0", RTLD_NOW | RTLD_GLOBAL);
	}
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		ol_run_refuse("OVERLOCK_LOCK_SO", dlerror());
	snprintf(name, sizeof(name), "ol_ops_%s", id);
	ops = dlsym(so, name);
	if (!ops)
		ol_run_refuse("OVERLOCK_LOCK_SO", dlerror());
	if (ops->abi != OL_ABI)
		ol_run_refuse(path,
			      "was compiled for another version of overlock; compile it again");
	return ops;
}

/* Fit to lie in a mutex, or refused. */
static const struct ol_lock_ops *in_mutex(const char *id, const struct ol_lock_ops *ops)
{
	if (!ops)
		ol_run_refuse(id,
			      "unknown lock; set OVERLOCK_LOCK to one that `overlock locks` lists");
	if (!ops->take || !ops->release)
		ol_run_refuse(id,
			      "has no take() or release(); compile it again with this overlock");
	if (ops->traits & OL_ELIDES) /* it knows its holder: no gate, no release from a child */
		ol_run_refuse(
			id, "must be released by the thread that acquired it, and programs do not "
			    "guarantee that for mutexes; choose another lock");
	if (ops->size > sizeof(((struct mutex *)0)->lock) || ops->align > _Alignof(struct mutex))
		return ol_run_outside_ops(ops);
	return ops;
}

const struct ol_lock_ops *ol_run_lock_named(const char *id)
{
	return in_mutex(id, ol_find_lock(id));
}

/* Null: all is left to glibc. */
static const struct ol_lock_ops *choose(void)
{
	const char *id = secure_getenv("OVERLOCK_LOCK");
	const char *so = secure_getenv("OVERLOCK_LOCK_SO");

	if (!id || !*id)
		id = DEFAULT_LOCK;
	ol_run_makes_adaptive = !strcmp(id, GLIBC_ADAPTIVE);
	if (ol_run_makes_adaptive)
		return 0;
	return in_mutex(id, ol_run_deferring(so && *so ? load(id, so) : ol_find_lock(id)));
}

/* OpenMP's locks have that of the mutexes if it was named. */
static const struct ol_lock_ops *choose_openmp(const struct ol_lock_ops *mutex)
{
	const char *id = secure_getenv("OVERLOCK_OPENMP_LOCK"),
		   *named = secure_getenv("OVERLOCK_LOCK");

	if (id && *id)
		return ol_run_lock_named(id);
	return named && *named ? mutex : ol_run_lock_named(DEFAULT_OPENMP_LOCK);
}

/* That of --rwlock and --spinlock; null for glibc's. */
static const struct ol_lock_ops *asked_for(const char *variable, const struct ol_lock_ops *preset)
{
	const char *id = secure_getenv(variable);
	const struct ol_lock_ops *ops;

	if (!id || !*id || (preset && !strcmp(id, preset->id)))
		return preset;
	if (!strcmp(id, GLIBC))
		return 0;
	ops = ol_find_lock(id);
	if (!ops)
		ol_run_refuse(id, "unknown lock; `overlock locks` lists them");
	return ops;
}

static const struct ol_lock_ops *choose_rwlock(void)
{
	const struct ol_lock_ops *ops = asked_for("OVERLOCK_RWLOCK", 0);

	if (ops && strcmp(ops->id, RWLOCK) != 0)
		ol_run_refuse(ops->id,
			      "is not an rwlock; set OVERLOCK_RWLOCK to " RWLOCK " or " GLIBC);
	return ops;
}

static bool choose_barrier(void)
{
	const char *name = secure_getenv("OVERLOCK_BARRIER");

	if (!name || !*name || !strcmp(name, GLIBC))
		return false;
	if (strcmp(name, OUR_BARRIER) != 0)
		ol_run_refuse(name,
			      "is no barrier; set OVERLOCK_BARRIER to " OUR_BARRIER " or " GLIBC);
	return true;
}

static const struct ol_lock_ops *choose_spin(void)
{
	const struct ol_lock_ops *ops = asked_for("OVERLOCK_SPINLOCK", &ol_ops_spin_yield);
	const char *why = ops ? spin_refusal(ops->traits) : 0;
	char reason[200];

	if (why) {
		snprintf(reason, sizeof(reason), "%s; choose another --spinlock", why);
		ol_run_refuse(ops->id, reason);
	}
	return ops;
}

static void renew(void)
{
	ol_run_epoch++;
	ol_run_sleepers_renew();
	ol_run_misuse_renew();
	my_former_id =
		my_id; /* copied from the parent; 0 if it never asked, so that it owns nothing */
	my_id = 0;
	ol_store_release(&ol_run_process.number, ol_run_epoch + 1);
}

/* A handler that came earlier may have used a mutex: then all is done. */
static void child(void)
{
	if (!is_wiped || !ol_load_relaxed(&ol_run_process.number))
		renew();
}

/* By one thread of the child; the others wait. */
OL_COLD void ol_run_meet_process(void)
{
	if (ol_cas_acquire(&ol_run_process.number, 0u, UINT32_MAX)) {
		ol_context_renew();
#ifdef OL_COUNTED
		ol_sites_renew();
#endif
		renew();
	}
	while (ol_load_acquire(&ol_run_process.number) == UINT32_MAX)
		ol_yield();
}

/* Before Linux 4.14, children that nobody announces stay unknown. */
static void number_process(void)
{
	ol_run_process.number = 1;
	is_wiped = !madvise(&ol_run_process, sizeof(ol_run_process), MADV_WIPEONFORK);
}

enum { FRESH, STARTING, STARTED };
static uint32_t state;
static const uint32_t *starter; /* its `my_id`: there are no ids yet */

/* In the checked library nobody goes straight through. */
static uint32_t plain_kind(uint32_t kind)
{
	return IS_CHECKED ? (uint32_t)KIND_NONE : kind;
}

/*
 * Releases: with `ol_run_real`, the choices and where condition variables keep their flags, and the
 * kind after the lock that it stands for.
 */
static void choose_all(void)
{
	const struct ol_lock_ops *ops = choose();
	uint32_t kind;

	if (!ops)
		return;
	ol_run_mutexes_start();
	ol_run_conds_start();
	kind = ol_run_choices_start(ops, choose_openmp(ops));
	ol_store_release(&ol_run_chosen, ops);
	ol_store_release(&ol_run_plain_kind, plain_kind(kind));
}

/* Releases: with `ol_run_real`. */
static void choose_for_rwlocks(void)
{
	const struct ol_lock_ops *ops = choose_rwlock();

	if (ops)
		ol_run_rwlocks_start();
	ol_store_release(&ol_run_chosen_rwlock, ops);
}

/* Before the first barrier is made, by ol_run_start(). */
static void choose_for_barriers(void)
{
	if (!choose_barrier())
		return;
	ol_run_barriers_start();
	ol_run_has_barriers = true;
}

static bool is_enabled(void)
{
	const char *disable = secure_getenv("OVERLOCK_DISABLE");

	return !disable || !*disable || !strcmp(disable, "0");
}

/*
 * ThreadSanitizer looks for the next pthread_mutex_lock() by dlsym(), which is ours, but for the next
 * pthread_cond_wait() by dlvsym(), which is glibc's, as ours has no version; and glibc's would wait with a
 * mutex that it takes for its own. So all is glibc's.
 */
static bool is_under_tsan(void)
{
	return dlsym(RTLD_DEFAULT, "__tsan_init") != 0;
}

static int is_race_detector(struct dl_phdr_info *object, size_t size, void *unused)
{
	(void)size, (void)unused;
	return strstr(object->dlpi_name, "/vgpreload_helgrind") ||
	       strstr(object->dlpi_name, "/vgpreload_drd");
}

/* Valgrind's race detectors know a lock by glibc's functions, and would see none in ours. */
static bool is_under_race_detector(void)
{
	if (!dl_iterate_phdr(is_race_detector, 0))
		return false;
	dprintf(STDERR_FILENO,
		"overlock: helgrind and drd know glibc's locks only: all locks are left "
		"to glibc\n");
	return true;
}

static void start_once(void)
{
	bool has_choice = is_enabled() && is_glibcs_program() && !is_under_race_detector();

	/*
	 * The words of a spinlock that glibc has used and freed mean something else to ours: before
	 * anything here can allocate memory, for an allocator may use one.
	 */
	if (has_choice)
		ol_store_release(&ol_run_chosen_spin, choose_spin());
	number_process();
	find_real();
	ol_run_clock_start();
	/* First of all handlers: what follows may allocate, and so may register those of an allocator. */
	if (is_glibcs_program())
		ol_run_real.register_atfork(0, 0, child, 0);
	ol_watch_forks();
	if (has_choice && !is_under_tsan()) {
		choose_all();
		choose_for_rwlocks();
		choose_for_barriers();
	}
	ol_run_sleepers_start();
#ifdef OL_COUNTED
	if (ol_run_chosen)
		ol_run_report_start(secure_getenv("OVERLOCK_OUTPUT"));
	if (ol_run_chosen)
		ol_run_misuse_start();
#endif
}

/*
 * What the start itself calls may lock mutexes: those go to glibc, which leaves a mutex all zero
 * when it is free again, as we do.
 */
OL_COLD const struct ol_lock_ops *ol_run_start(void)
{
	if (ol_load_acquire(&state) == STARTED)
		return ol_run_chosen; /* null: disabled */
	if (ol_cas_acquire(&state, (uint32_t)FRESH, (uint32_t)STARTING)) {
		ol_store_relaxed(&starter, &my_id);
		start_once();
		ol_store_release(&state, (uint32_t)STARTED);
	} else if (ol_load_relaxed(&starter) != &my_id) {
		while (ol_load_acquire(&state) != STARTED)
			ol_yield();
	}
	return ol_load_acquire(&ol_run_chosen);
}

/* `--no-children`: whatever the program starts finds the environment without our variables, which have been read by now. */
static void leave_children_alone(void)
{
	const char *children = secure_getenv("OVERLOCK_CHILDREN");
	char *beside;

	if (!children || strcmp(children, "0") != 0)
		return;
	beside = ol_run_preloaded_beside(0, getenv("LD_PRELOAD"));
	if (!beside)
		ol_run_refuse("OVERLOCK_CHILDREN", "out of memory for the environment of children");
	ol_run_remove_told();
	if (*beside)
		setenv("LD_PRELOAD", beside, 1);
	free(beside);
}

__attribute__((constructor(102))) static void constructor(void)
{
	ol_run_start();
#ifdef OL_COUNTED
	if (ol_run_chosen)
		ol_run_demand_start();
#endif
	leave_children_alone();
}
