// SPDX-License-Identifier: MIT
// The machine itself: what it must see, and what it must not claim.
#include "bench.h"
#include "client.h"

using namespace ol;
using namespace ol::engine;
using ol::test::Bench;
using ol::test::here;

namespace {

// Happens-before: T1 writes and publishes, T2 sees it and reads.

TEST_F(Bench, ReleaseAndAcquireOrder) {
    EXPECT_FALSE(run("1w", {[&] {
                                write();
                                ol_store_release(a_, 1u);
                            },
                            [&] {
                                EXPECT_EQ(ol_load_acquire(a_), 1u);
                                read();
                            }}));
}

TEST_F(Bench, RelaxedOrdersNothing) {
    EXPECT_EQ(run("1w", {[&] {
                             write();
                             ol_store_relaxed(a_, 1u);
                         },
                         [&] {
                             (void)ol_load_acquire(a_);
                             read();
                         }})
                  .what,
              Wrong::unordered);
    EXPECT_EQ(run("1w", {[&] {
                             write();
                             ol_store_release(a_, 1u);
                         },
                         [&] {
                             (void)ol_load_relaxed(a_);
                             read();
                         }})
                  .what,
              Wrong::unordered);
}

TEST_F(Bench, ReadModifyWriteContinuesARelease) {
    EXPECT_FALSE(run("1w 2w", {[&] {
                                   write();
                                   ol_store_release(a_, 1u);
                               },
                               [&] { (void)ol_add_relaxed(a_, 1u); },
                               [&] {
                                   (void)ol_load_acquire(a_);
                                   read();
                               }}));
}

TEST_F(Bench, AStoreEndsARelease) {
    EXPECT_EQ(run("1w 2w", {[&] {
                                write();
                                ol_store_release(a_, 1u);
                            },
                            [&] { ol_store_relaxed(a_, 2u); },
                            [&] {
                                (void)ol_load_acquire(a_);
                                read();
                            }})
                  .what,
              Wrong::unordered);
}

TEST_F(Bench, FailedCompareExchangeOrdersNothing) {
    EXPECT_EQ(run("1w", {[&] {
                             write();
                             ol_store_release(a_, 1u);
                         },
                         [&] {
                             EXPECT_FALSE(ol_cas_acquire(a_, 0, 2));
                             read();
                         }})
                  .what,
              Wrong::unordered);
}

TEST_F(Bench, FencesOrderRelaxedAccesses) {
    EXPECT_FALSE(run("1w", {[&] {
                                write();
                                ol_fence();
                                ol_store_relaxed(a_, 1u);
                            },
                            [&] {
                                (void)ol_load_relaxed(a_);
                                ol_fence();
                                read();
                            }}));
}

TEST_F(Bench, HalfAndWordAreOneObject) {
    EXPECT_FALSE(run("1w", {[&] {
                                write();
                                ol_store_lo_release(a_, 7);
                            },
                            [&] {
                                EXPECT_EQ(ol_load_acquire(a_), 7u);
                                read();
                            }}));
    EXPECT_EQ(run("1w", {[&] {
                             write();
                             ol_store_lo_release(a_, 7);
                         },
                         [&] {
                             (void)ol_load_hi_acquire(a_);
                             read();
                         }})
                  .what,
              Wrong::unordered);
}

TEST_F(Bench, HalvesDoNotCarry) {
    EXPECT_FALSE(run("", {[&] {
                         ol_store_relaxed(a_, 0x0001ffffu);
                         EXPECT_EQ(ol_add_lo_release(a_, 1), 0xffff);
                         EXPECT_EQ(ol_load_relaxed(a_), 0x00010000u);
                         EXPECT_EQ(ol_add_hi_relaxed(a_, -1), 0x00010000u);
                         EXPECT_EQ(ol_load_hi_relaxed(a_), 0);
                         EXPECT_TRUE(ol_cas_lo_acquire(a_, 0, 5));
                         EXPECT_EQ(ol_xchg_lo_release(a_, 6), 5);
                     }}));
}

// Waiting.

TEST_F(Bench, ASpinThatNothingEndsIsADeadlock) {
    Failure f = run("", {[&] {
                             while (!ol_load_acquire(a_))
                                 ol_relax();
                         },
                         [&] {
                             while (!ol_load_acquire(b_))
                                 ol_relax();
                         }});

    EXPECT_EQ(f.what, Wrong::deadlock);
    EXPECT_NE(f.how.find("T1 relaxes at engine_test.cpp"), std::string::npos) << f.how;
    EXPECT_NE(f.how.find("saw a = 0x0; T2"), std::string::npos) << f.how;
}

TEST_F(Bench, ALoopOnTimeMustSaySo) {
    auto loop = [&] {
        ol_ticks_t t = ol_after(1, 100);
        while (!ol_passed(t))
            ol_relax();
    };
    EXPECT_NE(run("", {loop}).how.find("must use ol_relax_until"), std::string::npos);
    EXPECT_FALSE(run("", {[&] {
                         ol_ticks_t t = ol_after(1, 100);
                         while (!ol_passed(t))
                             ol_relax_until(t);
                     }}));
}

TEST_F(Bench, RelaxReturnsAtOnceAfterAChange) {
    EXPECT_FALSE(run("1. 2w 1w", {[&] {
                                      while (!ol_load_acquire(a_))
                                          ol_relax();
                                  },
                                  [&] { ol_store_release(a_, 1u); }}));
}

TEST_F(Bench, AParkThatNobodyKicksIsALostWakeup) {
    Failure f =
        run("1w", {[&] { ol_park(a_, 0, OL_ANY, OL_NEVER); }, [&] { ol_store_release(a_, 1u); }});
    EXPECT_EQ(f.what, Wrong::lost_wakeup);
    EXPECT_NE(f.how.find("T1 parked"), std::string::npos) << f.how;
}

TEST_F(Bench, NoDeadlineHidesALostWakeup) {
    EXPECT_EQ(run("1w", {[&] { ol_park(a_, 0, OL_ANY, ol_after(1, 100)); }}).what,
              Wrong::lost_wakeup);
}

TEST_F(Bench, ParkComparesAndKickMatchesKeys) {
    EXPECT_FALSE(run("1w", {[&] { ol_park(a_, 1, OL_ANY, OL_NEVER); }}));
    EXPECT_FALSE(run("1w 2w", {[&] { ol_park(a_, 0, 1, OL_NEVER); }, [&] { ol_kick(a_, 3, 1); }}));
    EXPECT_EQ(run("1w 2w", {[&] { ol_park(a_, 0, 1, OL_NEVER); }, [&] { ol_kick(a_, 2, 1); }}).what,
              Wrong::lost_wakeup);
}

// Memory.

TEST_F(Bench, UseAfterFree) {
    EXPECT_EQ(
        run("1w", {[&] { machine_.free(a_, here); }, [&] { (void)ol_load_relaxed(a_); }}).what,
        Wrong::after_free);
    EXPECT_FALSE(run("1w", {[&] { machine_.free(a_, here); }, [&] { ol_kick(a_, OL_ANY, 1); }}));
}

TEST_F(Bench, MemoryFromElsewhere) {
    uint32_t stray = 0;
    EXPECT_EQ(run("", {[&] { (void)ol_load_relaxed(&stray); }}).what, Wrong::wild);
}

// The adversary: all that it may do, it does; and it does it again from the same seed.

TEST(Adversary, EverySeedReplays) {
    Machine machine;
    auto told = [&](test::Client &client, uint64_t seed) {
        Trace trace;
        machine.trace_to(&trace);
        client.run(seed);
        machine.trace_to(nullptr);
        return trace.text();
    };

    for (auto *ops = engine::subjects; *ops; ops++) {
        test::Client client(machine, **ops);
        std::vector<std::string> first;
        for (uint64_t seed = 0; seed < 50; seed++)
            first.push_back(told(client, seed));
        for (uint64_t seed = 50; seed-- > 0;)
            EXPECT_EQ(told(client, seed), first[seed]) << (*ops)->id << "@" << seed;
    }
}

TEST(Adversary, EveryEventHappens) {
    Machine machine;
    std::vector<uint64_t> sum(OL_EVENTS);

    for (auto *ops = engine::subjects; *ops; ops++) {
        test::Client client(machine, **ops);
        for (uint64_t seed = 0; seed < 3000; seed++)
            ASSERT_TRUE(client.run(seed)) << (*ops)->id << "@" << seed;
        for (size_t e = 0; e < OL_EVENTS; e++)
            sum[e] += client.events()[e];
    }
    // Those before are counted in lib/, the last one in preload/sleep.c.
    for (size_t e = OL_SLOW_PATH; e < OL_LONG_WAIT; e++)
        EXPECT_GT(sum[e], 0u) << e;
}

} // namespace
