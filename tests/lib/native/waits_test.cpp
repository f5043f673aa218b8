// SPDX-License-Identifier: MIT
// Ways to wait that are no locks, with more threads than CPUs: each lets nobody through early,
// loses nobody, and gives up in time; the C++ classes beside those of the standard library.
#include "support.hpp"

#include <overlock/wait.hpp>
#include <overlock/wait/sequence.h>
#include <overlock/wait/tree_barrier.h>

#include <barrier>
#include <functional>
#include <latch>
#include <semaphore>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

constexpr unsigned few = 3, many = 24;
constexpr int rounds = 300;

// `body(i)` in so many threads.
void together(unsigned threads, const std::function<void(unsigned)> &body) {
    std::vector<std::jthread> all;

    for (unsigned i = 0; i < threads; i++)
        all.emplace_back(body, i);
}

// Each adds to a counter of its own, and finds all others as far as itself.
void meets(unsigned threads, const std::function<bool(unsigned)> &wait) {
    std::vector<std::array<int, 2>> steps(threads);
    std::atomic<int> lasts = 0, wrong = 0;

    together(threads, [&](unsigned me) {
        for (int round = 1; round <= rounds; round++) {
            steps[me][round % 2] = round; // plain: ThreadSanitizer watches the barrier
            lasts += wait(me);
            for (const auto &other : steps)
                wrong += other[round % 2] != round;
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(lasts, rounds);
}

class Threads : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, Threads, testing::Values(few, many));

TEST_P(Threads, MeetAtABarrier) {
    ol_barrier_t b = OL_BARRIER_INIT;

    meets(GetParam(), [&](unsigned) { return ol_barrier_wait(&b, GetParam()); });
    EXPECT_EQ(b.word / OL_BARRIER_ARRIVAL, 0u);
}

TEST_P(Threads, MeetInATree) {
    static ol_tree_barrier_t b[OL_TREE_BARRIER_NODES(many)];

    memset(b, 0, sizeof b);
    meets(GetParam(), [&](unsigned) { return ol_tree_barrier_wait(b, GetParam()); });
}

TEST_P(Threads, MeetAlthoughSomeGiveUp) {
    ol_barrier_t b = OL_BARRIER_INIT;
    std::atomic<int> given_up = 0;

    meets(GetParam(), [&](unsigned me) {
        if (me == 1) // late, so that others see their deadlines pass
            std::this_thread::sleep_for(50us);
        for (;;) {
            auto how = ol_barrier_timedwait(&b, GetParam(),
                                            me ? OL_NEVER : ol_after(1, ol_ticks_from_ns(20'000)));
            if (how != OL_BARRIER_TIMED_OUT)
                return how == OL_BARRIER_LAST;
            given_up++;
        }
    });
    EXPECT_GT(given_up, 0);
}

TEST(Barrier, GivesUpInTimeAndIsAsBefore) {
    ol_barrier_t b = OL_BARRIER_INIT;
    auto began = std::chrono::steady_clock::now();

    EXPECT_EQ(ol_barrier_timedwait(&b, 2, ol_after(1, ol_ticks_from_ns(20'000'000))),
              OL_BARRIER_TIMED_OUT);
    EXPECT_GE(std::chrono::steady_clock::now() - began, 20ms);
    EXPECT_EQ(b.word, 0u);
    EXPECT_TRUE(ol_barrier_wait(&b, 1));
}

// Two sequences and a ring, whose numbers wrap.
TEST(Sequence, GuardsARing) {
    constexpr uint32_t size = 4, items = 20'000, first = UINT32_MAX - items / 2;
    ol_sequence_t put = {first}, taken = {first};
    std::array<uint32_t, size> ring{};
    std::atomic<int> wrong = 0;

    together(2, [&](unsigned me) {
        for (uint32_t i = first; i != first + items; i++) {
            if (me) {
                ol_sequence_await(&taken, i + 1 - size);
                ring[i % size] = i;
                ol_sequence_advance(&put, 1);
            } else {
                ol_sequence_await(&put, i + 1);
                wrong += ring[i % size] != i;
                ol_sequence_advance(&taken, 1);
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_FALSE(ol_sequence_timedawait(&put, first + items + 1, ol_after(1, 0)));
}

TEST_P(Threads, TakeUnits) {
    overlock::semaphore free(2), held(0);
    std::atomic<int> inside = 0, too_many = 0;

    together(GetParam(), [&](unsigned) {
        for (int i = 0; i < rounds; i++) {
            free.acquire();
            too_many += ++inside > 2;
            inside--;
            free.release();
        }
        held.release();
    });
    EXPECT_EQ(too_many, 0);
    for (unsigned i = 0; i < GetParam(); i++)
        EXPECT_TRUE(held.try_acquire());
    EXPECT_FALSE(held.try_acquire());
    EXPECT_FALSE(held.try_acquire_for(1ms));
}

TEST_P(Threads, WaitAtALatch) {
    overlock::latch ready(static_cast<std::ptrdiff_t>(GetParam()) + 1);
    std::atomic<unsigned> through = 0;

    EXPECT_FALSE(ready.wait_for(1ms));
    {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < GetParam(); i++)
            all.emplace_back([&] {
                ready.arrive_and_wait();
                through++;
            });
        std::this_thread::sleep_for(5ms);
        EXPECT_EQ(through, 0u);
        ready.count_down();
    }
    EXPECT_TRUE(ready.try_wait());
    EXPECT_EQ(through, GetParam());
}

TEST_P(Threads, DoItOnceAndAgainIfItThrew) {
    overlock::once_flag flag;
    std::atomic<int> attempts = 0, thrown = 0, done = 0;

    together(GetParam(), [&](unsigned) {
        for (int i = 0; i < 2; i++) {
            try {
                overlock::call_once(flag, [&] {
                    if (attempts++ == 0)
                        throw 1;
                    done++;
                });
            } catch (int) {
                thrown++;
            }
        }
    });
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(done, 1);
}

TEST_P(Threads, WaitForAnEvent) {
    overlock::event_count changed;
    std::atomic<int> tokens = 0, taken = 0;
    auto take = [&] {
        for (int n = tokens; n > 0;)
            if (tokens.compare_exchange_weak(n, n - 1))
                return true;
        return false; // there is none, and not: somebody else was faster
    };

    EXPECT_FALSE(changed.wait_for(1ms, take));
    together(GetParam(), [&](unsigned me) {
        for (int i = 0; i < rounds; i++) {
            if (me) {
                changed.wait(take);
                taken++;
            } else {
                tokens += static_cast<int>(GetParam()) - 1;
                changed.notify_all();
            }
        }
    });
    EXPECT_EQ(taken, static_cast<int>(GetParam() - 1) * rounds);
}

TEST_P(Threads, HandAWordOn) {
    std::atomic<uint32_t> turn = 0;
    const uint32_t n = GetParam();

    EXPECT_FALSE(overlock::wait_for(turn, 1ms, [](uint32_t v) { return v != 0; }));
    together(n, [&](unsigned me) {
        for (uint32_t i = me; i < n * 50; i += n) {
            overlock::wait_until(turn, [i](uint32_t v) { return v == i; });
            turn.store(i + 1, std::memory_order_release);
            overlock::wake_all(turn);
        }
    });
    EXPECT_EQ(turn, n * 50);
}

// As the standard says of its own: the completion runs once a round, before anyone leaves; who
// drops is missed no more.
template <class Barrier> std::vector<int> tell(Barrier &b, std::atomic<int> &completed) {
    std::vector<int> seen;
    std::jthread other([&] {
        b.arrive_and_wait();
        b.arrive_and_drop();
    });

    b.arrive_and_wait();
    seen.push_back(completed);
    b.wait(b.arrive());
    seen.push_back(completed);
    b.arrive_and_wait(); // alone now
    seen.push_back(completed);
    return seen;
}

TEST(Classes, AreAsTheStandardsOnes) {
    std::atomic<int> ours = 0, theirs = 0;
    auto count_ours = [&]() noexcept { ours++; };
    auto count_theirs = [&]() noexcept { theirs++; };
    overlock::barrier a(2, count_ours);
    std::barrier b(2, count_theirs);

    EXPECT_EQ(tell(a, ours), (std::vector{1, 2, 3}));
    EXPECT_EQ(tell(b, theirs), (std::vector{1, 2, 3}));
    overlock::barrier<> c(2);
    EXPECT_FALSE(c.arrive_and_wait_for(1ms));
}

} // namespace
