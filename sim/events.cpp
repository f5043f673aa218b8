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
    far_.emplace_back();
    rise({t.at_, t.order_, &t}, far_.size() - 1);
    t.where_ = Timer::Where::far;
}

void Events::take_far(Timer &t) {
    Far gone = far_[t.place_], last = far_.back();

    far_.pop_back();
    if (last.timer == &t)
        return;
    if (last.before(gone))
        rise(last, t.place_);
    else
        sink(last, t.place_);
}

void Events::rise(const Far &f, size_t at) {
    while (at && f.before(far_[(at - 1) / 2])) {
        place(far_[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(f, at);
}

void Events::sink(const Far &f, size_t at) {
    for (size_t below; (below = 2 * at + 1) < far_.size(); at = below) {
        if (below + 1 < far_.size() && far_[below + 1].before(far_[below]))
            below++;
        if (f.before(far_[below]))
            break;
        place(far_[below], at);
    }
    place(f, at);
}

void Events::cancel(Timer &t) {
    if (t.where_ == Timer::Where::near)
        take_near(t);
    else if (t.where_ == Timer::Where::far)
        take_far(t);
    t.where_ = Timer::Where::nowhere;
    if (first_ == &t)
        first_ = find_first();
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
    if (!first_ || t.before(*first_))
        first_ = &t;
}

bool Events::next() {
    Timer *t = first_;

    if (!t)
        return false;
    begins(*t);
    (*t->happens_)();
    return true;
}

} // namespace ol::simulator
