// SPDX-License-Identifier: MIT
// Where a lock learns of its preemption: the choice of sources, the quota's counters, the slice
// extension.
#include "support.hpp"
#include "internal.h"
#include "cgroup.h"
#include "quota.h"
#include "rseq.h"

using namespace overlock_test;

namespace {

constexpr uint64_t MS = 1000000;

std::string source_of(const char *fact) {
    const char *source = ol_source_of(fact);
    return source ? source : "none";
}

// Only these sources, until the end of the test.
struct Chosen {
    explicit Chosen(const char *list) { EXPECT_EQ(ol_knowledge_choose(list), nullptr); }
    ~Chosen() { ol_knowledge_choose("usual"); }
};

TEST(Knowledge, WithoutSourcesNothingIsKnown) {
    const Chosen none("none");
    std::thread([] {
        EXPECT_EQ(ol_slice_id(), 0u);
        EXPECT_EQ(ol_slice_end(), OL_NEVER);
        EXPECT_EQ(ol_quota_end(), OL_NEVER);
    }).join();
    for (const char *fact : {"slice_id", "slice_end", "preempted", "quota_end", "defer"})
        EXPECT_EQ(source_of(fact), "none") << fact;
}

TEST(Knowledge, TheFirstSourceThatWorksGivesAFact) {
    const Chosen two("rusage,rseq");
    EXPECT_EQ(source_of("slice_id"), ol_rseq_start() ? "rseq" : "rusage");
    EXPECT_EQ(source_of("slice_end"), "none");
}

TEST(Knowledge, NamesThatNobodyKnowsChangeNothing) {
    const Chosen one("rusage");
    const char *wrong = ol_knowledge_choose("rseq,horoscope");
    ASSERT_NE(wrong, nullptr);
    EXPECT_NE(strstr(wrong, "history"), nullptr);
    EXPECT_EQ(source_of("slice_id"), "rusage");
    EXPECT_EQ(source_of("no such fact"), "none");
}

TEST(Knowledge, SwitchesAreCountedWithoutRseq) {
    const Chosen chosen("rusage");
    std::thread([] {
        for (int tries = 0; tries < 100; tries++) {
            const uint64_t before = ol_slice_id();
            ASSERT_NE(before, 0u);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            EXPECT_NE(ol_slice_id(), before);
        }
    }).join();
}

TEST(Knowledge, HistoryKnowsAnEndAfterTheFirstSlice) {
    const Chosen own("rusage,history");
    std::thread([] {
        EXPECT_EQ(ol_slice_end(), OL_NEVER);
        const uint64_t first = ol_slice_id();
        eventually([&] { // looks at the clock, and is away
            const ol_ticks_t until = from_now(std::chrono::microseconds(100));
            while (!ol_passed(until))
                ol_slice_end();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return ol_slice_id() != first && ol_slice_end() != OL_NEVER;
        });
        EXPECT_TRUE(ol_before(ol_now(), ol_slice_end()));
    }).join();
}

// The quota, by counters as the kernel has them.

struct Group {
    ol_quota q = {30 * MS, 100 * MS, {0, 0, 1}, {0, 0, 1}};
    uint64_t look(uint64_t now_ms, uint64_t usage_ms, uint64_t periods) {
        const ol_quota_seen seen = {now_ms * MS, usage_ms * MS, periods};
        return ol_quota_learn(&q, &seen);
    }
};

TEST(Quota, RunsOutAtTheRateOfTheLastLooks) {
    Group g;
    EXPECT_EQ(g.look(10, 10, 1), 30 * MS); // one CPU: 20 ms are left
    EXPECT_EQ(g.look(15, 20, 1), 20 * MS); // two: 10 ms last for 5
    EXPECT_EQ(g.look(18, 30, 1), 18 * MS); // now
    EXPECT_EQ(g.look(20, 31, 1), 20 * MS); // overdrawn
}

TEST(Quota, DoesNotRunOutInAPeriodThatEndsFirst) {
    Group g;
    EXPECT_EQ(g.look(50, 10, 1), OL_NEVER); // 20 ms at a fifth of a CPU
    EXPECT_EQ(g.look(60, 10, 1), OL_NEVER); // idle
}

TEST(Quota, IsWholeAgainInANewPeriod) {
    Group g;
    g.look(20, 20, 1);
    EXPECT_EQ(g.look(101, 25, 2), OL_NEVER);
    EXPECT_EQ(g.look(111, 35, 2), 131 * MS);
    g.look(150, 50, 2);
    g.look(202, 51, 2); // the counter stands still while the group is idle: time tells
    EXPECT_EQ(g.look(212, 61, 2), 232 * MS);
}

TEST(Quota, APeriodBeginsWhenTheKernelSaysSo) {
    Group g; // which was first seen amid a period
    g.look(40, 20, 1);
    g.look(60, 25, 2);
    EXPECT_EQ(g.look(70, 35, 2), 90 * MS);
}

TEST(Quota, ReadsFieldsOfTheKernelsText) {
    const char *text = "usage_usec 12\nnr_periods 7\nnr_throttled 3\n";
    uint64_t value = 0;
    EXPECT_TRUE(ol_quota_field(text, "nr_periods", &value));
    EXPECT_EQ(value, 7u);
    EXPECT_TRUE(ol_quota_field(text, "usage_usec", &value));
    EXPECT_EQ(value, 12u);
    EXPECT_FALSE(ol_quota_field(text, "nr", &value));
    EXPECT_FALSE(ol_quota_field("nr2 1\n", "nr", &value));
    EXPECT_FALSE(ol_quota_field(text, "usec", &value));
}

TEST(Quota, FindsTheGroupBelowWhatIsMounted) {
    EXPECT_STREQ(ol_cgroup_below("/a/b", "/"), "/a/b");
    EXPECT_STREQ(ol_cgroup_below("/a/b", "/a"), "/b");
    EXPECT_STREQ(ol_cgroup_below("/a", "/a"), "");
    EXPECT_STREQ(ol_cgroup_below("/", "/"), "");
    EXPECT_STREQ(ol_cgroup_below("/abc", "/a"), "");
    EXPECT_STREQ(ol_cgroup_below("/../x", "/"), "");
}

// How many of so many calls of `give_away` went by without being told.
template <class F> int untold(F give_away) {
    int n = 0;
    for (int i = 0; i < 1000; i++) {
        const uint64_t before = ol_slice_id();
        give_away();
        n += ol_slice_id() == before;
    }
    return n;
}

TEST(Rseq, WhoGivesItsCpuAwayIsToldSo) {
    const Chosen source("rseq");
    if (source_of("slice_id") != "rseq")
        GTEST_SKIP() << "no rseq here";
    const uint32_t word = 0;
    char pace[32];
    ASSERT_TRUE(ol_get_tunable("pace", pace, sizeof(pace)));
    ol_set_tunable("pace", "0"); // every yield was a long one
    EXPECT_EQ(untold([] { ol_yield(); }), 0);
    EXPECT_EQ(untold([&] { ol_park(&word, 1, OL_ANY, OL_NEVER); }), 0);
    ol_set_tunable("pace", pace);
}

// The slice extension, with a kernel that grants when the test says so.

struct FakeKernel {
    static inline ol_rseq_area area_;
    static inline int enabled, yields;
    static inline bool has_it;
    struct ol_rseq_kernel saved = ::ol_rseq_kernel;

