/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks, and misuse of mutexes. The checked library only.
 *
 * Each thread says in a record of its own what mutex it waits for. The waiter itself looks at a wait
 * that lasts, from within the lock's own polls and sleeps (ol_sites_watch()): first it notes its
 * stack, later it follows the owners from mutex to mutex and tells what it finds. So nobody is
 * interrupted, no thread is added, and of threads that wait for at least 10 ms the stacks are known.
 *
 * A walk reads the mutexes that others wait for, and a thread whose wait is over may free its mutex at
 * once. So a walk says first that there is one, and a thread that has stopped to wait stays until it is over.
 *
 * All this happens while the program holds its locks: no malloc, no loader's lock, and errno stays.
 */
#include "internal.h"

#include "bare.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FRAMES = 64 };

struct thread {
	struct thread *next; /* in `threads`, which only grows */
	uint32_t id;	     /* 0: of nobody, to be had */
	const struct mutex *waits_for;
	ol_ticks_t since;
	uint32_t depth; /* of the stack; 0: not known yet */
	void *stack[FRAMES];
	uint32_t told; /* its present wait has been told of */

	/* What a walk found, in which it was last seen; under the lock. */
	uint32_t seen;
	const struct mutex *mutex; /* null: it waited for none */
	uint32_t owner;		   /* of that; 0: nobody known */
	struct thread *holder;	   /* the owner's record, or null */
};

static struct thread *threads;
static _Thread_local struct thread *mine __attribute__((tls_model("initial-exec")));
static pthread_key_t at_exit;

static ol_ticks_t timeout = OL_NEVER;
static bool looks_for_misuse; /* else only deadlocks */

/* Threads. */

static struct thread *thread_new(void)
{
	struct thread *t =
		mmap(0, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return 0;
	t->id = ol_run_self();
	do {
		t->next = ol_load_relaxed(&threads);
	} while (!ol_cas_release(&threads, t->next, t)); /* readers find it complete */
	return t;
}

static struct thread *me(void)
{
	struct thread *t = mine;

	if (t)
		return t;
	for (t = ol_load_acquire(&threads); t; t = t->next)
		if (!ol_load_relaxed(&t->id) && ol_cas_acquire(&t->id, 0u, ol_run_self()))
			break;
	mine = t ? t : thread_new();
	if (mine)
		pthread_setspecific(at_exit, mine);
	return mine;
}

static void leave(void *arg)
{
	struct thread *t = arg;

	mine = 0;
	ol_store_release(&t->id, 0u); /* after all that we wrote in it */
}

static struct thread *thread_of(uint32_t id)
{
	struct thread *t = ol_load_acquire(&threads);

