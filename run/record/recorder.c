/* SPDX-License-Identifier: MIT */
/*
 * Threads, locks, sites and events. All of it is asked inside the program's calls, whatever locks the program
 * holds: it takes none, calls no malloc(), and is no cancellation point.
 */
#include "bare.h"
#include "diag/symbols.h"
#include "real.h"
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <overlock/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread that has been away for longer looks how much of that it had a CPU. To look takes half a microsecond. */
static const uint64_t LONG_NS = 20000;
enum { TRIES = 100 };  /* of an empty section: within the first chunk */
enum { PROBES = 256 }; /* in a table that is nearly full */

struct record_real ol_record_real;
bool ol_record_idle;
static struct record *record;
static uint64_t long_ticks;
static char folder[4096 - 64];
static uint64_t most_chunks;
static bool is_reserved; /* all chunks are, else each when it is taken */

static __thread struct {
	struct record_chunk *chunk;
	uint32_t number; /* from 1; 0: not yet known */
	bool busy;	 /* a signal handler may come */
	uint64_t last;	 /* ticks: the end of the last event */
	uint64_t looked; /* ticks: when the following were read */
	uint64_t cpu_us, switches;
} self;

/* splitmix64's finaliser (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* True if it has the key now; relaxed: the rest of a row means something by itself. */
static bool is_row_of(uint64_t *key, uint64_t wanted)
{
	uint64_t there = __atomic_load_n(key, __ATOMIC_RELAXED);

	return there == wanted ||
	       (!there && (__atomic_compare_exchange_n(key, &there, wanted, false, __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED) ||
			   there == wanted));
}

/* Locks. */

static struct record_lock *find_lock(const volatile void *lock, enum record_class class)
{
	uint64_t key = (uintptr_t)lock;

	for (uint64_t probe = 0, i = mixed(key); probe < PROBES; probe++, i++) {
		struct record_lock *l = &record->locks[i % RECORD_LOCKS];

		if (is_row_of(&l->address, key)) {
			if (l->class != class)
				l->class = (uint8_t)class;
			return l;
		}
	}
	return 0;
}

static void own(struct record_lock *l, uint32_t who)
{
	__atomic_store_n(&l->owner, (uint16_t)who, __ATOMIC_RELAXED);
}

/* Sites. */

static uint64_t number_of_object(const struct object *o)
{
	char path[RECORD_PATH] = "";
	uint64_t n;

	if (!strcmp(o->path, "/proc/self/exe"))
		(void)!readlink(o->path, path, sizeof(path) - 1);
	else
		strncpy(path, o->path, sizeof(path) - 1);
	n = __atomic_load_n(&record->n_objects, __ATOMIC_ACQUIRE);
	for (uint64_t i = 0; i < n && i < RECORD_OBJECTS; i++)
		if (!strcmp(record->objects[i], path))
			return i + 1;
	n = __atomic_fetch_add(&record->n_objects, 1, __ATOMIC_ACQ_REL);
	if (n >= RECORD_OBJECTS)
		return 0;
	memcpy(record->objects[n], path, sizeof(path));
	return n + 1;
}

/* Two threads may do it at once, and write the same. */
static void learn(struct record_site *s, const void *caller)
{
	struct object o;

	s->offset = (uintptr_t)caller - 1;
	if (!ol_run_object_at((const char *)caller - 1, &o))
		return;
	s->offset -= o.base;
	__atomic_store_n(&s->object, number_of_object(&o), __ATOMIC_RELAXED);
}

static uint16_t find_site(const void *caller)
{
	uint64_t key = (uintptr_t)caller;

	for (uint64_t probe = 0, i = mixed(key); probe < PROBES; probe++, i++) {
		struct record_site *s = &record->sites[i % RECORD_SITES];

		if (is_row_of(&s->address, key)) {
			if (!s->offset)
				learn(s, caller);
			return (uint16_t)(i % RECORD_SITES);
		}
	}
	return RECORD_UNKNOWN;
}

/* Threads. */

