// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_FOOTPRINT_H
#define OL_CHECK_FOOTPRINT_H
// What one event touches. Two events of different processes are dependent when one of them writes
// what the other touches; else they commute, and exploring one order of the two is enough.
#include <array>
#include <cstddef>
#include <cstdint>

namespace ol::check {

struct Touch {
    uint64_t at;
    uint32_t width; // in bytes
    bool writes;
};

// Things that are no memory have addresses of their own, far from all memory.
inline uint64_t sleepers_of(const void *word) { // who is parked there, by the bits of their keys
    return reinterpret_cast<uint64_t>(word) << 3 | uint64_t(1) << 60;
}
constexpr uint64_t mailbox_of(size_t context) { // the kicks on their way to it
    return uint64_t(1) << 61 | context * 8;
}
inline uint64_t halves_of(const void *at) { // the order of the stores to halves of its word
    return (reinterpret_cast<uint64_t>(at) & ~uint64_t(3)) | uint64_t(1) << 59;
}
constexpr uint64_t transaction_of(size_t context) { // whether others have aborted it
    return uint64_t(1) << 58 | context * 8;
}
constexpr uint64_t system_clock = uint64_t(1) << 57;
constexpr uint64_t fences = uint64_t(1) << 62; // sequentially consistent fences, in their order

class Footprint {
public:
    void clear() { count_ = 0, all_ = false; }
    void add(uint64_t at, size_t width, bool writes) {
        if (count_ == touches_.size())
            all_ = true; // dependent with everything is always right
        else
            touches_[count_++] = {at, static_cast<uint32_t>(width), writes};
    }
    void add(const void *at, size_t width, bool writes) {
        add(reinterpret_cast<uint64_t>(at), width, writes);
    }
    void add_all() { all_ = true; }

    bool all() const { return all_; }
    bool empty() const { return !all_ && !count_; }
    bool conflicts(const Footprint &other) const {
        if (all_ || other.all_)
            return true;
        for (size_t i = 0; i < count_; i++)
            for (size_t k = 0; k < other.count_; k++) {
                const Touch &a = touches_[i], &b = other.touches_[k];
                if ((a.writes || b.writes) && a.at < b.at + b.width && b.at < a.at + a.width)
                    return true;
            }
        return false;
    }

private:
    uint8_t count_ = 0;
    bool all_ = false;
    std::array<Touch, 12> touches_;
};

} // namespace ol::check
#endif
