// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_POLLS_H
#define OL_CHECK_POLLS_H
// Does a loop of relaxes count its turns? The search lets a context that relaxes wait until
// something changes, so it would never see such a loop end (docs/proof.md). A context that has made
// the same turn twice, and in the next has heard the same so far, must do the same next.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ol::check {

class Polls {
public:
    void ends_turn();
    bool does(uint64_t what); // false: it counts
    void hears(uint64_t answer);

private:
    bool is_as_before(uint64_t event) const {
        return now_.size() < before_.size() && before_[now_.size()] == event;
    }

    std::vector<uint64_t> before_, now_; // this turn and the one before: all that it did and heard
    size_t alike_ = 0;                   // turns in a row that were like the one before
};

} // namespace ol::check
#endif