	while (t && ol_load_relaxed(&t->id) != id)
		t = t->next;
	return t;
}

/* Telling: one at a time. */

static struct string told;		 /* all findings, as JSON */
static struct string message, name, cpp; /* while one is told of */
static uint32_t telling, walks;
static uint32_t walker; /* the thread that walks; 0: none does */

/* Of /proc/self/task/ID, a file's first line. */
static void of_task(uint32_t id, const char *file, char *into, size_t size)
{
	char path[64] = "/proc/self/task/";
	ssize_t n;
	int fd;

	stpcpy(stpcpy(ol_text_number(path + strlen(path), id), "/"), file);
	fd = ol_bare_open(path, O_RDONLY | O_CLOEXEC, 0);
	n = fd < 0 ? 0 : ol_bare_read(fd, into, size - 1);
	if (fd >= 0)
		ol_bare_close(fd);
	into[n > 0 ? n : 0] = 0;
	into[strcspn(into, "\n")] = 0;
}

/* As /proc has it; the letter behind the name, in which there may be anything. */
static const char *state_of(uint32_t id)
{
	char stat[512];
	const char *end;

	of_task(id, "stat", stat, sizeof(stat));
	end = strrchr(stat, ')');
	if (!end || end[1] != ' ')
		return "gone";
	return end[2] == 'R' ? "running" : end[2] == 'S' ? "asleep" : "blocked in the kernel";
}

/* Everything is reported twice: as JSON, and for the person watching. */

static void put_address(const void *address, bool is_function)
{
	const char *at = ol_run_symbol_at(&name, &cpp, address, is_function);
	struct object o;
	bool known = ol_run_object_at(address, &o);

	ol_run_string_put(&told, "{\"address\": \"%p\"", address);
	if (known) {
		ol_run_string_put(&told, ", \"module\": ");
		ol_run_string_quote(&told, o.path);
		ol_run_string_put(&told, ", \"offset\": %zu",
				  (size_t)((uintptr_t)address - o.base));
	}
	if (at) {
		ol_run_string_put(&told, ", \"%s\": ", is_function ? "function" : "variable");
		ol_run_string_quote(&told, at);
		ol_run_string_add(at, strlen(at), &message);
	} else {
		ol_run_string_put(&message, "%p", address);
	}
	ol_run_string_put(&told, "}");
	if (known && is_function) {
		ol_run_string_put(&message, " (");
		ol_run_string_add(ol_run_object_name(&o), strlen(ol_run_object_name(&o)), &message);
		ol_run_string_put(&message, "+%#zx)", (size_t)((uintptr_t)address - o.base));
	}
}

static void put_stack(void *const *stack, uint32_t depth)
{
	ol_run_string_put(&told, ", \"stack\": [");
	for (uint32_t i = 0; i < depth; i++) {
		ol_run_string_put(&told, i ? ", " : "");
		ol_run_string_put(&message, "    #%-2u ", i);
		put_address((const char *)stack[i] - 1,
			    true); /* the call, not where it returns to */
		ol_run_string_put(&message, "\n");
	}
	ol_run_string_put(&told, "]");
	if (!depth)
		ol_run_string_put(&message, "    its stack is unknown\n");
}

static bool is_held(const void *lock)
{
	return ol_sites_holder(lock) != 0;
}

/* Where its holder locked it; from notes alone, as the memory that is initialised may be anything. */
static const void *holder_site(const struct mutex *m)
{
	const void *lock = is_held(m->lock) ? m->lock : ol_run_outside_find(m, is_held);

	return lock ? ol_sites_holder(lock) : 0;
}

/* `owner` is 0 where it is not known, too. */
static void put_holder(const struct mutex *m, uint32_t owner)
{
	const void *site = holder_site(m);

	ol_run_string_put(&told, ", \"owner\": %u", owner);
	if (owner)
		ol_run_string_put(&message, "    held by thread %u", owner);
	else
		ol_run_string_put(&message, site ? "    held" : "    held by no thread");
	if (site) {
		ol_run_string_put(&told, ", \"acquired\": ");
		ol_run_string_put(&message, ", locked in ");
		put_address((const char *)site - 1, true);
	}
	ol_run_string_put(&message, "\n");
}

static void put_waiter(struct thread *t)
{
	uint64_t ns = ol_ns_from_ticks(ol_now() - ol_load_relaxed(&t->since));
	char comm[64];

	of_task(t->id, "comm", comm, sizeof(comm));
	ol_run_string_put(&told, "{\"thread\": %u, \"name\": ", t->id);
	ol_run_string_quote(&told, comm);
	ol_run_string_put(&told, ", \"waited_ns\": %" PRIu64 ", \"mutex\": ", ns);
	ol_run_string_put(&message, "  thread %u (%s) has waited for %" PRIu64 ".%03u s for ",
			  t->id, comm, ns / 1000000000, (unsigned)(ns / 1000000 % 1000));
	put_address(t->mutex, false);
	ol_run_string_put(&message, "\n");
	put_stack(t->stack, ol_load_acquire(&t->depth));
	put_holder(t->mutex, t->owner);
	ol_run_string_put(&told, "}");
}

/*
 * The owner's owner and so on, until nobody waits or somebody comes again: that is a deadlock. The fence
 * and the one in ol_run_misuse_wait_over(): either we see that the wait is over, or that thread sees us.
 */
static bool walk(struct thread *t)
{
	const struct mutex *m;

	walks++;
	ol_store_relaxed(&walker, ol_run_self());
	ol_fence();
	for (; t && t->seen != walks; t = t->holder) {
		m = ol_load_relaxed(&t->waits_for);
		t->seen = walks;
		t->mutex = m;
		t->owner = m ? ol_load_relaxed(&m->owner) : 0;
		t->holder = t->owner ? thread_of(t->owner) : 0;
	}
	ol_store_release(&walker, 0u); /* after all that we read */
	return t;
}

/* What the walk from there has found. */
static void put_chain(struct thread *t)
{
	uint32_t owner = 0;
	const char *comma = "";

	ol_run_string_put(&told, ", \"waits\": [");
	walks++;
	while (t && t->seen != walks && t->mutex) {
		t->seen = walks;
		ol_store_relaxed(&t->told, 1u);
		ol_run_string_put(&told, "%s", comma);
		put_waiter(t);
		comma = ", ";
		owner = t->owner;
		t = t->holder;
	}
	ol_run_string_put(&told, "]");
	if (t && t->seen == walks) {
		ol_run_string_put(&message, "  thread %u also waits: see above\n", t->id);
	} else if (owner) {
		ol_run_string_put(&told, ", \"last\": {\"thread\": %u, \"state\": \"%s\"}", owner,
				  state_of(owner));
		ol_run_string_put(&message, "  thread %u waits for no mutex; it is %s\n", owner,
				  state_of(owner));
	}
}

struct found {
	enum finding what;
	struct thread *waiter; /* of waits, else null */
	const struct mutex *mutex;
	void *stack[FRAMES];
	uint32_t depth;
};

static const struct {
	const char *name, *what;
} kinds[] = {
#define OL_FINDING(name, what) { #name, what },
	FINDING_LIST
#undef OL_FINDING
};

static void put_found(void *arg)
{
	struct found *f = arg;

	if (f->waiter && walk(f->waiter))
		f->what = FOUND_deadlock;
	message.used = 0;
	ol_run_string_put(&told, "%s\n  {\"what\": \"%s\"", told.used ? "," : "",
			  kinds[f->what].name);
	ol_run_string_put(&message, "overlock: %s: %s\n", kinds[f->what].name, kinds[f->what].what);
	if (f->waiter) {
		put_chain(f->waiter);
	} else {
		bool is_mutex = f->what != FOUND_init_held && f->what != FOUND_init_again;

		ol_run_string_put(&told, ", \"thread\": %u, \"mutex\": ", ol_run_self());
		ol_run_string_put(&message, "  thread %u, mutex ", ol_run_self());
		put_address(f->mutex, false);
		ol_run_string_put(&message, "\n");
		put_stack(f->stack, f->depth);
		put_holder(f->mutex, is_mutex ? ol_load_relaxed(&f->mutex->owner) : 0);
	}
	ol_run_string_put(&told, "}");
	ol_run_report_found(message.at, message.used);
}

/* Each finding is reported once for each call site. */
static bool is_new(const struct found *f)
{
	static struct reported {
		struct reported *next;
		const void *site;
		enum finding what;
	} *all;
	const void *site = f->depth ? f->stack[0] : 0;
	struct reported *p = all;

	while (p && (p->site != site || p->what != f->what))
		p = p->next;
	if (p)
		return false;
	p = mmap(0, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return true;
	*p = (struct reported){ all, site, f->what };
	all = p;
	return true;
}

/* Not ol_yield(), which looks again at waits that last. */
static void nap(void)
{
	ol_bare_sleep(&(struct timespec){ .tv_nsec = 1000000 });
}

static bool is_unsaid; /* the terminal has not taken all of it yet; relaxed: it orders nothing */

static void tell(struct found *f)
{
	uint64_t signals = ol_run_block_signals(); /* whose handlers might never return */
	int saved = errno, type;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &type);
	while (!ol_cas_acquire(&telling, 0u, 1u))
		nap();
	if (f->waiter ? !ol_load_relaxed(&f->waiter->told) : is_new(f))
		ol_run_on_large_stack(put_found, f);
	ol_store_relaxed(&is_unsaid, !ol_run_report_say());
	ol_store_release(&telling, 0u);
	pthread_setcancelstate(type, 0);
	ol_run_restore_signals(signals);
	errno = saved;
}

void ol_run_misuse_put(struct string *t, bool is_telling)
{
	while (!is_telling && !ol_cas_acquire(&telling, 0u, 1u))
		nap();
	if (told.used)
		ol_run_string_put(t, "%s", told.at);
	if (!is_telling)
		ol_store_release(&telling, 0u);
}

/* Waits. */

static const uint64_t NOTE_AFTER_NS = 10000000; /* by far longer than a wait that ends */
static const uint64_t SAY_AGAIN_NS = 100000000; /* on a terminal that is paused */

static ol_ticks_t look(ol_ticks_t began)
{
	struct thread *t = mine;
	uint32_t depth;
	bool is_cut;

	if (!t || !t->waits_for)
		return OL_NEVER; /* it has a deadline */
	if (!t->depth) {
		ol_store_relaxed(&t->since, began);
		depth = ol_run_unwind(t->stack, FRAMES, ol_run_caller, &is_cut);
		ol_store_release(&t->depth, depth); /* with the stack */
		return began + timeout;
	}
	tell(&(struct found){ .what = FOUND_long_wait, .waiter = t });
	return ol_load_relaxed(&is_unsaid) ? ol_after(1, ol_ticks_from_ns(SAY_AGAIN_NS)) : OL_NEVER;
}

void ol_run_misuse_wait(const struct mutex *m)
{
	struct thread *t = timeout == OL_NEVER ? 0 : me();

	if (!t)
		return;
	ol_store_relaxed(&t->depth, 0u);
	ol_store_relaxed(&t->told, 0u);
	ol_store_relaxed(&t->since, ol_now());
	ol_store_relaxed(&t->waits_for, m);
}

void ol_run_misuse_wait_over(void)
{
	uint32_t other;

	if (!mine)
		return;
	ol_store_relaxed(&mine->waits_for, (const struct mutex *)0);
	ol_fence();
	/* Our own walk: a signal handler has interrupted it. Acquire: what it read, before what we do. */
	while ((other = ol_load_acquire(&walker)) && other != ol_run_self())
		nap();
}

void ol_run_misuse_nap(ol_ticks_t began)
{
	ol_ticks_t waited = ol_now() - began;

	if (mine && mine->waits_for && !mine->told &&
	    waited >= (mine->depth ? timeout : ol_ticks_from_ns(NOTE_AFTER_NS)))
		(void)look(began);
}

/* Misuse. */

static void report_misuse(enum finding what, const struct mutex *m)
{
	struct found f = { .what = what, .mutex = m };
	bool is_cut;

	f.depth = ol_run_unwind(f.stack, FRAMES, ol_run_caller, &is_cut);
	tell(&f);
}

void ol_run_misuse_relock(const struct mutex *m)
{
	if (looks_for_misuse)
		report_misuse(FOUND_relock, m);
}

bool ol_run_misuse_unlock(const struct mutex *m, bool is_mine)
{
	if (!looks_for_misuse || is_mine)
		return true;
	if (!ol_load_relaxed(&m->owner)) {
		report_misuse(FOUND_free_unlock, m);
		return false;
	}
	report_misuse(FOUND_foreign_unlock, m);
	return true;
}

/* Where each mutex was initialised; null once it is destroyed. */
struct birth {
	struct birth *next;
	const struct mutex *mutex;
	const void *site;
	uint32_t
		epoch; /* in that process; a fork's child makes anew what the parent's threads held */
};
enum { BUCKETS = 4096 };
static struct birth *births[BUCKETS];

/* Null if there is no memory: then it stays unknown. */
static struct birth *birth_of(const struct mutex *m)
{
	uint64_t hash = (uintptr_t)m * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
	struct birth **bucket = &births[hash >> 52], *b = ol_load_acquire(bucket);

