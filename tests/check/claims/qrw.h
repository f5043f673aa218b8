/* SPDX-License-Identifier: MIT */
#ifndef OL_QRW_H
#define OL_QRW_H
/*
 * Queued rwlock, as 003's transactional spinlock stands on: whoever cannot enter at once joins one
 * line, and only the first in line looks at the lock. Linux: kernel/locking/qrwlock.c.
 *
 * A writer that is first in line announces itself, and from then on no reader enters before it.
 * Before that, readers and writers that find the lock free enter past the line.
 *
 *   31                            2  1  0
 *  +-------------------------------+--+--+
 *  |            readers            |W |H |	W: a writer is first in line	H: held by one
 *  +-------------------------------+--+--+
 *
 *  Pairing: [A] acquires from [R], a writer's release, and from [S], a reader's.
 */
#include <check/claims.h>
#include <overlock/lock/ticket.h>

#define OL_LOCK_LINE	OL_LOCK(qrw, waits, 0, "003", "queued rwlock; the table is the writers' side")

#define OL_QRW_HELD	1u
#define OL_QRW_WAITING	2u
#define OL_QRW_READER	4u
#ifndef OL_QRW_BARS
#define OL_QRW_BARS	(OL_QRW_HELD | OL_QRW_WAITING) /* what keeps a reader out */
#endif

typedef struct ol_qrw {
	uint32_t count;
	ol_ticket_t line;
} ol_qrw_t;

static inline bool ol_qrw_is_locked(const ol_qrw_t *l)
{
	return ol_load_relaxed(&l->count) != 0;
}

static inline bool ol_qrw_is_contended(const ol_qrw_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_qrw_trylock(ol_qrw_t *l)
{
	return !ol_load_relaxed(&l->count) && ol_cas_acquire(&l->count, 0u, OL_QRW_HELD); /* [A] */
}

static inline void ol_qrw_lock(ol_qrw_t *l)
{
	if (ol_qrw_trylock(l))
		return;
	ol_ticket_lock(&l->line);
	ol_or_relaxed(&l->count, OL_QRW_WAITING);
	while (ol_load_relaxed(&l->count) != OL_QRW_WAITING ||
	       !ol_cas_acquire(&l->count, OL_QRW_WAITING, OL_QRW_HELD)) /* [A] */
		ol_relax();
	ol_ticket_unlock(&l->line);
}

static inline void ol_qrw_unlock(ol_qrw_t *l)
{
	ol_add_release(&l->count, -OL_QRW_HELD); /* [R] */
}

static inline void ol_qrw_read_lock(ol_qrw_t *l)
{
	if (!(ol_add_acquire(&l->count, OL_QRW_READER) & OL_QRW_BARS)) /* [A] */
		return;
	ol_add_relaxed(&l->count, -OL_QRW_READER);
	ol_ticket_lock(&l->line);
	ol_add_relaxed(&l->count, OL_QRW_READER);
	while (ol_load_acquire(&l->count) & OL_QRW_HELD) /* [A] */
		ol_relax();
	ol_ticket_unlock(&l->line);
}

static inline void ol_qrw_read_unlock(ol_qrw_t *l)
{
	ol_add_release(&l->count, -OL_QRW_READER); /* [S] */
}

#define OL_QRW_SHARED_(name)	ol_sim_##name##_shared
#define OL_QRW_SHARED(name)	OL_QRW_SHARED_(name)
extern const ol::check::SharedOps OL_QRW_SHARED(OL_SUBJECT);
const ol::check::SharedOps OL_QRW_SHARED(OL_SUBJECT) = {
	[](void *l) { ol_qrw_read_lock(static_cast<ol_qrw_t *>(l)); },
	[](void *l) { ol_qrw_read_unlock(static_cast<ol_qrw_t *>(l)); },
};
#endif
