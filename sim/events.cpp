// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>
#include <bit>

namespace ol::simulator {

// From the bucket of now on, once around.
Timer *Events::first_near() const {
    size_t from = bucket(now_), word = from / 64;

    if (!words_)
        return nullptr;
    if (uint64_t here = used_[word] >> from % 64)
        return near_[from + static_cast<size_t>(std::countr_zero(here))];
    uint64_t after = words_ & -2ULL << word;
    word = static_cast<size_t>(std::countr_zero(after ? after : words_));
    return near_[word * 64 + static_cast<size_t>(std::countr_zero(used_[word]))];
}

Timer *Events::first() const {
    Timer *near = first_near();

    if (far_.empty())
        return near;
    Timer *far = *far_.begin();
    return near && near->before(*far) ? near : far;
}

void Events::put_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place && (*place)->before(t))
        place = &(*place)->next_;
    t.next_ = *place;
    *place = &t;
    used_[b / 64] |= uint64_t(1) << b % 64;
    words_ |= uint64_t(1) << b / 64;
}

void Events::take_near(Timer &t) {
    size_t b = bucket(t.at_);
    Timer **place = &near_[b];

    while (*place != &t)
        place = &(*place)->next_;
    *place = t.next_;
    if (near_[b])
        return;
    used_[b / 64] &= ~(uint64_t(1) << b % 64);
    if (!used_[b / 64])
        words_ &= ~(uint64_t(1) << b / 64);
}

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

void Events::cancel(Timer &t) {
    if (t.where_ == Timer::Where::near)
        take_near(t);
    else if (t.where_ == Timer::Where::far)
        far_.erase(&t);
    t.where_ = Timer::Where::nowhere;
}

void Events::begins(Timer &t) {
    cancel(t);
    now_ = t.at_;
    happened_++;
}

bool Events::next() {
    Timer *t = first();

    if (!t)
        return false;
    begins(*t);
    t->happens_();
    return true;
}

Task *Events::next_to_go_on() {
    Timer *t = first();

    if (!t || !t->goes_on)
        return nullptr;
    begins(*t);
    return t->goes_on;
}

} // namespace ol::simulator
