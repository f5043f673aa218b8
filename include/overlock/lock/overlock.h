/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_OVERLOCK_H
#define OL_LOCK_OVERLOCK_H
/* The names that the lock `rota` had: aliases.def. */
#include <overlock/lock/rota.h>

typedef ol_rota_t ol_overlock_t;
#define OL_OVERLOCK_INIT		OL_ROTA_INIT
#define ol_overlock_lock		ol_rota_lock
#define ol_overlock_trylock		ol_rota_trylock
#define ol_overlock_timedlock		ol_rota_timedlock
#define ol_overlock_unlock		ol_rota_unlock
#define ol_overlock_is_locked		ol_rota_is_locked
#define ol_overlock_is_contended	ol_rota_is_contended
#define ol_overlock_lock_or_fail	ol_rota_lock_or_fail
#define ol_overlock_unlock_or_fail	ol_rota_unlock_or_fail
#define ol_overlock_cond_wait		ol_rota_cond_wait
#define ol_overlock_cond_timedwait	ol_rota_cond_timedwait
#endif
