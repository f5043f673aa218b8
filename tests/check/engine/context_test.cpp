// SPDX-License-Identifier: MIT
// Contexts by themselves: they can be left and begun again, and taken back to where they were.
#include <check/engine/context.h>

#include <array>
#include <gtest/gtest.h>

using namespace ol::engine;

namespace {

class Contexts : public testing::Test {
protected:
    void begin(std::function<void()> body) { context_.begin(std::move(body)); }

    Context context_{0};
};

TEST_F(Contexts, AreBegunAgainWhereverTheyWereLeft) {
    int begun = 0;

    for (int i = 0; i < 1000; i++) { // far more than the stack would hold one above the other
        begin([&] {
            std::array<volatile char, 4096> much{};
            begun += 1 + much[7];
            context_.suspend();
            ADD_FAILURE() << "goes on with a body that was left";
        });
        context_.resume();
        EXPECT_FALSE(context_.done());
    }
    EXPECT_EQ(begun, 1000);
    begin([] {});
    context_.resume();
    EXPECT_TRUE(context_.done());
}

TEST_F(Contexts, UnwindWhenStoppedAndBeginAgain) {
    struct Destroyed {
        int &count;
        ~Destroyed() { count++; }
    };
    int destroyed = 0;

    for (int i = 1; i <= 3; i++) {
        begin([&] {
            Destroyed d{destroyed};
            context_.suspend();
            throw Stop{};
        });
        context_.resume();
        context_.resume();
        EXPECT_TRUE(context_.done());
        EXPECT_EQ(destroyed, i);
    }
}

// Locals of all kinds, in registers and in memory, are those of the checkpoint.
TEST_F(Contexts, AreTakenBackToACheckpoint) {
    std::vector<int> told;

    begin([&] {
        int in_memory[64] = {}, sum = 0;
        for (int i = 0; i < 64; i++)
            sum += in_memory[i] = i;
        context_.suspend(); // here
        for (int &i : in_memory)
            sum += i++;
        told.push_back(sum);
        context_.suspend();
        told.push_back(in_memory[63]);
    });
    context_.resume();
    context_.checkpoint();
    for (int times = 0; times < 3; times++) {
        context_.resume();
        context_.resume();
        EXPECT_TRUE(context_.done());
        context_.rollback();
    }
    EXPECT_EQ(told, (std::vector{4032, 64, 4032, 64, 4032, 64}));
}

TEST_F(Contexts, GoBackWithinAResume) {
    int before = 0, tries = 0;
    bool ended = false;

    begin([&] {
        int local = 7;
        before++;
        if (!context_.mark())
            tries++;
        EXPECT_EQ(local, 7);
        local++;
        if (tries < 5)
            context_.go_back();
        ended = true;
    });
    context_.resume();
    EXPECT_TRUE(ended);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(tries, 5);
}

// What a mark is for: somebody else takes it back, whatever it does by then.
TEST_F(Contexts, AreTakenBackToTheirMarkFromOutside) {
    std::string told;

    begin([&] {
        told += context_.mark() ? "marked " : "back ";
        auto deeper = [&](auto &&self, int depth) -> int {
            volatile int here = depth;
            context_.suspend();
            return depth ? here + self(self, depth - 1) : here;
        };
        told += std::to_string(deeper(deeper, 3)) + " ";
    });
    context_.resume();
    context_.resume();
    context_.rollback();
    for (int i = 0; i < 3; i++)
        context_.resume();
    context_.rollback();
    while (!context_.done())
        context_.resume();
    EXPECT_EQ(told, "marked back back 6 ");
}

// Exceptions thrown and caught after going back meet the handlers of the frames put back.
TEST_F(Contexts, ThrowAfterGoingBack) {
    int caught = 0;

    begin([&] {
        for (;;) {
            try {
                bool first = context_.mark();
                if (first)
                    context_.go_back();
                throw Stop{};
            } catch (const Stop &) {
                caught++;
            }
            if (caught == 3)
                throw Stop{};
        }
    });
    context_.resume();
    EXPECT_EQ(caught, 3);
    EXPECT_TRUE(context_.done());
}

} // namespace
