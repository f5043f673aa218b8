// SPDX-License-Identifier: MIT
#include "rounds.h"

#include <overlock/wait/barrier.h>

namespace ol::check {
namespace {

class Central : public Rounds {
public:
    using Rounds::Rounds;

protected:
    bool meet(size_t, size_t, uint64_t) override { return ol_barrier_wait(b(), n()); }
    ol_barrier_t *b() const { return object<ol_barrier_t>(); }
};

// The first one gives up, writes again, and comes back: an arrival that was taken back does not
// count.
class Leaves : public Central {
public:
    using Central::Central;

protected:
    bool meet(size_t me, size_t place, uint64_t value) override {
        ol_barrier_passed how = OL_BARRIER_PASSED;

        if (me)
            return Central::meet(me, place, value);
        insist(
            [&](ol_ticks_t until) {
                write(place, value);
                how = ol_barrier_timedwait(b(), n(), until);
                return how != OL_BARRIER_TIMED_OUT;
            },
            false); // the last may have arrived, and not have opened it yet
        return how == OL_BARRIER_LAST;
    }
};

// The last one to arrive reads what all wrote before it opens the barrier, and writes what all read
// then.
class Completes : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        auto *b = object<ol_barrier_t>();
        const auto n = static_cast<uint32_t>(contexts);

        for (unsigned round = 1; round <= rounds; round++) {
            bool last;
            write(1 + me, round);
            uint32_t sense = ol_barrier_arrive(b, n, &last);
            if (last) {
                for (size_t i = 0; i < contexts; i++)
                    expect(read(1 + i) == round, Wrong::out_of_order, "one has not arrived yet");
                write(0, round);
                ol_barrier_open(b, sense);
            } else {
                ol_barrier_await(b, n, sense, OL_NEVER);
            }
            expect(read(0) == round, Wrong::out_of_order, "it is through before the last is done");
            ol_barrier_wait(b, n); // nobody writes before all have read
        }
    }
};

// Of those that waited, the one that is through last frees the memory, whatever the opener still
// does.
class Frees : public Central {
public:
    using Central::Central;

    void play(size_t) override {
        bool last = false;

        for (unsigned round = 0; round < rounds; round++)
            last = ol_barrier_wait(b(), n());
        if (!last && ol_add_acq_rel(word(0), 1u) + 2 == n())
            free_object();
    }
    void finish() override {}
};

} // namespace

OL_WAIT_SUBJECT(
    barrier, sizeof(ol_barrier_t),
    scenario<Central>("rounds", "all meet again and again, and read what the others wrote"),
    scenario<Completes>("completes", "the last to arrive does something before it opens"),
    scenario<Leaves>("leaves", "the same, and the first context gives up and comes back"),
    scenario<Frees>("frees", "a context that waited frees the memory"));

} // namespace ol::check
