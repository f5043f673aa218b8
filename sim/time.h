// SPDX-License-Identifier: MIT
#ifndef OL_SIM_TIME_H
#define OL_SIM_TIME_H
// Simulated time: picoseconds since the run began, so that the parts of a nanosecond that a cache
// hit takes add up. A lock's ticks are the same.
#include <check/engine/world.h>

namespace ol::simulator {

using Time = engine::Ticks;
using engine::never;

constexpr Time ns = 1000, us = 1000 * ns, ms = 1000 * us, second = 1000 * ms;

constexpr Time sum(Time a, Time b) { // never stays never
    return a > never - b ? never : a + b;
}

// Nearly always of short times, which a CPU divides in half the time.
constexpr Time quotient(Time a, Time b) {
    return (a | b) >> 32 ? a / b : static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}

constexpr Time remainder(Time a, Time b) {
    return (a | b) >> 32 ? a % b : static_cast<uint32_t>(a) % static_cast<uint32_t>(b);
}

} // namespace ol::simulator
#endif
