// SPDX-License-Identifier: MIT
// The checked world itself: what it must see, and what it must not claim.
#include <check/checker.h>
#include <check/client.h>
#include <check/engine/subjects.h>

#include <gtest/gtest.h>

using namespace ol;
using namespace ol::check;

namespace {

constexpr Place here{"a test", 1};

class Seen : public testing::Test {
protected:
    using Bodies = std::vector<std::function<void()>>;

    // What goes wrong in some execution of these contexts.
    Failure failure(const Bodies &bodies, Model model = Model::c11) {
        Program p;

        world_.reset(); // there is one at a time
        world_ = std::make_unique<World>(model, Rules{});
        p.contexts = bodies.size();
        p.set_up = [&](Memory &memory) {
            a_ = reinterpret_cast<uint32_t *>(memory.allocate("a", 4).at);
            b_ = reinterpret_cast<uint32_t *>(memory.allocate("b", 4).at);
            datum_ = reinterpret_cast<uint64_t *>(memory.allocate("datum", 8).at);
        };
        p.body = [&](size_t me) { bodies[me](); };
        return explore(*world_, p).failure;
    }
    Wrong wrong(const Bodies &bodies, Model model = Model::c11) {
        return failure(bodies, model).what;
    }

    void write() { world_->plain_write(datum_, 1, here); }
    void read() { (void)world_->plain_read(datum_, here); }

    std::unique_ptr<World> world_;
    uint32_t *a_ = nullptr, *b_ = nullptr;
    uint64_t *datum_ = nullptr;
    const std::function<void()> publishes_ = [this] {
        write();
        ol_store_release(a_, 1u);
    };
};

// Happens-before: T1 writes and publishes, T2 sees it and reads.

TEST_F(Seen, ReleaseAndAcquireOrder) {
    EXPECT_EQ(wrong({publishes_,
                     [&] {
                         if (ol_load_acquire(a_))
                             read();
                     }}),
              Wrong::none);
}

TEST_F(Seen, RelaxedOrdersNothing) {
    EXPECT_EQ(wrong({[&] {
                         write();
                         ol_store_relaxed(a_, 1u);
                     },
                     [&] {
                         if (ol_load_acquire(a_))
                             read();
                     }}),
              Wrong::unordered);
    EXPECT_EQ(wrong({publishes_,
                     [&] {
                         if (ol_load_relaxed(a_))
                             read();
                     }}),
              Wrong::unordered);
}

TEST_F(Seen, ReadModifyWriteContinuesAReleaseAndAStoreEndsIt) {
    auto reads = [&] {
        if (ol_load_acquire(a_) == 2)
            read();
    };
    EXPECT_EQ(wrong({publishes_, [&] { (void)ol_cas_relaxed(a_, 1u, 2u); }, reads}), Wrong::none);
    EXPECT_EQ(wrong({publishes_, [&] { ol_store_relaxed(a_, 2u); }, reads}), Wrong::unordered);
}

TEST_F(Seen, FailedCompareExchangeOrdersNothing) {
    EXPECT_EQ(wrong({publishes_,
                     [&] {
                         if (!ol_cas_acquire(a_, 0u, 2u))
                             read();
                     }}),
              Wrong::unordered);
}

TEST_F(Seen, FencesOrderRelaxedAccesses) {
    EXPECT_EQ(wrong({[&] {
                         write();
                         ol_fence();
                         ol_store_relaxed(a_, 1u);
                     },
                     [&] {
                         if (!ol_load_relaxed(a_))
                             return;
                         ol_fence();
                         read();
                     }}),
              Wrong::none);
}

TEST_F(Seen, HalfAndWordAreOneObject) {
    auto publishes = [&] {
        write();
        ol_store_lo_release(a_, 7);
    };
    EXPECT_EQ(wrong({publishes,
                     [&] {
                         if (ol_load_acquire(a_) == 7u)
                             read();
                     }}),
              Wrong::none);
    EXPECT_EQ(wrong({publishes,
                     [&] {
                         (void)ol_load_hi_acquire(a_);
                         read();
                     }}),
              Wrong::unordered);
}

TEST_F(Seen, HalvesDoNotCarry) {
    EXPECT_EQ(wrong({[&] {
                  ol_store_relaxed(a_, 0x0001ffffu);
                  EXPECT_EQ(ol_add_lo_release(a_, 1), 0xffff);
                  EXPECT_EQ(ol_load_relaxed(a_), 0x00010000u);
                  EXPECT_EQ(ol_add_hi_relaxed(a_, -1), 0x00010000u);
                  EXPECT_EQ(ol_load_hi_relaxed(a_), 0);
                  EXPECT_TRUE(ol_cas_lo_acquire(a_, 0, 5));
                  EXPECT_EQ(ol_xchg_lo_release(a_, 6), 5);
              }}),
              Wrong::none);
}

// Waiting.

TEST_F(Seen, ASpinThatNothingEndsIsADeadlock) {
    Failure f = failure({[&] {
                             while (!ol_load_acquire(a_))
                                 ol_relax();
                         },
                         [&] {
                             while (!ol_load_acquire(b_))
                                 ol_relax();
                         }});

    EXPECT_EQ(f.what, Wrong::deadlock);
    EXPECT_NE(f.how.find("T1 relaxes at world_test.cpp"), std::string::npos) << f.how;
    EXPECT_NE(f.how.find("saw a = 0x0; T2"), std::string::npos) << f.how;
}

TEST_F(Seen, ALoopOnTimeMustSaySo) {
    EXPECT_EQ(wrong({[&] {
                  ol_ticks_t t = ol_after(1, 100);
                  while (!ol_passed(t))
                      ol_relax();
              }}),
              Wrong::deadlock);
    EXPECT_EQ(wrong({[&] {
                  ol_ticks_t t = ol_after(1, 100);
                  while (!ol_passed(t))
                      ol_relax_until(t);
              }}),
              Wrong::none);
}

TEST_F(Seen, RelaxReturnsAfterAChange) {
    EXPECT_EQ(wrong({[&] {
                         while (!ol_load_acquire(a_))
                             ol_relax();
                     },
                     [&] { ol_store_release(a_, 1u); }}),
              Wrong::none);
}

TEST_F(Seen, AParkThatNobodyKicksIsALostWakeup) {
    Failure f =
        failure({[&] { ol_park(a_, 0, OL_ANY, OL_NEVER); }, [&] { ol_store_release(a_, 1u); }});
    EXPECT_EQ(f.what, Wrong::lost_wakeup);
    EXPECT_NE(f.how.find("T1 parked"), std::string::npos) << f.how;
    EXPECT_EQ(wrong({[&] { ol_park(a_, 0, OL_ANY, ol_after(1, 100)); }}), Wrong::lost_wakeup)
        << "a deadline hides it";
}

TEST_F(Seen, ParkComparesAndKickMatchesKeys) {
    auto parks = [&] { ol_park(a_, 0, 1, OL_NEVER); };
    auto kicks = [&](uint32_t key) {
        return Bodies{parks, [&, key] {
                          ol_store_release(a_, 1u);
                          ol_kick(a_, key, 1);
                      }};
    };
    EXPECT_EQ(wrong({[&] { ol_park(a_, 1, OL_ANY, OL_NEVER); }}), Wrong::none);
    EXPECT_EQ(wrong(kicks(3)), Wrong::none);
    EXPECT_EQ(wrong(kicks(2)), Wrong::lost_wakeup);
}

// Memory.

TEST_F(Seen, UseAfterFree) {
    EXPECT_EQ(
        wrong({[&] { world_->free(a_, here); }, [&] { (void)ol_load_relaxed(a_); }}, Model::sc),
        Wrong::after_free);
    EXPECT_EQ(wrong({[&] { world_->free(a_, here); }, [&] { ol_kick(a_, OL_ANY, 1); }}),
              Wrong::none);
}

TEST_F(Seen, MemoryFromElsewhere) {
    static uint32_t stray;
    EXPECT_EQ(wrong({[] { (void)ol_load_relaxed(&stray); }}), Wrong::wild);
}

// Seeded walks: all that the adversary may do, it does; and again, from what it did.

class Walks {
public:
    Walks(const ol_lock_ops &ops, Model model)
        : world_(model, rules()),
          client_(world_, ops, {Scenario::any_, 5, 3}),
          program_(client_.program()) {}

