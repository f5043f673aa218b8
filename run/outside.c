/* SPDX-License-Identifier: MIT */
/*
 * Locks too large for a mutex: the mutex holds a pointer, and the lock lies outside.
 *
 * It is found by the mutex's address when the mutex, all zero, is first used. Few programs destroy
 * their mutexes (std::mutex never does), so nothing tells us that one is gone; but memory that holds
 * a mutex now may hold another one later, at the same address. So there
 * are never more locks than addresses that held a mutex, but for those that a fork left held.
 *
 *	mutex.lock[0]	null: free and unused; HERE: see below; else the lock
 *
 * A program that copies or moves a mutex nobody holds takes the word along. The lock belongs to the mutex
 * that it names, and so such a word is as good as null to any other.
 *
 * Where there is no memory for a lock outside, the word itself is the lock, and HERE while it is held.
 * It is tried again when the word is null: a program that has memory again gets its lock then.
 * Threads that find HERE poll; they never use a lock outside, for the word names none.
 *
 * Functions of a lock are told nothing but where it is, which is where the mutex is; what is outside
 * says in front of the lock whose it is, and for the first use the mutex's kind does.
 */
#include "interposer.h"

#include <errno.h>
#include <sys/mman.h>

enum { BUCKETS = 1 << 16, CHUNK = 1 << 20, CACHE_LINE = 128 };
#define HERE ((void *)1)

struct outside {
	struct outside *next;
	const void *mutex;
	const struct ol_lock_ops *inner;
};

static struct outside *buckets[BUCKETS];

/* What a mutex is told of a lock that lies outside. */
struct adapted {
	struct ol_lock_ops here;
	const struct ol_lock_ops *inner;
};

static const struct ol_lock_ops *inner_of(const void *mutex)
{
	const struct mutex *m = mutex;

	return ((const struct adapted *)
			ol_run_choices[ol_load_relaxed(&m->kind) >> KIND_CHOICE_SHIFT])
		->inner;
}

static void *lock_in(struct outside *o)
{
	return (char *)o + CACHE_LINE;
}

static const struct outside *outside_of(const void *lock)
{
	return (const struct outside *)((const char *)lock - CACHE_LINE);
}

static const struct ol_lock_ops *inner_at(const void *lock)
{
	return outside_of(lock)->inner;
}

/* Is that word, which is in this mutex, its lock? */
static bool is_lock_of(const void *mutex, const void *word)
{
	return word && word != HERE && outside_of(word)->mutex == mutex;
}

/* Room is cut from chunks; the thread that finds one used up makes the next. */
struct chunk {
	size_t used;
};
static struct chunk *chunk;

static struct chunk *new_chunk(struct chunk *full)
{
	int saved = errno;
	struct chunk *c =
		mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (c == MAP_FAILED)
		return 0;
	c->used = CACHE_LINE;
	if (ol_cas_release(&chunk, full, c)) /* shows the mark above */
		return c;
	munmap(c, CHUNK);
	return ol_load_acquire(&chunk);
}

void *ol_run_find_room(size_t bytes)
{
	struct chunk *c = ol_load_acquire(&chunk);

	bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	for (;;) {
		size_t at = c ? ol_add_relaxed(&c->used, bytes) : CHUNK;

		if (at + bytes <= CHUNK)
			return (char *)c + at;
		c = new_chunk(c);
		if (!c)
			return 0;
	}
}

static struct outside **bucket_of(const void *mutex)
{
	uint64_t hash = (uintptr_t)mutex * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */

	return &buckets[hash >> 48];
}
_Static_assert(BUCKETS == 1 << (64 - 48), "the hash's upper bits are the bucket");

/* Null if there is no memory. */
static struct outside *insert(const void *mutex, const struct ol_lock_ops *inner)
{
	struct outside **bucket = bucket_of(mutex), *o = ol_run_find_room(CACHE_LINE + inner->size);

	if (!o)
		return 0;
	o->mutex = mutex;
	o->inner = inner;
	do {
		o->next = ol_load_relaxed(bucket);
	} while (!ol_cas_release(bucket, o->next, o)); /* shows what we wrote in it */
	return o;
}

/* What an earlier mutex at this address left, if nobody holds it nor waits: not even a fork's parent. */
static struct outside *find_left(const void *mutex, const struct ol_lock_ops *inner)
{
	struct outside *o = ol_load_acquire(bucket_of(mutex));

	while (o && !(o->mutex == mutex && o->inner == inner && !inner->is_locked(lock_in(o))))
		o = o->next;
	return o;
}

const void *ol_run_outside_find(const struct mutex *m, bool (*is)(const void *lock))
{
	struct outside *o = ol_load_acquire(bucket_of(m));

	while (o && !(o->mutex == m && is(lock_in(o))))
		o = o->next;
	return o ? lock_in(o) : 0;
}

