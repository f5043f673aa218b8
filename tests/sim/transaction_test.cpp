// SPDX-License-Identifier: MIT
// Transactions, by themselves and in the machine. transaction_mutants/ holds what these must catch.
#include "bench.h"

#include <array>
#include <map>
#include <set>

using namespace ol;
using namespace ol::engine;
using ol::test::here;

namespace {

using T = Transaction;

constexpr unsigned by_conflict = T::conflict | T::retry;

// By itself: sets, log, capacity.

class Transactions : public testing::Test {
protected:
    alignas(128) uint8_t memory_[256] = {};
    Transaction one_;

    uint64_t seen(const uint8_t *p, size_t width) {
        return one_.merged(p, width, Memory::read(p, width));
    }
};

TEST_F(Transactions, ConflictByLines) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_ + 3, 4));
    EXPECT_TRUE(one_.write(memory_ + 64, 1));
    EXPECT_FALSE(one_.conflicts(memory_ + 3, 4, false)); // two may read
    EXPECT_TRUE(one_.conflicts(memory_ + 3, 4, true));
    EXPECT_TRUE(one_.conflicts(memory_ + 63, 1, true)); // another byte of the line
    EXPECT_TRUE(one_.conflicts(memory_ + 127, 1, false));
    EXPECT_TRUE(one_.conflicts(memory_ + 60, 8, false)); // reaches into the next line
    EXPECT_TRUE(one_.conflicts(memory_, sizeof memory_, true));
    EXPECT_FALSE(one_.conflicts(memory_ + 128, 8, true));
}

TEST_F(Transactions, AccessesMayCrossLines) {
    one_.begin({});
    EXPECT_TRUE(one_.write(memory_ + 60, 8));
    one_.store(memory_ + 60, 8, 0x8877665544332211);
    EXPECT_EQ(seen(memory_ + 60, 8), 0x8877665544332211u);
    EXPECT_TRUE(one_.conflicts(memory_, 1, false));
    EXPECT_TRUE(one_.conflicts(memory_ + 127, 1, false));
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(Memory::read(memory_ + 60, 8), 0x8877665544332211u);
}

TEST_F(Transactions, MergeTheirOwnBytesWithMemorys) {
    Memory::write(memory_, 8, 0x1111111111111111);
    one_.begin({});
    EXPECT_TRUE(one_.write(memory_ + 2, 2));
    one_.store(memory_ + 2, 2, 0xabcd);
    EXPECT_EQ(seen(memory_, 4), 0xabcd1111u);
    EXPECT_EQ(seen(memory_ + 3, 1), 0xabu);
    EXPECT_EQ(Memory::read(memory_, 8), 0x1111111111111111u);
    memory_[7] = 0x22; // none of its own bytes
    EXPECT_EQ(seen(memory_, 8), 0x22111111abcd1111u);
    EXPECT_TRUE(one_.wrote(memory_ + 2, 2));
    EXPECT_FALSE(one_.wrote(memory_ + 2, 3));
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(Memory::read(memory_, 8), 0x22111111abcd1111u);
}

TEST_F(Transactions, HaveRoomForSoManyLines) {
    one_.begin({2, 1});
    for (size_t i = 0; i < 128; i++)
        EXPECT_TRUE(one_.read(memory_ + i, 1));
    EXPECT_FALSE(one_.read(memory_ + 128, 1));
    one_.abort(T::capacity);
    one_.begin({2, 1});
    EXPECT_TRUE(one_.write(memory_, 64)); // in both sets, counted in each
    EXPECT_TRUE(one_.read(memory_, 64));
    EXPECT_TRUE(one_.read(memory_ + 64, 1));
    EXPECT_FALSE(one_.write(memory_ + 64, 1));
}

TEST_F(Transactions, WithinOthersArePartOfThem) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_, 1));
    one_.begin({});
    EXPECT_TRUE(one_.is_nested());
    EXPECT_TRUE(one_.write(memory_ + 64, 1));
    EXPECT_FALSE(one_.commit());
    EXPECT_TRUE(one_.active());
    EXPECT_TRUE(one_.conflicts(memory_, 1, true));
    EXPECT_TRUE(one_.conflicts(memory_ + 64, 1, false));
    one_.begin({});
    one_.abort(T::unknown); // however deep
    EXPECT_FALSE(one_.active());
    EXPECT_EQ(one_.status(), T::nested);
}

