// SPDX-License-Identifier: MIT
// Locks that avoid the end of a slice, where the test says when that is: the warning that comes
// while a lock is held, and how long its sections are, as waiters learn.
#include "support.hpp"

using namespace overlock_test;

namespace {

// What the platform layer answers here, and what it was asked for.
struct Known {
    std::atomic<uint64_t> slice = 1;
    std::atomic<ol_ticks_t> end = OL_NEVER, csd = 0, since = 0;
    std::atomic<unsigned> polls = 0, parks = 0, kicks = 0, lessons = 0, n = 0;

    void learn(ol_ticks_t from, unsigned sections) {
        since = from;
        n = sections;
        lessons++;
    }
} known;

} // namespace

#define ol_slice_id() known.slice.load()
#define ol_slice_end() known.end.load()
#define ol_csd() known.csd.load()
#define ol_csd_learn(since, n) known.learn(since, n)
#define ol_relax() (known.polls++, (ol_relax)())
#define ol_relax_until(t) (known.polls++, (ol_relax_until)(t))
#define ol_park(...) (known.parks++, (ol_park)(__VA_ARGS__))
#define ol_kick(...) (known.kicks++, (ol_kick)(__VA_ARGS__))
#include <overlock/lock/i_spin.h>
#include <overlock/lock/warned.h>
#undef ol_csd
#undef ol_csd_learn

