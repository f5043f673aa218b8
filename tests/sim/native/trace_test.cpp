// SPDX-License-Identifier: MIT
// Traces: possible, complete, bounded, and without influence on the run.
#include "traced.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <map>
#include <set>

namespace ol::simulator {

using namespace tests;

namespace {

Json with_vcpus() {
    Json p = traced("ticket", 5, 2);

    p["guests"][0]["kind"] = "users";
    p["guests"][0]["vcpus"] = 3;
    return p;
}

Json with_quota() {
    Json p = traced("ticket", 2, 2);

    p["guests"][0]["quota_us"] = 10'000;
    p["guests"][0]["period_us"] = 25'000;
    return p;
}

std::vector<Json> all_kinds() {
    return {traced("ticket", 4, 3), traced("pv_ticket", 5, 2), traced("tas_yield", 4, 2),
            with_vcpus(), with_quota()};
}

// What the events add up to.
struct State {
    std::map<size_t, size_t> cpu_of, waits, holds; // CPU by entity; lock by context
    std::set<size_t> asleep;

    void add(const Step &s) {
        if (s.what == "run")
            cpu_of[s.who] = s.other;
        else if (s.what == "lose")
            cpu_of.erase(s.who);
        else if (s.what == "wait")
            waits[s.who] = s.other;
        else if (s.what == "acquire")
            waits.erase(s.who), holds[s.who] = s.other;
        else if (s.what == "release")
            holds.erase(s.who);
        else if (s.what == "park")
            asleep.insert(s.who);
        else if (s.what == "ready")
            asleep.erase(s.who);
    }
    bool operator==(const State &) const = default;
};

bool runs_on(const State &s, size_t cpu) {
    return std::any_of(s.cpu_of.begin(), s.cpu_of.end(),
                       [cpu](auto &on) { return on.second == cpu; });
}

bool is_held(const State &s, size_t lock) {
    return std::any_of(s.holds.begin(), s.holds.end(),
                       [lock](auto &held) { return held.second == lock; });
}

TEST(Traces, ArePossible) {
    for (const Json &p : all_kinds()) {
        State now;
        Time last = 0;
        for (const Step &s : steps(result(p)["trace"])) {
            EXPECT_LE(last, s.at);
            last = s.at;
            if (s.what == "run") {
                EXPECT_FALSE(now.cpu_of.count(s.who)) << s.at;
                EXPECT_FALSE(runs_on(now, s.other)) << s.at;
            } else if (s.what == "lose") {
                EXPECT_EQ(now.cpu_of[s.who], s.other) << s.at;
            } else if (s.what == "acquire") {
                EXPECT_EQ(now.waits[s.who], s.other);
                EXPECT_FALSE(is_held(now, s.other)) << s.at;
            } else if (s.what == "release") {
                EXPECT_TRUE(now.holds.count(s.who)) << s.at;
            } else if (s.what == "kick") {
                EXPECT_TRUE(now.asleep.count(s.other)) << s.at;
            }
            now.add(s);
        }
    }
}

TEST(Traces, ChangeNothing) {
    for (Json p : all_kinds()) {
        Json with = result(p);
        p["trace"] = false;
        Json without = result(p);
        EXPECT_TRUE(with.contains("trace"));
        for (Json *each : {&with, &without}) {
            each->erase("trace");
            each->erase("steps");
        }
        EXPECT_EQ(with, without);
    }
}

TEST(Traces, NameTheReason) {
    auto reasons = [](const Json &p) {
        std::set<std::string> found;
        for (const Step &s : steps(result(p)["trace"]))
            if (s.what == "lose")
                found.insert(s.why);
        return found;
    };
    using Reasons = std::set<std::string>;
    EXPECT_EQ(reasons(traced("ticket", 4, 3)), Reasons{"slice"});
    EXPECT_EQ(reasons(with_quota()), Reasons{"throttled"});
    EXPECT_EQ(reasons(traced("pv_ticket", 5, 2)), Reasons{"blocked"});
    Json yields = traced("tas_yield", 4, 2);
    yields["guests"][0]["kind"] = "threads";
    EXPECT_EQ(reasons(yields).count("yielded"), 1);
}

// Who is where, waits and holds is known from its first event on.
TEST(Traces, OfAWindowBeginWithWhatIsSo) {
    for (Json p : all_kinds()) {
        constexpr Time from = 41'234 * us, until = 60'000 * us;
        State before, then;
        for (const Step &s : steps(result(p)["trace"]))
            if (s.at <= from)
                before.add(s);
        p["trace"] = {{"from_us", from / us}, {"until_us", until / us}};
        Json trace = result(p)["trace"];
        for (const Step &s : steps(trace)) {
            EXPECT_LT(s.at, until);
            if (s.at <= from)
                then.add(s);
        }
        EXPECT_EQ(then, before);
        EXPECT_EQ(trace["from"], from);
        EXPECT_EQ(trace["until"], until);
        EXPECT_FALSE(trace["full"]);
    }
}

TEST(Traces, HaveABound) {
    Json p = traced("ticket", 4, 3), all = result(p)["trace"]["events"];

    p["trace"] = {{"most_events", 100}};
    Json trace = result(p)["trace"];
    EXPECT_EQ(trace["events"].size(), 100);
    EXPECT_TRUE(trace["full"]);
    EXPECT_EQ(trace["until"], all[100][0]);
    EXPECT_EQ(trace["events"][99], all[99]);
}

TEST(Traces, RefuseAWindowWithoutTime) {
    try {
        scenario(R"({"guests": [{}], "trace": {"from_us": 5, "until_us": 5}})");
        ADD_FAILURE();
    } catch (const BadScenario &bad) {
        EXPECT_STREQ(bad.what(), "trace.until_us is not after trace.from_us");
    }
}

} // namespace

} // namespace ol::simulator
