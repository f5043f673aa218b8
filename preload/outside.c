/* SPDX-License-Identifier: MIT */
/*
 * Locks too large for a mutex: the mutex holds a pointer, and the lock lies outside.
 *
 * It is found by the mutex's address when the mutex, all zero, is first used. Few programs destroy
 * their mutexes (std::mutex never does), so nothing tells us that one is gone; but memory that holds
 * a mutex now may hold another one later, and whoever comes later has the same address. So there
 * are never more locks than addresses that held a mutex, but for those that a fork left held.
 *
 *	mutex.lock[0]	null: free and unused; else the lock
 */
#include "preload.h"

#include <sys/mman.h>

enum { BUCKETS = 1 << 16, CHUNK = 1 << 20, LINE = 128 };

struct outside {
	struct outside *next;
	const void *mutex;
};

static struct outside *buckets[BUCKETS];
static const struct ol_lock_ops *inner;

static void *lock_in(struct outside *o)
{
	return (char *)o + LINE;
}

/* Room, all zero, is cut from chunks; who finds one used up makes the next. */
struct chunk {
	size_t used;
};
static struct chunk *chunk;

static struct chunk *new_chunk(struct chunk *full)
{
	struct chunk *c =
		mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		refuse(inner->id, "no memory left for a lock that does not fit into a mutex");
	c->used = LINE;
	if (ol_cas_release(&chunk, full, c)) /* shows the mark above */
		return c;
	munmap(c, CHUNK);
	return ol_load_acquire(&chunk);
}

static void *take_room(size_t bytes)
{
	struct chunk *c = ol_load_acquire(&chunk);

	for (;;) {
		size_t at = c ? ol_add_relaxed(&c->used, bytes) : CHUNK;

		if (at + bytes <= CHUNK)
			return (char *)c + at;
		c = new_chunk(c);
	}
}

static struct outside **bucket_of(const void *mutex)
{
	uint64_t hash = (uintptr_t)mutex * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */

	return &buckets[hash >> 48];
}
_Static_assert(BUCKETS == 1 << (64 - 48), "the hash's upper bits are the bucket");

static struct outside *insert(const void *mutex)
{
	size_t bytes = (LINE + inner->size + LINE - 1) / LINE * LINE;
	struct outside **bucket = bucket_of(mutex), *o = take_room(bytes);

	o->mutex = mutex;
	do {
		o->next = ol_load_relaxed(bucket);
	} while (!ol_cas_release(bucket, o->next, o)); /* shows what we wrote in it */
	return o;
}

/* What an earlier mutex at this address left, if nobody holds it nor waits: not even a fork's parent. */
static struct outside *find_left(const void *mutex)
{
	struct outside *o = ol_load_acquire(bucket_of(mutex));

	while (o && !(o->mutex == mutex && !inner->is_locked(lock_in(o))))
		o = o->next;
	return o;
}

static OL_COLD void *attach(void **place)
{
	struct outside *o = find_left(place);

	if (!o)
		o = insert(place);
	/* Release and acquire: the lock's zeroes, whoever of us cut its room. */
	if (ol_cas_release(place, (void *)0, lock_in(o)))
		return lock_in(o);
	return ol_load_acquire(place); /* another was faster; ours serves a later mutex */
}

static inline void *lock_of(void *l)
{
	void **place = l, *lock = ol_load_acquire(place);

	return OL_UNLIKELY(!lock) ? attach(place) : lock;
}

static void do_lock(void *l)
{
	inner->lock(lock_of(l));
}

static bool do_trylock(void *l)
{
	return inner->trylock(lock_of(l));
}

static bool do_timedlock(void *l, ol_ticks_t until)
{
	return inner->timedlock(lock_of(l), until);
}

static void do_unlock(void *l)
{
	inner->unlock(lock_of(l));
}

static bool do_is_locked(const void *l)
{
	void *lock = ol_load_acquire((void *const *)l);

	return lock && inner->is_locked(lock);
}

static bool do_is_contended(const void *l)
{
	void *lock = ol_load_acquire((void *const *)l);

	return lock && inner->is_contended(lock);
}

void *outside_at(void *in_mutex)
{
	return inner ? lock_of(in_mutex) : in_mutex;
}

/* The same lock, to be kept in the 8 bytes of a pointer. */
const struct ol_lock_ops *outside_ops(const struct ol_lock_ops *ops)
{
	static struct ol_lock_ops here;

	if (ops->align > LINE || ops->size > CHUNK / 2)
		refuse(ops->id, "is larger or more aligned than 512 KiB on 128 bytes");
	inner = ops;
	here = *ops;
	here.size = sizeof(void *);
	here.align = _Alignof(void *);
	here.lock = do_lock;
	here.trylock = do_trylock;
	here.timedlock = ops->timedlock ? do_timedlock : 0;
	here.unlock = do_unlock;
	here.is_locked = do_is_locked;
	here.is_contended = do_is_contended;
	return &here;
}