static void read_cpu(uint64_t *cpu_us, uint64_t *switches)
{
	struct rusage r;

	syscall(SYS_getrusage, RUSAGE_THREAD, &r);
	*cpu_us = (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 +
		  (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
	*switches = (uint64_t)r.ru_nvcsw;
}

static void introduce(void)
{
	uint64_t n = __atomic_fetch_add(&record->n_threads, 1, __ATOMIC_RELAXED);
	struct record_thread *row;
	int saved = errno;

	self.number = n < RECORD_THREADS ? (uint32_t)n + 1 : RECORD_UNKNOWN;
	self.chunk = 0;
	read_cpu(&self.cpu_us, &self.switches);
	self.last = self.looked = ol_now();
	if (self.number != RECORD_UNKNOWN) {
		row = &record->threads[n];
		row->tid = (uint32_t)syscall(SYS_gettid);
		row->began = self.last;
		pthread_getname_np(pthread_self(), row->name, sizeof(row->name));
	}
	errno = saved;
}

/* How much of the time up to now the thread was off its CPU since it looked last, in us; and why. */
static void look(uint64_t now, uint64_t *gone_us, bool *of_its_own)
{
	uint64_t wall_us = ol_ns_from_ticks(now - self.looked) / 1000;
	uint64_t cpu_us, switches;
	int saved = errno;

	read_cpu(&cpu_us, &switches);
	*gone_us = wall_us > cpu_us - self.cpu_us ? wall_us - (cpu_us - self.cpu_us) : 0;
	*of_its_own = switches != self.switches;
	self.cpu_us = cpu_us;
	self.switches = switches;
	self.looked = ol_now();
	errno = saved;
}

/* Events. */

static bool may_record(void)
{
	if (ol_record_idle)
		return false;
	if (self.busy) { /* a signal handler, within another call of ours */
		if (self.number && self.number != RECORD_UNKNOWN)
			record->threads[self.number - 1].lost++;
		return false;
	}
	ol_record_begin();
	if (ol_record_idle)
		return false;
	if (!self.number)
		introduce();
	return true;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23 /* Linux 5.14 */
#endif

/* Where the disk is full, a write to what is mapped would kill us. */
static bool has_memory(const void *at, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)at & ~(page - 1);
	int saved = errno;
	bool fine = !madvise((void *)from, (uintptr_t)at + size - from, MADV_POPULATE_WRITE);

	errno = saved;
	return fine;
}

/* No chunk is taken after one that has no memory: all end. */
static struct record_chunk *another_chunk(void)
{
	uint64_t n = __atomic_fetch_add(&record->n_chunks, 1, __ATOMIC_RELAXED);

	if (n >= record->most_chunks)
		return 0;
	if (!is_reserved && !has_memory(&record->chunks[n], sizeof(*record->chunks))) {
		__atomic_store_n(&record->n_chunks, record->most_chunks + 1, __ATOMIC_RELAXED);
		return 0;
	}
	self.chunk = &record->chunks[n];
	self.chunk->thread = self.number;
	return self.chunk;
}

/* When a thread finds no chunk, all end: what some of the threads did is no pattern to replay. */
static struct record_event *room(void)
{
	struct record_chunk *c = self.chunk;

	if (self.number == RECORD_UNKNOWN) {
		__atomic_fetch_add(&record->lost_threads, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (__atomic_load_n(&record->n_chunks, __ATOMIC_RELAXED) > record->most_chunks)
		c = 0;
	else if (!c || c->n == RECORD_CHUNK)
		c = another_chunk();
	if (!c) {
		record->threads[self.number - 1].lost++;
		return 0;
	}
	return &c->events[c->n];
}

/* `began` is when the call began; `at` when it had, or gave up, the lock. */
static void add(const struct record_call *c, enum record_kind kind, uint64_t began, uint64_t at)
{
	struct record_event *e = room();
	uint64_t gone_us = 0, before = began - self.last;
	bool of_its_own = false;

	if (before > long_ticks)
		look(began, &gone_us, &of_its_own);
	if (gone_us > ol_ns_from_ticks(before) / 1000)
		gone_us = ol_ns_from_ticks(before) / 1000;
	if (gone_us > UINT32_MAX)
		gone_us = UINT32_MAX;
	if (!e)
		return;
	*e = (struct record_event){
		.at = at,
		.before = before,
		.wait = at - began,
		.idle_us = of_its_own ? (uint32_t)gone_us : 0,
		.lost_us = of_its_own ? 0 : (uint32_t)gone_us,
		.lock = (uint16_t)(c->lock - record->locks),
		.site = find_site(c->caller),
		.whom = c->whom,
		.kind = (uint8_t)kind,
	};
	/* Release: a reader of the file of a killed process finds whole events. */
	__atomic_store_n(&self.chunk->n, self.chunk->n + 1, __ATOMIC_RELEASE);
}

static void finish(void)
{
	self.last = ol_now();
	__atomic_store_n(&self.busy, false, __ATOMIC_RELAXED);
}

static struct record_call start(const volatile void *lock, enum record_class class,
				const void *caller)
{
	struct record_call c = { .caller = caller };

	if (!may_record())
		return c;
	c.asked = ol_now();
	self.busy = true;
	c.lock = find_lock(lock, class);
	if (!c.lock) {
		__atomic_fetch_add(&record->lost_locks, 1, __ATOMIC_RELAXED);
		finish();
	}
	return c;
}

struct record_call ol_record_ask(const volatile void *lock, enum record_class class,
				 const void *caller)
{
	struct record_call c = start(lock, class, caller);

	if (c.lock)
		c.whom = __atomic_load_n(&c.lock->owner, __ATOMIC_RELAXED);
	return c;
}

void ol_record_answer(struct record_call *c, enum record_kind kind)
{
	uint64_t at, gone_us;
	bool of_its_own;

	if (!c->lock)
		return;
	at = ol_now();
	if (kind == RECORD_acquire)
		own(c->lock, self.number);
	add(c, kind, c->asked, at);
	if (at - c->asked > long_ticks) /* it slept, which is no part of what comes next */
		look(at, &gone_us, &of_its_own);
	finish();
}

struct record_call ol_record_release(const volatile void *lock, enum record_class class,
				     const void *caller)
{
	struct record_call c = start(lock, class, caller);

	if (c.lock && c.lock->owner == self.number)
		own(c.lock, RECORD_NOBODY);
	return c;
}

void ol_record_released(struct record_call *c, enum record_kind kind)
{
	if (!c->lock)
		return;
	add(c, kind, c->asked, c->asked);
	finish();
}

void ol_record_woken(const volatile void *lock, const void *caller)
{
	struct record_call c = start(lock, RECORD_mutex, caller);

	if (!c.lock)
		return;
	own(c.lock, self.number);
	add(&c, RECORD_acquire, c.asked, c.asked);
	finish();
}

/* The start. */

static void find_all(void)
{
#define REAL(type, name, version, parameters) find_real(&ol_record_real.name, #name, version);
#include "../real.def"
#undef REAL
}

/* One process may be several programs, one after another. */
static int create(char *path, size_t size)
{
	int fd = -1;

	for (unsigned i = 0; fd < 0 && (!i || errno == EEXIST); i++) {
		snprintf(path, size, "%s/%d.%u", folder, (int)getpid(), i);
		fd = ol_bare_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return fd;
}

/* The tables; and before Linux 5.14 all of it, since later we could not ask whether there is room. */
static void *map_file(int fd, size_t size)
{
	void *p;

	if (!ol_bare_reserve(fd, 0, sizeof(*record)) || !ol_bare_may_grow(size) ||
	    ftruncate(fd, (off_t)size))
		return MAP_FAILED;
	p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return p;
	is_reserved = !has_memory(p, sizeof(*record));
	if (!is_reserved || ol_bare_reserve(fd, 0, size))
		return p;
	munmap(p, size);
	return MAP_FAILED;
}

/* Null: without a file nothing is recorded. */
static struct record *map_record(void)
{
	size_t size = sizeof(*record) + most_chunks * sizeof(struct record_chunk);
	char path[4096];
	int fd = create(path, sizeof(path));
	void *p = fd < 0 ? MAP_FAILED : map_file(fd, size);

	if (fd >= 0)
		ol_bare_close(fd);
	if (fd >= 0 && p == MAP_FAILED)
		unlink(path);
	return p == MAP_FAILED ? 0 : p;
}

static bool open_record(void)
{
	struct record *r = map_record();

	if (!r)
		return false;
	r->most_chunks = most_chunks;
	r->ns_per_2_30 = ol_ns_from_ticks((uint64_t)1 << 30);
	r->began = ol_now();
	record = r;
	return true;
}

/* What an empty section seems to take: the shortest of many, for whatever disturbs one lengthens it. */
static void calibrate(void)
{
	static pthread_mutex_t nobodys = PTHREAD_MUTEX_INITIALIZER;
	uint64_t hold = UINT64_MAX, think = UINT64_MAX;
	const struct record_event *e;

	for (int i = 0; i < TRIES; i++) {
		pthread_mutex_lock(&nobodys);
		pthread_mutex_unlock(&nobodys);
	}
	for (uint32_t i = 2; self.chunk && i < self.chunk->n; i++) {
		e = &self.chunk->events[i];
		if (e->kind == RECORD_release && e->before < hold)
			hold = e->before;
		if (e->kind == RECORD_acquire && e->before < think)
			think = e->before;
	}
	record->empty_hold = hold == UINT64_MAX ? 0 : hold;
	record->empty_think = think == UINT64_MAX ? 0 : think;
	if (self.chunk)
		self.chunk->n = 0;
	find_lock(&nobodys, RECORD_mutex)->address = 0;
	record->n_chunks = self.chunk ? 1 : 0;
}

static void forget_self(void)
{
	memset(&self, 0, sizeof(self));
}

/* The child records into a file of its own; what its other threads held is not there. */
static void in_child(void)
{
	int saved = errno;

	forget_self();
	if (!ol_record_idle && !open_record())
		ol_record_idle = true;
	errno = saved;
}

static uint64_t chunks_told(void)
{
	const char *text = getenv("OVERLOCK_RECORD_EVENTS");
	uint64_t events = text ? strtoull(text, 0, 10) : 0;

	return (events + RECORD_CHUNK - 1) / RECORD_CHUNK;
}

/* By the first call, which another library's constructor may make, or by ours; no thread but one is there. */
void ol_record_begin(void)
{
	int saved = errno;

	if (ol_record_real.pthread_mutex_lock)
		return;
	find_all();
	ol_record_idle = true;
	errno = saved;
}

static bool open_as_told(void)
{
	const char *where = getenv("OVERLOCK_RECORD");

	most_chunks = chunks_told();
	if (!where || !*where || !most_chunks || strlen(where) >= sizeof(folder))
		return false;
	strcpy(folder, where);
	return open_record();
}

/* Recording begins here and not before: only now do ticks mean the same for good (lib/platform.c). */
__attribute__((constructor)) static void start_at_load(void)
{
	ol_record_begin();
	if (!is_glibcs_program())
		return;
	ol_run_objects_start();
	long_ticks = ol_ticks_from_ns(LONG_NS);
	if (!open_as_told())
		return;
	ol_record_idle = false;
	pthread_atfork(0, 0, in_child);
	calibrate();
}
