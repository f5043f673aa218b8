// SPDX-License-Identifier: MIT
// What a context is told of its slice and its quota, read by a lock that only asks.
#include "plans.h"

#include <gtest/gtest.h>
#include <overlock/ops.h>
#include <overlock/port.h>

namespace ol::simulator {

using namespace tests;

namespace {

struct Told {
    Time at, slice_end, quota_end;
    uint64_t slice_id;
};

std::vector<Told> answers; // of the run that is going on

const ol_lock_ops asks = {
    "asks",
    "",
    "",
    0,
    sizeof(uint64_t),
    sizeof(uint64_t),
    0,
    [](void *) {
        uint64_t id = ol_slice_id(); // first: it says whether the rest is late
        answers.push_back({ol_now(), ol_slice_end(), ol_quota_end(), id});
    },
    nullptr,
    nullptr,
    [](void *) {},
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

constexpr Time turn = us, gap = ms; // a turn is shorter, a time without a CPU longer

// Its answers by stretches of CPU time, without the first and the last, which are cut.
std::vector<std::vector<Told>> asked(const Json &told, const Json &neighbours = Json::array()) {
    Json p = plan("none", 1, 1, 200);
    p["guests"][0].update(told);
    for (const Json &n : neighbours)
        p["guests"].push_back(n);
    Scenario plan = scenario(p.dump());
    plan.guests[0].lock = &asks;
    plan.guests[0].workload = "sections";
    answers.clear();
    Simulation s(plan);
    s.run();
    std::vector<std::vector<Told>> stretches;
    for (const Told &t : answers) {
        if (stretches.empty() || t.at > stretches.back().back().at + gap)
            stretches.emplace_back();
        stretches.back().push_back(t);
    }
    if (stretches.size() < 4)
        return {};
    return {stretches.begin() + 1, stretches.end() - 1};
}

const Json computes = {{{"contexts", 1}}};

TEST(Told, APageSaysUntilItsDelayIsOverWhatItSaidBefore) {
    for (unsigned delay_us : {0, 200}) {
        uint64_t before = 0;
        auto stretches = asked({{"told_slices", true}, {"told_delay_us", delay_us}}, computes);
        ASSERT_GT(stretches.size(), 3U);
        for (auto &stretch : stretches) {
            Time from = stretch.front().at, until = stretch.back().at;
            uint64_t id = stretch.back().slice_id;
            for (const Told &t : stretch) {
                if (t.at + 10 * us < from + delay_us * us) { // its slice began before it asked
                    EXPECT_LT(t.slice_end, from);
                    EXPECT_TRUE(!before || t.slice_id == before);
                } else if (t.at > from + delay_us * us) {
                    EXPECT_GE(t.slice_end + turn, until);
                    EXPECT_LE(t.slice_end, until + turn);
                    EXPECT_EQ(t.slice_id, id);
                }
            }
            EXPECT_NE(id, before);
            before = id;
        }
    }
}

TEST(Told, AQuotaEndsWhenItIsTold) {
    Json half = {{"quota_us", 10'000}, {"period_us", 20'000}};
    for (auto &stretch : asked(half))
        EXPECT_EQ(stretch.front().quota_end, never);
    half["told_quota"] = true;
    auto stretches = asked(half);
    ASSERT_GT(stretches.size(), 3U);
    for (auto &stretch : stretches)
        for (const Told &t : stretch) {
            EXPECT_GE(t.quota_end + turn, stretch.back().at);
            EXPECT_LE(t.quota_end, stretch.back().at + turn);
        }
}

} // namespace
} // namespace ol::simulator
