// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_REPORT_H
#define OL_ENGINE_REPORT_H
// What went wrong.
#include <string>

namespace ol::engine {

enum class Wrong {
    none,
    exclusion,    // two contexts between lock and unlock
    lost_update,  // a protected datum did not keep what was written
    unordered,    // accesses to protected data, or to freed memory, without happens-before
    after_free,   // the lock touched after its memory went
    wild,         // an access outside all tracked memory
    deadlock,     // everybody spins, and nothing they look at can change
    lost_wakeup,  // somebody sleeps, and nobody is left to wake it
    livelock,     // far too many steps
    try_waits,    // trylock relaxed, yielded, parked or looped
    try_fails,    // trylock failed though nobody held or wanted the lock
    lies,         // is_locked or is_contended said what is not so
    misuse,       // the platform layer was used against its rules
    unnoticed,    // a waiter that was overtaken kept waiting for its turn
    unusable,     // an idle lock that cannot be taken
    out_of_order, // a first-come lock served somebody who came later
    too_late,     // a timed caller waits on though its deadline has passed
    aborts,       // it called abort(), an assertion failed, an exception was not caught
    unsupported,  // nothing: the code does what the checker has no model of
};

const char *name_of(Wrong what);

struct Failure {
    Wrong what = Wrong::none;
    std::string how;
    explicit operator bool() const { return what != Wrong::none; }
};

} // namespace ol::engine
#endif
