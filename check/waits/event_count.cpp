// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/event_count.h>

namespace ol::check {
namespace {

// The first context waits until all others have set a flag of theirs.
class Flags : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        if (me) {
            write(me, 1);
            ol_store_release(word(me), 1u);
            return ol_event_count_notify_all(e());
        }
        await();
        for (size_t i = 1; i < contexts; i++)
            expect(read(i) == 1, Wrong::out_of_order, "it goes on before all flags are set");
    }

protected:
    virtual void await() { ol_event_count_wait(e(), all_set, this); }
    ol_event_count_t *e() const { return object<ol_event_count_t>(); }
    static bool all_set(void *of) {
        auto *me = static_cast<Flags *>(of);
        for (size_t i = 1; i < me->contexts; i++)
            if (!ol_load_acquire(me->word(i)))
                return false;
        return true;
    }
};

class Leaves : public Flags {
public:
    using Flags::Flags;

protected:
    void await() override {
        insist([this](ol_ticks_t until) {
            return ol_event_count_timedwait(e(), all_set, this, until);
        });
    }
};

// Tokens for the odd contexts by the even ones, which wake one for each.
class Tokens : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        const size_t even = (contexts + 1) / 2, odd = contexts / 2;

        for (size_t i = 0; i < rounds * (me % 2 ? even : odd); i++) {
            if (me % 2) {
                ol_event_count_wait(e(), take, word(0));
            } else {
                ol_add_release(word(0), 1u);
                ol_event_count_notify_one(e());
            }
        }
    }

private:
    ol_event_count_t *e() const { return object<ol_event_count_t>(); }
    static bool take(void *of) {
        auto *tokens = static_cast<uint32_t *>(of);
        uint32_t n;

        while ((n = ol_load_relaxed(tokens)))
            if (ol_cas_acquire(tokens, n, n - 1))
                return true;
        return false;
    }
};

} // namespace

OL_WAIT_SUBJECT(event_count, sizeof(ol_event_count_t),
                scenario<Flags>("flags", "one waits until all others have set a flag"),
                scenario<Leaves>("leaves", "the same with deadlines, again and again"),
                scenario<Tokens>("tokens", "some add tokens and wake one, others take them"));

} // namespace ol::check
