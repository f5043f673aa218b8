// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/until.h>

namespace ol::check {
namespace {

// Each context waits for its turn, and hands on to the next.
class Turns : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        for (unsigned round = 0; round < rounds; round++) {
            auto turn = static_cast<uint32_t>(round * contexts + me);
            await(turn);
            write(0, read(0) + 1);
            ol_store_release(at(), turn + 1);
            ol_wake_all(at());
        }
    }
    void finish() override {
        expect(*datum(0) == contexts * rounds, Wrong::lost_update, "an addition was lost");
    }

protected:
    virtual void await(uint32_t turn) { ol_wait_until(at(), ol_equals, turn, OL_NEVER); }
    uint32_t *at() const { return object<uint32_t>(); }
};

class Leaves : public Turns {
public:
    using Turns::Turns;

protected:
    void await(uint32_t turn) override {
        insist([&](ol_ticks_t until) { return ol_wait_until(at(), ol_equals, turn, until); });
    }
};

// The first one waits for what comes only after it has given up.
class GivesUp : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        auto *at = object<uint32_t>();

        if (me) {
            ol_wait_until(word(0), ol_equals, 1, OL_NEVER);
            ol_store_release(at, 1u);
            return ol_wake_all(at);
        }
        expect(!ol_wait_until(at, ol_equals, 1, soon()), Wrong::out_of_order,
               "it saw what was not there");
        ol_store_release(word(0), 1u);
        ol_wake_all(word(0));
    }
};

// Who waited frees the word, whatever the waker still does.
class Frees : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        auto *at = object<uint32_t>();

        if (me == 1) {
            ol_wait_until(at, ol_has_reached, static_cast<uint32_t>(contexts - 1), OL_NEVER);
            free_object();
        } else {
            ol_add_release(at, 1u);
            ol_wake_all(at);
        }
    }
};

} // namespace

OL_WAIT_SUBJECT(until, sizeof(uint32_t),
                scenario<Turns>("turns", "each waits for its turn, and hands on to the next"),
                scenario<Leaves>("leaves", "the same with deadlines, again and again"),
                scenario<GivesUp>("gives_up",
                                  "one waits for what others do only after its deadline", true),
                scenario<Frees>("frees", "who waited frees the memory"));

} // namespace ol::check
