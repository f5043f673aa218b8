// SPDX-License-Identifier: MIT
#include "plans.h"

#include <gtest/gtest.h>

namespace ol::simulator::tests {

namespace {

Json transacting(const std::string &workload, unsigned contexts, unsigned cpus, unsigned ms = 5) {
    Json p = plan("tx", contexts, cpus, ms);

    p["host"]["features"] = {{"transactions", {{"lines", 512}}}};
    p["guests"][0]["workload"] = workload;
    return p;
}

uint64_t events(const Simulation &s, unsigned event) {
    uint64_t n = 0;

    for (auto &t : s.guests()[0]->tasks)
        n += t->counts.events[event];
    return n;
}

uint64_t begun(const Simulation &s) {
    return events(s, OL_TX_START);
}

TEST(Transactions, CommitOnlyWhereCpusHaveThem) {
    Json p = transacting("tx", 4, 4);
    auto s = run(p);
    EXPECT_EQ(s->failure(), "");
    EXPECT_GT(events(*s, OL_TX_COMMIT), 1000);

    s.reset();
    p["host"].erase("features");
    s = run(p);
    EXPECT_EQ(s->failure(), "");
    EXPECT_EQ(begun(*s), 0);
    EXPECT_GT(turns(*s), 1000);
}

// What each of them did is there once: the workload checks its list and its tally.
TEST(Transactions, AreAsIfOneCameAfterTheOther) {
    for (unsigned tally : {0, 1}) {
        Json p = transacting("tx", 8, 8);
        p["guests"][0]["parameters"] = {{"tx_tally", tally}, {"tx_inodes", 4}};
        auto s = run(p);
        EXPECT_EQ(s->failure(), "");
        EXPECT_GT(events(*s, OL_TX_CONFLICT), 100);
        EXPECT_GT(events(*s, OL_TX_COMMIT), 1000);
    }
}

TEST(Transactions, EndInOneOfTheWaysThatAreCounted) {
    Json p = transacting("tx", 8, 8);
    p["guests"][0]["parameters"] = {{"tx_tally", 1}};
    auto s = run(p);
    uint64_t ended = 0;

    for (unsigned how : {OL_TX_COMMIT, OL_TX_CONFLICT, OL_TX_CAPACITY, OL_TX_EXPLICIT, OL_TX_OTHER})
        ended += events(*s, how);
    EXPECT_GE(begun(*s) + 8, ended);
    EXPECT_LE(begun(*s), ended + 8);
}

TEST(Transactions, AloneHaveNoConflict) {
    auto s = run(transacting("tx", 1, 1));
    EXPECT_GT(begun(*s), 1000);
    EXPECT_LE(begun(*s) - events(*s, OL_TX_COMMIT), 1);
}

TEST(Transactions, AbortIfTheirLinesDoNotFit) {
    Json p = transacting("tx", 2, 2);
    p["host"]["features"]["transactions"]["lines"] = 2; // a section writes three
    auto s = run(p);
    EXPECT_EQ(s->failure(), "");
    EXPECT_GT(events(*s, OL_TX_CAPACITY), 1000);
    EXPECT_EQ(events(*s, OL_TX_COMMIT), 0);
    EXPECT_GT(turns(*s), 1000);
}

// Two on a CPU: each slice cuts a section, which would else outlast it.
TEST(Transactions, AbortWhereTheirContextLosesItsCpu) {
    Json p = transacting("sections", 2, 1, 50);
    p["host"]["settings"] = {{"slice", 1000}};
    p["guests"][0]["parameters"] = {{"sections_cs", 700'000}, {"sections_ncs", 0}};
    auto s = run(p);
    EXPECT_EQ(s->failure(), "");
    EXPECT_GT(events(*s, OL_TX_OTHER), 10);
}

// Once for each interrupt: it does not come again when the section is tried again.
TEST(Transactions, AbortByInterrupts) {
    Json p = transacting("mix", 1, 1, 50);
    p["guests"][0]["mix"] = {
        {"locks", {{{"section", {{"mean_ns", 10'000}}}}}},
        {"sections", 1},
        {"think", {{"mean_ns", 1}}},
        {"interrupt", {{"per_second", 10'000}, {"length", {{"mean_ns", 1000}}}}}};
    auto s = run(p);
    uint64_t interrupts = s->guests()[0]->tasks[0]->counts.interrupts;
    EXPECT_GT(events(*s, OL_TX_OTHER), 100);
    EXPECT_LE(events(*s, OL_TX_OTHER), interrupts);
}

// The wait ends where the section begins.
TEST(Transactions, ThatCommitAreNotWaitsForTheLock) {
    Json p = transacting("sections", 1, 1);
    p["guests"][0]["parameters"] = {{"sections_cs", 50'000}, {"sections_ncs", 0}};
    auto s = run(p);
    EXPECT_GT(events(*s, OL_TX_COMMIT), 50);
    EXPECT_LT(s->guests()[0]->waits.longest, us);
    EXPECT_GE(s->guests()[0]->holds.longest, 50 * us);
    EXPECT_LT(s->guests()[0]->tasks[0]->counts.spun, ran(*s) / 50);
}

// A kernel's threads: two for each CPU, whose slices are shorter than their sections.
TEST(Tasks, AreNotPreemptedAtTheirLocks) {
    Json p = plan("ticket", 4, 2, 50);
    p["host"]["settings"] = {{"slice", 100}};
    p["guests"][0]["parameters"] = {{"sections_cs", 70'000}, {"sections_ncs", 70'000}};
    for (bool tasks : {false, true}) {
        p["guests"][0]["kind"] = tasks ? "tasks" : "threads";
        auto s = run(p);
        uint64_t preempted = 0;
        for (auto &t : s->guests()[0]->tasks) {
            preempted += t->counts.preempted_inside + t->counts.preempted_waiting;
            EXPECT_GT(t->counts.turns, 10);
        }
        EXPECT_EQ(preempted == 0, tasks);
    }
}

} // namespace

} // namespace ol::simulator::tests
