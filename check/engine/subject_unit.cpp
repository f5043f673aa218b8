// SPDX-License-Identifier: MIT
// One lock as a table of functions in the sim world. Compiled once per lock and per mutant:
//
//      c++ -DOL_THIS_ticket=OL_YES -DOL_HEADER='<overlock/lock/ticket.h>' -DOL_SUBJECT=ticket ...
#include OL_HEADER
#include <overlock/ops.h>

#define OL_TEXT_(a) #a
#define OL_TEXT(a) OL_TEXT_(a)
#define OL_SUBJECT_OPS OL_JOIN(ol_sim_, OL_SUBJECT)

#define OL_TIMED_timed(id)                                                                         \
    [](void *l, ol_ticks_t until) {                                                                \
        return ol_##id##_timedlock(static_cast<ol_##id##_t *>(l), until);                          \
    }
#define OL_TIMED_waits(id) nullptr

// The table is made without linkage, and so are its functions: a lock that is loaded may have the
// name of one that the program has, whose functions must not take the place of its own.
#define OL_DEFINE_OPS(id, gives_up, traits, source, what)                                          \
    namespace {                                                                                    \
    constexpr ol_lock_ops ops = {                                                                  \
        OL_TEXT(OL_SUBJECT),                                                                       \
        source,                                                                                    \
        what,                                                                                      \
        OL_ABI,                                                                                    \
        sizeof(ol_##id##_t),                                                                       \
        alignof(ol_##id##_t),                                                                      \
        (traits),                                                                                  \
        [](void *l) { ol_##id##_lock(static_cast<ol_##id##_t *>(l)); },                            \
        [](void *l) { return ol_##id##_trylock(static_cast<ol_##id##_t *>(l)); },                  \
        OL_TIMED_##gives_up(id),                                                                   \
        [](void *l) { ol_##id##_unlock(static_cast<ol_##id##_t *>(l)); },                          \
        [](const void *l) { return ol_##id##_is_locked(static_cast<const ol_##id##_t *>(l)); },    \
        [](const void *l) { return ol_##id##_is_contended(static_cast<const ol_##id##_t *>(l)); }, \
        nullptr,                                                                                   \
        nullptr,                                                                                   \
    };                                                                                             \
    }                                                                                              \
    extern const ol_lock_ops OL_SUBJECT_OPS;                                                       \
    const ol_lock_ops OL_SUBJECT_OPS = ops

#include <overlock/this_lock.h>
