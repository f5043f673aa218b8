/* SPDX-License-Identifier: MIT */
#include "faked_clock.h"
#include <internal.h>
#include <time.h>

#if defined(__x86_64__)
struct faked_clock faked_clock;

/* Each reading takes time, and by every other look the clock is ahead by 15 ns. */
static uint64_t faked_ol_clock(void) {
    return (uint64_t)(faked_clock.ns += 20) + faked_clock.readings / 16 % 2 * 15;
}

static uint64_t faked_counter(void) {
    const unsigned n = faked_clock.readings++, attempt = n / 2 % 8;

    faked_clock.ns += 10;
    if (n % 2 && faked_clock.interrupted_but >= 0 &&
        attempt != (unsigned)faked_clock.interrupted_but)
        faked_clock.ns += 1e6 * (1 + n % 5);
    return (uint64_t)(faked_clock.ns * faked_clock.ticks_per_ns);
}

#define ol_counter faked_counter
#define ol_calibrate faked_calibrate
#define ol_calibration(none) faked_calibration(none) /* the function, not the struct */
#define ol_clock faked_ol_clock
#define ol_ns_from_ticks faked_ns_from_ticks
#define ol_ticks_from_ns faked_ticks_from_ns
#define ol_now_by_clock faked_now_by_clock
#define ol_counter_traps faked_counter_traps
#include <calibrate.c>

void faked_measure_tick(void) { measure_tick(); }
#endif
