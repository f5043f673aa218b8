// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_CLAIMS_H
#define OL_CHECK_CLAIMS_H
// What the papers say of the order in which waiters are served, judged at an execution's end.
#include "world.h"

namespace ol::check {

enum class Claim : size_t {
#define OL_CLAIM(name, source, what) name##_,
#include "claims.def"
#undef OL_CLAIM
    count
};

struct ClaimKind {
    const char *name, *source, *what;
};
constexpr ClaimKind claim_list[] = {
#define OL_CLAIM(name, source, what) {#name, source, what},
#include "claims.def"
#undef OL_CLAIM
};

// An acquisition, in the order of being served.
struct Turn {
    size_t context, granted; // `granted`: the step
    Arrival arrival;
    bool queued;         // by lock: neither tried nor timed
    size_t released = 0; // the last step of its unlock
};

// What a lock for readers and writers adds to its table, which is the writers'.
struct SharedOps {
    void (*lock)(void *l);
    void (*unlock)(void *l);
};

struct Claimed {
    Claim claim;
    size_t bound; // of bypass
};

// The most later tickets that went ahead of one, and of these the ones that never timed out.
struct Passed {
    size_t most = 0, untired = 0, waiting = 0; // with later tickets; begun after it began to wait
    void add(const std::vector<Turn> &turns);
};

// What an execution was like, beside its turns.
struct Circumstances {
    size_t contexts, timeouts;
    Ticks csd; // how long a critical section is taken to last
};

// How an execution breaks the claim; empty if it does not.
std::string breach(const Claimed &claimed, const std::vector<Turn> &turns,
                   const Circumstances &was);

} // namespace ol::check
#endif