	while (b && b->mutex != m)
		b = b->next;
	if (b)
		return b;
	b = ol_run_find_room(sizeof(*b));
	if (!b)
		return 0;
	b->mutex = m;
	do {
		b->next = ol_load_relaxed(bucket);
	} while (!ol_cas_release(bucket, b->next, b)); /* readers find it complete */
	return b;
}
_Static_assert(BUCKETS == 1 << (64 - 52), "the hash's upper bits are the bucket");

/*
 * Memory that held a mutex may hold another one, and it may be freed without destroying the first. So
 * what was there is no proof; but a holder is, and so are two places that initialise.
 */
void ol_run_misuse_init(const struct mutex *m)
{
	struct birth *b;

	if (!looks_for_misuse)
		return;
	b = birth_of(m);
	if (holder_site(m))
		report_misuse(FOUND_init_held, m);
	else if (b && b->site && b->site != ol_run_caller && b->epoch == ol_run_epoch)
		report_misuse(FOUND_init_again, m);
	if (b) {
		ol_store_relaxed(&b->site, ol_run_caller);
		ol_store_relaxed(&b->epoch, ol_run_epoch);
	}
}

void ol_run_misuse_destroy(const struct mutex *m, bool is_locked)
{
	struct birth *b = looks_for_misuse && !is_locked ? birth_of(m) : 0;

	if (looks_for_misuse && is_locked)
		report_misuse(FOUND_destroy_held, m);
	if (b)
		ol_store_relaxed(&b->site, (const void *)0);
}

/* The start. */

/* Digits, few enough for 64 bits: strtoull() would read "5s" as 5. */
static uint64_t from_environment(const char *variable, const char *expected)
{
	const char *text = secure_getenv(variable);
	size_t digits = text ? strspn(text, "0123456789") : 0;

	if (!text)
		return 0;
	if (!digits || digits > 18 || text[digits])
		ol_run_refuse(variable, expected);
	return strtoull(text, 0, 10);
}

void ol_run_misuse_start(void)
{
	uint64_t ns = from_environment("OVERLOCK_DEADLOCK_NS",
				       "expected a time in ns, such as 5000000000 for 5 s, or 0");

	looks_for_misuse = from_environment("OVERLOCK_CHECK", "expected 0 or 1") != 0;
	pthread_key_create(&at_exit, leave);
	ol_run_objects_start();
	ol_run_unwind_start();
	if (!ns)
		return;
	timeout = ol_ticks_from_ns(ns);
	ol_sites_watch(ol_ticks_from_ns(ns / 2 < NOTE_AFTER_NS ? ns / 2 : NOTE_AFTER_NS), look);
}

/* The parent's threads wait for nothing here. */
void ol_run_misuse_renew(void)
{
	threads = 0;
	mine = 0;
	telling = 0;
	is_unsaid = false;
	ol_run_report_renew();
	walker = 0;
}