TEST_F(Transactions, ForgetAllWhenAborted) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_, 1));
    EXPECT_TRUE(one_.write(memory_, 1));
    one_.store(memory_, 1, 5);
    one_.abort(T::conflict);
    EXPECT_EQ(one_.status(), T::conflict);
    EXPECT_FALSE(one_.conflicts(memory_, 1, true));
    one_.begin({});
    EXPECT_EQ(seen(memory_, 1), 0u);
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(memory_[0], 0);
}

// In the machine.

class InTransactions : public test::Bench {
protected:
    using Act = std::function<void()>;

    // One try, and how it went.
    unsigned attempt(const Act &act) {
        unsigned status = ol_htm_begin();

        if (status == OL_HTM_STARTED) {
            act();
            ol_htm_commit();
        }
        return status;
    }

    // T1 does this in a transaction and nobody else is there.
    unsigned alone(const Act &act) {
        EXPECT_FALSE(run("", {[&] { status_ = attempt(act); }}));
        return status_;
    }

    // T1 has done `mine` and is about to commit when T2 does `theirs`.
    unsigned against(const Act &mine, const Act &theirs) {
        EXPECT_FALSE(run("1*2 2w", {[&] { status_ = attempt(mine); }, theirs}));
        return status_;
    }

    const Act reads_ = [this] { (void)ol_load_relaxed(a_); };
    const Act writes_ = [this] { ol_store_relaxed(a_, 5u); };
    unsigned status_ = 0;
};

TEST_F(InTransactions, CommitAllAtOnce) {
    EXPECT_FALSE(run("1*3 2w", {[&] {
                                    EXPECT_EQ(attempt([&] {
                                                  ol_store_relaxed(a_, 1u);
                                                  ol_store_relaxed(b_, 2u);
                                              }),
                                              OL_HTM_STARTED);
                                },
                                [&] { EXPECT_EQ(*a_ + *b_, 0u); }})); // looks past the seam
    EXPECT_EQ(*a_, 1u);
    EXPECT_EQ(*b_, 2u);
}

TEST_F(InTransactions, SeeTheirOwnWrites) {
    EXPECT_EQ(alone([&] {
                  ol_store_relaxed(a_, 0x11223344u);
                  ol_store_lo_relaxed(a_, 0xabcd);
                  EXPECT_EQ(ol_load_relaxed(a_), 0x1122abcdu);
                  EXPECT_EQ(ol_add_relaxed(a_, 1u), 0x1122abcdu);
                  EXPECT_FALSE(ol_cas_relaxed(a_, 1u, 2u));
                  EXPECT_TRUE(ol_cas_relaxed(a_, 0x1122abceu, 7u));
                  machine_.plain_write(datum_, 8, here);
                  EXPECT_EQ(machine_.plain_read(datum_, here), 8u);
                  EXPECT_EQ(*a_ + *datum_, 0u);
              }),
              OL_HTM_STARTED);
    EXPECT_EQ(*a_, 7u);
    EXPECT_EQ(*datum_, 8u);
}

TEST_F(InTransactions, GoBackToWhereTheyBegan) {
    int begun = 0;

    EXPECT_FALSE(run("", {[&] {
                         std::array<volatile int, 100> local{};
                         unsigned status = ol_htm_begin();
                         for (volatile int &i : local)
                             EXPECT_EQ(i, 0);
                         if (status == OL_HTM_STARTED) {
                             for (volatile int &i : local)
                                 i = 7;
                             begun++;
                             ol_store_relaxed(a_, 1u);
                             ol_htm_abort();
                             ADD_FAILURE() << "goes on after an abort";
                         }
                         EXPECT_EQ(status, T::explicitly);
                         EXPECT_EQ(ol_load_relaxed(a_), 0u);
                         EXPECT_FALSE(ol_htm_active());
                     }}));
    EXPECT_EQ(begun, 1);
}

