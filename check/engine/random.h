// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_RANDOM_H
#define OL_ENGINE_RANDOM_H
#include <cstddef>
#include <cstdint>

namespace ol::engine {

// splitmix64: every seed gives a good stream, and the stream is the same everywhere.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    template <class T, size_t N> const T &of(const T (&list)[N]) { return list[below(N)]; }

private:
    uint64_t state_;
};

} // namespace ol::engine
#endif
