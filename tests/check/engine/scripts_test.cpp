// SPDX-License-Identifier: MIT
// The papers' own illustrations, step by step, with the states they draw.
#include "script.h"

#include <algorithm>

#include <check/client.h>
#include <check/engine/subjects.h>

#include <gtest/gtest.h>

using namespace ol;
using check::Model;
using check::Rules;
using check::World;
using engine::never;
using engine::presets;
using engine::Ticks;
using engine::Wrong;

namespace {

// Contexts that each take one lock once; the script says when. `impatient` gives up after 100
// ticks. Each play() runs the script so far from its beginning, for an execution is a function of
// its schedule.
class Stage {
public:
    Stage(const char *lock, size_t contexts, const ol_tuning &tuning, size_t impatient = 0)
        : ops_(*engine::find_subject(lock)),
          impatient_(impatient),
          marks_(contexts),
          at_(contexts),
          world_(Model::sc, rules(tuning)),
          as_set_up_(world_.rules()) {
        program_.contexts = contexts;
        program_.set_up = [this](check::Memory &memory) {
            world_.rules() = as_set_up_;
            marks_.assign(marks_.size(), 0);
            word_ = reinterpret_cast<uint32_t *>(memory.allocate("lock", ops_.size).at);
        };
        program_.body = [this](size_t me) { take_once(me); };
        play("");
    }

    void play(const char *script) {
        text_ += std::string(" ") + script;
        EXPECT_EQ(run(nullptr), Wrong::none) << text_ << ": " << world_.failure().how;
    }
    Wrong finish_badly() {
        test::InTurn rest;
        return run(&rest);
    }
    void finish() { EXPECT_EQ(finish_badly(), Wrong::none) << world_.failure().how; }
    // What `!` in the script does.
    void retune(const ol_tuning &tuning) { later_ = tuning; }

    uint32_t word() const { return *word_; }
    const void *lock() const { return word_; }
    World &world() { return world_; }
    // Contexts are counted from 1, as in the scripts.
    Ticks wait_of(size_t n) const { return world_.wait_of(n - 1); }
    unsigned events(size_t n, ol_event e) const { return world_.counted(n - 1, e); }
    bool at(size_t n, const char *mark) const { return at_[n - 1] == mark; }
    bool waits(size_t n) const { return world_.doing(n - 1) == std::string("relaxes"); }
    bool watches(size_t n, const void *what) const {
        const auto &seen = world_.seen(n - 1);
        return waits(n) && std::any_of(seen.begin(), seen.end(),
                                       [&](const check::Seen &s) { return s.at == what; });
    }

private:
    static Rules rules(const ol_tuning &tuning) {
        Rules r;
        r.tuning = tuning;
        return r;
    }
    Wrong run(check::Search *rest) {
        test::Script script(world_, text_, marks_);
        script.then(rest);
        script.on_change([this] { world_.rules().tuning = later_; });
        world_.run(program_, script);
        return world_.failure().what;
    }
    void mark(size_t me, const char *what) {
        at_[me] = what;
        marks_[me]++;
    }
    void take_once(size_t me) {
        bool gives_up = me + 1 == impatient_;

        at_[me] = "";
        if (gives_up && !ops_.timedlock(word_, ol_after(1, 100)))
            return mark(me, "gave up");
        if (!gives_up)
            ops_.lock(word_);
        mark(me, "holds");
        ops_.unlock(word_);
        mark(me, "released");
    }