namespace {

using namespace std::chrono_literals;

ol_ticks_t in_an_hour() { return from_now(1h); }

// The second half of `warned`: a warning that comes while the lock is held.

struct Warned {
    static void poll(ol_warned_t *l) { ol_warned_poll(l); }
    static void unlock(ol_warned_t *l) { ol_warned_unlock(l); }
};

// Empty if a poll marks the lock when, and only when, it is held and the warning has come.
template <class L> std::string marks_when_warned() {
    const Tuned warning("warning", "1000000");
    ol_warned_t l = OL_WARNED_INIT;

    known.end = in_an_hour();
    ol_warned_lock(&l);
    L::poll(&l);
    if (l.word != OL_WARNED_HELD)
        return "marked before the warning";
    known.end = OL_NEVER;
    L::poll(&l);
    if (l.word != OL_WARNED_HELD)
        return "marked though nobody knows the end";
    known.end = from_now(1us);
    L::poll(&l);
    L::poll(&l);
    if (l.word != (OL_WARNED_HELD | OL_WARNED_MARK))
        return "not marked";
    L::unlock(&l);
    L::poll(&l);
    return l.word ? "marked when it was free" : "";
}

// Empty if whoever waits sleeps once the lock is marked, not before, and the release ends that.
template <class L> std::string lets_them_sleep() {
    ol_warned_t l = OL_WARNED_INIT;

    known.end = in_an_hour();
    known.parks = known.kicks = known.polls = 0;
    ol_warned_lock(&l);
    std::thread waiter([&] {
        ol_warned_lock(&l);
        L::unlock(&l);
    });
    eventually([] { return known.polls > 1000 || known.parks; });
    const bool early = known.parks;
    known.end = ol_now();
    L::poll(&l);
    const bool marked = ol_load_relaxed(&l.word) & OL_WARNED_MARK;
    if (marked)
        eventually([] { return known.parks > 0; });
    known.end = in_an_hour();
    L::unlock(&l);
    const bool woken = known.kicks;
    if (!woken)
        (ol_kick)(&l.word, OL_ANY, INT32_MAX);
    waiter.join();
    return early ? "slept before" : !marked ? "not marked" : !woken ? "not woken" : "";
}

TEST(Warned, PollMarksTheLockWhenTheWarningHasCome) { EXPECT_EQ(marks_when_warned<Warned>(), ""); }

TEST(Warned, WaitersSleepOnceTheLockIsMarked) { EXPECT_EQ(lets_them_sleep<Warned>(), ""); }

TEST(Warned, ReleaseOfAnUnmarkedLockWakesNobody) {
    ol_warned_t l = OL_WARNED_INIT;
    known.end = in_an_hour();
    known.kicks = 0;
    ol_warned_lock(&l);
    ol_warned_poll(&l);
    ol_warned_unlock(&l);
    EXPECT_EQ(known.kicks, 0u);
}

// Waiting for the next slice is no reason to time out: the lock is free.
TEST(Warned, TakesAFreeLockAtItsDeadline) {
    const Tuned warning("warning", "1000000");
    for (const auto patience : {0us, 200us}) {
        ol_warned_t l = OL_WARNED_INIT;
        known.end = from_now(500us);
        EXPECT_TRUE(ol_warned_timedlock(&l, from_now(patience))) << patience.count() << " us";
    }
}

ol_warned_t struck_lock;

// Also just after the release, when the lock may be free or another's.
TEST(Warned, MayBePolledByAHandlerAtAnyInstant) {
    constexpr unsigned threads = 3, rounds = 5000;
    Ledger ledger;
    known.end = ol_now();
    together(threads, [&](unsigned) {
        const Struck struck([](int) { ol_warned_poll(&struck_lock); });
        for (unsigned i = 0; i < rounds; i++) {
            ol_warned_lock(&struck_lock);
            ledger.update();
            ol_warned_unlock(&struck_lock);
        }
    });
    EXPECT_TRUE(ledger.whole());
    EXPECT_EQ(ledger.total(), uint64_t{threads} * rounds);
    EXPECT_EQ(struck_lock.word, 0u);
}

struct NeverMarks : Warned {
    static void poll(ol_warned_t *) {}
};
struct MarksUnasked : Warned {
    static void poll(ol_warned_t *l) {
        ol_cas_relaxed(&l->word, OL_WARNED_HELD, OL_WARNED_HELD | OL_WARNED_MARK);
    }
};
struct MarksTheFree : Warned {
    static void poll(ol_warned_t *l) {
        const ol_slice s = ol_slice_now();
        ol_or_relaxed(&l->word, ol_warned_mark(&s));
    }
};
struct WakesNobody : Warned {
    static void unlock(ol_warned_t *l) { ol_store_release(&l->word, 0u); }
};

TEST(Mutant, PollsAreToldApart) {
    EXPECT_EQ(marks_when_warned<NeverMarks>(), "not marked");
    EXPECT_EQ(marks_when_warned<MarksUnasked>(), "marked before the warning");
    EXPECT_EQ(marks_when_warned<MarksTheFree>(), "marked when it was free");
    EXPECT_EQ(lets_them_sleep<NeverMarks>(), "not marked");
    EXPECT_EQ(lets_them_sleep<WakesNobody>(), "not woken");
}

// How long a section is, as the waits in line of `i_spin` tell.

using Queue = void (*)(ol_ticket_t *line, uint32_t w, uint64_t slice);

constexpr uint16_t ahead = 3;

// One waits behind three; `meanwhile` happens, and then it is its turn. True if it learnt that.
bool learns(Queue queue, auto meanwhile) {
    ol_ticket_t line{ol_word(ahead, 0)};
    const ol_ticks_t before = ol_now();

    known.polls = known.lessons = 0;
    std::thread waiter([&, w = line.word, slice = known.slice.load()] { queue(&line, w, slice); });
    eventually([] { return known.polls > 0; });
    const ol_ticks_t waiting = ol_now();
    meanwhile();
    ol_store_lo_release(&line.word, ahead);
    waiter.join();
    return known.lessons == 1 && known.n == ahead && known.since >= before &&
           known.since <= waiting;
}

std::string learns_from_waits_in_one_slice(Queue queue) {
    const auto nothing = [] {};
    {
        const Tuned learning("csd_learned", "1");
        if (!learns(queue, nothing))
            return "learnt something else";
        if (learns(queue, [] { known.slice++; }) || known.lessons)
            return "learnt from others' slices";
    }
    return learns(queue, nothing) || known.lessons ? "learnt unasked" : "";
}

TEST(Learning, IsFromWaitsInOneSlice) {
    EXPECT_EQ(learns_from_waits_in_one_slice(ol_i_spin_queue), "");
}

TEST(Learning, HappensToWhoeverQueues) {
    const Tuned learning("csd_learned", "1");
    ol_i_spin_t l = OL_I_SPIN_INIT;

    known.end = OL_NEVER;
    known.lessons = known.polls = 0;
    ol_i_spin_lock(&l);
    std::thread waiter([&] {
        ol_i_spin_lock(&l);
        ol_i_spin_unlock(&l);
    });
    eventually([] { return known.polls > 0; });
    ol_i_spin_unlock(&l);
    waiter.join();
    EXPECT_EQ(known.lessons, 1u);
    EXPECT_EQ(known.n, 1u);
}

void learns_late(ol_ticket_t *line, uint32_t w, uint64_t slice) {
    while (ol_load_lo_acquire(&line->word) != ol_hi(w))
        ol_relax();
    if (ol_tune(csd_learned) && ol_slice_id() == slice)
        known.learn(ol_now(), ahead);
}
void learns_from_any_slice(ol_ticket_t *line, uint32_t w, uint64_t) {
    const ol_ticks_t since = ol_tune(csd_learned) ? ol_now() : 0;
    while (ol_load_lo_acquire(&line->word) != ol_hi(w))
        ol_relax();
    if (since)
        known.learn(since, ahead);
}
void learns_of_one(ol_ticket_t *line, uint32_t w, uint64_t slice) {
    ol_i_spin_queue(line, w, slice);
    known.n = 1;
}
void learns_unasked(ol_ticket_t *line, uint32_t w, uint64_t slice) {
    const Tuned learning("csd_learned", "1");
    ol_i_spin_queue(line, w, slice);
}

TEST(Mutant, LearnersAreToldApart) {
    EXPECT_EQ(learns_from_waits_in_one_slice(learns_late), "learnt something else");
    EXPECT_EQ(learns_from_waits_in_one_slice(learns_of_one), "learnt something else");
    EXPECT_EQ(learns_from_waits_in_one_slice(learns_from_any_slice), "learnt from others' slices");
    EXPECT_EQ(learns_from_waits_in_one_slice(learns_unasked), "learnt unasked");
}

// What is learnt is what `i_spin` then judges by.

using Csd = ol_ticks_t (*)();

std::string asks_what_was_learnt(Csd csd) {
    const Tuned preset("csd", "5000");
    const ol_ticks_t tuned = ol_tune(csd);

    known.csd = tuned + 77;
    if (csd() != tuned)
        return "asked unasked";
    const Tuned learning("csd_learned", "1");
    if (csd() != tuned + 77)
        return "not asked";
    known.csd = 0;
    return csd() != tuned ? "asked who knows nothing" : "";
}

TEST(Learning, IsAskedWhereItIsTunedTo) { EXPECT_EQ(asks_what_was_learnt(ol_i_spin_csd), ""); }

TEST(Learning, MakesWaitersIncapable) {
    const Tuned learning("csd_learned", "1");
    ol_slice slice;

    known.end = in_an_hour();
    for (const bool lasts : {true, false}) {
        ol_ticket_t line = OL_TICKET_INIT;
        known.csd = ol_ticks_from_ns(lasts ? 1000 : 7'200'000'000'000);
        EXPECT_EQ(ol_i_spin_join(&line, 0, &slice), lasts);
        EXPECT_EQ(ol_ticket_is_locked(&line), lasts);
    }
}

TEST(Mutant, AskersAreToldApart) {
    EXPECT_EQ(asks_what_was_learnt([] { return ol_tune(csd); }), "not asked");
    EXPECT_EQ(asks_what_was_learnt([] { return known.csd.load(); }), "asked unasked");
    EXPECT_EQ(
        asks_what_was_learnt([] { return ol_tune(csd_learned) ? known.csd.load() : ol_tune(csd); }),
        "asked who knows nothing");
}

// The library's own memory of it: each thread's, the last lesson an eighth of it.

using Learn = void (*)(ol_ticks_t since, unsigned n);

struct Range {
    ol_ticks_t least, most;
    bool has(ol_ticks_t t) const { return least <= t && t <= most; }
};

// That n sections took as many ticks as that, and some; how long each took.
Range teach(Learn learn, ol_ticks_t ticks, unsigned n) {
    const ol_ticks_t now = ol_now(), since = now - ticks;
    learn(since, n);
    n = n ? n : 1;
    return {(now - since) / n, (ol_now() - since) / n};
}

std::string remembers(Learn learn, Csd csd) {
    if (csd())
        return "knew before";
    if (!teach(learn, 4'000'000, 4).has(csd()))
        return "wrong of the first";
    const ol_ticks_t old = csd(), rest = old - old / 8;
    const Range next = teach(learn, 64'000'000, 0);
    if (!Range{rest + next.least / 8, rest + next.most / 8}.has(csd()))
        return "wrong of the next";
    bool elsewhere = true;
    std::thread([&] { elsewhere = csd() != 0; }).join();
    return elsewhere ? "another's" : "";
}

// In a thread that has learnt nothing yet.
std::string remembers_afresh(Learn learn, Csd csd) {
    std::string said;
    std::thread([&] { said = remembers(learn, csd); }).join();
    return said;
}

TEST(Learning, IsKeptByEachThread) {
    EXPECT_EQ(remembers_afresh(ol_csd_learn, ol_csd), "");
    EXPECT_EQ(ol_csd(), 0u);
}

thread_local ol_ticks_t kept;
ol_ticks_t shared;

TEST(Mutant, MemoriesAreToldApart) {
    const Csd own = [] { return kept; };
    EXPECT_EQ(remembers_afresh([](ol_ticks_t since, unsigned) { kept = ol_now() - since; }, own),
              "wrong of the first");
    EXPECT_EQ(
        remembers_afresh(
            [](ol_ticks_t since, unsigned n) { kept = (ol_now() - since) / (n ? n : 1); }, own),
        "wrong of the next");
    EXPECT_EQ(remembers_afresh(
                  [](ol_ticks_t since, unsigned n) {
                      const ol_ticks_t each = (ol_now() - since) / (n ? n : 1);
                      shared = shared ? shared - shared / 8 + each / 8 : each;
                  },
                  [] { return shared; }),
              "another's");
}

} // namespace
