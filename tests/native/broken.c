/* SPDX-License-Identifier: MIT */
#include "broken.h"

static void absent(void *l) { (void)l; }

static bool absent_trylock(void *l) {
    (void)l;
    return true;
}

static bool is_locked(const void *l) { return ol_load_relaxed((const uint32_t *)l) != 0; }

const struct ol_lock_ops ol_ops_absent = {
    "absent", "twin", "excludes nobody", OL_ABI,    4, 4, OL_FITS4, absent, absent_trylock,
    0,        absent, is_locked,         is_locked,
};

static bool relaxed_trylock(void *l) { return !ol_xchg_acquire((uint32_t *)l, 1u); }

static void relaxed_lock(void *l) {
    while (!relaxed_trylock(l))
        ol_yield();
}

static void relaxed_unlock(void *l) { ol_store_relaxed((uint32_t *)l, 0u); }

const struct ol_lock_ops ol_ops_relaxed = {
    "relaxed",
    "twin",
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
};