    // Each walk of these many, told, and the same again.
    void replay(int walks, const char *lock) {
        auto search = make_walk(1);
        for (int i = 0; i < walks; i++) {
            ExecutionTrace first, again;
            world_.tell_to(&first);
            world_.run(program_, *search);
            world_.tell_to(nullptr);
            Path path = path_of(text_of(search->path(), program_.contexts), program_.contexts);
            check::replay(world_, program_, path, again);
            EXPECT_EQ(told(again), told(first)) << lock << ", walk " << i;
        }
    }
    void count(int walks, std::array<uint64_t, OL_EVENTS> &sum) {
        auto search = make_walk(1);
        for (int i = 0; i < walks; i++) {
            world_.run(program_, *search);
            EXPECT_FALSE(world_.failure()) << world_.failure().how;
            for (size_t me = 0; me < program_.contexts; me++)
                for (unsigned e = 0; e < OL_EVENTS; e++)
                    sum[e] += world_.counted(me, e);
        }
    }

private:
    static Rules rules() {
        Rules r;
        prepare(Scenario::any_, r);
        return r;
    }
    static std::string told(const ExecutionTrace &trace) {
        std::string all;
        for (const TraceEvent &t : trace)
            all += t.context + " " + t.what + "\n";
        return all;
    }

    World world_;
    Client client_;
    Program program_;
};

TEST(Adversary, EveryWalkReplays) {
    for (auto *ops = engine::subjects; *ops; ops++) {
        Walks(**ops, Model::c11).replay(10, (*ops)->id);
        Walks(**ops, Model::sc).replay(10, (*ops)->id);
    }
}

TEST(Adversary, EveryEventHappens) {
    std::array<uint64_t, OL_EVENTS> sum{};

    for (auto *ops = engine::subjects; *ops; ops++)
        Walks(**ops, Model::sc).count(1000, sum);
    // The locks count these; lib/ counts those before and SPURIOUS, run/sleep.c the last one.
    for (size_t e = OL_SLOW_PATH; e < OL_LONG_WAIT; e++)
        EXPECT_EQ(sum[e] > 0, e != OL_SPURIOUS) << e;
}

} // namespace
