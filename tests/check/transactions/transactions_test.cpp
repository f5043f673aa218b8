// SPDX-License-Identifier: MIT
// Transactions in the checked world.
#include <check/checker.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <set>

using namespace ol;
using namespace ol::check;
using engine::Transaction;

namespace {

constexpr unsigned by_conflict = Transaction::conflict | Transaction::retry;
constexpr Place here{"transactions_test.cpp", 1};

using Outcome = std::string; // what was left in memory and what each context found
using Outcomes = std::set<Outcome>;

// Words, each in a line of its own, but the second, which shares the first one's.
struct Words {
    uint32_t *a, *beside, *b, *c;
    uint64_t *datum;
};

class Checked : public testing::TestWithParam<Model> {
protected:
    using Body = std::function<void()>;

    // All outcomes of these contexts.
    Outcomes explore(std::vector<Body> bodies, bool reduced = true) {
        world_.reset(); // there is one at a time
        world_ = std::make_unique<World>(GetParam(), rules_);
        World &world = *world_;
        Program p;
        Outcomes found;
        p.contexts = bodies.size();
        p.set_up = [&](Memory &memory) {
            set_up(memory);
            for (auto &r : found_)
                r.clear();
        };
        p.body = [&](size_t me) { bodies[me](); };
        p.finish = [&] { found.insert(outcome()); };
        p.interrupted = [&](size_t, Budget) { found_[world.running()] += "! "; };
        limits_.search = reduced ? SearchKind::dpor : SearchKind::plain;
        check::Outcome o = check::explore(world, p, limits_);
        failure_ = o.failure;
        executions_ = o.executions;
        EXPECT_TRUE(o.failure || o.exhausted || limits_.executions < UINT64_MAX) << o.ended;
        return found;
    }

    // The property that does not hold, or none.
    Wrong wrong(std::vector<Body> bodies) {
        explore(std::move(bodies));
        return failure_.what;
    }

    void say(uint64_t v) {
        found_[world_->running()] += (v == OL_HTM_STARTED ? "started" : std::to_string(v)) + " ";
    }

    unsigned attempt(const Body &act) {
        unsigned status = ol_htm_begin();

        if (status == OL_HTM_STARTED) {
            act();
            ol_htm_commit();
        }
        return status;
    }

    // The ways in which a transaction with this in it ends, if the others do that.
    std::set<unsigned> ends(const Body &mine, std::vector<Body> others = {}) {
        std::set<unsigned> all;
        others.insert(others.begin(), [&] { say(attempt(mine)); });
        for (const Outcome &o : explore(others)) {
            std::string first = o.substr(o.find('|') + 1);
            first = first.substr(0, first.find(' '));
            all.insert(first == "started" ? OL_HTM_STARTED
                                          : static_cast<unsigned>(std::stoul(first)));
        }
        EXPECT_FALSE(failure_) << failure_.how;
        return all;
    }

    Words w_{};
    Rules rules_ = [] {
        Rules r;
        r.budgets[Budget::abort] = 0;
        return r;
    }();
    Limits limits_;
    std::unique_ptr<World> world_;
    Failure failure_;
    uint64_t executions_ = 0;

    const Body reads_ = [this] { (void)ol_load_relaxed(w_.a); };
    const Body writes_ = [this] { ol_store_relaxed(w_.a, 5u); };

private:
    void set_up(Memory &memory) {
        auto word = [&](const char *name) {
            return reinterpret_cast<uint32_t *>(memory.allocate(name, 128).at);
        };
        w_.a = word("a");
        w_.beside = w_.a + 1;
        w_.b = word("b");
        w_.c = word("c");
        w_.datum = reinterpret_cast<uint64_t *>(memory.allocate("datum", 8).at);
    }

    std::string outcome() {
        std::string s;
        for (uint32_t *p : {w_.a, w_.beside, w_.b, w_.c})
            s += std::to_string(*p) + " ";
        s += std::to_string(*w_.datum);
        for (const std::string &f : found_)
            s += "|" + f;
        return s;
    }

