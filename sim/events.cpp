// SPDX-License-Identifier: MIT
#include "events.h"

#include <algorithm>

namespace ol::simulator {

void Events::rise(size_t place, Entry e) {
    Entry *heap = heap_.data();

    while (place > 0) {
        size_t parent = (place - 1) / children;
        if (!e.before(heap[parent]))
            break;
        put(heap[place], place, heap[parent]);
        place = parent;
    }
    put(heap[place], place, e);
}

void Events::sink(size_t place, Entry e) {
    Entry *heap = heap_.data();
    const size_t size = heap_.size();

    for (size_t child; (child = place * children + 1) < size;) {
        size_t end = std::min(child + children, size);
        size_t first = child;
        auto least = heap[child].key();
        for (size_t other = child + 1; other < end; other++) {
            auto key = heap[other].key();
            first = key < least ? other : first;
            least = key < least ? key : least;
        }
        if (e.key() < least)
            break;
        put(heap[place], place, heap[first]);
        place = first;
    }
    put(heap[place], place, e);
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

// Most timers are set again by what happens: one way through the heap instead of two.
void Events::set(Timer &t, Time at) {
    cancel(t);
    if (at == never)
        return;
    t.at_ = at;
    if (&t == happening_) {
        happening_ = nullptr;
        sink(0, {at, ++set_, &t});
        return;
    }
    heap_.push_back({});
    rise(heap_.size() - 1, {at, ++set_, &t});
}

void Events::cancel(Timer &t) {
    if (t.is_set())
        remove(t.place_);
}

bool Events::nothing_before(Time t) const {
    if (!happening_)
        return heap_.empty() || t < heap_.front().at;
    size_t end = std::min(1 + children, heap_.size());
    for (size_t i = 1; i < end; i++)
        if (heap_[i].at <= t)
            return false;
    return true;
}

bool Events::next() {
    if (heap_.empty())
        return false;
    Timer &t = *heap_.front().timer;
    now_ = t.at_;
    happened_++;
    t.place_ = Timer::nowhere;
    happening_ = &t;
    t.happens_();
    if (happening_)
        remove(0);
    happening_ = nullptr;
    return true;
}

} // namespace ol::simulator
