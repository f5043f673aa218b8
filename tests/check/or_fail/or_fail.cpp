// SPDX-License-Identifier: MIT
// include/overlock/or_fail.h for the model checker: as many locks as contexts. Before a context
// takes the lock that the scenario is about, it acquires two of them by lock_or_fail, without a
// deadline, and releases what it got.
//
//      -DCONTEXTS=2
//      -DLOCK=ttas     the lock, whose header is -DHEADER='<overlock/lock/ttas.h>'
//      -DBY_CLOCK=true if its sleepers look again by the clock
//      -DORDERED=true  all acquire in one order: nobody may fail. Else context i acquires i and
//      then the next one: a
//                      circle, which somebody must notice
//      -DROWS=true     no locks, but what the calls write to the rows and read of them, to explore
//      all of it -DFICKLE=true   with ORDERED: the first context may give up, and is now in one
//      place, now in the other
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF_LOCK(what) JOIN(ol_, LOCK, what)
#include HEADER
#include <overlock/checked.h>
#include <overlock/or_fail.h>

#ifndef ORDERED
#define ORDERED false
#endif
#ifndef BY_CLOCK
#define BY_CLOCK false
#endif
#ifndef ROWS
#define ROWS false
#endif
#ifndef FICKLE
#define FICKLE false
#endif

namespace {

using Lock = OF_LOCK(_t);

struct All {
    Lock plain, locks[CONTEXTS];
    ol_held_row rows[CONTEXTS + 1];
    uint32_t stage;
};

// Of this execution: the world puts it at the same address each time.
All *all;

} // namespace

ol_held_row *ol_held_mine() {
    return &all->rows[ol_self()];
}

ol_held_row *ol_held_of(uint32_t id) {
    return &all->rows[id];
}

uint32_t ol_held_last() {
    return CONTEXTS;
}

#define DEFINE_OR_FAIL(lock) OL_DEFINE_OR_FAIL_timed(lock)
DEFINE_OR_FAIL(LOCK)

namespace {

int acquire(Lock *l, ol_ticks_t until = OL_NEVER) {
    return OF_LOCK(_lock_or_fail)(l, until);
}

void release(Lock *l) {
    if (OF_LOCK(_unlock_or_fail)(l))
        ol_checked_fail("does not have the lock that it acquired");
}

void must_get(Lock *l) {
    if (acquire(l))
        ol_checked_fail("fails without a circle");
}

void pair(uint32_t first, uint32_t second) {
    must_get(&all->locks[first]);
    int error = acquire(&all->locks[second]);
    if (error && error != EDEADLK)
        ol_checked_fail("gives up without a deadline");
    if (!error)
        release(&all->locks[second]);
    release(&all->locks[first]);
}

void ordered() {
    must_get(&all->locks[0]);
    must_get(&all->locks[1]);
    release(&all->locks[0]);
    release(&all->locks[1]);
}

void try_for_a_while(Lock *l) {
    int error = acquire(l, ol_after(1, 100));
    if (error == EDEADLK)
        ol_checked_fail("fails without a circle");
    if (!error)
        release(l);
}

// Waits for the first lock, has the second, waits for the first: never both at once.
void fickle() {
    try_for_a_while(&all->locks[0]);
    must_get(&all->locks[1]);
    release(&all->locks[1]);
    try_for_a_while(&all->locks[0]);
}

void wait_in_vain(const Lock *l, bool looks) {
    ol_held_wait w;

    ol_held_wait_begin(&w, l);
    if (looks && ol_held_is_circle(w.row, l))
        ol_checked_fail("sees a circle where none was");
    ol_held_wait_end(&w, l, ETIMEDOUT);
}

void wait_with(const Lock *has, const Lock *wants, bool looks = false) {
    ol_held_add(has);
    wait_in_vain(wants, looks);
    ol_held_remove(has);
}

// Among two, the first never has a lock while it waits for another.
void write_rows_of_two() {
    for (int rounds = 2; rounds; rounds--) {
        wait_in_vain(&all->locks[0], false);
        ol_held_add(&all->locks[1]);
        ol_held_remove(&all->locks[1]);
    }
    wait_in_vain(&all->locks[0], false);
}

// Among three, the first waits before the third does.
void write_rows_of_three(uint32_t me) {
    if (me == 1) {
        wait_with(&all->locks[1], &all->locks[2 % CONTEXTS]);
        ol_store_release(&all->stage, 1u);
    } else {
        while (!ol_load_acquire(&all->stage))
            ol_relax();
        wait_with(&all->locks[2 % CONTEXTS], &all->locks[0]);
    }
}

// The second looks for a circle, and none was.
void write_rows(uint32_t me) {
    if (me == 2)
        wait_with(&all->locks[0], &all->locks[1], true);
    else if (CONTEXTS == 2)
        write_rows_of_two();
    else
        write_rows_of_three(me);
}

void acquire_two(uint32_t me) {
    if (ROWS)
        write_rows(me);
    else if (!ORDERED)
        pair(me - 1, me % CONTEXTS);
    else if (FICKLE && me == 1)
        fickle();
    else
        ordered();
}

void lock(void *o) {
    all = static_cast<All *>(o);
    if (uint32_t me = ol_checked_self(); me) // else the checker looks from outside, at an idle lock
        acquire_two(me);
    OF_LOCK(_lock)(&all->plain);
}

void unlock(void *o) {
    OF_LOCK(_unlock)(&static_cast<All *>(o)->plain);
}

} // namespace

extern "C" const ol_checked_lock overlock_checked = {
    "lock_or_fail", sizeof(All), nullptr, lock,    unlock,  nullptr, nullptr,
    nullptr,        nullptr,     nullptr, nullptr, nullptr, nullptr, BY_CLOCK,
};
