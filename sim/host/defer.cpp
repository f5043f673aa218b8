// SPDX-License-Identifier: MIT
// Hints of Uhlig et al. 2004: a lock holder asks not to be preempted, and is not, for a bounded
// time.
#include "feature.h"

namespace ol::simulator {

// The level does it: it knows when a slice is over.
std::unique_ptr<Policy> make_defer(Level &level, const Features &s, std::unique_ptr<Policy> base) {
    level.most_deferral = s.defer_most;
    return base;
}

} // namespace ol::simulator
