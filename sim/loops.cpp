// SPDX-License-Identifier: MIT
// The workloads, each as a loop of turns on the simulated platform.
#include "simulation.h"

#include <cstring>

using ol::simulator::Loop;
using ol::simulator::ns;
using ol::simulator::Simulation;

static inline void workload_acquire(workload_me *me, workload_lock *lock) {
    Simulation::here().acquire(*me->task, *lock);
}

static inline void workload_release(workload_me *me, workload_lock *lock) {
    Simulation::here().release(*me->task, *lock);
}

static inline void workload_burn(uint64_t units) {
    Simulation::here().burn(units * ns);
}

#include <workload_headers.h>

namespace {

#define WORKLOAD(name, what)                                                                       \
    void name##_loop(const workload_run *run, void *shared, void *own, workload_me *me) {          \
        auto *w = static_cast<struct name *>(shared);                                              \
        auto *mine = static_cast<name##_own *>(own);                                               \
        name##_begin(run, w, mine, me);                                                            \
        for (;;)                                                                                   \
            me->task->counts.turns += name##_turn(run, w, mine, me);                               \
    }                                                                                              \
    const char *name##_verdict(const workload_run *run, const void *shared, uint64_t turns,        \
                               unsigned inside) {                                                  \
        return name##_check(run, static_cast<const struct name *>(shared), turns, inside);         \
    }
#include <workload/workloads.def>
#undef WORKLOAD

// A neighbour: it computes, and takes no lock.
void burn_loop(const workload_run *, void *, void *, workload_me *me) {
    for (;; me->task->counts.turns++)
        workload_burn(10'000);
}

const char *burn_verdict(const workload_run *, const void *, uint64_t, unsigned) {
    return nullptr;
}

constexpr Loop loops[] = {
#define WORKLOAD(name, what)                                                                       \
    {#name,       sizeof(struct name), sizeof(name##_guarded), sizeof(name##_own),                 \
     name##_loop, name##_verdict},
#include <workload/workloads.def>
#undef WORKLOAD
    {"burn", 1, 1, 1, burn_loop, burn_verdict},
};

} // namespace

const Loop *ol::simulator::find_loop(const std::string &name) {
    for (const Loop &l : loops)
        if (name == l.name)
            return &l;
    return nullptr;
}
