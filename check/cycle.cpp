// SPDX-License-Identifier: MIT
#include "cycle.h"

namespace ol::check {

std::string Cycle::told(size_t contexts) const {
    if (states_.empty())
        return "";
    size_t last = states_.size() - 1, first = last;
    Mask always = ~Mask(0), moved = 0;

    do {
        if (first == 0)
            return "";
        first--;
        always &= states_[first].could;
        if (states_[first].who >= 0)
            moved |= bit(static_cast<size_t>(states_[first].who));
    } while (states_[first].hash != states_[last].hash);
    std::string s = "the same state recurs after " + std::to_string(last - first) + " steps of";
    for (size_t i = 0; i < 64; i++)
        if (moved & bit(i))
            s += " " + name_of(static_cast<Process>(i), contexts);
    if (always & ~moved)
        return s + ", while other contexts can run: a waiting loop must relax";
    return s + ", and no other context can run: a fair cycle";
}

} // namespace ol::check
