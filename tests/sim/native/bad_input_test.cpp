// SPDX-License-Identifier: MIT
// Each key of a scenario with values that nobody should write: a run, or one line that names the
// place.
#include "plans.h"

#include <gtest/gtest.h>

namespace ol::simulator::tests {

namespace {

// With every table and most keys.
Json full() {
    Json mix = {{"locks", {{{"weight", 1}, {"section", {{"mean_ns", 100}}}}}},
                {"think", {{"mean_ns", 300}}},
                {"sections", 2}};
    return {{"machine",
             {{"cpus", 2},
              {"threads_per_core", 1},
              {"cores_per_socket", 2},
              {"smt_percent", 60},
              {"jitter_percent", 20},
              {"tick_jitter_ns", 100},
              {"costs", {{"hit", 1}, {"pause", 15}}}}},
            {"host",
             {{"scheduler", "credit"},
              {"settings", {{"slice", 30000}, {"ticks", 3}, {"ratelimit", 1000}}},
              {"features", {{"ple", {{"window", 1575}, {"user", 1}}}}}}},
            {"guests",
             {{{"name", "a"},
               {"kind", "users"},
               {"contexts", 3},
               {"vcpus", 2},
               {"guest_scheduler", {{"scheduler", "fair"}, {"settings", Json::object()}}},
               {"lock", "twa"},
               {"workload", "sections"},
               {"parameters", {{"sections_cs", 70}, {"sections_locks", 2}, {"sections_shape", 1}}},
               {"tunables", {{"tau", 400}, {"wait_slots", 64}, {"long_term", 1}}},
               {"quota_us", 1000},
               {"period_us", 10000},
               {"weight", 512},
               {"pinned", {0, 1}},
               {"cap_percent", 50},
               {"told_slices", true},
               {"told_delay_us", 10},
               {"told_error_us", 10},
               {"told_preempted", true},
               {"told_quota", true}},
              {{"name", "b"}, {"lock", "ticket"}, {"workload", "mix"}, {"mix", mix}}}},
            {"seed", 1},
            {"warm_up_us", 1},
            {"time_us", 20},
            {"trace", {{"from_us", 1}, {"until_us", 10}, {"most_events", 100}}},
            {"who_for_whom", true}};
}

const Json values[] = {nullptr,
                       true,
                       -1,
                       0,
                       0.5,
                       1e9,
                       1e300,
                       UINT64_MAX,
                       "",
                       "nothing",
                       Json::array(),
                       Json::array({Json::array()}),
                       Json::object(),
                       {{"no_such_key", 1}}};

// "" if it is accepted.
std::string answer(const Json &plan, bool runs) {
    try {
        Scenario s = scenario(plan.dump());
        if (runs)
            Simulation(s).run();
    } catch (const BadScenario &e) {
        return e.what();
    }
    return "";
}

bool is_length(const std::string &key) { // of the run itself, which may be long
    return key == "time_us" || key == "warm_up_us";
}

void expect_a_line(const Json &plan, const Json::json_pointer &at) {
    std::string what = answer(plan, !is_length(at.back()));
    SCOPED_TRACE(at.to_string() + ": " + plan.dump());
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_LT(what.size(), 200u) << what;
}

void for_each_key(const Json &json, const Json::json_pointer &at,
                  const std::function<void(const Json::json_pointer &)> &f) {
    if (json.is_object())
        for (auto &[key, value] : json.items()) {
            f(at / key);
            for_each_key(value, at / key, f);
        }
    if (json.is_array())
        for (size_t i = 0; i < json.size(); i++)
            for_each_key(json[i], at / i, f);
}

TEST(BadInput, TheWholeScenarioRuns) {
    EXPECT_EQ(answer(full(), true), "");
}

TEST(BadInput, AnyValueAnywhereIsARunOrALine) {
    for_each_key(full(), Json::json_pointer(), [](const Json::json_pointer &at) {
        for (const Json &value : values) {
            Json plan = full();
            plan[at] = value;
            expect_a_line(plan, at);
        }
    });
}

TEST(BadInput, AnyMissingKeyIsARunOrALine) {
    for_each_key(full(), Json::json_pointer(), [](const Json::json_pointer &at) {
        Json plan = full();
        plan[at.parent_pointer()].erase(at.back());
        expect_a_line(plan, at);
    });
}

TEST(BadInput, AnUnknownKeyAnywhereIsNamed) {
    size_t asked = 0;

    for_each_key(full(), Json::json_pointer(), [&](const Json::json_pointer &at) {
        Json plan = full();
        if (!plan[at].is_object())
            return;
        plan[at]["no_such_key"] = 1;
        asked++;
        EXPECT_NE(answer(plan, false).find("no_such_key"), std::string::npos) << plan.dump();
    });
    EXPECT_GT(asked, 10u);
}

// The path that shall be named, and a value of it that is wrong.
TEST(BadInput, ThePlaceIsNamed) {
    const std::tuple<const char *, Json, const char *> wrong[] = {
        {"/machine/cpus", "two", "machine.cpus"},
        {"/machine/cpus", 1e9, "machine.cpus"},
        {"/machine/cpus", true, "machine.cpus"},
        {"/machine/costs/hit", -1, "machine.costs.hit"},
        {"/machine/jitter_percent", 100, "machine.jitter_percent"},
        {"/machine/tick_jitter_ns", "inf", "machine.tick_jitter_ns"},
        {"/host/scheduler", "cfs", "cfs"},
        {"/host/settings/slice", "long", "credit.slice"},
        {"/guests", 1, "guests"},
        {"/guests/0/contexts", 1e9, "a.contexts"},
        {"/guests/0/vcpus", 0, "a.vcpus"},
        {"/guests/0/lock", "none", "a.lock is missing"},
        {"/guests/0/period_us", 0, "a.period_us"},
        {"/guests/0/pinned", Json::array({9}), "a is pinned to CPU 9"},
        {"/guests/0/parameters/sections_locks", 0, "parameters.sections_locks"},
        {"/guests/0/parameters/sections_shape", 4, "parameters.sections_shape"},
        {"/guests/0/tunables/wait_slots", 1e9, "tunables.wait_slots"},
        {"/guests/0/quota_us", false, "guest1.quota_us"},
        {"/guests/1/mix/locks/0/section/mean_ns", -5, "mean_ns"},
        {"/trace/until_us", 0, "trace.until_us"},
    };

    for (auto &[at, value, named] : wrong) {
        Json plan = full();
        plan[Json::json_pointer(at)] = value;
        EXPECT_NE(answer(plan, false).find(named), std::string::npos)
            << at << ": " << answer(plan, false);
    }
}

} // namespace

} // namespace ol::simulator::tests
