/* SPDX-License-Identifier: MIT */
/*
 * Stacks of waits, or of holds: the callers of the wrapper that calls pthread_mutex_lock(). The counted
 * library only. lib/site/stacks.c says when one is taken and adds up what became of it; here they are
 * unwound and told apart.
 *
 * By backtrace(): glibc's and libgcc's unwinder, which goes by tables that every object on x86-64 and
 * AArch64 has, finds them by _dl_find_object() without the loader's lock, and allocates nothing once it
 * is loaded. (libunwind's caches are behind mutexes, and dl_iterate_phdr() takes that lock; frame
 * pointers are left out of most programs.)
 *
 * A frame is kept as an object and an offset in it, since the object may be gone when somebody asks
 * for names, and another one be there. Names, lines and what was inlined are found after the
 * program's end, by others. All of it grows only, and is read and written without locks.
 */
#include "internal.h"

#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool ol_run_stacks_of_holds;

void ol_run_need_futexes(void)
{
	uint32_t none = 0;

	if (syscall(SYS_futex, &none, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1) < 0)
		ol_run_refuse(
			"futex",
			"forbidden on this system; run without --check, --stacks, --folded and "
			"--counters-signal, which need it");
}

void ol_run_unwind_start(void)
{
	void *stack[1];

	ol_run_need_futexes();
	(void)backtrace(stack, 1);
}

/* What is called to unwind may lock mutexes, if the program has brought tables of its own. */
uint32_t ol_run_unwind(void **stack, uint32_t most, const void *from, bool *is_cut)
{
	const void *saved = ol_run_caller;
	int all = backtrace(stack, (int)most), first = 0;

	ol_run_caller = saved;
	*is_cut = all == (int)most;
	while (first < all && stack[first] != from)
		first++;
	if (first == all)
		first = 0;
	memmove(stack, stack + first, (size_t)(all - first) * sizeof(*stack));
	return (uint32_t)(all - first);
}

/* Objects. */

struct module {
	struct module *next;
	uint32_t number; /* as they came */
	struct object object;
	const char *name; /* the loader's: `path`, without what makes it absolute */
	char path[];
};
static struct module *modules; /* the newest first */

static bool is_of(const struct module *m, const struct object *o)
{
	return m->object.start == o->start && m->object.end == o->end &&
	       m->object.dynamic == o->dynamic && !strcmp(m->name, o->path);
}

/* A path that is not absolute begins where the program is when the object is first seen. */
static struct module *module_new(const struct object *o)
{
	size_t length = strlen(o->path) + 1, folder = *o->path == '/' ? 0 : PATH_MAX;
	struct module *m = ol_run_find_room(sizeof(*m) + folder + length);
	char *end;

	if (!m)
		return 0;
	m->object = *o;
	m->object.path = 0; /* may go before we do */
	if (folder && syscall(SYS_getcwd, m->path, folder - 1) > 0)
		strcat(m->path, "/");
	end = m->path + strlen(m->path);
	memcpy(end, o->path, length);
	m->name = end;
	return m;
}

/* Two threads may find the same at once; then it is there twice. */
static const struct module *module_of(const struct object *o)
{
	struct module *m = ol_load_acquire(&modules);

	while (m && !is_of(m, o))
		m = m->next;
	if (m)
		return m;
	m = module_new(o);
	if (!m)
		return 0;
	do {
		m->next = ol_load_acquire(&modules); /* with its number */
		m->number = m->next ? m->next->number + 1 : 0;
	} while (!ol_cas_release(&modules, m->next, m)); /* readers find it complete */
	return m;
}

/* Stacks. */

enum { DEEP = 128 }; /* frames of one; of deeper ones the outermost are missing, which is told */

struct frame {
	const struct module *module; /* null: unknown, and `at` is an address */
	uintptr_t at; /* in the call, not where it returns to: that may be another function */
};

struct stack {
	struct ol_stack sums;
	struct stack *next;
	const void *site;
	uint32_t depth;
	bool is_cut;
	struct frame frames[];
};
enum { BUCKETS = 4096 };
static struct stack *buckets[BUCKETS];

static struct frame frame_of(const void *returns_to)
{
	uintptr_t at = (uintptr_t)returns_to - 1;
	struct object o;
	const struct module *m = ol_run_object_at((const void *)at, &o) ? module_of(&o) : 0;

	return (struct frame){ m, m ? at - o.base : at };
}

static struct stack **bucket_of(const struct stack *s)
{
	uint64_t hash = (uintptr_t)s->site;

	for (uint32_t i = 0; i < s->depth; i++) /* Fibonacci hashing */
		hash = (hash ^ (uintptr_t)s->frames[i].module ^ s->frames[i].at) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return &buckets[hash >> 52];
}
_Static_assert(BUCKETS == 1 << (64 - 52), "the hash's upper bits are the bucket");

static bool is_same(const struct stack *a, const struct stack *b)
{
	if (a->site != b->site || a->depth != b->depth)
		return false;
	for (uint32_t i = 0; i < a->depth; i++)
		if (a->frames[i].module != b->frames[i].module ||
		    a->frames[i].at != b->frames[i].at)
			return false;
	return true;
}

