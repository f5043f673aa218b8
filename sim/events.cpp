// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>

namespace ol::simulator {

inline void Events::put_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place && (*place)->before(t))
        place = &(*place)->next_;
    t.next_ = *place;
    *place = &t;
    used_[b / 64] |= uint64_t(1) << b % 64;
    words_ |= uint64_t(1) << b / 64;
    t.where_ = Timer::Where::near;
}

void Events::take_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place != &t)
        place = &(*place)->next_;
    *place = t.next_;
    mark_if_empty(b);
}

void Events::put_far(Timer &t) {
    far_.insert(&t);
    first_far_ = *far_.begin();
    t.where_ = Timer::Where::far;
}

void Events::take_far(Timer &t) {
    far_.erase(&t);
    first_far_ = far_.empty() ? nullptr : *far_.begin();
}

void Events::cancel(Timer &t) {
    if (t.where_ == Timer::Where::near)
        take_near(t);
    else if (t.where_ == Timer::Where::far)
        take_far(t);
    t.where_ = Timer::Where::nowhere;
}

void Events::set(Timer &t, Time at) {
    if (t.is_set())
        cancel(t);
    if (at == never)
        return;
    t.at_ = std::max(at, now_);
    t.order_ = ++set_;
    bool near = (t.at_ >> width) - (now_ >> width) < buckets;
    near ? put_near(t) : put_far(t);
}

bool Events::next() {
    Timer *t = first();

    if (!t)
        return false;
    begins(*t);
    (*t->happens_)();
    return true;
}

} // namespace ol::simulator