    std::array<std::string, 3> found_;
};

using S = std::set<unsigned>;

class Transactions : public Checked {};

INSTANTIATE_TEST_SUITE_P(In, Transactions, testing::Values(Model::sc, Model::tso),
                         [](const auto &i) { return name_of(i.param); });

class AbsentTransactions : public Checked {};
INSTANTIATE_TEST_SUITE_P(In, AbsentTransactions, testing::Values(Model::c11),
                         [](const auto &i) { return name_of(i.param); });

TEST_P(AbsentTransactions, NeverBegin) {
    EXPECT_EQ(ends([] { ADD_FAILURE(); }), S{Transaction::unknown});
    EXPECT_EQ(wrong({[] { ol_htm_commit(); }}), Wrong::misuse);
}

// Nobody sees one of two words changed and not the other.
TEST_P(Transactions, CommitAllAtOnce) {
    auto looks = [&](auto first, auto second) {
        return explore({[&] {
                            (void)attempt([&] {
                                ol_store_relaxed(w_.a, 1u);
                                ol_store_relaxed(w_.b, 1u);
                            });
                        },
                        [&] {
                            say(ol_load_relaxed(first()));
                            say(ol_load_relaxed(second()));
                        }});
    };
    Outcomes ab = looks([&] { return w_.a; }, [&] { return w_.b; });
    Outcomes ba = looks([&] { return w_.b; }, [&] { return w_.a; });
    for (auto *found : {&ab, &ba}) {
        EXPECT_TRUE(found->count("1 0 1 0 0||1 1 |")) << "it commits before";
        EXPECT_TRUE(found->count("1 0 1 0 0||0 0 |")) << "or after";
        EXPECT_TRUE(found->count("0 0 0 0 0||0 0 |")) << "or is aborted";
        EXPECT_TRUE(found->count("1 0 1 0 0||0 1 |")) << "or comes between";
        EXPECT_FALSE(found->count("1 0 1 0 0||1 0 |"));
        EXPECT_EQ(found->size(), 4u);
    }
}

// What it reads is one state of memory, also when it is aborted later.
TEST_P(Transactions, SeeOneState) {
    EXPECT_EQ(wrong({[&] {
                         (void)attempt([&] {
                             uint32_t a = ol_load_relaxed(w_.a), b = ol_load_relaxed(w_.b);
                             if (a > b)
                                 world_->fail(Wrong::lies, "half");
                             uint32_t again = ol_load_relaxed(w_.a);
                             if (a != again)
                                 world_->fail(Wrong::lies, "another");
                         });
                     },
                     [&] {
                         ol_store_relaxed(w_.b, 1u);
                         ol_store_relaxed(w_.a, 1u);
                         ol_store_relaxed(w_.b, 2u);
                         ol_store_relaxed(w_.a, 2u);
                     }}),
              Wrong::none);
    EXPECT_EQ(wrong({[&] {
                         uint32_t a = ol_load_relaxed(w_.a), again = ol_load_relaxed(w_.a);
                         if (a != again)
                             world_->fail(Wrong::lies, "another");
                     },
                     [&] { ol_store_relaxed(w_.a, 1u); }}),
              Wrong::lies); // else it does
}

TEST_P(Transactions, SeeTheirOwnWrites) {
    EXPECT_EQ(ends([&] {
                  ol_store_relaxed(w_.a, 0x11223344u);
                  ol_store_lo_relaxed(w_.a, 0xabcd);
                  EXPECT_EQ(ol_load_relaxed(w_.a), 0x1122abcdu);
                  EXPECT_EQ(ol_add_relaxed(w_.a, 1u), 0x1122abcdu);
                  EXPECT_FALSE(ol_cas_relaxed(w_.a, 1u, 2u));
                  EXPECT_TRUE(ol_cas_relaxed(w_.a, 0x1122abceu, 7u));
                  world_->plain_write(w_.datum, 8, here);
                  EXPECT_EQ(world_->plain_read(w_.datum, here), 8u);
                  EXPECT_EQ(*w_.a + *w_.datum, 0u);
              }),
              S{OL_HTM_STARTED});
    EXPECT_EQ(*w_.a, 7u);
    EXPECT_EQ(*w_.datum, 8u);
}

TEST_P(Transactions, SeeWhatTheirContextHasStored) {
    EXPECT_EQ(explore({[&] {
                  ol_store_relaxed(w_.a, 3u);
                  EXPECT_EQ(attempt([&] { say(ol_add_relaxed(w_.a, 1u)); }), OL_HTM_STARTED);
                  say(ol_load_relaxed(w_.a));
              }}),
              Outcomes{"4 0 0 0 0|3 4 ||"});
}

// The commit is as a locked instruction: no store before it, nor read after, passes it.
TEST_P(Transactions, CommitAsALockedInstruction) {
    auto dekker = [&](bool fenced) {
        auto one = [&, fenced](uint32_t *Words::*mine, uint32_t *Words::*other) {
            return [=, this] {
                ol_store_relaxed(w_.*mine, 1u);
                if (fenced && attempt([] {}) != OL_HTM_STARTED)
                    return;
                say(ol_load_relaxed(w_.*other));
            };
        };
        return explore({one(&Words::a, &Words::b), one(&Words::b, &Words::a)})
            .count("1 0 1 0 0|0 |0 |");
    };
    EXPECT_EQ(dekker(false), GetParam() == Model::tso ? 1u : 0u);
    EXPECT_EQ(dekker(true), 0u);
}

TEST_P(Transactions, GiveWayToWhoeverAsks) {
    Body fails = [&] { (void)ol_cas_relaxed(w_.a, 9u, 1u); };
    Body stores_the_same = [&] { ol_store_relaxed(w_.a, 0u); };
    Body plain_reads = [&] { world_->plain_read(w_.datum, here); };
    Body plain_writes = [&] { world_->plain_write(w_.datum, 3, here); };
    Body beside = [&] { ol_store_relaxed(w_.beside, 1u); };
    Body elsewhere = [&] { ol_store_relaxed(w_.b, 1u); };
    S both{OL_HTM_STARTED, by_conflict}, alone{OL_HTM_STARTED};

    EXPECT_EQ(ends(reads_, {reads_}), alone);
    EXPECT_EQ(ends(reads_, {writes_}), both);
    EXPECT_EQ(ends(writes_, {reads_}), both);
    EXPECT_EQ(ends(writes_, {writes_}), both);
    EXPECT_EQ(ends(reads_, {fails}), both);
    EXPECT_EQ(ends(reads_, {stores_the_same}), both);
    EXPECT_EQ(ends(fails, {reads_}), both);
    EXPECT_EQ(ends(plain_reads, {plain_reads}), alone);
    EXPECT_EQ(ends(plain_reads, {plain_writes}), both);
    EXPECT_EQ(ends(plain_writes, {plain_reads}), both);
    EXPECT_EQ(ends(reads_, {beside}), both);
    EXPECT_EQ(ends(reads_, {elsewhere}), alone);
    EXPECT_EQ(ends(reads_, {[&] { world_->renew(w_.a, here); }}), both);
    EXPECT_EQ(ends(writes_, {[&] { ol_park(w_.a, 1, OL_ANY, OL_NEVER); }}), both);
}

TEST_P(Transactions, GiveWayToOneAnother) {
    Outcomes found = explore({[&] { say(attempt(writes_)); }, [&] { say(attempt(writes_)); }});
    EXPECT_EQ(found, (Outcomes{"5 0 0 0 0|started |started |", "5 0 0 0 0|6 |started |",
                               "5 0 0 0 0|started |6 |"}));
    found = explore({[&] { say(attempt(reads_)); }, [&] { say(attempt(reads_)); }});
    EXPECT_EQ(found, Outcomes{"0 0 0 0 0|started |started |"});
}

TEST_P(Transactions, GoBackToWhereTheyBegan) {
    EXPECT_EQ(explore({[&] {
                           std::array<volatile int, 100> local{};
                           unsigned status = ol_htm_begin();
                           for (volatile int &i : local)
                               EXPECT_EQ(i, 0);
                           if (status == OL_HTM_STARTED) {
                               for (volatile int &i : local)
                                   i = 7;
                               ol_store_relaxed(w_.a, 1u);
                               (void)ol_load_relaxed(w_.b);
                               ol_htm_abort();
                               ADD_FAILURE() << "goes on after an abort";
                           }
                           EXPECT_FALSE(ol_htm_active());
                           say(status);
                       },
                       [&] { ol_store_relaxed(w_.b, 1u); }}),
              (Outcomes{"0 0 1 0 0|" + std::to_string(Transaction::explicitly) + " ||",
                        "0 0 1 0 0|6 ||"}));
}

// Also when the step that aborts it was made on its own stack, by a buffer.
TEST_P(Transactions, TakeBackWhatTheWorldKeeps) {
    EXPECT_EQ(ends([&] {
                  ol_count(OL_SLOW_PATH);
                  ol_node *node = ol_node_get();
                  ol_store_relaxed(&node->wait, 1u);
                  world_->if_aborted([&] { say(77); });
                  ol_htm_abort();
              }),
              S{77});
    EXPECT_EQ(wrong({[&] {
                  for (int i = 0; i < 8; i++)
                      (void)attempt([] {
                          (void)ol_node_get();
                          ol_count(OL_SLOW_PATH);
                          ol_htm_abort();
                      });
                  if (world_->counted(0, OL_SLOW_PATH))
                      world_->fail(Wrong::lies, "counted");
              }}),
              Wrong::none);
}

TEST_P(Transactions, KeepWhatIsOnlyCertainAfterThem) {
    std::set<std::string> found = explore({[&] {
                                               (void)attempt([&] {
                                                   world_->once_certain([&] { say(1); });
                                                   writes_();
                                               });
                                           },
                                           reads_});
    EXPECT_EQ(found, (Outcomes{"5 0 0 0 0|1 ||", "0 0 0 0 0|||"}));
}

TEST_P(Transactions, WithinOthersArePartOfThem) {
    EXPECT_EQ(ends([&] {
                  EXPECT_EQ(attempt(writes_), OL_HTM_STARTED);
                  EXPECT_TRUE(ol_htm_active());
                  EXPECT_EQ(*w_.a, 0u);
              }),
              S{OL_HTM_STARTED});
    EXPECT_EQ(*w_.a, 5u);
    EXPECT_EQ(ends([&] { (void)attempt([&] { ol_htm_abort(); }); }),
              S{Transaction::explicitly | Transaction::nested});
}

TEST_P(Transactions, HaveRoomForSoManyLines) {
    Body read_two = [&] {
        (void)ol_load_relaxed(w_.a);
        (void)ol_load_relaxed(w_.b);
    };
    Body write_two = [&] {
        ol_store_relaxed(w_.a, 1u);
        ol_store_relaxed(w_.b, 1u);
    };

    rules_.capacity = {2, 1};
    EXPECT_EQ(ends(read_two), S{OL_HTM_STARTED});
    EXPECT_EQ(ends(write_two), S{Transaction::capacity});
    EXPECT_EQ(*w_.a, 0u);
    rules_.capacity = {1, 2};
    EXPECT_EQ(ends(read_two), S{Transaction::capacity});
    EXPECT_EQ(ends(write_two), S{OL_HTM_STARTED});
    rules_.capacity = {0, 0};
    EXPECT_EQ(ends([&] { ADD_FAILURE() << "begins where there are none"; }),
              S{Transaction::unknown});
}

TEST_P(Transactions, CannotWaitNorCallTheSystem) {
    EXPECT_EQ(ends([] { ol_relax(); }), S{Transaction::unknown});
    EXPECT_EQ(ends([] { ol_yield(); }), S{Transaction::unknown});
    EXPECT_EQ(ends([&] { ol_park(w_.a, 0, OL_ANY, OL_NEVER); }), S{Transaction::unknown});
    EXPECT_EQ(ends([&] { world_->free(w_.a, here); }), S{Transaction::unknown});
    EXPECT_EQ(ends([&] { ol_kick(w_.a, OL_ANY, 1); }), S{Transaction::unknown});
    EXPECT_EQ(ends([] {
                  ol_fence();
                  (void)ol_now();
                  ol_defer_begin();
                  (void)ol_self();
              }),
              S{OL_HTM_STARTED});
}

// Freed only between a read of it and the commit, which the free must prevent.
TEST_P(Transactions, GiveWayToTheFreeingOfWhatTheyRead) {
    bool has_read = false, freed = false, ever_freed = false;

    explore({[&] {
                 has_read = freed = false;
                 (void)attempt([&] {
                     (void)ol_load_relaxed(w_.a);
                     has_read = true;
                     (void)ol_load_relaxed(w_.c);
                     EXPECT_FALSE(freed);
                 });
                 has_read = false;
             },
             [&] {
                 (void)ol_load_relaxed(w_.b);
                 if (has_read) {
                     world_->free(w_.a, here);
                     freed = ever_freed = true;
                 }
             }},
            false);
    EXPECT_FALSE(failure_) << failure_.how;
    EXPECT_TRUE(ever_freed);
}

// A kick inside is not made.
TEST_P(Transactions, KickNobody) {
    EXPECT_EQ(wrong({[&] { ol_park(w_.a, 0, OL_ANY, OL_NEVER); },
                     [&] { (void)attempt([&] { ol_kick(w_.a, OL_ANY, 1); }); }}),
              Wrong::lost_wakeup);
}

// A node that was given back inside is still its own after an abort; nor does a trylock go on that
// began inside.
TEST_P(Transactions, TakeBackNodesAndTries) {
    EXPECT_EQ(wrong({[&] {
                  ol_node *kept = ol_node_get();
                  (void)attempt([&] {
                      ol_node_put(kept);
                      ol_htm_abort();
                  });
                  EXPECT_NE(ol_node_get(), kept);
                  ol_node_put(kept);
              }}),
              Wrong::none);
    EXPECT_EQ(wrong({[&] {
                         (void)attempt([&] {
                             world_->begin_try();
                             ol_htm_abort();
                         });
                         while (!ol_load_relaxed(w_.a))
                             ol_relax();
                     },
                     writes_}),
              Wrong::none);
}

TEST_P(Transactions, AreMisusedOutsideOfThem) {
    EXPECT_EQ(wrong({[] { ol_htm_commit(); }}), Wrong::misuse);
    EXPECT_EQ(wrong({[] { ol_htm_abort(); }}), Wrong::misuse);
    EXPECT_EQ(wrong({[] { (void)ol_htm_begin(); }}), Wrong::misuse);
    EXPECT_EQ(wrong({[&] {
                  static uint32_t stray;
                  (void)attempt([] { ol_store_relaxed(&stray, 1u); });
              }}),
              Wrong::wild);
}

TEST_P(Transactions, AbortWithoutCauseAtEveryStep) {
    Body three = [&] {
        world_->if_aborted([&] { say(OL_HTM_STARTED - 1); });
        reads_();
        ol_store_relaxed(w_.b, 1u);
    };
    S causes{OL_HTM_STARTED, 0, Transaction::retry, by_conflict, Transaction::capacity};

    EXPECT_EQ(ends(reads_), S{OL_HTM_STARTED});
    rules_.budgets[Budget::abort] = 1;
    EXPECT_EQ(ends(reads_), causes);
    EXPECT_EQ(executions_, 1 + 2 * 4u); // at the read and at the commit
    explore({[&] {
        for (int i = 0; i < 2; i++)
            (void)attempt(three);
    }});
    EXPECT_EQ(executions_, 1 + 6 * 4u);
    rules_.budgets[Budget::abort] = 2;
    explore({[&] {
        for (int i = 0; i < 2; i++)
            (void)attempt(three);
    }});
    EXPECT_EQ(executions_, 1 + 6 * 4 + 3 * 3 * 16u);
}

TEST_P(Transactions, AreAbortedByInterrupts) {
    rules_.budgets[Budget::irq] = 1;
    Outcomes found = explore({[&] { say(attempt(writes_)); }});
    EXPECT_EQ(found, (Outcomes{"5 0 0 0 0|started ||", "0 0 0 0 0|! 0 ||"}));
}

// Whoever stops inside holds nothing and leaves nothing.
TEST_P(Transactions, EndWithTheirContext) {
    EXPECT_EQ(explore({[&] {
                           (void)attempt([&] {
                               writes_();
                               world_->stop();
                           });
                       },
                       [&] { say(attempt(writes_)); }}),
              (Outcomes{"5 0 0 0 0||started |", "0 0 0 0 0||6 |"}));
}

// Whoever waits sees a commit, and does not see its own.
TEST_P(Transactions, WakeWhoeverWaits) {
    Body waits = [&] {
        while (!ol_load_relaxed(w_.a))
            ol_relax();
        say(ol_load_relaxed(w_.b));
    };
    Body sets = [&] {
        while (attempt([&] {
                   ol_store_relaxed(w_.a, 1u);
                   ol_store_relaxed(w_.b, 1u);
               }) != OL_HTM_STARTED) {
        }
    };
    Outcomes found = explore({sets, waits});
    EXPECT_FALSE(failure_) << failure_.how;
    EXPECT_EQ(found, Outcomes{"1 0 1 0 0||1 |"});
    EXPECT_EQ(wrong({[&] {
                  (void)attempt([&] {
                      (void)ol_load_relaxed(w_.a);
                      ol_store_relaxed(w_.a, 1u);
                  });
                  ol_relax();
                  (void)ol_load_relaxed(w_.b);
              }}),
              Wrong::deadlock);
    EXPECT_EQ(wrong({[&] {
                         if (attempt(writes_) != OL_HTM_STARTED) {
                             ol_relax(); // a pause: it has seen that somebody was there
                             (void)ol_load_relaxed(w_.b);
                         }
                     },
                     reads_}),
              Wrong::none);
}

// A counter that two contexts add to: each in a transaction, and after two tries with a lock, which
// the transaction must read.
class Elided : public Checked {
protected:
    std::set<uint64_t> count(bool reads_lock, unsigned budget, bool first_twice = false) {
        rules_.budgets[Budget::abort] = budget;
        Body one = [this, reads_lock] { add(reads_lock); };
        Body two = [one] {
            one();
            one();
        };
        std::set<uint64_t> left;
        for (const Outcome &o : explore({first_twice ? two : one, one}))
            left.insert(std::stoul(o.substr(8)));
        EXPECT_FALSE(failure_) << failure_.how;
        return left;
    }

private:
    void add(bool reads_lock) {
        for (int tries = 0; tries < 1; tries++) {
            unsigned status = ol_htm_begin();
            if (status == OL_HTM_STARTED) {
                if (reads_lock && ol_load_relaxed(w_.a))
                    ol_htm_abort();
                add_one();
                ol_htm_commit();
                return;
            }
            if (!(status & Transaction::retry))
                break;
        }
        while (ol_load_relaxed(w_.a) || ol_xchg_acquire(w_.a, 1u))
            ol_relax();
        add_one();
        ol_store_release(w_.a, 0u);
    }