TEST_F(InTransactions, GiveWayToWhoeverAsks) {
    Act fails = [&] { (void)ol_cas_relaxed(a_, 9u, 1u); };
    Act plain_reads = [&] { read(); }, plain_writes = [&] { write(); };

    EXPECT_EQ(against(reads_, reads_), OL_HTM_STARTED);
    EXPECT_EQ(against(reads_, writes_), by_conflict);
    EXPECT_EQ(against(writes_, reads_), by_conflict);
    EXPECT_EQ(against(writes_, writes_), by_conflict);
    EXPECT_EQ(against(reads_, fails), by_conflict); // a locked CMPXCHG writes, whatever it finds
    EXPECT_EQ(against(fails, reads_), by_conflict);
    EXPECT_EQ(against(plain_reads, plain_reads), OL_HTM_STARTED);
    EXPECT_EQ(against(plain_reads, plain_writes), by_conflict);
    EXPECT_EQ(against(plain_writes, plain_reads), by_conflict);
}

TEST_F(InTransactions, GiveWayToOtherTransactions) {
    unsigned second = 0;

    EXPECT_EQ(against(writes_, [&] { second = attempt(reads_); }), by_conflict);
    EXPECT_EQ(second, OL_HTM_STARTED);
    EXPECT_EQ(*a_, 0u);
    EXPECT_EQ(against(reads_, [&] { second = attempt(writes_); }), by_conflict);
    EXPECT_EQ(second, OL_HTM_STARTED);
    EXPECT_EQ(*a_, 5u);
    EXPECT_EQ(against(reads_, [&] { second = attempt(reads_); }), OL_HTM_STARTED);
    EXPECT_EQ(second, OL_HTM_STARTED);
}

TEST_F(InTransactions, GiveWayForALine) {
    auto other_in_line = [&](size_t words) {
        uint32_t *other = nullptr;
        return against([&] { (void)ol_load_relaxed(other = a_); },
                       [&] { ol_store_relaxed(other + words, 1u); });
    };

    a_size_ = 128;
    EXPECT_EQ(other_in_line(15), by_conflict);
    EXPECT_EQ(other_in_line(16), OL_HTM_STARTED);
}

// Nobody's memory is handed to another while a transaction still reads it.
TEST_F(InTransactions, GiveWayToWhoeverFrees) {
    EXPECT_EQ(against(reads_, [&] { machine_.free(a_, here); }), by_conflict);
}

TEST_F(InTransactions, WithinOthersArePartOfThem) {
    EXPECT_EQ(alone([&] {
                  EXPECT_EQ(attempt(writes_), OL_HTM_STARTED);
                  EXPECT_TRUE(ol_htm_active());
                  EXPECT_EQ(*a_, 0u);
              }),
              OL_HTM_STARTED);
    EXPECT_EQ(*a_, 5u);
    EXPECT_EQ(alone([&] { (void)attempt([&] { ol_htm_abort(); }); }), T::explicitly | T::nested);
}

TEST_F(InTransactions, HaveRoomForSoManyLines) {
    Act read_two = [&] {
        (void)ol_load_relaxed(a_);
        (void)ol_load_relaxed(b_);
    };
    Act write_two = [&] {
        ol_store_relaxed(a_, 1u);
        write();
    };

    machine_.transactions({2, 1});
    EXPECT_EQ(alone(read_two), OL_HTM_STARTED);
    EXPECT_EQ(alone(write_two), T::capacity);
    EXPECT_EQ(*a_, 0u);
    machine_.transactions({1, 2});
    EXPECT_EQ(alone(read_two), T::capacity);
    EXPECT_EQ(alone(write_two), OL_HTM_STARTED);
    machine_.transactions({0, 0});
    EXPECT_EQ(alone([&] { ADD_FAILURE() << "begins where there are none"; }), T::unknown);
}