    explicit FakeKernel(bool has) {
        area_ = {};
        enabled = yields = 0;
        has_it = has;
        ::ol_rseq_kernel = {[] { return has_it; },
                            [] {
                                enabled++;
                                return has_it;
                            },
                            [] {
                                yields++;
                                area_.granted = 0;
                            },
                            [] { return &area_; }};
    }
    ~FakeKernel() { ::ol_rseq_kernel = saved; }
    static void preempts() { // as in the kernel's rseq_grant_slice_extension()
        if (area_.request) {
            area_.request = 0;
            area_.granted = 1;
        }
    }
};

template <class F> void in_a_thread(F f) { std::thread(f).join(); }

TEST(Extension, AsksAsLongAsASectionLasts) {
    const FakeKernel kernel(true);
    in_a_thread([] {
        EXPECT_TRUE(ol_rseq_defer_begin());
        EXPECT_TRUE(ol_rseq_defer_begin());
        EXPECT_EQ(FakeKernel::area_.request, 1);
        ol_rseq_defer_end();
        EXPECT_EQ(FakeKernel::area_.request, 1);
        ol_rseq_defer_end();
        EXPECT_EQ(FakeKernel::area_.request, 0);
        EXPECT_EQ(FakeKernel::yields, 0);
        EXPECT_EQ(FakeKernel::enabled, 1);
    });
}

TEST(Extension, GivesBackWhatWasGrantedOnce) {
    const FakeKernel kernel(true);
    in_a_thread([] {
        ol_rseq_defer_begin();
        FakeKernel::preempts();
        EXPECT_EQ(FakeKernel::yields, 0);
        ol_rseq_defer_end();
        EXPECT_EQ(FakeKernel::yields, 1);
        ol_rseq_defer_begin();
        ol_rseq_defer_end();
        ol_rseq_defer_end(); // one too many
        EXPECT_EQ(FakeKernel::yields, 1);
    });
}

TEST(Extension, DoesNotAskAgainWithinASection) {
    const FakeKernel kernel(true);
    in_a_thread([] {
        ol_rseq_defer_begin();
        FakeKernel::preempts();
        ol_rseq_defer_begin();
        EXPECT_EQ(FakeKernel::area_.request, 0);
        ol_rseq_defer_end();
        ol_rseq_defer_end();
        EXPECT_EQ(FakeKernel::yields, 1);
    });
}

TEST(Extension, IsBehindDeferWhereItIsChosen) {
    const FakeKernel kernel(true);
    const int asked = ol_rseq_start(); // without rseq there is no word to ask in
    for (const bool chosen : {true, false}) {
        const Chosen source(chosen ? "extension" : "none");
        EXPECT_EQ(source_of("defer"), chosen && asked ? "extension" : "none");
        in_a_thread([=] {
            ol_defer_begin();
            EXPECT_EQ(FakeKernel::area_.request, chosen ? asked : 0);
            ol_defer_end();
            EXPECT_EQ(FakeKernel::area_.request, 0);
        });
    }
}

TEST(Extension, AKernelWithoutItIsAskedOnce) {
    const FakeKernel kernel(false);
    in_a_thread([] {
        EXPECT_FALSE(ol_rseq_defer_begin());
        EXPECT_FALSE(ol_rseq_defer_begin());
        ol_rseq_defer_end();
        EXPECT_EQ(FakeKernel::area_.request, 0);
        EXPECT_EQ(FakeKernel::enabled, 1);
    });
}

} // namespace