    void add_one() {
        uint64_t v = world_->plain_read(w_.datum, here);
        world_->plain_write(w_.datum, v + 1, here);
    }
};

INSTANTIATE_TEST_SUITE_P(In, Elided, testing::Values(Model::sc, Model::tso),
                         [](const auto &i) { return name_of(i.param); });

TEST_P(Elided, CountsWithTheLockInTheReadSet) {
    EXPECT_EQ(count(true, 0), std::set<uint64_t>{2});
    EXPECT_EQ(count(true, 2), std::set<uint64_t>{2});
    if (GetParam() == Model::sc) { // others take too long
        EXPECT_EQ(count(true, 0, true), std::set<uint64_t>{3});
    }
}

TEST_P(Elided, LosesUpdatesWithoutIt) {
    EXPECT_EQ(count(false, 0), (std::set<uint64_t>{1, 2}));
}

// Programs of a few accesses, made at random: the reduced search must find every outcome that there
// is.
class RandomPrograms : public Checked {
protected:
    using Random = std::mt19937;

    struct Step {
        enum What { load, store, add, cas, abort, relax, node, kinds } what;
        unsigned word, value;
    };
    struct Part {
        bool transaction;
        std::vector<Step> steps;
    };
    using Text = std::vector<Part>;

    Text text(Random &random, bool tiny) {
        Text t(1 + random() % 2);
        for (Part &p : t) {
            p.transaction = random() % 3;
            for (unsigned n = 1 + random() % (tiny ? 1 : 2); n; n--) {
                auto what = Step::What(random() % (p.transaction ? Step::kinds : Step::abort));
                p.steps.push_back({what, unsigned(random() % 3), 1 + unsigned(random() % 3)});
            }
        }
        return t;
    }

