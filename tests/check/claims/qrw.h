/* SPDX-License-Identifier: MIT */
#ifndef OL_CLAIMS_QRW_H
#define OL_CLAIMS_QRW_H
/* The library's queued rwlock, with its readers' side for the checker to use. */
#include <check/claims.h>
#include <overlock/lock/qrw.h>

#define OL_LOCK_LINE	OL_LOCK(qrw, waits, 0, "long", "queued rwlock; the table is the writers' side")

#define OL_QRW_SHARED_(name)	ol_sim_##name##_shared
#define OL_QRW_SHARED(name)	OL_QRW_SHARED_(name)
extern const ol::check::SharedOps OL_QRW_SHARED(OL_SUBJECT);
const ol::check::SharedOps OL_QRW_SHARED(OL_SUBJECT) = {
	[](void *l) { ol_qrw_read_lock(static_cast<ol_qrw_t *>(l)); },
	[](void *l) { ol_qrw_read_unlock(static_cast<ol_qrw_t *>(l)); },
};
#endif
