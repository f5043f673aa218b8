// SPDX-License-Identifier: MIT
#ifndef OL_SIM_EVENTS_H
#define OL_SIM_EVENTS_H
// What is to happen, in the order of time. Two things at the same time happen in the order in which
// they were set, so that a run is a function of its scenario and its seed.
#include "time.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace ol::simulator {

// Something that can be set to happen, once at a time. It must be cancelled before it goes.
class Timer {
public:
    explicit Timer(std::function<void()> happens) : happens_(std::move(happens)) {}
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;

    bool is_set() const { return place_ != nowhere; }
    Time at() const { return at_; }

private:
    friend class Events;
    static constexpr size_t nowhere = SIZE_MAX;

    std::function<void()> happens_;
    Time at_ = never;
    size_t place_ = nowhere; // in the heap
};

// A heap whose nodes have four children: fewer cache misses than with two.
class Events {
public:
    Time now() const { return now_; }
    uint64_t happened() const { return happened_; }

    void set(Timer &t, Time at); // again: at another time
    void cancel(Timer &t);

    // The next thing happens; false if there is none.
    bool next();

    // Nothing is to happen before t: the running task may advance to it by itself.
    bool nothing_before(Time t) const;
    void advance(Time t) { now_ = t; }

private:
    struct Entry {
        Time at;
        uint64_t order;
        Timer *timer;

        // In one comparison, which compilers do without a branch that is hard to predict.
        unsigned __int128 key() const { return static_cast<unsigned __int128>(at) << 64 | order; }
        bool before(const Entry &e) const { return key() < e.key(); }
    };
    static constexpr size_t children = 4;

    static void put(Entry &to, size_t place, const Entry &e) {
        to = e;
        e.timer->place_ = place;
    }
    void rise(size_t place, Entry e);
    void sink(size_t place, Entry e);
    void remove(size_t place);

    std::vector<Entry> heap_;
    Timer *happening_ = nullptr; // the first of the heap still, until it is set again or has ended
    Time now_ = 0;
    uint64_t set_ = 0, happened_ = 0;
};

} // namespace ol::simulator
#endif
