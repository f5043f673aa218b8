// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_ROUNDS_H
#define OL_CHECK_ROUNDS_H
// What any barrier is for.
#include "stage.h"

namespace ol::check {

// Each writes what all others read after the barrier: in two places by turns, for a context that is
// through may already write the next.
class Rounds : public Stage {
public:
    using Stage::Stage;

    void play(size_t me) override {
        for (unsigned round = 0; round < rounds; round++) {
            write(place(round, me), round + 1);
            passed(meet(me, place(round, me), round + 1), round);
        }
    }
    void finish() override {
        for (unsigned lasts : lasts_)
            expect(lasts == 1, Wrong::lies, "a round had no last context, or several");
    }

protected:
    // Has written `value` at `place`. True for the last.
    virtual bool meet(size_t me, size_t place, uint64_t value) = 0;
    uint32_t n() const { return static_cast<uint32_t>(contexts); }

private:
    size_t place(unsigned round, size_t who) const { return round % 2 * contexts + who; }
    void passed(bool last, unsigned round) {
        lasts_[round] += last;
        for (size_t i = 0; i < contexts; i++)
            expect(read(place(round, i)) == round + 1, Wrong::out_of_order,
                   "it is through before another has arrived");
    }
    std::vector<unsigned> lasts_ = std::vector<unsigned>(rounds);
};

} // namespace ol::check
#endif