    void make(const Step &s) {
        uint32_t *word = std::array{w_.a, w_.beside, w_.b}[s.word];
        switch (s.what) {
        case Step::load:
            return say(ol_load_relaxed(word));
        case Step::store:
            return ol_store_relaxed(word, s.value);
        case Step::add:
            return say(ol_add_relaxed(word, s.value));
        case Step::cas:
            return say(ol_cas_relaxed(word, s.value - 1, s.value));
        case Step::abort:
            ol_htm_abort();
            break;
        case Step::relax:
            return ol_relax();
        case Step::node:
            return ol_node_put(ol_node_get());
        case Step::kinds:
            break;
        }
    }

    void follow(const Text &t) {
        for (const Part &p : t) {
            if (!p.transaction) {
                for (const Step &s : p.steps)
                    make(s);
                continue;
            }
            say(attempt([&] {
                for (const Step &s : p.steps)
                    make(s);
            }));
        }
    }

    static std::string told(const std::vector<Text> &texts) {
        std::string s;
        for (const Text &t : texts) {
            for (const Part &p : t) {
                s += p.transaction ? "{ " : "";
                for (const Step &x : p.steps)
                    s += std::string(std::array{"load", "store", "add", "cas", "abort", "relax",
                                                "node"}[x.what]) +
                         " " + std::to_string(x.word) + "," + std::to_string(x.value) + " ";
                s += p.transaction ? "} " : "";
            }
            s += "|| ";
        }
        return s;
    }