    const ol_lock_ops &ops_;
    const size_t impatient_;
    std::vector<unsigned> marks_;
    std::vector<std::string> at_;
    World world_;
    const Rules as_set_up_;
    check::Program program_;
    std::string text_;
    ol_tuning later_{};
    uint32_t *word_ = nullptr;
};

// preemptable_ticket's word from tail and head in tickets.
uint32_t line(unsigned tail, unsigned head, bool held) {
    return tail << 17 | head << 1 | held;
}

// Ouyang & Lange 2013, Figure 1. N1 ... N4 are T1 ... T4; P, preempted, is a context the script
// does not run.
TEST(Paper000, Figure1) {
    constexpr Ticks tau = 1000;
    ol_tuning tuning = presets();
    tuning.tau = tau;
    Stage s("preemptable_ticket", 4, tuning);
    auto threshold_is = [&](size_t n, Ticks ticks) { EXPECT_EQ(s.wait_of(n), ticks) << "T" << n; };

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
    s.play("3t 3m");
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
    s.play("2m");
    EXPECT_TRUE(s.at(2, "holds"));
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

// Dice & Kogan 2019, section 2.1, by its numbered steps. T1 ... T4 are the paper's.
TEST(Paper004, TwaInAction) {
    ol_tuning tuning = presets();
    Stage s("twa", 4, tuning);
    auto slot = [&](unsigned ticket) {
        return s.world().wait_slot(ticket * 127u ^ reinterpret_cast<size_t>(s.lock()), {});
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
        tuning.long_term = later;
        s.retune(tuning);
        s.play("1m 2w 3w 4w 1m !"); // T3 is promoted; T4 watches its slot
        EXPECT_EQ(s.finish_badly(), later == 2 ? Wrong::deadlock : Wrong::none);
    }
}

// ... nor wait_slots.
TEST(Twa, SlotsMustNotChangeMeanwhile) {
    for (uint64_t later : {4096, 1}) {
        ol_tuning tuning = presets();
        Stage s("twa", 4, tuning);
        tuning.wait_slots = later;
        s.retune(tuning);
        s.play("1m 2w 3w 4w !");
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
    EXPECT_TRUE(s.watches(4, s.world().wait_slot(0, {})));
    s.finish();
    EXPECT_EQ(s.word(), 4u << 16 | 4u);
}

// While the first is away others steal and queue again: that must not make the next theft rarer.
TEST(UnfairQspin, WhoFollowsAThiefMovesUp) {
    constexpr Ticks steal = 1000;
    ol_tuning tuning = presets();
    tuning.steal = steal;
    Stage s("unfair_qspin", 6, tuning);
    auto tries_after = [&](size_t n, Ticks ticks) { EXPECT_EQ(s.wait_of(n), ticks) << "T" << n; };

    s.play("1m 2w 3w 4w 5w"); // T2 is the first, and loses its CPU
    tries_after(3, steal);
    tries_after(4, 2 * steal);
    tries_after(5, 3 * steal);

    s.play("1m 3t 3m 3m 4t 4m"); // T3, then T4, steals and leaves
    EXPECT_TRUE(s.at(3, "released") && s.at(4, "holds"));
    s.play("6w"); // behind T5, which follows T2 now and has not looked yet
    tries_after(6, 2 * steal);
    s.play("5t 5w"); // T5 tries, in vain
    tries_after(5, steal);
    s.finish();
    EXPECT_EQ(s.word(), 0u);
}

using Counts = std::array<uint64_t, OL_EVENTS>;

// Scenario `any` at this tau, which stays. What was counted in all.
Counts walk(const ol_lock_ops &ops, Ticks tau,
            const std::function<void(const Counts &)> &each = {}) {
    constexpr int walks = 2000;
    Rules rules;
    check::prepare(check::Scenario::any_, rules);
    World world(Model::sc, rules);
    check::Setting setting{check::Scenario::any_, 4, 3};
    setting.tuned = [tau](ol_tuning &t) { t.tau = tau; };
    check::Client client(world, ops, setting);
    check::Program program = client.program();
    auto search = check::make_walk(1);
    Counts all{};

    for (int i = 0; i < walks && !testing::Test::HasFailure(); i++) {
        Counts counted{};
        world.run(program, *search);
        EXPECT_FALSE(world.failure()) << world.failure().how << " in walk " << i;
        for (size_t me = 0; me < program.contexts; me++)
            for (unsigned e = 0; e < OL_EVENTS; e++)
                counted[e] += world.counted(me, e);
        for (unsigned e = 0; e < OL_EVENTS; e++)
            all[e] += counted[e];
        if (each)
            each(counted);
    }
    return all;
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
    // T1 holds; T2 is next in line and loses its CPU; T3 waits behind it; T1 releases.
    static constexpr const char *next_is_away = "1m 2w 3w 1m";
};

TEST_P(Tau, ZeroIsAGenericSpinlock) {
    Stage s(GetParam(), 3, tuning(0));

    s.play(next_is_away);
    s.play("3m");
    EXPECT_TRUE(s.at(3, "holds"));
    EXPECT_EQ(s.events(3, OL_OUT_OF_ORDER), 1u);
    s.finish();
}

TEST_P(Tau, InfinityIsATicketLock) {
    Stage s(GetParam(), 3, tuning(never));

    s.play(next_is_away);
    s.play("3w");
    EXPECT_TRUE(s.waits(3));
    EXPECT_EQ(s.wait_of(3), never);
    s.play("2m");
    EXPECT_TRUE(s.at(2, "holds"));
    s.finish();
}

TEST_P(Tau, NobodyPassesAtInfinityOnAnyWalk) {
    auto counted = walk(*engine::find_subject(GetParam()), never);

    EXPECT_GT(counted[OL_SLOW_PATH], 0u);
    for (ol_event e : {OL_TIMEOUT, OL_OUT_OF_ORDER, OL_OVERTAKEN})
        EXPECT_EQ(counted[e], 0u) << e;
}

// Why ol_set_tunable() says that tau must not become inf while somebody may give up: a ticket given
// back leaves a gap in the line, which only a timeout passes.
TEST_P(Tau, MustNotBecomeInfiniteBeforeSomebodyGivesUp) {
    for (Ticks later : {Ticks(50), never}) {
        Stage s(GetParam(), 4, tuning(400), 2);
        s.retune(tuning(later));
        s.play("1m 2w !");  // T1 holds, T2 waits with a deadline
        s.play("3w 2t 2m"); // T3 waits behind it, T2 gives up
        EXPECT_TRUE(s.at(2, "gave up"));
        s.play("4w 1m"); // T4 gets the number that T3 has too
        EXPECT_EQ(s.finish_badly(), later == never ? Wrong::deadlock : Wrong::none);
    }
}

// But where others give up: the ticket given back is the last one's, who then goes ahead at once.
TEST_P(Tau, WhoGoesOutOfOrderHasTimedOut) {
    ol_lock_ops patient = *engine::find_subject(GetParam());
    uint64_t out_of_order = 0;

    patient.timedlock = nullptr;
    walk(patient, 50, [&](const Counts &counted) {
        EXPECT_LE(counted[OL_OUT_OF_ORDER], counted[OL_TIMEOUT]);
        out_of_order += counted[OL_OUT_OF_ORDER];
    });
    EXPECT_GT(out_of_order, 0u);
}

INSTANTIATE_TEST_SUITE_P(Preemptable, Tau,
                         testing::Values("preemptable_ticket", "pv_preemptable_ticket"),
                         [](const auto &info) { return std::string(info.param); });

// Trait OL_FIFO: once they are in line, T2, T3, T4 are served in that order whoever loses its CPU.

std::string order_of_grants(const ol_lock_ops &ops, uint64_t seed) {
    Rules rules;
    rules.tuning.backoff = 100; // without a pause it would never stop to wait
    for (auto &left : rules.budgets.left)
        left = 0;
    rules.budgets[check::Budget::expiry] = 100;
    World world(Model::sc, rules);
    std::vector<unsigned> marks(4);
    std::string order;
    void *lock = nullptr;
    check::Program program;
    program.contexts = 4;
    program.by_clock = ops.traits & OL_BY_CLOCK;
    program.set_up = [&](check::Memory &memory) { lock = memory.allocate("lock", ops.size).at; };
    program.body = [&](size_t me) {
        ops.lock(lock);
        order += std::to_string(me + 1);
        marks[me]++;
        ops.unlock(lock);
    };
    test::Script script(world, "1m 2w 3w 4w !", marks);
    script.on_change([&] { // if it waits for a time, the walk decides when it looks
        if (world.doing(2) == std::string("relaxes") && world.wait_of(2) != never)
            world.let_pass(2);
    });
    auto walk = check::make_walk(seed);
    script.then(walk.get());
    world.run(program, script);
    EXPECT_FALSE(world.failure()) << ops.id << ": " << world.failure().how;
    return order;
}

TEST(Order, OfArrivalIfAndOnlyIfTheListSaysSo) {
    for (auto *ops = engine::subjects; *ops; ops++) {
        // Once all are in line, and while nobody has waited too long.
        if ((*ops)->traits & (OL_LATE_FIFO | OL_PATIENT))
            continue;
        bool in_order = true;
        for (uint64_t seed = 0; seed < 200; seed++)
            in_order &= order_of_grants(**ops, seed) == "1234";
        EXPECT_EQ(in_order, ((*ops)->traits & OL_FIFO) != 0) << (*ops)->id;
    }
}

} // namespace
