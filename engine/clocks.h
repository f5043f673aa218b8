// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_CLOCKS_H
#define OL_ENGINE_CLOCKS_H
// Vector clocks. What a release publishes is a snapshot, never changed afterwards, so that a
// location needs to remember only its number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ol::engine {

using Clock = std::vector<uint32_t>; // by context

inline void join(Clock &into, const uint32_t *from) {
    for (size_t i = 0; i < into.size(); i++)
        into[i] = std::max(into[i], from[i]);
}

class Snapshots {
public:
    using Number = uint32_t;
    static constexpr Number none = 0;

    void reset(size_t contexts) {
        width_ = contexts;
        clocks_.assign(width_, 0);
    }
    Number take(const Clock &c) {
        clocks_.insert(clocks_.end(), c.begin(), c.end());
        return static_cast<Number>(clocks_.size() / width_ - 1);
    }
    const uint32_t *operator[](Number n) const { return &clocks_[n * width_]; }

private:
    size_t width_ = 1;
    std::vector<uint32_t> clocks_;
};

} // namespace ol::engine
#endif
