// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/sequence.h>

namespace ol::check {
namespace {

// A bounded queue: contexts of even index put, of odd index take, each as many as the other side
// needs. The numbers wrap within.
class Ring : public Stage {
public:
    using Stage::Stage;
    static constexpr uint32_t size = 2, first = UINT32_MAX;

    void set_up() override {
        queue()->put.number = queue()->taken.number = *word(0) = *word(1) = first;
    }
    void play(size_t me) override {
        const size_t even = (contexts + 1) / 2, odd = contexts / 2;

        for (size_t i = 0; i < rounds * (me % 2 ? even : odd); i++)
            me % 2 ? take() : put();
    }

    struct Queue {
        ol_sequence_t put, taken;
    };

protected:
    Queue *queue() const { return object<Queue>(); }
    virtual void await(ol_sequence_t *s, uint32_t number) { ol_sequence_await(s, number); }

private:
    void put() {
        uint32_t number = ol_add_relaxed(word(0), 1u); // the sequencer of Reed & Kanodia

        await(&queue()->taken, number + 1 - size);
        await(&queue()->put, number);
        write(number % size, number);
        ol_sequence_advance(&queue()->put, 1);
    }
    void take() {
        uint32_t number = ol_add_relaxed(word(1), 1u);

        await(&queue()->put, number + 1);
        await(&queue()->taken, number);
        expect(read(number % size) == number, Wrong::out_of_order, "it takes what was not put yet");
        ol_sequence_advance(&queue()->taken, 1);
    }
};

class Leaves : public Ring {
public:
    using Ring::Ring;

protected:
    void await(ol_sequence_t *s, uint32_t number) override {
        insist([&](ol_ticks_t until) { return ol_sequence_timedawait(s, number, until); });
    }
};

// One context advances by more than one, the others wait for a number each.
class Leaps : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        auto *s = object<ol_sequence_t>();

        if (me)
            return ol_sequence_await(s, static_cast<uint32_t>(me));
        for (unsigned i = 0; i < rounds; i++)
            ol_sequence_advance(s, static_cast<uint32_t>(contexts));
    }
};

} // namespace

OL_WAIT_SUBJECT(sequence, sizeof(Ring::Queue),
                scenario<Ring>("ring", "some put into a bounded queue, others take"),
                scenario<Leaves>("leaves", "the same with deadlines, again and again"),
                scenario<Leaps>("leaps", "one advances by many at a time"));

} // namespace ol::check
