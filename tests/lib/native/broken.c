/* SPDX-License-Identifier: MIT */
#include "broken.h"

#include <time.h>

static void absent(void *l) { (void)l; }

static bool absent_trylock(void *l) {
    (void)l;
    return true;
}

static bool is_locked(const void *l) { return ol_load_relaxed((const uint32_t *)l) != 0; }

const struct ol_lock_ops ol_ops_absent = {
    "absent", "mutant", "excludes nobody", OL_ABI,    4, 4, OL_FITS4, absent, absent_trylock,
    0,        absent,   is_locked,         is_locked, 0, 0,
};

static bool relaxed_trylock(void *l) { return !ol_xchg_acquire((uint32_t *)l, 1u); }

static void relaxed_lock(void *l) {
    while (!relaxed_trylock(l))
        ol_yield();
}

static void relaxed_unlock(void *l) { ol_store_relaxed((uint32_t *)l, 0u); }

const struct ol_lock_ops ol_ops_relaxed = {
    "relaxed",
    "mutant",
    "releases without release",
    OL_ABI,
    4,
    4,
    OL_FITS4,
    relaxed_lock,
    relaxed_trylock,
    0,
    relaxed_unlock,
    is_locked,
    is_locked,
    0,
    0,
};

/* A ticket lock, waiting by yielding: the next ticket above, the one being served below. */

static void forgetful_lock(void *l) {
    const uint16_t mine = ol_hi(ol_add_hi_relaxed((uint32_t *)l, 1));

    while (ol_load_lo_acquire((uint32_t *)l) != mine)
        ol_yield();
}

static bool forgetful_trylock(void *l) {
    const uint32_t w = ol_load_relaxed((uint32_t *)l);

    return ol_lo(w) == ol_hi(w) && ol_cas_acquire((uint32_t *)l, w, w + 0x10000u);
}

static bool forgetful_timedlock(void *l, ol_ticks_t until) {
    const uint16_t mine = ol_hi(ol_add_hi_relaxed((uint32_t *)l, 1));

    while (ol_load_lo_acquire((uint32_t *)l) != mine) {
        if (ol_passed(until))
            return false;
        ol_yield();
    }
    return true;
}

static void forgetful_unlock(void *l) { ol_bump_lo_release((uint32_t *)l, 1); }

static bool forgetful_is_locked(const void *l) {
    const uint32_t w = ol_load_relaxed((const uint32_t *)l);

    return ol_lo(w) != ol_hi(w);
}

const struct ol_lock_ops ol_ops_forgetful = {
    "forgetful",
    "mutant",
    "who gives up leaves a ticket in line",
    OL_ABI,
    4,
    4,
    OL_FITS4,
    forgetful_lock,
    forgetful_trylock,
    forgetful_timedlock,
    forgetful_unlock,
    forgetful_is_locked,
    forgetful_is_locked,
    0,
    0,
};

/* Test-and-set locks. */

static void plain_unlock(void *l) { ol_store_release((uint32_t *)l, 0u); }

static bool not_contended(const void *l) {
    (void)l;
    return false;
}

static bool hasty_timedlock(void *l, ol_ticks_t until) {
    (void)until;
    return relaxed_trylock(l);
}

const struct ol_lock_ops ol_ops_hasty = {
    "hasty",
    "mutant",
    "gives up before its time",
    OL_ABI,
    4,
    4,
    OL_FITS4,
    relaxed_lock,
    relaxed_trylock,
    hasty_timedlock,
    plain_unlock,
    is_locked,
    not_contended,
    0,
    0,
};

static uint64_t own_cpu_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool late_timedlock(void *l, ol_ticks_t until) {
    uint64_t since;

    while (!relaxed_trylock(l)) {
        if (!ol_passed(until))
            continue;
        for (since = own_cpu_ns(); own_cpu_ns() - since < 200000;)
            ol_relax();
        return false;
    }
    return true;
}

const struct ol_lock_ops ol_ops_late = {
    "late",
    "mutant",
    "gives up 200 us of CPU time after its deadline",
    OL_ABI,
    4,
    4,
    OL_FITS4,
    relaxed_lock,
    relaxed_trylock,
    late_timedlock,
    plain_unlock,
    is_locked,
    not_contended,
    0,
    0,
};