// PAUSE and system calls abort, and are not made.
TEST_F(InTransactions, CannotWaitNorCallTheSystem) {
    EXPECT_EQ(alone([&] { ol_relax(); }), T::unknown);
    EXPECT_EQ(alone([&] { ol_relax_until(ol_after(1, 10)); }), T::unknown);
    EXPECT_EQ(alone([&] { ol_yield(); }), T::unknown);
    EXPECT_EQ(alone([&] { ol_park(a_, 0, OL_ANY, OL_NEVER); }), T::unknown);
    EXPECT_EQ(alone([&] { machine_.free(a_, here); }), T::unknown);
    EXPECT_EQ(run("1w 2w", {[&] { ol_park(a_, 0, OL_ANY, OL_NEVER); },
                            [&] { status_ = attempt([&] { ol_kick(a_, OL_ANY, 1); }); }})
                  .what,
              Wrong::lost_wakeup);
    EXPECT_EQ(alone([&] {
                  ol_fence();
                  (void)ol_now();
                  ol_defer_begin();
                  (void)ol_self();
              }),
              OL_HTM_STARTED);
}

TEST_F(InTransactions, AreMisusedOutsideOfThem) {
    EXPECT_EQ(run("", {[&] { ol_htm_commit(); }}).what, Wrong::misuse);
    EXPECT_EQ(run("", {[&] { ol_htm_abort(); }}).what, Wrong::misuse);
    EXPECT_EQ(run("", {[&] { (void)ol_htm_begin(); }}).what, Wrong::misuse);
    uint64_t stray = 0;
    EXPECT_EQ(
        run("", {[&] { (void)attempt([&] { machine_.plain_write(&stray, 1, here); }); }}).what,
        Wrong::wild);
    EXPECT_EQ(alone(writes_), OL_HTM_STARTED); // a failure leaves nothing behind
}

// Aborted without cause, at every step in turn, for every reason.
class Interrupted final : public Schedule {
public:
    Interrupted(unsigned step, uint32_t why) : left_(step), why_(why) {}
    Turn next(std::span<const size_t> ready, uint64_t) override { return {ready[0], 1, false, 0}; }
    bool doubt(Doubt what) override { return what == Doubt::transaction_aborts && left_-- == 0; }
    uint32_t pick(uint32_t n) override { return why_ % n; }

private:
    unsigned left_;
    uint32_t why_;
};

TEST_F(InTransactions, AbortWithoutCause) {
    std::set<unsigned> causes;

    for (uint32_t why = 0; why < 4; why++)
        for (unsigned step = 0; step < 4; step++) {
            Interrupted schedule(step, why);
            EXPECT_FALSE(run(schedule, {[&] {
                                 status_ = attempt([&] {
                                     ol_store_relaxed(a_, 1u);
                                     ol_store_relaxed(b_, 1u);
                                 });
                             }}));
            EXPECT_EQ(*a_, step == 3); // then it had committed
            EXPECT_EQ(*b_, step == 3);
            EXPECT_EQ(status_ == OL_HTM_STARTED, step == 3);
            causes.insert(status_);
        }
    EXPECT_EQ(causes, (std::set{T::unknown, T::retry, by_conflict, T::capacity, OL_HTM_STARTED}));
}

// All that the machine keeps of a context goes back too.

TEST_F(InTransactions, GiveBackNodesWhenAborted) {
    ol_node *first = nullptr, *kept = nullptr;

    EXPECT_FALSE(run("", {[&] {
                         kept = ol_node_get();
                         if (attempt([&] {
                                 first = ol_node_get();
                                 ol_node_put(kept);
                                 ol_htm_abort();
                             }) != OL_HTM_STARTED) {
                             EXPECT_EQ(ol_node_get(), first);
                             EXPECT_NE(ol_node_get(), kept);
                             ol_node_put(kept); // is still its own
                         }
                     }}));
    EXPECT_FALSE(run("", {[&] {
                         kept = ol_node_get();
                         (void)attempt([&] { ol_node_put(kept); });
                         EXPECT_EQ(ol_node_get(), kept);
                     }}));
}

