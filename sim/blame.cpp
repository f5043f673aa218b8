// SPDX-License-Identifier: MIT
#include "blame.h"

#include "task.h"

namespace ol::simulator {

void Blame::passed(const std::vector<const Task *> &waiters, const Task *holder, Time time) {
    for (const Task *w : waiters) {
        if (!holder) {
            free[w->index] += time;
            continue;
        }
        Split &split = held[{w->index, holder->index}];
        (holder->on_cpu() ? split.running : split.off_cpu) += time;
    }
}

void Blame::clear() {
    held.clear();
    free.clear();
}

} // namespace ol::simulator
