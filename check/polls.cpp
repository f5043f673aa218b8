// SPDX-License-Identifier: MIT
#include "polls.h"

#include <utility>

namespace ol::check {

void Polls::ends_turn() {
    alike_ = now_ == before_ ? alike_ + 1 : 0;
    std::swap(before_, now_);
    now_.clear();
}

bool Polls::does(uint64_t what) {
    bool counts = alike_ && !is_as_before(what);

    now_.push_back(what);
    return !counts;
}

void Polls::hears(uint64_t answer) {
    if (!is_as_before(answer))
        alike_ = 0;
    now_.push_back(answer);
}

} // namespace ol::check
