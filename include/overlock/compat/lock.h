/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COMPAT_LOCK_H
#define OL_COMPAT_LOCK_H
/*
 * The lock that stands behind another library's locks. The other headers of this folder include this
 * one; each gives one library's names to it.
 *
 *	OVERLOCK_COMPAT_LOCK	an id of locks.def; the default is tas_yield. All sources of a program
 *				must be compiled with the same one.
 *
 * Every library here initialises its locks statically, in 4 bytes, and may release a lock in another
 * thread than the one that acquired it. A lock that cannot do so is refused when it is compiled.
 * Zeroed memory is a free lock for each of ours (ops.h).
 */
#include <overlock/ops.h>

#ifndef OVERLOCK_COMPAT_LOCK
#define OVERLOCK_COMPAT_LOCK	tas_yield
#endif

#define OL_COMPAT_TEXT_(x)	#x
#define OL_COMPAT_TEXT(x)	OL_COMPAT_TEXT_(x)
#define OL_COMPAT_JOIN_(a, b, c) a##b##c
#define OL_COMPAT_JOIN(a, b, c)	OL_COMPAT_JOIN_(a, b, c)
#define OL_COMPAT(suffix)	OL_COMPAT_JOIN(ol_, OVERLOCK_COMPAT_LOCK, suffix)

#define OL_COMPAT_HEADER	OL_COMPAT_TEXT(overlock/lock/OVERLOCK_COMPAT_LOCK.h)
#include OL_COMPAT_HEADER

/* What locks.def says of each lock, as constants. */
enum { OL_COMPAT_waits = 0, OL_COMPAT_timed = 1 };
enum {
#define OL_LOCK(id, gives_up, traits, ...) \
	OL_COMPAT_##id##_gives_up = OL_COMPAT_##gives_up, OL_COMPAT_##id##_traits = (traits),
#include <overlock/locks.def>
#undef OL_LOCK
#define OL_ALIAS(old, id)                                  \
	OL_COMPAT_##old##_gives_up = OL_COMPAT_##id##_gives_up, \
	OL_COMPAT_##old##_traits = OL_COMPAT_##id##_traits,
#include <overlock/aliases.def>
#undef OL_ALIAS
	OL_COMPAT_LOCKS
};
#define OL_COMPAT_HAS(traits) \
	(((unsigned)OL_COMPAT_JOIN(OL_COMPAT_, OVERLOCK_COMPAT_LOCK, _traits) & (unsigned)(traits)) != 0)
#define OL_COMPAT_GIVES_UP \
	((unsigned)OL_COMPAT_JOIN(OL_COMPAT_, OVERLOCK_COMPAT_LOCK, _gives_up) == 1)

#ifdef __cplusplus
#define OL_COMPAT_ASSERT	static_assert
#else
#define OL_COMPAT_ASSERT	_Static_assert
#endif
#define OL_COMPAT_REFUSED(why)                                                         \
	"overlock: the lock " OL_COMPAT_TEXT(OVERLOCK_COMPAT_LOCK) " " why             \
	"; define OVERLOCK_COMPAT_LOCK as another one, for example tas_yield"

OL_COMPAT_ASSERT(OL_COMPAT_HAS(OL_FITS4),
		 OL_COMPAT_REFUSED("does not fit the 4 bytes of the lock that it replaces"));
OL_COMPAT_ASSERT(!OL_COMPAT_HAS(OL_ELIDES),
		 OL_COMPAT_REFUSED("cannot be released by another thread"));

/* For a library whose locks may lie in memory that processes share. Private futexes do not wake those. */
#define OL_COMPAT_SHARED                                                               \
	OL_COMPAT_ASSERT(!OL_COMPAT_HAS(OL_PRIVATE | OL_NEEDS_PARK),                   \
			 OL_COMPAT_REFUSED("cannot be shared between processes"))

typedef union ol_compat {
	uint32_t word; /* 0 while the lock is free and unused: the initialiser of every lock */
	OL_COMPAT(_t) lock;
} ol_compat_t;

#define OL_COMPAT_INIT	{ 0 }

static inline void ol_compat_init(ol_compat_t *l)
{
	ol_store_relaxed(&l->word, 0u);
}

static inline void ol_compat_lock(ol_compat_t *l)
{
	OL_COMPAT(_lock)(&l->lock);
}

static inline bool ol_compat_trylock(ol_compat_t *l)
{
	return OL_COMPAT(_trylock)(&l->lock);
}

static inline void ol_compat_unlock(ol_compat_t *l)
{
	OL_COMPAT(_unlock)(&l->lock);
}

/* Acquire: ours are relaxed, but the libraries let a caller that saw the lock free read what it protects. */
static inline bool ol_compat_is_locked(const ol_compat_t *l)
{
	ol_compat_t seen;

	seen.word = ol_load_acquire(&l->word);
	return OL_COMPAT(_is_locked)(&seen.lock);
}

/*
 * For a queue lock that is a null pointer while it is free: our lock lies in that pointer. The program
 * reads and writes a pointer where we have a word. A compiler may take the two for different objects
 * and reorder them, so it must forget before and after what it knows of memory.
 */
static inline ol_compat_t *ol_compat_in_pointer(void *pointer)
{
	__asm__ __volatile__("" : "+r"(pointer)::"memory");
	return (ol_compat_t *)pointer;
}

static inline void ol_compat_lock_in(void *pointer)
{
	ol_compat_lock(ol_compat_in_pointer(pointer));
	(void)ol_compat_in_pointer(pointer);
}

static inline bool ol_compat_trylock_in(void *pointer)
{
	bool acquired = ol_compat_trylock(ol_compat_in_pointer(pointer));

	(void)ol_compat_in_pointer(pointer);
	return acquired;
}

static inline void ol_compat_unlock_in(void *pointer)
{
	ol_compat_unlock(ol_compat_in_pointer(pointer));
	(void)ol_compat_in_pointer(pointer);
}

static inline bool ol_compat_is_locked_in(const void *pointer)
{
	ol_compat_t seen;

	__builtin_memcpy(&seen, pointer, sizeof(seen));
	return OL_COMPAT(_is_locked)(&seen.lock);
}
#endif