TEST_F(InTransactions, ForgetTriesAndEventsWhenAborted) {
    EXPECT_FALSE(run("1w", {[&] {
                                ol_count(OL_NO_ID);
                                (void)attempt([&] {
                                    ol_count(OL_NO_ID);
                                    machine_.begin_try();
                                    ol_relax(); // no trylock waits that is forgotten
                                });
                                (void)attempt([&] { ol_count(OL_TIMEOUT); });
                                while (!ol_load_relaxed(a_))
                                    ol_relax();
                            },
                            [&] { ol_store_relaxed(a_, 1u); }}));
    EXPECT_EQ(machine_.context(0).events[OL_NO_ID], 1u);
    EXPECT_EQ(machine_.context(0).events[OL_TIMEOUT], 1u);
}

TEST_F(InTransactions, WakeWhenTheyCommit) {
    EXPECT_FALSE(run("1w 2w", {[&] {
                                   while (!ol_load_relaxed(a_))
                                       ol_relax();
                               },
                               [&] { EXPECT_EQ(attempt(writes_), OL_HTM_STARTED); }}));
}

// A relax after it sleeps until somebody else changes what it read; its own commit is no change.
TEST_F(InTransactions, SleepOnWhatTheyRead) {
    EXPECT_EQ(run("", {[&] {
                      (void)ol_load_relaxed(a_);
                      (void)attempt(writes_);
                      ol_relax();
                  }})
                  .what,
              Wrong::deadlock);
    EXPECT_FALSE(run("1*2 2w 1w", {[&] {
                                       (void)attempt([&] {
                                           (void)ol_load_relaxed(a_);
                                           ol_htm_abort();
                                       });
                                       ol_relax();
                                   },
                                   [&] { ol_store_relaxed(a_, 1u); }}));
}

// Happens-before.

class Ordered : public InTransactions {
protected:
    Wrong first_then(const Act &first, const Act &second) {
        return run("1w 2w", {first, second}).what;
    }
    const Act reads_it_ = [this] { EXPECT_EQ(attempt([&] { read(); }), OL_HTM_STARTED); };
    const Act writes_it_ = [this] { EXPECT_EQ(attempt([&] { write(); }), OL_HTM_STARTED); };
    const Act plainly_reads_ = [this] { read(); };
    const Act plainly_writes_ = [this] { write(); };
};

TEST_F(Ordered, OneAnother) {
    EXPECT_EQ(first_then(writes_it_, reads_it_), Wrong::none);
    EXPECT_EQ(first_then(writes_it_, writes_it_), Wrong::none);
    EXPECT_EQ(first_then(reads_it_, writes_it_), Wrong::none);
    EXPECT_EQ(run("1w 2w 3w", {reads_it_, reads_it_, writes_it_}).what, Wrong::none);
}

TEST_F(Ordered, NotWithWhoeverUsesNone) {
    EXPECT_EQ(first_then(writes_it_, plainly_reads_), Wrong::unordered);
    EXPECT_EQ(first_then(writes_it_, plainly_writes_), Wrong::unordered);
    EXPECT_EQ(first_then(reads_it_, plainly_writes_), Wrong::unordered);
    EXPECT_EQ(first_then(plainly_writes_, reads_it_), Wrong::unordered);
    EXPECT_EQ(first_then(plainly_reads_, writes_it_), Wrong::unordered);
}

TEST_F(Ordered, AfterTheReleasesTheyRead) {
    Act reads_both = [&] {
        (void)attempt([&] {
            read(); // before the lock, which is all the same
            (void)ol_load_relaxed(a_);
        });
    };
    auto publishes = [&](bool released) {
        return Act([this, released] {
            write();
            if (released)
                ol_store_release(a_, 1u);
            else
                ol_store_relaxed(a_, 1u);
        });
    };

    EXPECT_EQ(first_then(publishes(true), reads_both), Wrong::none);
    EXPECT_EQ(first_then(publishes(false), reads_both), Wrong::unordered);
}

