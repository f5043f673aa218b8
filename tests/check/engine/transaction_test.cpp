// SPDX-License-Identifier: MIT
// Transactions by themselves: sets, log, capacity. tests/check/transactions has those of a world.
#include <check/engine/memory.h>
#include <check/engine/transaction.h>

#include <gtest/gtest.h>

using namespace ol::engine;

namespace {

using T = Transaction;

class OneTransaction : public testing::Test {
protected:
    alignas(128) uint8_t memory_[256] = {};
    Transaction one_;

    uint64_t seen(const uint8_t *p, size_t width) {
        return one_.merged(p, width, Memory::read(p, width));
    }
};

TEST_F(OneTransaction, ConflictByLines) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_ + 3, 4));
    EXPECT_TRUE(one_.write(memory_ + 64, 1));
    EXPECT_FALSE(one_.conflicts(memory_ + 3, 4, false)); // two may read
    EXPECT_TRUE(one_.conflicts(memory_ + 3, 4, true));
    EXPECT_TRUE(one_.conflicts(memory_ + 63, 1, true)); // another byte of the line
    EXPECT_TRUE(one_.conflicts(memory_ + 127, 1, false));
    EXPECT_TRUE(one_.conflicts(memory_ + 60, 8, false)); // reaches into the next line
    EXPECT_TRUE(one_.conflicts(memory_, sizeof memory_, true));
    EXPECT_FALSE(one_.conflicts(memory_ + 128, 8, true));
}

TEST_F(OneTransaction, AccessesMayCrossLines) {
    one_.begin({});
    EXPECT_TRUE(one_.write(memory_ + 60, 8));
    one_.store(memory_ + 60, 8, 0x8877665544332211);
    EXPECT_EQ(seen(memory_ + 60, 8), 0x8877665544332211u);
    EXPECT_TRUE(one_.conflicts(memory_, 1, false));
    EXPECT_TRUE(one_.conflicts(memory_ + 127, 1, false));
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(Memory::read(memory_ + 60, 8), 0x8877665544332211u);
}

TEST_F(OneTransaction, MergeTheirOwnBytesWithMemorys) {
    Memory::write(memory_, 8, 0x1111111111111111);
    one_.begin({});
    EXPECT_TRUE(one_.write(memory_ + 2, 2));
    one_.store(memory_ + 2, 2, 0xabcd);
    EXPECT_EQ(seen(memory_, 4), 0xabcd1111u);
    EXPECT_EQ(seen(memory_ + 3, 1), 0xabu);
    EXPECT_EQ(Memory::read(memory_, 8), 0x1111111111111111u);
    memory_[7] = 0x22; // none of its own bytes
    EXPECT_EQ(seen(memory_, 8), 0x22111111abcd1111u);
    EXPECT_TRUE(one_.wrote(memory_ + 2, 2));
    EXPECT_FALSE(one_.wrote(memory_ + 2, 3));
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(Memory::read(memory_, 8), 0x22111111abcd1111u);
}

TEST_F(OneTransaction, HaveRoomForSoManyLines) {
    one_.begin({2, 1});
    for (size_t i = 0; i < 128; i++)
        EXPECT_TRUE(one_.read(memory_ + i, 1));
    EXPECT_FALSE(one_.read(memory_ + 128, 1));
    one_.abort(T::capacity);
    one_.begin({2, 1});
    EXPECT_TRUE(one_.write(memory_, 64)); // in both sets, counted in each
    EXPECT_TRUE(one_.read(memory_, 64));
    EXPECT_TRUE(one_.read(memory_ + 64, 1));
    EXPECT_FALSE(one_.write(memory_ + 64, 1));
}

TEST_F(OneTransaction, WithinOthersArePartOfThem) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_, 1));
    one_.begin({});
    EXPECT_TRUE(one_.is_nested());
    EXPECT_TRUE(one_.write(memory_ + 64, 1));
    EXPECT_FALSE(one_.commit());
    EXPECT_TRUE(one_.active());
    EXPECT_TRUE(one_.conflicts(memory_, 1, true));
    EXPECT_TRUE(one_.conflicts(memory_ + 64, 1, false));
    one_.begin({});
    one_.abort(T::unknown); // however deep
    EXPECT_FALSE(one_.active());
    EXPECT_EQ(one_.status(), T::nested);
}

TEST_F(OneTransaction, ForgetAllWhenAborted) {
    one_.begin({});
    EXPECT_TRUE(one_.read(memory_, 1));
    EXPECT_TRUE(one_.write(memory_, 1));
    one_.store(memory_, 1, 5);
    one_.abort(T::conflict);
    EXPECT_EQ(one_.status(), T::conflict);
    EXPECT_FALSE(one_.conflicts(memory_, 1, true));
    one_.begin({});
    EXPECT_EQ(seen(memory_, 1), 0u);
    EXPECT_TRUE(one_.commit());
    one_.publish();
    EXPECT_EQ(memory_[0], 0);
}

} // namespace
