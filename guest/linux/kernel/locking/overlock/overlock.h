/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_H
#define OVERLOCK_H
/* What the files of this folder ask of each other. */
#include <overlock/port.h>

/* Of world.c. */

enum { OVERLOCK_LEVELS = 4 }; /* task, softirq, hardirq, NMI */

/* The present level of this CPU; OVERLOCK_LEVELS if one of them was entered twice. */
unsigned int overlock_level(void);

/* Parking where nobody can be woken: look for a while. */
void overlock_poll(const u32 *word, u32 seen, ol_ticks_t until);

/* Sums over the CPUs. */
u64 overlock_count(unsigned int event);
u64 overlock_count_at(unsigned int event, unsigned int place);
void overlock_forget_counts(void);

/* Of park.c. */

/* How waiters park, for people. */
const char *overlock_parking(void);
#endif