// The fallback's lock: a transaction has only read it.
TEST_F(Ordered, BeforeTheAcquiresThatEndWhatTheyRead) {
    auto subscribes = [&](const Act &act) {
        return Act([this, act] {
            EXPECT_EQ(attempt([&] {
                          (void)ol_load_relaxed(a_);
                          act();
                      }),
                      OL_HTM_STARTED);
        });
    };
    Act locks = [&] {
        EXPECT_TRUE(ol_cas_acquire(a_, 0u, 1u));
        write();
    };
    Act locks_weakly = [&] {
        EXPECT_TRUE(ol_cas_relaxed(a_, 0u, 1u));
        write();
    };

    EXPECT_EQ(first_then(subscribes(plainly_writes_), locks), Wrong::none);
    EXPECT_EQ(first_then(subscribes(plainly_reads_), locks), Wrong::none);
    EXPECT_EQ(first_then(subscribes(plainly_writes_), locks_weakly), Wrong::unordered);
    EXPECT_EQ(run("1w 2w 3w", {subscribes(plainly_reads_), subscribes([] {}),
                               locks}) // all of them, not the last
                  .what,
              Wrong::none);
}

TEST_F(Ordered, NotByWhatWasAborted) {
    EXPECT_EQ(first_then(
                  [&] {
                      write();
                      ol_store_release(a_, 1u);
                  },
                  [&] {
                      (void)attempt([&] {
                          (void)ol_load_acquire(a_);
                          ol_htm_abort();
                      });
                      read();
                  }),
              Wrong::unordered);
    EXPECT_EQ(first_then(
                  [&] {
                      (void)attempt([&] {
                          write();
                          ol_htm_abort();
                      });
                  },
                  [&] { write(); }),
              Wrong::none);
}

// A counter whose lock is elided: the client that all this is for.
class Elided : public InTransactions {
protected:
    static constexpr unsigned contexts = 3, additions = 3, tries = 3;

    struct Sum {
        unsigned committed = 0, fell_back = 0, lost = 0, unordered = 0, otherwise = 0;
        std::map<unsigned, unsigned> aborted; // by cause
    };

    void add() { machine_.plain_write(datum_, machine_.plain_read(datum_, here) + 1, here); }

    bool add_elided(bool subscribes, Sum &sum) {
        unsigned status = ol_htm_begin();

        if (status != OL_HTM_STARTED) {
            sum.aborted[status]++;
            return false;
        }
        if (subscribes && ol_load_relaxed(a_))
            ol_htm_abort();
        add();
        ol_htm_commit();
        sum.committed++;
        return true;
    }

    void add_somehow(bool subscribes, Sum &sum) {
        for (unsigned i = 0; i < tries; i++) {
            if (add_elided(subscribes, sum))
                return;
            while (ol_load_relaxed(a_))
                ol_relax();
        }
        while (!ol_cas_acquire(a_, 0u, 1u))
            ol_relax();
        add();
        ol_store_release(a_, 0u);
        sum.fell_back++;
    }

    Sum explore(bool subscribes, uint64_t seeds) {
        Sum sum;
        Act body = [&] {
            for (unsigned i = 0; i < additions; i++)
                add_somehow(subscribes, sum);
        };

        for (uint64_t seed = 0; seed < seeds; seed++) {
            Seeded schedule(seed, contexts);
            Wrong what = run(schedule, Bodies(contexts, body)).what;
            sum.unordered += what == Wrong::unordered;
            sum.otherwise += what != Wrong::unordered && what != Wrong::none;
            sum.lost += what == Wrong::none && *datum_ != contexts * additions;
        }
        return sum;
    }
};

TEST_F(Elided, LosesNothing) {
    Sum sum = explore(true, 3000);

    EXPECT_EQ(sum.unordered + sum.otherwise + sum.lost, 0u);
    EXPECT_GT(sum.committed, 1000u);
    EXPECT_GT(sum.fell_back, 1000u);
    for (unsigned cause : {T::explicitly, T::unknown, T::retry, by_conflict, T::capacity})
        EXPECT_GT(sum.aborted[cause], 100u) << cause;
}

TEST_F(Elided, LosesUpdatesWithoutTheLockInTheReadSet) {
    EXPECT_GT(explore(false, 3000).unordered, 10u);
    machine_.check_order(false);
    EXPECT_GT(explore(false, 3000).lost, 10u);
}

TEST_F(Elided, FallsBackWhereThereAreNoTransactions) {
    machine_.transactions({0, 0});
    Sum sum = explore(true, 300);
    EXPECT_EQ(sum.unordered + sum.otherwise + sum.lost + sum.committed, 0u);
}

} // namespace
