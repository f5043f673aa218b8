// SPDX-License-Identifier: MIT
#ifndef TESTS_SIMULATOR_TRACED_H
#define TESTS_SIMULATOR_TRACED_H
// Runs with a trace, as their result tells it.
#include "plans.h"

#include <sim/results.h>

namespace ol::simulator::tests {

struct Step {
    Time at;
    std::string what;
    size_t who, other;
    std::string why;
};

inline Json result(const Json &plan) {
    std::ostringstream out;

    write_results(*run(plan), out);
    return Json::parse(out.str());
}

inline std::vector<Step> steps(const Json &trace) {
    std::vector<Step> all;

    for (const Json &e : trace["events"])
        all.push_back({e[0], trace["kinds"][e[1].get<size_t>()], e[2], e[3],
                       e.size() > 4 ? trace["reasons"][e[4].get<size_t>()] : ""});
    return all;
}

// Virtual CPUs, long sections: many of them are interrupted.
inline Json traced(const std::string &lock, unsigned contexts, unsigned cpus, unsigned ms = 100) {
    Json p = plan(lock, contexts, cpus, ms);

    p["guests"][0]["kind"] = "kernel";
    p["guests"][0]["parameters"] = {
        {"sections_cs", 60'000}, {"sections_ncs", 90'000}, {"sections_shape", 2}};
    p["host"]["settings"] = {{"slice", 1500}};
    p["trace"] = true;
    return p;
}

} // namespace ol::simulator::tests
#endif
