// SPDX-License-Identifier: MIT
#ifndef OL_SIM_BLAME_H
#define OL_SIM_BLAME_H
// Which context waited for which. For each waiter of a guest: how long each other context held the
// lock, with a CPU and without one, and how long the lock was free. Counting costs time for each
// waiter at every hand-over, so it is done only if the scenario asks.
#include "time.h"

#include <map>
#include <vector>

namespace ol::simulator {

class Task;

class Blame {
public:
    struct Split {
        Time running = 0, off_cpu = 0;
    };

    void passed(const std::vector<const Task *> &waiters, const Task *holder, Time time);
    void clear();

    // By index in the guest: of the waiter and of the holder; of the waiter.
    std::map<std::pair<uint32_t, uint32_t>, Split> held;
    std::map<uint32_t, Time> free;
};

} // namespace ol::simulator
#endif
