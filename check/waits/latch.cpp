// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/latch.h>

namespace ol::check {
namespace {

// The first context waits, the others arrive, each several times.
class Opens : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        for (unsigned i = 0; me && i < rounds; i++) {
            write(me, i + 1);
            ol_latch_arrive(l(), 1, n());
        }
        if (me)
            return;
        await();
        for (size_t i = 1; i < contexts; i++)
            expect(read(i) == rounds, Wrong::out_of_order, "it is open before all have arrived");
    }

protected:
    virtual void await() { ol_latch_wait(l(), n()); }
    ol_latch_t *l() const { return object<ol_latch_t>(); }
    uint32_t n() const { return static_cast<uint32_t>((contexts - 1) * rounds); }
};

class Leaves : public Opens {
public:
    using Opens::Opens;

protected:
    void await() override {
        insist([this](ol_ticks_t until) { return ol_latch_timedwait(l(), n(), until); });
    }
};

class Frees : public Opens {
public:
    using Opens::Opens;

protected:
    void await() override {
        Opens::await();
        free_object();
    }
};

} // namespace

OL_WAIT_SUBJECT(latch, sizeof(ol_latch_t),
                scenario<Opens>("opens", "one waits for the arrivals of all others"),
                scenario<Leaves>("leaves", "the same with deadlines, again and again"),
                scenario<Frees>("frees", "who waited frees the memory"));

} // namespace ol::check
