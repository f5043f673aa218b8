// SPDX-License-Identifier: MIT
// How long a tick is, by a clock and a counter that the test moves: no machine's noise is in it.
#include "faked_clock.h"

#include <cmath>
#include <gtest/gtest.h>

namespace {

#if defined(__x86_64__)
constexpr double rate = 2.345678901; // ticks per ns
constexpr uint64_t second_ns = 1'000'000'000;
constexpr double ms = 1e6;

// The error of the length that is in force.
double error(double true_rate = rate) {
    return static_cast<double>(faked_ticks_from_ns(second_ns)) / (true_rate * second_ns) - 1;
}

void start(int interrupted_but = -1) {
    faked_clock = {5e12, rate, interrupted_but, 0};
    faked_measure_tick();
}

// Every program that a program starts waits for it.
TEST(Tick, TakesFewMicrosecondsToMeasure) {
    start();
    EXPECT_LT(faked_clock.ns, 5e12 + 25e3);
}

// Of the two ends of a span, each is known to the time of a look.
TEST(Tick, IsGoodToTwoPartsInAThousandAtStart) {
    start();
    EXPECT_NEAR(error(), 0, 2e-3);
    EXPECT_GT(std::abs(error()), 1e-4); // the clock was ahead at one end, and no more is known yet
}

TEST(Tick, IsMeasuredAgainOnceThereWasTime) {
    start();
    const double at_start = error();
    faked_clock.ns += 9 * ms;
    EXPECT_EQ(error(), at_start);
    faked_clock.ns += 3 * ms;
    EXPECT_NEAR(error(), 0, 4e-6);
}

TEST(Tick, IsMeasuredAgainOnlyOnce) {
    start();
    faked_clock.ns += 12 * ms;
    const double later = error();
    faked_clock.ns += 1000 * ms;
    EXPECT_EQ(error(), later);
}

TEST(Tick, IsOfTheOneTryThatWasNotInterrupted) {
    for (int quiet = 0; quiet < 8; quiet++) {
        start(quiet);
        EXPECT_NEAR(error(), 0, 4e-6) << quiet; // the interruptions made the span long
        faked_clock.ns += 12 * ms;
        EXPECT_NEAR(error(), 0, 4e-6) << quiet;
    }
}

TEST(Tick, StaysWhereTheCounterCannotBeRight) {
    for (const double other : {rate / 2, rate * 2}) {
        start();
        const double at_start = error();
        faked_clock.ns += 12 * ms;
        faked_clock.ticks_per_ns = other; // as after the machine slept, or moved
        EXPECT_EQ(error(), at_start);
    }
}
#else
TEST(Tick, IsToldByTheArchitecture) { GTEST_SKIP() << "this machine's counter says its rate"; }
#endif

} // namespace
