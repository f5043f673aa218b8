/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Every lock of locks.def, and the old names of aliases.def. cmake/locks.cmake writes this file. */
#ifndef OL_LOCKS_H
#define OL_LOCKS_H
#include <overlock/lock/tas.h>
#include <overlock/lock/ttas.h>
#include <overlock/lock/tas_yield.h>
#include <overlock/lock/paced.h>
#include <overlock/lock/rota.h>
#include <overlock/lock/dec.h>
#include <overlock/lock/byte.h>
#include <overlock/lock/ticket.h>
#include <overlock/lock/ticket_backoff.h>
#include <overlock/lock/partitioned_ticket.h>
#include <overlock/lock/anderson.h>
#include <overlock/lock/preemptable_ticket.h>
#include <overlock/lock/pv_byte.h>
#include <overlock/lock/pv_ticket.h>
#include <overlock/lock/oticket.h>
#include <overlock/lock/pv_preemptable_ticket.h>
#include <overlock/lock/i_spin.h>
#include <overlock/lock/i_spin_pv.h>
#include <overlock/lock/warned.h>
#include <overlock/lock/mcs.h>
#include <overlock/lock/clh.h>
#include <overlock/lock/mcs_tp.h>
#include <overlock/lock/adaptive_ticket_mcs.h>
#include <overlock/lock/twa.h>
#include <overlock/lock/qrw.h>
#include <overlock/lock/tx.h>
#include <overlock/lock/qspin.h>
#include <overlock/lock/pv_qspin.h>
#include <overlock/lock/unfair_qspin.h>
#include <overlock/lock/owner_qspin.h>
#include <overlock/lock/overlock.h>
#endif
