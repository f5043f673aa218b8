/* SPDX-License-Identifier: MIT */
/* lib/calibrate.c with a clock and a time stamp counter that stand still until they are moved. */
#ifndef FAKED_CLOCK_H
#define FAKED_CLOCK_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern struct faked_clock {
    double ns, ticks_per_ns;
    int interrupted_but; /* a millisecond passes in each of eight tries but this; negative: in none
                          */
    unsigned readings;   /* of the counter, two in each try */
} faked_clock;

void faked_measure_tick(void);
uint64_t faked_ticks_from_ns(uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
