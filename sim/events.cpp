// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>

namespace ol::simulator {

void Events::put_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place && (*place)->before(t))
        place = &(*place)->next_;
    t.next_ = *place;
    *place = &t;
    mark(b);
}

void Events::take_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place != &t)
        place = &(*place)->next_;
    *place = t.next_;
    mark(b);
}

void Events::cancel(Timer &t) {
    if (t.where_ == Timer::Where::near)
        take_near(t);
    else if (t.where_ == Timer::Where::far)
        far_.erase(&t);
    t.where_ = Timer::Where::nowhere;
}

void Events::set(Timer &t, Time at) {
    cancel(t);
    if (at == never)
        return;
    t.at_ = std::max(at, now_);
    t.order_ = ++set_;
    bool near = (t.at_ >> width) - (now_ >> width) < buckets;
    t.where_ = near ? Timer::Where::near : Timer::Where::far;
    if (near)
        put_near(t);
    else
        far_.insert(&t);
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
