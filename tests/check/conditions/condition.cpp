// SPDX-License-Identifier: MIT
// include/overlock/cond.h for the model checker: a lock and a condition variable in one object.
//
//      -DLOCK=ttas     the lock, whose header is -DHEADER='<overlock/lock/ttas.h>'
//      -DBY_CLOCK=true if its sleepers look again by the clock
//      -DTIMED         the first context's waits have a deadline
//      -DFREES         for the scenario `frees`: the first context waits within lock() until the
//      second has signalled
//                      it after its unlock(), and frees the object while that one may still be in
//                      its signal
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF_LOCK(what) JOIN(ol_, LOCK, what)
#include HEADER
#include <overlock/checked.h>
#include <overlock/cond.h>

#define DEFINE_COND(lock) OL_DEFINE_COND(lock)
DEFINE_COND(LOCK)

#ifndef BY_CLOCK
#define BY_CLOCK false
#endif

namespace {

struct Both {
    OF_LOCK(_t) lock;
    uint32_t waits, ready;
    ol_cond_t cond;
};

Both *of(void *o) {
    return static_cast<Both *>(o);
}

void lock(void *o) {
    OF_LOCK(_lock)(&of(o)->lock);
}

void unlock(void *o) {
    OF_LOCK(_unlock)(&of(o)->lock);
}

void wait(void *o) {
#ifdef TIMED
    if (ol_self() == 1) {
        OF_LOCK(_cond_timedwait)(&of(o)->cond, &of(o)->lock, ol_after(1, 100));
        return;
    }
#endif
    OF_LOCK(_cond_wait)(&of(o)->cond, &of(o)->lock);
}

void wake_one(void *o) {
    ol_cond_signal(&of(o)->cond);
}

void wake_all(void *o) {
    ol_cond_broadcast(&of(o)->cond);
}

void lock_and_wait(void *o) {
    lock(o);
    if (ol_self() == 1) {
        ol_store_relaxed(&of(o)->waits, 1u);
        while (!ol_load_relaxed(&of(o)->ready))
            wait(o);
        return;
    }
    while (!ol_load_relaxed(&of(o)->waits)) {
        unlock(o);
        ol_relax();
        lock(o);
    }
}

void unlock_and_wake(void *o) {
    bool wakes = ol_self() != 1;

    if (wakes)
        ol_store_relaxed(&of(o)->ready, 1u);
    unlock(o);
    if (wakes)
        wake_one(o);
}

#ifdef FREES
constexpr bool frees = true;
#else
constexpr bool frees = false;
#endif

} // namespace

extern "C" const ol_checked_lock overlock_checked = {
    "ol_cond",
    sizeof(Both),
    nullptr,
    frees ? lock_and_wait : lock,
    frees ? unlock_and_wake : unlock,
    nullptr,
    nullptr,
    nullptr,
    wait,
    wake_one,
    wake_all,
    nullptr,
    nullptr,
    BY_CLOCK,
};
