// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>

namespace ol::simulator {

namespace {

constexpr size_t children = 4;

} // namespace

void Events::put(size_t place, Entry e) {
    heap_[place] = e;
    e.timer->place_ = place;
}

void Events::rise(size_t place, Entry e) {
    while (place > 0) {
        size_t parent = (place - 1) / children;
        if (!e.before(heap_[parent]))
            break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, e);
}

void Events::sink(size_t place, Entry e) {
    for (;;) {
        size_t child = place * children + 1, end = std::min(child + children, heap_.size());
        if (child >= end)
            break;
        for (size_t other = child + 1; other < end; other++)
            if (heap_[other].before(heap_[child]))
                child = other;
        if (!heap_[child].before(e))
            break;
        put(place, heap_[child]);
        place = child;
    }
    put(place, e);
}

void Events::remove(size_t place) {
    Entry last = heap_.back();

    heap_[place].timer->place_ = Timer::nowhere;
    heap_.pop_back();
    if (place == heap_.size())
        return;
    if (place > 0 && last.before(heap_[(place - 1) / children]))
        rise(place, last);
    else
        sink(place, last);
}

void Events::set(Timer &t, Time at) {
    cancel(t);
    if (at == never)
        return;
    t.at_ = at;
    heap_.push_back({});
    rise(heap_.size() - 1, {at, ++set_, &t});
}

void Events::cancel(Timer &t) {
    if (t.is_set())
        remove(t.place_);
}

bool Events::next() {
    if (heap_.empty())
        return false;
    Timer &t = *heap_.front().timer;
    now_ = t.at_;
    remove(0);
    happened_++;
    t.happens_();
    return true;
}

} // namespace ol::simulator
