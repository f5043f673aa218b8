/* SPDX-License-Identifier: MIT */
/*
 * Sites, threads and decisions. All of it is asked inside the program's calls, whatever locks the program
 * holds: it takes none, calls no malloc(), and is no cancellation point.
 */
#include "bare.h"
#include "by.h"
#include "chaos.h"
#include "decide.h"
#include "diag/symbols.h"
#include "real.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BILLION UINT64_C(1000000000)

struct chaos_real ol_chaos_real;
bool ol_chaos_idle;

static struct {
	struct chaos_odds odds;
	uint32_t kinds; /* a bit each */
	const char *patterns;
	uint64_t *only; /* their names' hashes; null: all */
	size_t n_only;
} settings = { .odds = { .shortest_ns = 1000000, .longest_ns = 20000000 }, .kinds = UINT32_MAX };

static struct chaos_record *record;
enum state { UNKNOWN, OFF, ON };
static uint8_t states[CHAOS_SITES];
static uint64_t names[CHAOS_SITES]; /* hashes that are the same in every run */
static const char *const kinds[] = {
#define CHAOS_KIND(name, what) #name,
#include "kinds.def"
#undef CHAOS_KIND
};

static __thread struct {
	uint64_t place; /* in the tree of creations */
	uint64_t children;
	uint32_t *visits; /* by site */
	struct chaos_thread *row;
} self;
static pthread_key_t at_exit;

/* Hashes. */

/* FNV-1a; a dash is as good as an underscore. */
static uint64_t hashed(uint64_t hash, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)(text[i] == '-' ? '_' : text[i])) *
		       UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t hash_of(const char *text, size_t n)
{
	return hashed(UINT64_C(0xcbf29ce484222325), text, n);
}

/* Which sites are meant. */

static bool fits(const char *pattern, const char *end, const char *text)
{
	for (; pattern < end; pattern++, text++) {
		if (*pattern == '*') {
			do {
				if (fits(pattern + 1, end, text))
					return true;
			} while (*text++);
			return false;
		}
		if (!*text || (*pattern != '?' && *pattern != *text))
			return false;
	}
	return !*text;
}

/* A colon that is not one of C++'s two ends the object's name. */
static const char *object_end(const char *pattern, const char *end)
{
	for (const char *p = pattern; p < end; p++) {
		if (*p == ':' && (p + 1 == end || p[1] != ':'))
			return p;
		p += *p == ':';
	}
	return 0;
}

struct match {
	const void *caller;
	const char *object;
	bool fits;
};

/* A name fits without its parameters (C++), and without what the compiler adds to it (.constprop.0), too. */
static bool fits_function(const char *pattern, const char *end, char *name)
{
	char *rest = name + strcspn(name, "(."), cut = *rest;
	bool fine = fits(pattern, end, name);

	if (!fine && cut && rest > name) {
		*rest = 0;
		fine = fits(pattern, end, name);
		*rest = cut;
	}
	return fine;
}

static void match_all(void *arg)
{
	struct match *m = arg;
	struct string plain = { 0 }, cpp = { 0 };
	const char *name = ol_run_symbol_at(&plain, &cpp, m->caller, true);

	for (const char *p = settings.patterns; *p && !m->fits; p += *p == '\n') {
		const char *end = strchrnul(p, '\n'), *colon = object_end(p, end);

		if (!colon || fits(p, colon, m->object)) {
			const char *rest = colon ? colon + 1 : p;

			m->fits = (end - rest == 1 && *rest == '*') ||
				  (name && fits_function(rest, end, (char *)(uintptr_t)name));
		}
		p = end;
	}
	ol_run_string_free(&plain);
	ol_run_string_free(&cpp);
}

static bool is_listed(uint64_t name)
{
	for (size_t i = 0; i < settings.n_only; i++)
		if (settings.only[i] == name)
			return true;
	return !settings.only;
}

static bool is_meant(uint64_t name, enum chaos_kind kind, const char *object, const void *caller)
{
	struct match m = { caller, object, false };

	if (!(settings.kinds >> kind & 1) || !is_listed(name))
		return false;
	if (!settings.patterns)
		return true;
	return ol_run_on_large_stack(match_all, &m) && m.fits;
}

/* The record of a site. */

static uint32_t number_of_object(const struct object *o)
{
	char path[CHAOS_PATH] = "";
	uint64_t n;

	if (!strcmp(o->path, "/proc/self/exe"))
		(void)!readlink(o->path, path, sizeof(path) - 1);
	else
		strncpy(path, o->path, sizeof(path) - 1);
	n = __atomic_load_n(&record->n_objects, __ATOMIC_ACQUIRE);
	for (uint64_t i = 0; i < n && i < CHAOS_OBJECTS; i++)
		if (!strcmp(record->objects[i], path))
			return (uint32_t)i + 1;
	n = __atomic_fetch_add(&record->n_objects, 1, __ATOMIC_ACQ_REL);
	if (n >= CHAOS_OBJECTS)
		return 0;
	memcpy(record->objects[n], path, sizeof(path));
	return (uint32_t)n + 1;
}