/* It, or one like it; two threads may bring the same at once, then it is there twice. */
static struct stack *kept(const struct stack *s)
{
	struct stack **bucket = bucket_of(s), *k = ol_load_acquire(bucket);
	size_t size = sizeof(*s) + s->depth * sizeof(*s->frames);

	while (k && !is_same(k, s))
		k = k->next;
	if (k)
		return k;
	k = ol_run_find_room(size);
	if (!k)
		return 0;
	memcpy(k, s, size);
	do {
		k->next = ol_load_relaxed(bucket);
	} while (!ol_cas_release(bucket, k->next, k)); /* readers find it complete */
	return k;
}

static struct ol_stack *take(const void *site)
{
	union {
		struct stack s;
		char room[sizeof(struct stack) + DEEP * sizeof(struct frame)];
	} on;
	void *addresses[DEEP];
	int saved = errno;
	struct stack *found;

	on.s = (struct stack){ .site = site };
	on.s.depth = ol_run_unwind(addresses, DEEP, site, &on.s.is_cut);
	for (uint32_t i = 0; i < on.s.depth; i++)
		on.s.frames[i] = frame_of(addresses[i]);
	found = kept(&on.s);
	errno = saved;
	return found ? &found->sums : 0;
}

/* The report. */

/* The program's own file by its name, because /proc/self means another process to each reader. */
static const char *path_of(const struct module *m, char *self, size_t size)
{
	ssize_t n = strcmp(m->path, "/proc/self/exe") ? -1 : readlink(m->path, self, size - 1);

	if (n < 0)
		return m->path;
	self[n] = 0;
	return self;
}

static void write_modules(struct string *t)
{
	char self[PATH_MAX];
	const struct module *newest = ol_load_acquire(&modules);
	uint32_t n = newest ? newest->number + 1 : 0;

	for (uint32_t i = 0; i < n; i++) { /* few, and in their order */
		const struct module *m = newest;

		while (m->number != i)
			m = m->next;
		ol_run_string_put(t, i ? ", " : "");
		ol_run_string_quote(t, path_of(m, self, sizeof(self)));
	}
}

static void write_stack(struct string *t, const struct stack *s)
{
	ol_run_string_put(t, "{\"site\": \"%#" PRIxPTR "\", \"cut\": %s, ", (uintptr_t)s->site,
			  s->is_cut ? "true" : "false");
	ol_run_string_put(t, "\"waits\": %" PRIu64 ", \"wait_ns\": %" PRIu64 ", ",
			  ol_load_relaxed(&s->sums.waits), ol_load_relaxed(&s->sums.wait_ns));
	ol_run_string_put(t, "\"holds\": %" PRIu64 ", \"hold_ns\": %" PRIu64 ", \"frames\": [",
			  ol_load_relaxed(&s->sums.holds), ol_load_relaxed(&s->sums.hold_ns));
	for (uint32_t i = 0; i < s->depth; i++) {
		const struct frame *f = &s->frames[i];

		ol_run_string_put(t, i ? ", [" : "[");
		if (f->module)
			ol_run_string_put(t, "%" PRIu32 ", ", f->module->number);
		else
			ol_run_string_put(t, "null, ");
		ol_run_string_put(t, "%" PRIuPTR "]", f->at);
	}
	ol_run_string_put(t, "]}");
}

static bool are_taken;

void ol_run_stacks_write(struct string *t)
{
	const char *comma = "";

	if (!are_taken)
		return;
	ol_run_string_put(t, "{\"of\": \"%s\", \"modules\": [",
			  ol_run_stacks_of_holds ? "hold" : "wait");
	write_modules(t);
	ol_run_string_put(t, "], \"stacks\": [");
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct stack *s = ol_load_acquire(&buckets[i]); s; s = s->next) {
			ol_run_string_put(t, "%s\n  ", comma);
			write_stack(t, s);
			comma = ",";
		}
	ol_run_string_put(t, "]}");
}

/* To take a stack takes some microseconds: of shorter waits it would be most. */
static const uint64_t FIRST_NS = 5000;

void ol_run_stacks_start(void)
{
	const char *of = secure_getenv("OVERLOCK_STACKS");

	if (!of || !*of)
		return;
	if (strcmp(of, "wait") != 0 && strcmp(of, "hold") != 0) {
		ol_run_ignore("OVERLOCK_STACKS", of, "expected wait or hold");
		return;
	}
	if (!ol_run_objects_start())
		ol_run_refuse(
			"OVERLOCK_STACKS",
			"needs glibc 2.35 or later, to read stacks without the loader's lock; "
			"run without --stacks and --folded");
	ol_run_unwind_start();
	are_taken = true;
	ol_run_stacks_of_holds = !strcmp(of, "hold");
	ol_sites_take_stacks(ol_run_stacks_of_holds ? OL_NEVER : ol_ticks_from_ns(FIRST_NS), take);
}
