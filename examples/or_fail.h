/* SPDX-License-Identifier: MIT */
/*
 * For `overlock bench`, what lock_or_fail costs beside the plain calls:
 *
 *	overlock bench sections --locks rota,examples/or_fail.h
 */
#include <overlock/lock/rota.h>
#include <overlock/or_fail.h>

#include <stdlib.h>

#define OL_LOCK_LINE	\
	OL_LOCK(or_fail, waits, OL_FITS4 | OL_YIELDS | OL_PRIVATE, "Linux", "rota by lock_or_fail")

OL_DEFINE_OR_FAIL_timed(rota)

	typedef struct OL_CAPABILITY ol_or_fail {
	ol_rota_t lock;
} ol_or_fail_t;

static inline bool ol_or_fail_is_locked(const ol_or_fail_t *l)
{
	return ol_rota_is_locked(&l->lock);
}

static inline bool ol_or_fail_is_contended(const ol_or_fail_t *l)
{
	return ol_rota_is_contended(&l->lock);
}

static inline bool ol_or_fail_trylock(ol_or_fail_t *l)
{
	if (!ol_rota_trylock(&l->lock))
		return false;
	ol_held_add(&l->lock);
	return true;
}

static inline void ol_or_fail_lock(ol_or_fail_t *l)
{
	if (ol_rota_lock_or_fail(&l->lock, OL_NEVER))
		abort();
}

static inline void ol_or_fail_unlock(ol_or_fail_t *l)
{
	if (ol_rota_unlock_or_fail(&l->lock))
		abort();
}
