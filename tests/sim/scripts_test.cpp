// SPDX-License-Identifier: MIT
// The papers' own illustrations, step by step, with the states they draw.
#include "client.h"

#include <gtest/gtest.h>

using namespace ol;
using namespace ol::engine;

namespace {

// Contexts that each take one lock once; the script says when. `impatient` gives up after 100
// ticks.
class Stage {
public:
    Stage(const char *lock, size_t contexts, const ol_tuning &tuning, size_t impatient = 0)
        : ops_(*engine::find_subject(lock)), schedule_("") {
        machine_.reset(contexts, schedule_, tuning);
        word_ = reinterpret_cast<uint32_t *>(machine_.memory().allocate("lock", ops_.size).at);
        for (size_t i = 0; i < contexts; i++)
            machine_.spawn([this, gives_up = i + 1 == impatient] {
                if (gives_up && !ops_.timedlock(word_, ol_after(1, 100)))
                    return machine_.mark("gave up");
                if (!gives_up)
                    ops_.lock(word_);
                machine_.mark("holds");
                ops_.unlock(word_);
                machine_.mark("released");
            });
    }

    void play(const char *script) {
        schedule_.append(script);
        EXPECT_TRUE(machine_.run()) << machine_.failure().how;
    }
    void finish() {
        schedule_.finish();
        EXPECT_TRUE(machine_.run()) << machine_.failure().how;
    }
    Wrong finish_badly() {
        schedule_.finish();
        machine_.run();
        return machine_.failure().what;
    }