/* Null if the word is HERE, or there is no memory. */
static OL_COLD void *attach(void **slot)
{
	const struct ol_lock_ops *inner = inner_of(slot);
	struct outside *o;
	void *now = ol_load_acquire(slot);

	if (now == HERE)
		return 0;
	if (is_lock_of(slot, now))
		return now; /* since we looked */
	o = find_left(slot, inner);
	if (!o)
		o = insert(slot, inner);
	/*
	 * Release: the lock's zeroes, whichever thread cut its room. Acquire: the section of a thread that held
	 * the word, which we follow by another lock.
	 */
	if (o && ol_cas_acq_rel(slot, now, lock_in(o)))
		return lock_in(o);
	now = ol_load_acquire(slot); /* another was faster; ours serves a later mutex */
	return is_lock_of(slot, now) ? now : 0;
}

static inline void *lock_of(void *l)
{
	void **slot = l, *lock = ol_load_acquire(slot);

	return OL_UNLIKELY(!is_lock_of(slot, lock)) ? attach(slot) : lock;
}

static bool acquire(void *lock, ol_ticks_t until)
{
	const struct ol_lock_ops *inner = inner_at(lock);

	if (!until)
		return inner->trylock(lock);
	if (until != OL_NEVER)
		return inner->timedlock(lock, until);
	inner->lock(lock);
	return true;
}

/* Acquires the word, or the lock outside as soon as there is one; gives up at `until`, at once for 0. */
static OL_COLD bool acquire_here(void *l, ol_ticks_t until)
{
	void **slot = l, *lock, *now;

	for (;;) {
		now = ol_load_acquire(slot);
		/* Acquire: the holder before us released the word. */
		if (now != HERE && !is_lock_of(slot, now) && ol_cas_acquire(slot, now, HERE))
			return true;
		lock = lock_of(l);
		if (lock)
			return acquire(lock, until);
		if (ol_passed(until))
			return false;
		ol_yield();
	}
}

static void do_lock(void *l)
{
	void *lock = lock_of(l);

	if (OL_UNLIKELY(!lock))
		(void)acquire_here(l, OL_NEVER);
	else
		inner_at(lock)->lock(lock);
}

static bool do_trylock(void *l)
{
	void *lock = lock_of(l);

	return OL_UNLIKELY(!lock) ? acquire_here(l, 0) : inner_at(lock)->trylock(lock);
}

static bool do_timedlock(void *l, ol_ticks_t until)
{
	void *lock = lock_of(l);

	return OL_UNLIKELY(!lock) ? acquire_here(l, until) : inner_at(lock)->timedlock(lock, until);
}

static int do_take(void *l)
{
	void *lock = lock_of(l);

	return OL_UNLIKELY(!lock) ? !acquire_here(l, 0) : inner_at(lock)->take(lock);
}

/* The lock outside that is to be released; null if there was none. */
static void *to_release(void *l)
{
	void **slot = l, *lock = ol_load_acquire(slot);

	if (is_lock_of(slot, lock))
		return lock;
	if (lock == HERE)
		ol_store_release(slot, (void *)0);
	return 0;
}

static int do_release(void *l)
{
	void *lock = to_release(l);

	return lock ? inner_at(lock)->release(lock) : 0;
}

static void do_unlock(void *l)
{
	void *lock = to_release(l);

	if (lock)
		inner_at(lock)->unlock(lock);
}

static bool do_is_locked(const void *l)
{
	void *lock = ol_load_acquire((void *const *)l);

	return lock == HERE || (is_lock_of(l, lock) && inner_at(lock)->is_locked(lock));
}

static bool do_is_contended(const void *l)
{
	void *lock = ol_load_acquire((void *const *)l);

	return is_lock_of(l, lock) && inner_at(lock)->is_contended(lock);
}

void *ol_run_outside_at(struct mutex *m, const struct ol_lock_ops *ops)
{
	void *lock = ops->lock == do_lock ? lock_of(m->lock) : 0;

	return lock ? lock : (void *)m->lock;
}

/* The same lock, to be kept in the 8 bytes of a pointer. */
const struct ol_lock_ops *ol_run_outside_ops(const struct ol_lock_ops *ops)
{
	struct adapted *a;

	if (ops->align > CACHE_LINE || ops->size > CHUNK / 2)
		ol_run_refuse(ops->id,
			      "exceeds the limits of 512 KiB and an alignment of 128 bytes");
	a = ol_run_find_room(sizeof(*a));
	if (!a)
		ol_run_refuse(ops->id, "does not fit into a mutex, and there is no memory outside");
	a->inner = ops;
	a->here = *ops;
	a->here.size = sizeof(void *);
	a->here.align = _Alignof(void *);
	a->here.lock = do_lock;
	a->here.trylock = do_trylock;
	a->here.timedlock = ops->timedlock ? do_timedlock : 0;
	a->here.unlock = do_unlock;
	a->here.take = do_take;
	a->here.release = do_release;
	a->here.is_locked = do_is_locked;
	a->here.is_contended = do_is_contended;
	return &a->here;
}
