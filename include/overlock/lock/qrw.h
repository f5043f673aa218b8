/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_QRW_H
#define OL_QRW_H
/*
 * Queued rwlock, the base of Long's transactional spinlock (slides); kernel/locking/qrwlock.c.
 * Contexts that cannot enter at once join one queue; only its first waiter watches the lock.
 *
 * The common lock calls take the write side; ol_qrw_read_lock() and the like take the read side. A
 * writer that is first in the queue sets W; from then on, no reader enters before it. Until then,
 * readers may enter ahead of the queue. Writers may not, so writers are FIFO among themselves; in
 * Linux, a writer takes the free lock even if there is a queue.
 *
 *   count							    line
 *   31				     2	1  0		  +-----------------+
 *  +-------------------------------+--+--+		  |  ticket lock    |
 *  |		 readers	    |W |H |		  +-----------------+
 *  +-------------------------------+--+--+
 *   H: a writer holds it	W: a writer is first in the queue
 *
 *  A reader first counts itself and then checks the bits; if it must wait, it takes its count back.
 *  So the count can change at any time, and a writer changes only its own bits.
 *
 *  Pairing: [A] acquires from [R], a writer's release, and from [S], a reader's.
 */
#include <overlock/port.h>
#include <overlock/lock/ticket.h>

typedef struct OL_CAPABILITY ol_qrw {
	uint32_t count;
	ol_ticket_t line;
} ol_qrw_t;

#define OL_QRW_INIT	{ 0, OL_TICKET_INIT }
#define OL_QRW_HELD	1u
#define OL_QRW_WAITING	2u
#define OL_QRW_READER	4u
#ifndef OL_QRW_BARS
#define OL_QRW_BARS	(OL_QRW_HELD | OL_QRW_WAITING) /* bits that keep a reader out */
#endif

static inline bool ol_qrw_is_locked(const ol_qrw_t *l)
{
	return ol_load_relaxed(&l->count) != 0;
}

static inline bool ol_qrw_is_contended(const ol_qrw_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

/* Writers. */

static inline bool ol_qrw_trylock(ol_qrw_t *l)
{
	return !ol_ticket_is_locked(&l->line) && !ol_load_relaxed(&l->count) &&
	       ol_cas_acquire(&l->count, 0u, OL_QRW_HELD); /* [A] */
}

static OL_COLD void ol_qrw_lock_slow(ol_qrw_t *l)
{
	ol_count(OL_SLOW_PATH);
	ol_ticket_lock(&l->line);
	ol_or_relaxed(&l->count, OL_QRW_WAITING);
	while (ol_load_relaxed(&l->count) != OL_QRW_WAITING ||
	       !ol_cas_acquire(&l->count, OL_QRW_WAITING, OL_QRW_HELD)) /* [A] */
		ol_relax();
	ol_ticket_unlock(&l->line);
}

static inline void ol_qrw_lock(ol_qrw_t *l)
{
	if (OL_UNLIKELY(!ol_qrw_trylock(l)))
		ol_qrw_lock_slow(l);
}

static inline void ol_qrw_unlock(ol_qrw_t *l)
{
	ol_add_release(&l->count, -OL_QRW_HELD); /* [R]; readers come and go */
}

/* Readers. */

static inline bool ol_qrw_read_trylock(ol_qrw_t *l)
{
	if (!(ol_add_acquire(&l->count, OL_QRW_READER) & OL_QRW_BARS)) /* [A] */
		return true;
	ol_add_relaxed(&l->count, -OL_QRW_READER);
	return false;
}

/* As first waiter we wait only for a writer that holds the lock: other writers are behind us. */
static OL_COLD void ol_qrw_read_lock_slow(ol_qrw_t *l)
{
	ol_count(OL_SLOW_PATH);
	ol_ticket_lock(&l->line);
	ol_add_relaxed(&l->count, OL_QRW_READER);
	while (ol_load_acquire(&l->count) & OL_QRW_HELD) /* [A] */
		ol_relax();
	ol_ticket_unlock(&l->line);
}

static inline void ol_qrw_read_lock(ol_qrw_t *l)
{
	if (OL_UNLIKELY(!ol_qrw_read_trylock(l)))
		ol_qrw_read_lock_slow(l);
}

static inline void ol_qrw_read_unlock(ol_qrw_t *l)
{
	ol_add_release(&l->count, -OL_QRW_READER); /* [S] */
}
#endif
