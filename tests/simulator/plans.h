// SPDX-License-Identifier: MIT
#ifndef TESTS_SIMULATOR_PLANS_H
#define TESTS_SIMULATOR_PLANS_H
// Scenarios for tests, as `overlock sim` would write them.
#include <sim/simulation.h>

#include <sstream>

namespace ol::simulator::tests {

inline Scenario scenario(const std::string &json) {
    std::istringstream in(json);
    return read_scenario(in);
}

inline uint64_t turns(const Guest &g) {
    uint64_t n = 0;

    for (auto &t : g.tasks)
        n += t->counts.turns;
    return n;
}

} // namespace ol::simulator::tests
#endif
