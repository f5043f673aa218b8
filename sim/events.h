// SPDX-License-Identifier: MIT
#ifndef OL_SIM_EVENTS_H
#define OL_SIM_EVENTS_H
// What is to happen, in the order of time. Two things at the same time happen in the order in which
// they were set, so that a run is a function of its scenario and its seed.
#include "time.h"

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <set>

namespace ol::simulator {

class Task;

// Something that can be set to happen, once at a time. It must be cancelled before it goes.
class Timer {
    std::function<void()> happens_; // before what is asked all the time, which is together

public:
    explicit Timer(std::function<void()> happens, Task *goes_on = nullptr)
        : happens_(std::move(happens)), goes_on(goes_on) {}
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;

    bool is_set() const { return where_ != Where::nowhere; }
    Time at() const { return at_; }

    Task *const goes_on; // all that happens is that this one goes on; null: something else

private:
    friend class Events;
    enum class Where : uint8_t { nowhere, near, far };

    bool before(const Timer &t) const { return at_ != t.at_ ? at_ < t.at_ : order_ < t.order_; }

    Time at_ = never;
    uint64_t order_ = 0;
    Timer *next_ = nullptr; // in its bucket
    Where where_ = Where::nowhere;
};

// Nearly everything happens within microseconds, and is set and done at the cost of a few
// instructions: a ring of buckets from now on, each of some nanoseconds and in its order. What is
// further away, such as the ends of slices, is in a tree.
class Events {
public:
    Time now() const { return now_; }
    uint64_t happened() const { return happened_; }

    void set(Timer &t, Time at); // again: at another time
    void cancel(Timer &t);

    // The next thing happens; false if there is none.
    bool next();

    // If the next thing is that a task goes on: that task, which the caller lets go on.
    Task *next_to_go_on() {
        Timer *t = first();
        if (!t || !t->goes_on)
            return nullptr;
        begins(*t);
        return t->goes_on;
    }

    // Nothing is to happen before t: the running task may advance to it by itself.
    bool nothing_before(Time t) const {
        const Timer *n = first();
        return !n || t < n->at_;
    }
    void advance(Time t) { now_ = t; }

private:
    struct Before {
        bool operator()(const Timer *a, const Timer *b) const { return a->before(*b); }
    };
    static constexpr unsigned width = 12; // of a bucket: 2^12 ps
    static constexpr size_t buckets = 1024;

    static size_t bucket(Time t) { return (t >> width) % buckets; }
    Timer *first() const {
        Timer *near = words_ ? first_near() : nullptr;
        if (!first_far_)
            return near;
        return near && near->before(*first_far_) ? near : first_far_;
    }
    // From the bucket of now on, once around.
    Timer *first_near() const {
        size_t from = bucket(now_), word = from / 64;
        if (uint64_t here = used_[word] >> from % 64)
            return near_[from + static_cast<size_t>(std::countr_zero(here))];
        uint64_t after = words_ & -2ULL << word;
        word = static_cast<size_t>(std::countr_zero(after ? after : words_));
        return near_[word * 64 + static_cast<size_t>(std::countr_zero(used_[word]))];
    }
    void put_near(Timer &t);
    void take_near(Timer &t);
    void put_far(Timer &t);
    void take_far(Timer &t);
    // Without branches, which none could predict.
    void mark(size_t b) {
        uint64_t filled = near_[b] != nullptr;
        uint64_t &used = used_[b / 64];
        used = (used & ~(uint64_t(1) << b % 64)) | filled << b % 64;
        uint64_t any = used != 0;
        words_ = (words_ & ~(uint64_t(1) << b / 64)) | any << b / 64;
    }
    // The first of all, which is the first of its bucket.
    void begins(Timer &t) {
        if (t.where_ == Timer::Where::near) {
            size_t b = bucket(t.at_);
            near_[b] = t.next_;
            mark(b);
        } else {
            take_far(t);
        }
        t.where_ = Timer::Where::nowhere;
        now_ = t.at_;
        happened_++;
    }

    std::array<Timer *, buckets> near_{};
    std::array<uint64_t, buckets / 64> used_{}; // buckets that are not empty
    uint64_t words_ = 0;                        // of used_ that are not 0
    std::set<Timer *, Before> far_;
    Timer *first_far_ = nullptr; // asked for all the time
    Time now_ = 0;
    uint64_t set_ = 0, happened_ = 0;
};

} // namespace ol::simulator
#endif
