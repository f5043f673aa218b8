// SPDX-License-Identifier: MIT
// Work by distributions, and what is counted of waits before and after a ticket.
#include "plans.h"

#include <gtest/gtest.h>

namespace ol::simulator {

using namespace tests;

namespace {

Json mixed(const Json &locks, unsigned contexts = 2, unsigned cpus = 2) {
    Json p = plan("ticket", contexts, cpus, 100);

    p["guests"][0]["kind"] = "kernel";
    p["guests"][0]["workload"] = "mix";
    p["guests"][0]["mix"] = {{"think", {{"mean_ns", 1000}}}, {"locks", locks}};
    return p;
}

template <class F> uint64_t sum(const Simulation &s, F of) {
    uint64_t n = 0;

    for (auto &t : s.guests()[0]->tasks)
        n += of(t->counts);
    return n;
}

TEST(Mixes, DrawFromTheirBins) {
    Distribution d;
    workload_random random;
    int second = 0;

    workload_random_seed(&random, 1);
    d.add(10, 19, 1);
    d.add(100, 199, 3);
    for (int i = 0; i < 4000; i++) {
        uint64_t n = d.draw(random);
        EXPECT_TRUE((10 <= n && n <= 19) || (100 <= n && n <= 199)) << n;
        second += n >= 100;
    }
    EXPECT_NEAR(second, 3000, 200);
}

TEST(Mixes, TakeLocksByWeight) {
    auto s = run(mixed({{{"weight", 1}, {"section", {{"mean_ns", 50}}}},
                        {{"weight", 3}, {"count", 2}, {"section", {{"mean_ns", 50}}}}}));
    auto &locks = s->guests()[0]->locks;
    auto of = [&](size_t i) { return static_cast<double>(locks[i].acquisitions); };

    EXPECT_EQ(s->failure(), "");
    ASSERT_EQ(locks.size(), 3);
    EXPECT_NEAR(of(1) / of(0), 1.5, 0.1);
    EXPECT_NEAR(of(2) / of(0), 1.5, 0.1);
}

TEST(Mixes, WaitForDevices) {
    Json p = mixed({{{"section", {{"mean_ns", 50}}}}});
    p["guests"][0]["mix"]["wait"] = {{"every", 10}, {"length", {{"mean_ns", 100'000}}}};
    auto s = run(p);
    uint64_t sleeps = sum(*s, [](auto &c) { return c.sleeps; });

    EXPECT_GT(sleeps, 1000);
    EXPECT_NEAR(static_cast<double>(turns(*s)) / static_cast<double>(sleeps), 10, 1);
    EXPECT_LT(ran(*s), 2 * 100 * ms / 4) << "about 14 of 114 us";
}

TEST(Mixes, InterruptNoSectionThatForbidsIt) {
    for (bool off : {false, true}) {
        Json p = mixed({{{"irqs_off", off}, {"section", {{"mean_ns", 2000}}}}}, 1);
        p["guests"][0]["mix"]["interrupt"] = {{"per_second", 10'000},
                                              {"length", {{"mean_ns", 5000}}}};
        auto s = run(p);
        uint64_t inside = sum(*s, [](auto &c) { return c.interrupts_inside; });
        EXPECT_GT(sum(*s, [](auto &c) { return c.interrupts; }), 500);
        EXPECT_EQ(inside == 0, off) << inside;
    }
}

TEST(Mixes, AreRefusedInOneLine) {
    const std::pair<const char *, const char *> wrong[] = {
        {R"({})", "guest1.mix.locks is missing"},
        {R"({"locks": [{}]})", "guest1.mix.locks.1.section is missing"},
        {R"({"locks": [{"section": {}}]})",
         "guest1.mix.locks.1.section needs mean_ns or bins_ns, and not both"},
        {R"({"locks": [{"section": {"bins_ns": [[3, 2, 1]]}}]})",
         "guest1.mix.locks.1.section.bins_ns: a bin ends before it begins, or after 10^15 ns"},
        {R"({"locks": [{"section": {"mean_ns": 1}, "weight": 0}]})",
         "guest1.mix.locks.1.weight is 0"},
        {R"({"locks": [{"section": {"mean_ns": 1}}]})", "guest1.mix.think is missing"},
    };

    for (auto &[mix, why] : wrong)
        try {
            scenario(R"({"guests": [{"lock": "tas", "workload": "mix", "mix": )" +
                     std::string(mix) + "}]}");
            ADD_FAILURE() << mix;
        } catch (const BadScenario &bad) {
            EXPECT_STREQ(bad.what(), why);
        }
}

// Who defers before it takes a ticket loses its CPU without one.
TEST(Lwp, IsCountedFromTheTicket) {
    Json p = plan("i_spin", 6, 3, 100);
    p["guests"][0]["kind"] = "kernel";
    p["guests"][0]["told_slices"] = true;
    p["guests"][0]["parameters"] = {{"sections_cs", 1000}, {"sections_ncs", 500}};
    p["host"]["settings"] = {{"slice", 1000}};
    auto s = run(p);
    uint64_t call = sum(*s, [](auto &c) { return c.waiter_preempted; });
    uint64_t ticket = sum(*s, [](auto &c) { return c.queued_preempted; });

    EXPECT_GT(call, 30);
    EXPECT_LT(ticket, call / 10);
}

TEST(Runs, EveryLossOfACpuKeepsWhatIsLeft) {
    Json p = plan("tas", 1, 1, 3000);
    p["guests"][0]["parameters"] = {{"sections_cs", 7'000'000}, {"sections_ncs", 0}};
    p["guests"].push_back({{"contexts", 1}}); // it computes
    auto s = run(p);

    EXPECT_NEAR(static_cast<double>(turns(*s)), static_cast<double>(ran(*s) / us) / 7000, 2);
}

} // namespace

} // namespace ol::simulator
