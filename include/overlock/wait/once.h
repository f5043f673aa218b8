/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_ONCE_H
#define OL_WAIT_ONCE_H
/*
 * Once: one context does it, the others wait until it is done.
 *
 *	if (ol_once_begin(&once)) {
 *		table = make_table();
 *		ol_once_end(&once, table != NULL);
 *	}
 *
 * If it failed, the next to begin, or one of those that wait, does it again.
 *
 * Pairing: [A] (until.h too) acquires from [D]; so does [B], of the one that failed.
 */
#include <overlock/wait/until.h>

typedef struct ol_once {
	uint32_t state;
} ol_once_t;

enum { OL_ONCE_NEW, OL_ONCE_RUNNING, OL_ONCE_DONE };

/* What ol_once_timedbegin() returns. */
enum ol_once_begun { OL_ONCE_IS_DONE, OL_ONCE_IS_MINE, OL_ONCE_TIMED_OUT };

#define OL_ONCE_INIT	{ OL_ONCE_NEW }

static inline bool ol_once_is_done(const ol_once_t *o)
{
	return ol_load_acquire(&o->state) == OL_ONCE_DONE; /* [A] */
}

static OL_COLD enum ol_once_begun ol_once_begin_slow(ol_once_t *o, ol_ticks_t until)
{
	do {
		if (ol_cas_acquire(&o->state, OL_ONCE_NEW, OL_ONCE_RUNNING)) /* [B] */
			return OL_ONCE_IS_MINE;
		if (!ol_wait_until(&o->state, ol_differs, OL_ONCE_RUNNING, until))
			return OL_ONCE_TIMED_OUT;
	} while (!ol_once_is_done(o));
	return OL_ONCE_IS_DONE;
}

static inline enum ol_once_begun ol_once_timedbegin(ol_once_t *o, ol_ticks_t until)
{
	return ol_once_is_done(o) ? OL_ONCE_IS_DONE : ol_once_begin_slow(o, until);
}

/* True: the caller has to do it, and then to call ol_once_end(). */
static inline bool ol_once_begin(ol_once_t *o)
{
	return ol_once_timedbegin(o, OL_NEVER) == OL_ONCE_IS_MINE;
}

/* Releases. */
static inline void ol_once_end(ol_once_t *o, bool done)
{
	ol_store_release(&o->state, done ? OL_ONCE_DONE : OL_ONCE_NEW); /* [D] */
	ol_wake_all(&o->state);
}
#endif
