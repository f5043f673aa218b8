/* SPDX-License-Identifier: MIT */
#ifndef OL_SAYS_FIFO_H
#define OL_SAYS_FIFO_H
/* Mutant: a preemptable ticket lock that claims to be first come, first served at any tau. */
#include <overlock/lock/preemptable_ticket.h>

#define OL_LOCK_LINE	\
	OL_LOCK(preemptable_ticket, timed, OL_FITS4 | OL_FIFO, "mutant", "claims too much")
#endif
