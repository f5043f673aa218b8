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
#include <memory>
#include <vector>

namespace ol::simulator {

class Task;

// Something that can be set to happen, once at a time. It must be cancelled before it goes.
class Timer {
public:
    explicit Timer(std::function<void()> happens, Task *goes_on = nullptr)
        : goes_on(goes_on), happens_(std::make_unique<Happens>(std::move(happens))) {}
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;

    bool is_set() const { return where_ != Where::nowhere; }
    Time at() const { return at_; }

    Task *const goes_on; // all that happens is that this one goes on; null: something else

private:
    friend class Events;
    using Happens = const std::function<void()>;
    enum class Where : uint8_t { nowhere, near, far };

    bool before(const Timer &t) const { return at_ != t.at_ ? at_ < t.at_ : order_ < t.order_; }

    Time at_ = never;
    uint64_t order_ = 0;
    Timer *next_ = nullptr;            // in its bucket
    size_t place_ = 0;                 // in the heap
    std::unique_ptr<Happens> happens_; // apart: what is asked all the time fits in a cache line
    Where where_ = Where::nowhere;
};

// Nearly everything happens within microseconds, and is set and done at the cost of a few
// instructions: a ring of buckets from now on, each of some nanoseconds and in its order. What is
// further away, such as the ends of slices, is in a heap: most of it is taken back before its time.
class Events {
public:
    Time now() const { return now_; }
    uint64_t happened() const { return happened_; }

    void set(Timer &t, Time at); // again: at another time
    [[gnu::noinline]] void cancel(Timer &t);

    // The next thing happens; false if there is none.
    bool next();

    // If the next thing is that a task goes on: that task, which the caller lets go on.
    Task *next_to_go_on() {
        Timer *t = first_;
        if (!t || !t->goes_on)
            return nullptr;
        begins(*t);
        return t->goes_on;
    }

    // Nothing is to happen before t: the running task may advance to it by itself.
    bool nothing_before(Time t) const { return !first_ || t < first_->at_; }
    void advance(Time t) { now_ = t; }

private:
    struct Far { // with what is compared, which is then in few cache lines
        Time at;
        uint64_t order;
        Timer *timer;
        bool before(const Far &f) const { return at != f.at ? at < f.at : order < f.order; }
    };
    static constexpr unsigned width = 12; // of a bucket: 2^12 ps
    static constexpr size_t buckets = 1024;

    static size_t bucket(Time t) { return (t >> width) % buckets; }
    Timer *find_first() const {
        if (!words_)
            return far_.empty() ? nullptr : far_.front().timer;
        Timer *near = first_near();
        return far_.empty() || Far{near->at_, near->order_, near}.before(far_.front())
                   ? near
                   : far_.front().timer;
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
    [[gnu::noinline]] void put_far(Timer &t);
    [[gnu::noinline]] void take_far(Timer &t);
    void rise(const Far &f, size_t place);
    void sink(const Far &f, size_t place);
    void place(const Far &f, size_t place) {
        far_[place] = f;
        f.timer->place_ = place;
    }
    // Without a branch, which nobody could predict.
    void mark_if_empty(size_t b) {
        used_[b / 64] &= ~(uint64_t(!near_[b]) << b % 64);
        words_ &= ~(uint64_t(!used_[b / 64]) << b / 64);
    }
    // The first of all, which is the first of its bucket.
    [[gnu::always_inline]] void begins(Timer &t) {
        if (t.where_ == Timer::Where::near) {
            size_t b = bucket(t.at_);
            near_[b] = t.next_;
            mark_if_empty(b);
        } else {
            take_far(t);
        }
        t.where_ = Timer::Where::nowhere;
        now_ = t.at_;
        first_ = find_first();
        happened_++;
    }

    std::array<Timer *, buckets> near_{};
    std::array<uint64_t, buckets / 64> used_{}; // buckets that are not empty
    uint64_t words_ = 0;                        // of used_ that are not 0
    std::vector<Far> far_;
    Timer *first_ = nullptr; // of all: asked for at every step
    Time now_ = 0;
    uint64_t set_ = 0, happened_ = 0;
};

} // namespace ol::simulator
#endif
