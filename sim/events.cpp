// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>

namespace ol::simulator {

void Events::set(Timer &t, Time at) {
    cancel(t);
    if (at == never)
        return;
    t.at_ = std::max(at, now_);
    t.order_ = ++set_;
    if ((t.at_ >> width) - (now_ >> width) < buckets) {
        t.where_ = Timer::Where::near;
        put_near(t);
    } else {
        t.where_ = Timer::Where::far;
        far_.insert(&t);
    }
}

bool Events::next() {
    Timer *t = first();

    if (!t)
        return false;
    begins(*t);
    t->happens_();
    return true;
}

} // namespace ol::simulator
