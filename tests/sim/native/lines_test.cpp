// SPDX-License-Identifier: MIT
// What lines cost, number by number: costs that cannot be mistaken for one another.
#include <sim/machine.h>

#include <gtest/gtest.h>

namespace ol::simulator {

namespace {

constexpr uintptr_t from = 0x1000;

struct Two : testing::Test { // sockets of two cores
    Two() {
        machine.cpus = 4;
        machine.cores_per_socket = 2;
        machine.jitter_percent = 0;
        Costs &c = machine.costs;
        c.hit = 1, c.store = 2, c.atomic = 4, c.near = 100, c.far = 1000, c.memory = 10000;
        c.occupied = 50, c.upgrade = 20, c.invalidate = 7;
    }

    const void *word(size_t line) const {
        return reinterpret_cast<const void *>(from + line * Lines::bytes);
    }
    Time takes(unsigned core, Use use, size_t line = 0) {
        now += 1'000'000; // whatever was before is over
        return lines().use(word(line), core, use, now) - now;
    }
    Lines &lines() {
        if (!lines_)
            lines_ = std::make_unique<Lines>(machine, from, 64 * Lines::bytes);
        return *lines_;
    }

    Machine machine;
    Time now = 0;
    std::unique_ptr<Lines> lines_;
};

TEST_F(Two, FirstUseIsFromMemoryThenHits) {
    EXPECT_EQ(takes(0, Use::read), 10001);
    EXPECT_EQ(takes(0, Use::read), 1);
    EXPECT_EQ(takes(0, Use::change, 1), 10004);
    EXPECT_EQ(takes(0, Use::change, 1), 4);
    EXPECT_EQ(takes(0, Use::write, 1), 2);
    EXPECT_EQ(takes(0, Use::read, 1), 1);
}

TEST_F(Two, TransferIsAsLongAsItsWay) {
    takes(0, Use::change);
    EXPECT_EQ(takes(1, Use::read), 101);
    EXPECT_EQ(takes(2, Use::read), 1001);
    EXPECT_EQ(takes(3, Use::read), 101) << "from its own socket, once that has a copy";
}

TEST_F(Two, StoreInvalidatesTheCopies) {
    takes(0, Use::change);
    takes(1, Use::read);
    takes(2, Use::read);
    EXPECT_EQ(takes(0, Use::change), 20 + 2 * 7 + 4);
    EXPECT_EQ(lines().traffic.invalidations, 2);
    EXPECT_EQ(takes(1, Use::read), 101) << "it was invalidated";
    EXPECT_EQ(takes(3, Use::change), 1000 + 2 * 7 + 4) << "it had no copy";
    EXPECT_EQ(lines().traffic.invalidations, 4);
    EXPECT_EQ(lines().traffic.stores_to_shared, 2);
}

TEST_F(Two, RequestsAreServedOneAfterAnother) {
    takes(0, Use::change);
    now += 1'000'000;
    EXPECT_EQ(lines().use(word(0), 1, Use::read, now), now + 101);
    EXPECT_EQ(lines().use(word(0), 2, Use::read, now), now + 50 + 1001);
    EXPECT_EQ(lines().use(word(0), 3, Use::read, now), now + 100 + 101);
}

TEST_F(Two, WritersHoldTheLineUntilTheyAreDone) {
    takes(0, Use::change);
    now += 1'000'000;
    EXPECT_EQ(lines().use(word(0), 1, Use::change, now), now + 104);
    EXPECT_EQ(lines().use(word(0), 0, Use::change, now), now + 100 + 104);
}

// n cores that ask once in `period`, and one that comes: by the exact recursion.
TEST_F(Two, HammersKeepOthersWaiting) {
    takes(0, Use::change);
    lines().hammer(word(0), 1, 300);
    EXPECT_EQ(takes(0, Use::change), 100 * 100 / 400 + 100 + 4) << "it lost the line, and waits";
    lines().hammer(word(0), 1, 300);
    EXPECT_EQ(takes(1, Use::change), 2 * 125 * 100 / 425 + 100 + 4);
    lines().hammer(word(0), -1, 300);
    lines().hammer(word(0), -1, 300);
    EXPECT_EQ(takes(1, Use::change), 4);
}

TEST_F(Two, WaysVary) {
    Time least = never, most = 0;

    machine.jitter_percent = 20;
    for (int i = 0; i < 1000; i++) {
        Time took = takes(i % 2, Use::change) - 4;
        if (i) {
            least = std::min(least, took);
            most = std::max(most, took);
        }
    }
    EXPECT_EQ(least, 80);
    EXPECT_EQ(most, 120);
}

TEST_F(Two, ThreadsOfACoreShareItsCopies) {
    machine.threads_per_core = 2;
    EXPECT_EQ(machine.core_of(0), machine.core_of(1));
    EXPECT_NE(machine.core_of(1), machine.core_of(2));
    EXPECT_EQ(machine.cores(), 2);
}

} // namespace

} // namespace ol::simulator