    void compare(unsigned seed) {
        Random random(seed);
        size_t contexts = 2 + random() % 4 / 3;
        std::vector<Text> texts;
        std::vector<Body> bodies;
        for (size_t i = 0; i < contexts; i++)
            texts.push_back(text(random, contexts > 2));
        for (const Text &t : texts)
            bodies.push_back([this, &t] { follow(t); });
        rules_.budgets[Budget::abort] = random() % 3 == 0;
        rules_.budgets[Budget::irq] = random() % 5 == 0;
        if (random() % 4 == 0)
            rules_.capacity = {1, 1};
        limits_.executions = most_;
        Outcomes all = explore(bodies, false);
        uint64_t plain = executions_;
        if (plain >= most_)
            return;
        limits_.executions = UINT64_MAX;
        EXPECT_EQ(explore(bodies), all) << "seed " << seed << ": " << told(texts);
        compared_++;
        plain_ += plain;
        reduced_ += executions_;
    }

    static constexpr uint64_t most_ = 30000;
    uint64_t compared_ = 0, plain_ = 0, reduced_ = 0;
};

INSTANTIATE_TEST_SUITE_P(In, RandomPrograms, testing::Values(Model::sc, Model::tso),
                         [](const auto &i) { return name_of(i.param); });

TEST_P(RandomPrograms, HaveAllTheirOutcomesInTheReducedSearch) {
    const char *times = std::getenv("OVERLOCK_RANDOM"), *from = std::getenv("OVERLOCK_SEED");
    unsigned first = from ? unsigned(std::atoi(from)) : 1;

    for (unsigned i = 0; i < (times ? unsigned(std::atoi(times)) : 150) && !HasFailure(); i++)
        compare(first + i);
    printf("%ju programs, %ju executions, %ju of them in the reduced search\n",
           uintmax_t(compared_), uintmax_t(plain_), uintmax_t(reduced_));
    EXPECT_GT(compared_, 0u);
}

} // namespace