    uint32_t word() const { return *word_; }
    const void *lock() const { return word_; }
    Machine &machine() { return machine_; }
    // Contexts are counted from 1, as in the scripts.
    const Context &context(size_t n) const { return machine_.context(n - 1); }
    unsigned events(size_t n, ol_event e) const { return context(n).events[e]; }
    bool at(size_t n, const char *mark) const {
        return context(n).place.file && strcmp(context(n).place.file, mark) == 0;
    }
    bool waits(size_t n) const { return context(n).doing == Doing::relaxes; }
    bool watches(size_t n, const void *what) const {
        const auto &seen = context(n).seen;
        return waits(n) &&
               std::any_of(seen.begin(), seen.end(), [&](const Seen &s) { return s.at == what; });
    }

private:
    const ol_lock_ops &ops_;
    Scripted schedule_;
    Machine machine_;
    uint32_t *word_;
};

// preemptable_ticket's word from tail and head in tickets.
uint32_t line(unsigned tail, unsigned head, bool held) {
    return tail << 17 | head << 1 | held;
}

// 000 Figure 1. N1 ... N4 are T1 ... T4; P, preempted, is a context the script does not run.
TEST(Paper000, Figure1) {
    constexpr Ticks tau = 1000, slack = 50; // of the engine's clock, which ticks at every look
    ol_tuning tuning = presets();
    tuning.tau = tau;
    Stage s("preemptable_ticket", 4, tuning);
    auto threshold_is = [&](size_t n, Ticks ticks) {
        Ticks left = s.context(n).until - s.machine().time();
        EXPECT_LE(left, ticks) << "T" << n;
        EXPECT_GT(left, ticks - slack) << "T" << n;
    };

    // (a) N1 is holding the lock and N2 is preempted; thresholds 0, t, 2t, 3t.
    s.play("1m 2w 3w 4w");
    EXPECT_TRUE(s.at(1, "holds"));
    EXPECT_EQ(s.word(), line(4, 0, true));
    threshold_is(2, tau);
    threshold_is(3, 2 * tau);
    threshold_is(4, 3 * tau);

    // (b) N1 releases the lock, and N2 is still preempted: free, but promised to N2.
    s.play("1m 3w 4w");
    EXPECT_TRUE(s.at(1, "released"));
    EXPECT_EQ(s.word(), line(4, 1, false));
    EXPECT_TRUE(s.waits(3) && s.waits(4));
    threshold_is(3, tau);
    threshold_is(4, 2 * tau);

    // (c) N3 times out and gets the lock, before N2.
    s.play("+1000 3m");
    EXPECT_TRUE(s.at(3, "holds"));
    EXPECT_EQ(s.word(), line(4, 1, true));
    EXPECT_EQ(s.events(3, OL_TIMEOUT), 1u);
    EXPECT_EQ(s.events(3, OL_OUT_OF_ORDER), 1u);

    // (d) N3 releases lock; N4 has a new threshold, t, and has not reached it ...
    s.play("3m 4w");
    EXPECT_EQ(s.word(), line(4, 2, false));
    EXPECT_TRUE(s.waits(4));
    threshold_is(4, tau);

    // ... so N2, overtaken, takes the lock at once when it is back.
    Ticks before = s.machine().time();
    s.play("2m");
    EXPECT_TRUE(s.at(2, "holds"));
    EXPECT_LT(s.machine().time() - before, slack);
    EXPECT_EQ(s.word(), line(4, 2, true));
    EXPECT_EQ(s.events(2, OL_OVERTAKEN), 1u);
    EXPECT_EQ(s.events(2, OL_TIMEOUT), 0u);
    EXPECT_EQ(s.events(4, OL_TIMEOUT), 0u);

    // After that it is N4's turn, in order.
    s.play("2m 4m");
    EXPECT_TRUE(s.at(4, "holds"));
    EXPECT_EQ(s.events(4, OL_TIMEOUT) + s.events(4, OL_OVERTAKEN), 0u);
    s.finish();
    EXPECT_EQ(s.word(), line(4, 4, false));
}

// 004 section 2.1, by its numbered steps. T1 ... T4 are the paper's.
TEST(Paper004, TwaInAction) {
    ol_tuning tuning = presets();
    Stage s("twa", 4, tuning);
    auto slot = [&](unsigned ticket) {
        return s.machine().wait_slot(ticket * 127u ^ reinterpret_cast<size_t>(s.lock()), {});
    };
    auto ticket_grant = [](uint32_t ticket, uint32_t grant) { return ticket << 16 | grant; };

    EXPECT_EQ(s.word(), ticket_grant(0, 0)); // 1
    s.play("1m");                            // 2: uncontended
    EXPECT_TRUE(s.at(1, "holds"));
    EXPECT_EQ(s.word(), ticket_grant(1, 0));
    s.play("2w"); // 3: the immediate successor, short-term
    EXPECT_EQ(s.word(), ticket_grant(2, 0));
    EXPECT_EQ(s.events(2, OL_LONG_TERM), 0u);
    EXPECT_TRUE(s.watches(2, s.lock()));
    s.play("3w"); // 4: long-term, on its slot
    EXPECT_EQ(s.word(), ticket_grant(3, 0));
    EXPECT_EQ(s.events(3, OL_LONG_TERM), 1u);
    s.play("4w 3w"); // 5: likewise, on another
    EXPECT_EQ(s.word(), ticket_grant(4, 0));
    EXPECT_EQ(s.events(4, OL_LONG_TERM), 1u);
    EXPECT_TRUE(s.watches(3, slot(2)) && s.watches(4, slot(3)));
    EXPECT_NE(slot(2), slot(3));
    uint64_t u = *slot(2), v = *slot(3);

    s.play("1*2"); // 6: T1 stores Grant, and has not notified yet
    EXPECT_EQ(s.word(), ticket_grant(4, 1));
    EXPECT_EQ(*slot(2), u);
    s.play("2m"); // 7
    EXPECT_TRUE(s.at(2, "holds"));
    s.play("1m"); // 8: k + LongTermThreshold is 2
    EXPECT_EQ(*slot(2), u + 1);
    EXPECT_EQ(*slot(3), v);
    s.play("3w 4w"); // 9: promoted: it looks at grant now
    EXPECT_TRUE(s.watches(3, s.lock()));
    EXPECT_TRUE(s.at(1, "released")); // 10
    EXPECT_TRUE(s.at(2, "holds"));    // 11
    EXPECT_TRUE(s.watches(4, slot(3)) && !s.watches(4, s.lock()));
    EXPECT_EQ(s.word(), ticket_grant(4, 1));
    s.finish();
    EXPECT_EQ(s.word(), ticket_grant(4, 4));
}

// Why ol_set_tunable() says that long_term must not change while somebody waits.
TEST(Twa, LongTermMustNotRiseMeanwhile) {
    for (uint64_t later : {1, 2}) {
        ol_tuning tuning = presets();
        Stage s("twa", 4, tuning);
        s.play("1m 2w 3w 4w 1m"); // T3 is promoted; T4 watches its slot
        tuning.long_term = later;
        s.machine().retune(tuning);
        EXPECT_EQ(s.finish_badly(), later == 2 ? Wrong::deadlock : Wrong::none);
    }
}

// ... nor wait_slots.
TEST(Twa, SlotsMustNotChangeMeanwhile) {
    for (uint64_t later : {4096, 1}) {
        ol_tuning tuning = presets();
        Stage s("twa", 4, tuning);
        s.play("1m 2w 3w 4w");
        tuning.wait_slots = later;
        s.machine().retune(tuning);
        EXPECT_EQ(s.finish_badly(), later == 1 ? Wrong::deadlock : Wrong::none);
    }
}

// A smaller array costs looks at grant, and nothing else.
TEST(Twa, WhoSharesASlotLooksAndWaitsOn) {
    ol_tuning tuning = presets();
    tuning.wait_slots = 1;
    Stage s("twa", 4, tuning);
    s.play("1m 2w 3w 4w 1m 3w 4w"); // T1's release notifies both
    EXPECT_TRUE(s.watches(3, s.lock()));
    EXPECT_TRUE(s.watches(4, s.machine().wait_slot(0, {})));
    s.finish();
    EXPECT_EQ(s.word(), 4u << 16 | 4u);
}

// While the first is away others steal and queue again: that must not make the next theft rarer.
TEST(UnfairQspin, WhoFollowsAThiefMovesUp) {
    constexpr Ticks steal = 1000, slack = 50;
    ol_tuning tuning = presets();
    tuning.steal = steal;
    Stage s("unfair_qspin", 6, tuning);
    auto tries_after = [&](size_t n, Ticks ticks) {
        Ticks left = s.context(n).until - s.machine().time();
        EXPECT_LE(left, ticks) << "T" << n;
        EXPECT_GT(left, ticks - slack) << "T" << n;
    };

    s.play("1m 2w 3w 4w 5w"); // T2 is the first, and loses its CPU
    tries_after(3, steal);
    tries_after(4, 2 * steal);
    tries_after(5, 3 * steal);

    s.play("1m +1000 3m 3m +1000 4m"); // T3, then T4, steals and leaves
    EXPECT_TRUE(s.at(3, "released") && s.at(4, "holds"));
    s.play("6w"); // behind T5, which follows T2 now and has not looked yet
    tries_after(6, 2 * steal);
    s.play("+1000 5w"); // T5 tries, in vain
    tries_after(5, steal);
    s.finish();
    EXPECT_EQ(s.word(), 0u);
}

// LOCKS.md's two ends of tau, for both preemptable locks.

class Tau : public testing::TestWithParam<const char *> {
protected:
    static ol_tuning tuning(Ticks tau) {
        ol_tuning t = presets();
        t.tau = tau;
        t.spin = never; // parking is another matter
        return t;
    }
    // T1 holds; T2 is next in line and has lost its CPU; T3 waits behind it; T1 releases.
    static constexpr const char *next_is_away = "1m 2*6 3w 1m";
};

TEST_P(Tau, ZeroIsAGenericSpinlock) {
    Stage s(GetParam(), 3, tuning(0));

    s.play(next_is_away);
    Ticks before = s.machine().time();
    s.play("3m");
    EXPECT_TRUE(s.at(3, "holds"));
    EXPECT_LT(s.machine().time() - before, 20u);
    EXPECT_EQ(s.events(3, OL_OUT_OF_ORDER), 1u);
    s.finish();
}

TEST_P(Tau, InfinityIsATicketLock) {
    Stage s(GetParam(), 3, tuning(never));

    s.play(next_is_away);
    s.play("3w +1000000000");
    EXPECT_TRUE(s.waits(3));
    s.play("2m");
    EXPECT_TRUE(s.at(2, "holds"));
    s.finish();
}

TEST_P(Tau, NobodyPassesAtInfinityOnAnySchedule) {
    Machine machine;
    test::Client client(machine, *engine::find_subject(GetParam()));

    client.fix_tau(never);
    for (uint64_t seed = 0; seed < 20000; seed++)
        ASSERT_TRUE(client.run(seed)) << machine.failure().how << " @" << seed;
    EXPECT_GT(client.events()[OL_SLOW_PATH], 0u);
    for (ol_event e : {OL_TIMEOUT, OL_OUT_OF_ORDER, OL_OVERTAKEN})
        EXPECT_EQ(client.events()[e], 0u) << e;
}

// Why ol_set_tunable() says that tau must not become inf while somebody may give up: a ticket given
// back leaves a gap in the line, which only a timeout passes.
TEST_P(Tau, MustNotBecomeInfiniteBeforeSomebodyGivesUp) {
    for (Ticks later : {Ticks(50), never}) {
        Stage s(GetParam(), 4, tuning(400), 2);
        s.play("1m 2w"); // T1 holds, T2 waits with a deadline
        s.machine().retune(tuning(later));
        s.play("3w +100 2m"); // T3 waits behind it, T2 gives up
        EXPECT_TRUE(s.at(2, "gave up"));
        s.play("4w 1m"); // T4 gets the number that T3 has too
        EXPECT_EQ(s.finish_badly(), later == never ? Wrong::deadlock : Wrong::none);
    }
}

// But where others give up: the ticket given back is the last one's, who then goes ahead at once.
TEST_P(Tau, WhoGoesOutOfOrderHasTimedOut) {
    Machine machine;
    test::Client client(machine, *engine::find_subject(GetParam()));
    uint64_t last = 0, timeouts = 0;

    client.fix_tau(50);
    client.without_deadlines();
    for (uint64_t seed = 0; seed < 20000; seed++) {
        ASSERT_TRUE(client.run(seed)) << machine.failure().how << " @" << seed;
        uint64_t out = client.events()[OL_OUT_OF_ORDER], due = client.events()[OL_TIMEOUT];
        EXPECT_LE(out - last, due - timeouts) << "@" << seed;
        last = out;
        timeouts = due;
    }
    EXPECT_GT(last, 0u);
}

INSTANTIATE_TEST_SUITE_P(Preemptable, Tau,
                         testing::Values("preemptable_ticket", "pv_preemptable_ticket"),
                         [](const auto &info) { return std::string(info.param); });

// Trait OL_FIFO: once they are in line, T2, T3, T4 are served in that order whoever loses its CPU.

class PrefixThenSeeded final : public Schedule {
public:
    explicit PrefixThenSeeded(uint64_t seed) : prefix_("1m 2w 3w 4w"), rest_(seed, 4) {}
    Turn next(std::span<const size_t> ready, uint64_t step) override {
        return prefix_.pauses() ? rest_.next(ready, step) : prefix_.next(ready, step);
    }
    bool doubt(Doubt what) override { return !prefix_.pauses() ? false : rest_.doubt(what); }
    uint32_t pick(uint32_t n) override { return rest_.pick(n); }

private:
    Scripted prefix_;
    Seeded rest_;
};

std::string order_of_grants(Machine &machine, const ol_lock_ops &ops, uint64_t seed) {
    PrefixThenSeeded schedule(seed);
    ol_tuning tuning = presets();
    std::string order;

    tuning.backoff = 100; // without a pause it would never stop to wait
    machine.reset(4, schedule, tuning);
    void *lock = machine.memory().allocate("lock", ops.size).at;
    for (size_t i = 0; i < 4; i++)
        machine.spawn([&, i] {
            ops.lock(lock);
            order += std::to_string(i + 1);
            machine.mark("holds");
            ops.unlock(lock);
        });
    EXPECT_TRUE(machine.run()) << ops.id << ": " << machine.failure().how;
    return order;
}

TEST(Order, OfArrivalIfAndOnlyIfTheListSaysSo) {
    Machine machine;

    for (auto *ops = engine::subjects; *ops; ops++) {
        bool in_order = true;
        for (uint64_t seed = 0; seed < 500; seed++)
            in_order &= order_of_grants(machine, **ops, seed) == "1234";
        // Once all are in line, and while nobody has waited too long.
        const bool may_be = (*ops)->traits & (OL_LATE_FIFO | OL_PATIENT);
        EXPECT_TRUE(may_be || in_order == (((*ops)->traits & OL_FIFO) != 0)) << (*ops)->id;
    }
}

} // namespace
