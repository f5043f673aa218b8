// SPDX-License-Identifier: MIT
// What lines cost, number by number: costs that cannot be mistaken for one another.
#include <sim/machine.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <set>

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
        c.invalidate = 7;
    }

    const void *word(size_t line) const {
        return reinterpret_cast<const void *>(from + line * Lines::bytes);
    }
    Request asks(unsigned core) const { return {core, now, now, now}; }
    void later() { now += 1'000'000; } // whatever was before is over
    Time reads(unsigned core, size_t line = 0) {
        later();
        return lines().read(word(line), asks(core)) - now;
    }
    Time writes(unsigned core, Use use = Use::change, size_t line = 0) {
        later();
        return lines().write(word(line), use, asks(core)) - now;
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
    EXPECT_EQ(reads(0), 10001);
    EXPECT_EQ(reads(0), 1);
    EXPECT_EQ(writes(0, Use::change, 1), 10004);
    EXPECT_EQ(writes(0, Use::change, 1), 4);
    EXPECT_EQ(writes(0, Use::write, 1), 2);
    EXPECT_EQ(reads(0, 1), 1);
}

TEST_F(Two, ATransferTakesTwoWays) {
    writes(0);
    EXPECT_EQ(reads(1), 201);
    EXPECT_EQ(reads(2), 2001);
    EXPECT_EQ(reads(3), 201) << "from its own socket, once that has a copy";
}

TEST_F(Two, AStoreInvalidatesTheCopies) {
    writes(0);
    reads(1);
    EXPECT_EQ(writes(0), 200 + 7 + 4) << "the home hears from the sharer";
    EXPECT_EQ(reads(1), 201) << "it was invalidated";
    reads(2);
    EXPECT_EQ(writes(0), 2000 + 2 * 7 + 4) << "from the farthest";
    EXPECT_EQ(lines().traffic.invalidations, 3);
    EXPECT_EQ(writes(3), 2000 + 7 + 4 - 7) << "it had no copy";
    EXPECT_EQ(lines().traffic.stores_to_shared, 2);
}

TEST_F(Two, ALineThatAnotherCoreOwnsServesOneRequestAtATime) {
    writes(0);
    later();
    EXPECT_EQ(lines().read(word(0), asks(1)), now + 201);
    EXPECT_EQ(lines().read(word(0), asks(2)), now + 200 + 2001);
    EXPECT_EQ(lines().read(word(0), asks(3)), now + 200 + 75 + 201) << "it has copies by then";
}

TEST_F(Two, WritersHoldTheLineUntilTheyAreDone) {
    writes(0);
    later();
    EXPECT_EQ(lines().write(word(0), Use::change, asks(1)), now + 204);
    EXPECT_EQ(lines().write(word(0), Use::change, asks(0)), now + 204 + 204);
}

TEST_F(Two, WhatWasAskedForAheadIsThereEarlier) {
    writes(0);
    later();
    EXPECT_EQ(lines().read(word(0), {1, now, now, now - 150}), now + 50 + 1);
    later();
    EXPECT_EQ(lines().write(word(0), Use::change, {1, now, now, now - 500}), now + 4);
    later();
    lines().write(word(0), Use::write, {1, now - 10, now - 10, now - 10});
    EXPECT_EQ(lines().read(word(0), {0, now, now, now - 150}), now - 10 + 201)
        << "it was written since";
}

TEST_F(Two, PollersAskAgainAfterEachStore) {
    writes(0);
    for (unsigned core : {1, 2, 3})
        reads(core);
    lines().poll(0, 2);
    later();
    Time stored = now + 2000 + 3 * 7;
    EXPECT_EQ(lines().write(word(0), Use::write, asks(0)), stored + 2);
    Time first = lines().read_again(word(0), 1, now), second = lines().read_again(word(0), 2, now);
    for (Time at : {first, second})
        EXPECT_TRUE(at == stored + 12 + 1 || at == stored + 75 + 12 + 1) << at - now;
    EXPECT_TRUE(lines().has_copy(word(0), 1));
    EXPECT_FALSE(lines().has_copy(word(0), 3));
    EXPECT_EQ(lines().read(word(0), asks(3)), stored + 2 * 75 / 2 + 201)
        << "half of them before it";
}

TEST_F(Two, PollersAreServedInAnyOrder) {
    std::set<Time> found;

    writes(0);
    lines().poll(0, 3);
    for (int i = 0; i < 100; i++) {
        writes(0);
        found.insert(lines().read_again(word(0), 1, now) - now);
    }
    EXPECT_EQ(found.size(), 3);
}

TEST_F(Two, WhoeverOwnsALineThatOthersPollLosesItAtOnce) {
    writes(0);
    lines().poll(0, 1);
    EXPECT_EQ(writes(0), 200 + 7 + 4) << "no copy is known, but one was asked for";
    Time done = now + 200 + 7 + 4;
    EXPECT_EQ(lines().write(word(0), Use::write, {0, done + 12, done + 12, done + 12}), done + 14)
        << "in time";
    EXPECT_EQ(lines().write(word(0), Use::write, {0, done + 25, done + 25, done + 25}),
              done + 25 + 25 + 207 + 2)
        << "too late: behind half of the poller's request";
    later();
    EXPECT_EQ(lines().write(word(0), Use::change, {0, now, now, now - 500}), now + 200 + 7 + 4)
        << "asked for ahead in vain";
    lines().poll(0, -1);
    EXPECT_EQ(writes(0), 4);
}

TEST_F(Two, HammersKeepOthersWaiting) {
    writes(0);
    lines().hammer(0, 1, 300);
    EXPECT_EQ(writes(0), 100 * 100 / 400 + 200 + 4) << "it lost the line, and waits";
    lines().hammer(0, 1, 300);
    EXPECT_EQ(writes(1), 2 * 125 * 100 / 425 + 200 + 4);
    lines().hammer(0, -1, 300);
    lines().hammer(0, -1, 300);
    EXPECT_EQ(writes(1), 4);
}

TEST_F(Two, WaysVary) {
    Time least = never, most = 0;

    machine.jitter_percent = 20;
    for (int i = 0; i < 1000; i++) {
        Time took = writes(i % 2) - 4;
        if (i) {
            least = std::min(least, took);
            most = std::max(most, took);
        }
    }
    EXPECT_EQ(least, 160);
    EXPECT_EQ(most, 240);
}

TEST_F(Two, ThreadsOfACoreShareItsCopies) {
    machine.threads_per_core = 2;
    EXPECT_EQ(machine.core_of(0), machine.core_of(1));
    EXPECT_NE(machine.core_of(1), machine.core_of(2));
    EXPECT_EQ(machine.cores(), 2);
}

} // namespace

} // namespace ol::simulator
