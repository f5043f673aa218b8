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

} // namespace ol::simulator
#endif
