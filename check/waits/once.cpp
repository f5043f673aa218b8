// SPDX-License-Identifier: MIT
#include "stage.h"

#include <overlock/wait/once.h>

namespace ol::check {
namespace {

class Does : public Stage {
public:
    using Stage::Stage;

    void play(size_t) override {
        for (unsigned i = 0; i < rounds; i++) {
            if (begin())
                ol_once_end(o(), work());
            else
                expect(read(0) == 1, Wrong::out_of_order, "it goes on before it was done");
        }
    }
    void finish() override { expect(*datum(0) == 1, Wrong::exclusion, "it was not done once"); }

protected:
    virtual bool begin() { return ol_once_begin(o()); }
    virtual bool work() {
        write(0, read(0) + 1);
        return true;
    }
    ol_once_t *o() const { return object<ol_once_t>(); }
};

// The first attempt fails: somebody has to try again, and nobody may go on before.
class Fails : public Does {
public:
    using Does::Does;

    void play(size_t me) override {
        for (unsigned i = 0; i <= rounds; i++)
            Does::play(me);
    }

protected:
    bool work() override {
        write(1, read(1) + 1);
        return read(1) > 1 && Does::work();
    }
};

class Leaves : public Does {
public:
    using Does::Does;

protected:
    bool begin() override {
        ol_once_begun how = OL_ONCE_TIMED_OUT;

        insist([&](ol_ticks_t until) {
            how = ol_once_timedbegin(o(), until);
            return how != OL_ONCE_TIMED_OUT;
        });
        return how == OL_ONCE_IS_MINE;
    }
};

} // namespace

OL_WAIT_SUBJECT(once, sizeof(ol_once_t), scenario<Does>("does", "all begin, one does it"),
                scenario<Fails>("fails", "the first one to do it fails"),
                scenario<Leaves>("leaves", "all begin with deadlines, again and again"));

} // namespace ol::check
