// SPDX-License-Identifier: MIT
#ifndef TESTS_SIMULATOR_PLANS_H
#define TESTS_SIMULATOR_PLANS_H
// Scenarios for tests, as `overlock sim` would write them.
#include <nlohmann/json.hpp>
#include <sim/simulation.h>

#include <sstream>

namespace ol::simulator::tests {

using Json = nlohmann::json;

inline Scenario scenario(const std::string &json) {
    std::istringstream in(json);
    return read_scenario(in);
}

// One guest: threads on the CPUs of one socket, in slices of 10 ms.
inline Json plan(const std::string &lock, unsigned contexts, unsigned cpus = 2, unsigned ms = 100) {
    return {{"machine", {{"cpus", cpus}, {"cores_per_socket", cpus}}},
            {"host", {{"scheduler", "round_robin"}}},
            {"guests", {{{"lock", lock}, {"contexts", contexts}}}},
            {"time_us", ms * 1000}};
}

inline std::unique_ptr<Simulation> run(const Json &plan) {
    auto s = std::make_unique<Simulation>(scenario(plan.dump()));

    s->run();
    return s;
}

inline uint64_t turns(const Simulation &s, size_t guest = 0) {
    uint64_t n = 0;

    for (auto &t : s.guests()[guest]->tasks)
        n += t->counts.turns;
    return n;
}

inline Time ran(const Simulation &s, size_t guest = 0) {
    Time all = 0;

    for (auto &t : s.guests()[guest]->tasks)
        all += t->counts.ran;
    return all;
}

} // namespace ol::simulator::tests
#endif
