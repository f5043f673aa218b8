// SPDX-License-Identifier: MIT
// Barriers as subjects of the workload `rounds`.
#define OL_ONE_WORLD <sim/one_world.h>
#include <overlock/port.h>

// The world comes before the tables.
#include "barriers.h"

#include <meeting.h>

namespace ol::simulator {

namespace {

#define BARRIER(id, where, source, what)                                                           \
    MEETING_IF_##where(constexpr ol_lock_ops id##_ops = MEETING_OPS(id, source, what);)
#include <barriers.def>
#undef BARRIER

constexpr const ol_lock_ops *all[] = {
#define BARRIER(id, where, ...) MEETING_IF_##where(&id##_ops, )
#include <barriers.def>
#undef BARRIER
};

} // namespace

const ol_lock_ops *find_barrier(const std::string &name) {
    for (const ol_lock_ops *b : all)
        if (name == b->id)
            return b;
    return nullptr;
}

bool is_barrier(const ol_lock_ops &subject) {
    return subject.traits & MEETING_TRAIT;
}

} // namespace ol::simulator