/* Threads may do it at once: each writes only what is final, and so the same. */
static void learn(struct chaos_site *s, enum chaos_kind kind, const void *caller)
{
	char text[CHAOS_PATH];
	const char *name = "?";
	struct object o;
	size_t i = (size_t)(s - record->sites);
	uintptr_t offset = (uintptr_t)caller - 1;
	int n;

	if (ol_run_object_at((const char *)caller - 1, &o)) {
		name = ol_run_object_name(&o);
		offset -= o.base;
		if (!s->object)
			s->object = number_of_object(&o);
	}
	s->kind = kind;
	s->offset = offset;
	n = snprintf(text, sizeof(text), "%s+%#llx:%s", name, (unsigned long long)offset,
		     kinds[kind]);
	names[i] = hash_of(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	__atomic_store_n(&states[i],
			 is_meant(names[i], kind, name, (const char *)caller - 1) ? ON : OFF,
			 __ATOMIC_RELEASE);
}

static struct chaos_site *find_site(uint64_t key)
{
	for (uint64_t probe = 0, i = chaos_mixed(key); probe < CHAOS_SITES; probe++, i++) {
		struct chaos_site *s = &record->sites[i % CHAOS_SITES];
		uint64_t there = __atomic_load_n(&s->key, __ATOMIC_RELAXED);

		if (there == key ||
		    (!there && (__atomic_compare_exchange_n(&s->key, &there, key, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
				there == key)))
			return s;
	}
	return 0;
}

struct chaos_site *ol_chaos_site(enum chaos_kind kind, const void *caller)
{
	struct chaos_site *s;

	ol_chaos_begin();
	s = record ? find_site((uint64_t)(uintptr_t)caller | (uint64_t)kind << 56) : 0;
	if (s && !__atomic_load_n(&states[s - record->sites], __ATOMIC_ACQUIRE)) {
		int saved = errno;

		learn(s, kind, caller);
		errno = saved;
	}
	return s;
}

/* Threads. */

static void forget(void *visits)
{
	if (self.row)
		__atomic_store_n(&self.row->tid, 0, __ATOMIC_RELAXED);
	self.row = 0;
	self.visits = 0;
	munmap(visits, CHAOS_SITES * sizeof(*self.visits));
}

static bool has_visits(void)
{
	void *p;

	if (self.visits)
		return true;
	p = mmap(0, CHAOS_SITES * sizeof(*self.visits), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	self.visits = p;
	pthread_setspecific(at_exit, p);
	return true;
}

static struct chaos_thread *row(void)
{
	uint32_t tid;

	if (self.row || !has_visits()) /* which has it freed when the thread ends */
		return self.row;
	tid = (uint32_t)ol_chaos_real.syscall(SYS_gettid);
	for (size_t i = 0; i < CHAOS_THREADS; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&record->threads[i].tid, &none, tid, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return self.row = &record->threads[i];
	}
	return 0;
}

uint64_t ol_chaos_child(void)
{
	return chaos_mixed(self.place ^ chaos_mixed(++self.children));
}

void ol_chaos_thread_start(uint64_t place)
{
	self.place = place;
}

static void in_child(void)
{
	self.place = chaos_mixed(~self.place);
	self.row = 0;
}

static void in_parent(void)
{
	self.place = chaos_mixed(self.place);
}

/* Decisions. */

uint64_t ol_chaos_draw(struct chaos_site *s)
{
	size_t i = (size_t)(s - record->sites);

	if (states[i] != ON || !has_visits())
		return 0;
	__atomic_fetch_add(&s->visits, 1, __ATOMIC_RELAXED);
	return chaos_decided(&settings.odds, self.place, names[i], self.visits[i]++);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
}

/*
 * What is left of the time when nobody took the CPU, or not for long enough, it sleeps.
 * By the bare call: clock_nanosleep() is a cancellation point. Signals are handled, as if it ran again.
 */
void ol_chaos_nap(struct chaos_site *s, uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	struct timespec until = { (time_t)(end / BILLION), (long)(end % BILLION) };
	int saved = errno;

	__atomic_fetch_add(&s->naps, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->nap_ns, ns, __ATOMIC_RELAXED);
	if (ol_chaos_taken(ns))
		__atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
	while (ol_chaos_real.syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
				     0) &&
	       errno == EINTR)
		;
	errno = saved;
}

void ol_chaos_visit(enum chaos_kind kind, const void *caller)
{
	struct chaos_site *s = ol_chaos_site(kind, caller);
	uint64_t ns = s ? ol_chaos_draw(s) : 0;

	if (ns)
		ol_chaos_nap(s, ns);
}

/* Waits. */

uint64_t ol_chaos_wait_begin(struct chaos_site *s)
{
	struct chaos_thread *mine = s ? row() : 0;
	uint64_t now = now_ns();

	if (mine) {
		mine->since_ns = now;
		__atomic_store_n(&mine->site, (uint32_t)(s - record->sites) + 1, __ATOMIC_RELEASE);
	}
	return now;
}

void ol_chaos_wait_end(struct chaos_site *s, uint64_t began)
{
	uint64_t ns, worst;

	if (!s)
		return;
	if (self.row)
		__atomic_store_n(&self.row->site, 0, __ATOMIC_RELAXED);
	ns = now_ns() - began;
	__atomic_fetch_add(&s->wait_ns, ns, __ATOMIC_RELAXED);
	worst = __atomic_load_n(&s->worst_ns, __ATOMIC_RELAXED);
	while (worst < ns && !__atomic_compare_exchange_n(&s->worst_ns, &worst, ns, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* The start. */

static void find_all(void)
{
#define REAL(type, name, version, parameters) find_real(&ol_chaos_real.name, #name, version);
#include "real.def"
#undef REAL
}

static uint32_t kind_bit(const char *name, size_t n)
{
	for (uint32_t k = 0; k < CHAOS_KINDS; k++)
		if (strlen(kinds[k]) == n && hash_of(kinds[k], n) == hash_of(name, n))
			return 1u << k;
	refuse("OVERLOCK_CHAOS_AT", "names an unknown kind; use `overlock chaos --at`");
	return 0;
}

static uint32_t read_kinds(const char *text)
{
	uint32_t found = 0;

	for (size_t n; *text; text += n + (text[n] != 0)) {
		n = strcspn(text, ",");
		found |= kind_bit(text, n);
	}
	return found;
}

static void read_only(const char *text)
{
	size_t most = strlen(text) / 2 + 1;

	settings.only = mmap(0, most * sizeof(*settings.only), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (settings.only == MAP_FAILED)
		refuse("OVERLOCK_CHAOS_ONLY", "does not fit into memory");
	for (size_t n; *text; text += n + (text[n] != 0)) {
		n = strcspn(text, ",");
		if (n)
			settings.only[settings.n_only++] = hash_of(text, n);
	}
}

static const char *told(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : 0;
}

static void read_settings(void)
{
	const char *text;

	if ((text = told("OVERLOCK_CHAOS_SEED")))
		settings.odds.seed = strtoull(text, 0, 10);
	if ((text = told("OVERLOCK_CHAOS_RATE")))
		settings.odds.rate = (double)strtoull(text, 0, 10) / (double)BILLION;
	if ((text = told("OVERLOCK_CHAOS_LENGTH"))) {
		char *dash;

		settings.odds.shortest_ns = settings.odds.longest_ns = strtoull(text, &dash, 10);
		if (*dash == '-')
			settings.odds.longest_ns = strtoull(dash + 1, 0, 10);
		if (settings.odds.longest_ns < settings.odds.shortest_ns)
			refuse("OVERLOCK_CHAOS_LENGTH", "begins with the longer; turn it around");
	}
	if ((text = told("OVERLOCK_CHAOS_AT")))
		settings.kinds = read_kinds(text);
	if ((text = told("OVERLOCK_CHAOS_BY")))
		ol_chaos_by(text);
	if ((text = getenv("OVERLOCK_CHAOS_ONLY")))
		read_only(text);
	/* The environment is not ours to keep pointers into. */
	if ((text = told("OVERLOCK_CHAOS_SITES")))
		settings.patterns = strdup(text);
}

/* One process may be several programs, one after another. */
static int open_record(const char *folder)
{
	char path[4096];
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < 100; i++) {
		snprintf(path, sizeof(path), "%s/%d.%u", folder, (int)getpid(), i);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0 && !ol_bare_reserve(fd, 0, sizeof(*record))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct chaos_record *map_record(void)
{
	const char *folder = told("OVERLOCK_CHAOS_RECORDS");
	int fd = folder ? open_record(folder) : -1;
	void *p = mmap(0, sizeof(*record), PROT_READ | PROT_WRITE,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		refuse("the record of sites", "does not fit into memory; run without overlock");
	return p;
}

static void start_chaos(void)
{
	ol_run_objects_start();
	read_settings();
	pthread_atfork(0, in_parent, in_child);
	if (settings.odds.rate > 0) {
		pthread_key_create(&at_exit, forget);
		record = map_record();
	}
	ol_chaos_idle = !record;
}

/* By the first call, which another library's constructor may make, or by ours; no thread but one is there. */
void ol_chaos_begin(void)
{
	static bool begun;
	int saved = errno;

	if (begun)
		return;
	begun = true;
	find_all();
	ol_chaos_idle = !is_glibcs_program();
	if (!ol_chaos_idle)
		start_chaos();
	errno = saved;
}

__attribute__((constructor)) static void start_at_load(void)
{
	ol_chaos_begin();
}
