// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/semaphore.h>

namespace ol::check {
namespace {

// One unit: a lock.
class Mutex : public Stage {
public:
    using Stage::Stage;

    void set_up() override { s()->units = 1; }
    void play(size_t) override {
        for (unsigned i = 0; i < rounds; i++) {
            take();
            write(0, read(0) + 1);
            ol_semaphore_give(s(), 1);
        }
    }
    void finish() override {
        expect(*datum(0) == contexts * rounds, Wrong::lost_update, "an addition was lost");
        expect(s()->units == 1, Wrong::lies, "a unit was lost, or became two");
    }

protected:
    virtual void take() { ol_semaphore_take(s()); }
    ol_semaphore_t *s() const { return object<ol_semaphore_t>(); }
};

class Leaves : public Mutex {
public:
    using Mutex::Mutex;

protected:
    void take() override {
        insist([this](ol_ticks_t until) { return ol_semaphore_timedtake(s(), until); });
    }
};

// The first context gives one for each of the others, all at once.
class Gives : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        auto *s = object<ol_semaphore_t>();

        for (unsigned i = 0; i < rounds; i++)
            me ? ol_semaphore_take(s) : ol_semaphore_give(s, static_cast<uint32_t>(contexts - 1));
    }
    void finish() override {
        expect(object<ol_semaphore_t>()->units == 0, Wrong::lies, "not all units were taken");
    }
};

} // namespace

OL_WAIT_SUBJECT(semaphore, sizeof(ol_semaphore_t),
                scenario<Mutex>("mutex", "one unit, taken and given like a lock"),
                scenario<Leaves>("leaves", "the same with deadlines, again and again"),
                scenario<Gives>("gives", "one gives units for all others at once"));

} // namespace ol::check
