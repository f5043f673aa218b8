// SPDX-License-Identifier: MIT
// Condition variables: the order of wake-ups, with each of their parts called by itself; every
// lock, with more threads than CPUs; deadlines, signals, fork, and the C++ class.
//
//	native-cond-plain --report [SECONDS [ROUNDS]]
//
// compares their speed with that of the standard library's, which are glibc's.
#include "support.hpp"

#include <overlock/overlock.hpp>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

#include <sched.h>
#include <sys/wait.h>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

// The parts, by one thread: sleep() returns at once where a wake-up is there or the deadline has
// come.
class Queue : public testing::Test {
protected:
    ol_node *wait() { return ol_cond_prepare(&c); }
    bool is_woken(const ol_node *node) const { return ol_load_relaxed(&node->wait) != 0; }
    bool wakes(ol_node *node) {
        EXPECT_TRUE(is_woken(node));
        return is_woken(node) && ol_cond_finish(&c, ol_cond_sleep(&c, node, OL_NEVER));
    }
    bool gives_up(ol_node *node) { return !ol_cond_finish(&c, ol_cond_sleep(&c, node, ol_now())); }
    bool is_empty() const { return !c.last && !c.granted && !ol_pv_byte_is_locked(&c.lock); }

    ol_cond_t c = OL_COND_INIT;
};

TEST_F(Queue, SignalsWakeInOrderOfArrival) {
    ol_cond_signal(&c); // nobody is there to remember it
    ol_node *first = wait(), *second = wait(), *third = wait();
    ol_cond_signal(&c);
    EXPECT_FALSE(is_woken(second));
    EXPECT_TRUE(wakes(first));
    EXPECT_FALSE(is_woken(second));
    ol_cond_signal(&c);
    ol_cond_signal(&c);
    EXPECT_TRUE(wakes(third));
    EXPECT_TRUE(wakes(second));
    EXPECT_TRUE(is_empty());
}

TEST_F(Queue, WhoSleepsLeavesItsPlaceAtALock) {
    static uint32_t word;
    word = 0;
    ol_compete(&word);
    ol_node *node = wait();
    ol_cond_signal(&c);
    EXPECT_TRUE(wakes(node));
    EXPECT_EQ(word, 0) << "it was woken before it slept";
    EXPECT_TRUE(gives_up(wait()));
    EXPECT_EQ(word, 1);
}

TEST_F(Queue, BroadcastWakesTwoAndEachOfThemTwo) {
    std::vector<ol_node *> nodes;
    for (int i = 0; i < 5; i++)
        nodes.push_back(wait());
    ol_cond_broadcast(&c);
    ol_node *late = wait();
    EXPECT_TRUE(is_woken(nodes[0]) && is_woken(nodes[1]) && !is_woken(nodes[2]));
    EXPECT_TRUE(wakes(nodes[1]));
    EXPECT_TRUE(is_woken(nodes[2]) && is_woken(nodes[3]) && !is_woken(nodes[4]));
    EXPECT_TRUE(wakes(nodes[0]));
    for (size_t i = 2; i < 5; i++)
        EXPECT_TRUE(wakes(nodes[i]));
    EXPECT_FALSE(is_woken(late));
    EXPECT_TRUE(gives_up(late));
    EXPECT_TRUE(is_empty());
}

TEST_F(Queue, SignalDuringABroadcastIsForOneThatCameLater) {
    std::vector<ol_node *> nodes = {wait(), wait(), wait()};
    ol_cond_broadcast(&c);
    nodes.push_back(wait());
    ol_node *late = wait();
    ol_cond_signal(&c);
    for (ol_node *node : nodes)
        EXPECT_TRUE(wakes(node));
    EXPECT_FALSE(is_woken(late));
    EXPECT_TRUE(gives_up(late));
    EXPECT_TRUE(is_empty());
}

TEST_F(Queue, SecondBroadcastReachesThoseThatCameSince) {
    ol_node *first = wait(), *second = wait();
    ol_cond_broadcast(&c);
    ol_node *third = wait();
    ol_cond_broadcast(&c);
    ol_cond_broadcast(&c);
    for (ol_node *node : {first, second, third})
        EXPECT_TRUE(wakes(node));
    EXPECT_TRUE(is_empty());
}

TEST_F(Queue, WaiterThatGivesUpTakesNoWakeUpAlong) {
    for (size_t leaver = 0; leaver < 3; leaver++) {
        std::vector<ol_node *> nodes = {wait(), wait(), wait()};
        EXPECT_TRUE(gives_up(nodes[leaver]));
        nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(leaver));
        for (ol_node *node : nodes) {
            ol_cond_signal(&c);
            EXPECT_TRUE(wakes(node));
        }
        EXPECT_TRUE(is_empty());
    }
}

TEST_F(Queue, WaiterThatABroadcastReachedCountsAsWoken) {
    for (size_t leaver = 2; leaver < 4; leaver++) {
        std::vector<ol_node *> nodes = {wait(), wait(), wait(), wait()};
        ol_cond_broadcast(&c);
        EXPECT_FALSE(gives_up(nodes[leaver]));
        nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(leaver));
        ol_node *late = wait();
        for (ol_node *node : nodes)
            EXPECT_TRUE(wakes(node));
        EXPECT_FALSE(is_woken(late));
        EXPECT_TRUE(gives_up(late));
        EXPECT_TRUE(is_empty());
    }
}

// The waker may hold the lock, and be without a CPU because we have it.
TEST_F(Queue, WaiterKnowsWhetherItsWakerHadThisCpu) {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int here = 0, before = -1; here < CPU_SETSIZE; here++) {
        if (!CPU_ISSET(here, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(before < 0 ? here : before, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        ol_node *node = wait();
        ol_cond_signal(&c);
        CPU_ZERO(&one);
        CPU_SET(here, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        EXPECT_EQ(ol_cond_sleep(&c, node, OL_NEVER),
                  before < 0 ? OL_COND_WOKEN_HERE : OL_COND_WOKEN);
        before = here;
    }
    sched_setaffinity(0, sizeof(all), &all);
}

TEST_F(Queue, WithoutANodeAWaitReturnsAtOnce) {
    const FewNodes few(0);
    ol_node *node = wait();
    EXPECT_EQ(node, nullptr);
    EXPECT_TRUE(ol_cond_finish(&c, ol_cond_sleep(&c, node, OL_NEVER)));
    EXPECT_TRUE(gives_up(node));
    EXPECT_TRUE(is_empty());
}

// A bounded buffer under a lock, as programs have it.
class Buffer {
public:
    explicit Buffer(const ol_lock_ops *ops) : lock(ops) {}

    void put(uint64_t item) {
        lock.lock();
        while (items.size() == room)
            wait(space);
        items.push_back(item);
        lock.unlock();
        ol_cond_signal(&filled);
    }
    uint64_t take() {
        lock.lock();
        while (items.empty())
            wait(filled);
        const uint64_t item = items.back();
        items.pop_back();
        ol_cond_signal(&space);
        lock.unlock();
        return item;
    }
    // Holds whoever comes until all are there.
    void meet(unsigned all) {
        lock.lock();
        const uint64_t now = meeting;
        if (++here == all) {
            here = 0;
            meeting++;
            ol_cond_broadcast(&met);
        }
        while (meeting == now)
            wait(met);
        lock.unlock();
    }
    bool is_idle() const { return !filled.last && !space.last && !met.last && !lock.is_locked(); }

private:
    static constexpr size_t room = 4;

    void wait(ol_cond_t &c) {
        ol_node *node = ol_cond_prepare(&c);
        lock.unlock();
        const uint32_t woken = ol_cond_sleep(&c, node, OL_NEVER);
        if (lock.is_locked())
            ol_cond_give_way(woken);
        lock.lock();
        EXPECT_TRUE(ol_cond_finish(&c, woken));
    }

    Lock lock;
    ol_cond_t filled = OL_COND_INIT, space = OL_COND_INIT, met = OL_COND_INIT;
    std::vector<uint64_t> items;
    uint64_t meeting = 0;
    unsigned here = 0;
};

class Condition : public testing::TestWithParam<const ol_lock_ops *> {};

// Were a wake-up lost, this would not end.
void exchange(const ol_lock_ops *ops, unsigned pairs, uint64_t each) {
    Buffer buffer(ops);
    std::atomic<uint64_t> sum = 0;
    together(2 * pairs, [&](unsigned me) {
        for (uint64_t i = 0; i < each; i++)
            if (me < pairs)
                buffer.put(me * each + i);
            else
                sum += buffer.take();
    });
    EXPECT_EQ(sum, pairs * each * (pairs * each - 1) / 2);
    EXPECT_TRUE(buffer.is_idle());
}

void meet(const ol_lock_ops *ops, unsigned threads, unsigned times) {
    Buffer buffer(ops);
    together(threads, [&](unsigned) {
        for (unsigned i = 0; i < times; i++)
            buffer.meet(threads);
    });
    EXPECT_TRUE(buffer.is_idle());
}

// A FIFO lock takes long with more threads than CPUs.
TEST_P(Condition, EveryItemArrivesOnce) { exchange(GetParam(), 2, 40); }
TEST_P(Condition, BroadcastsReachAll) { meet(GetParam(), 4, 10); }
TEST(ConditionOvercommitted, EveryItemArrivesOnce) { exchange(ol_find_lock("rota"), 16, 100); }
TEST(ConditionOvercommitted, BroadcastsReachAll) { meet(ol_find_lock("rota"), 48, 20); }

INSTANTIATE_TEST_SUITE_P(All, Condition, all_locks(), lock_name);

// Typed, in C's names.
struct Default {
    ol_mutex_t lock = OL_MUTEX_INIT;
    ol_cond_t changed = OL_COND_INIT;
    bool ready = false;
};

TEST(CondMutex, ReleasesTheLockWhileItWaits) {
    Default d;
    std::thread waiter([&] {
        ol_mutex_lock(&d.lock);
        while (!d.ready)
            ol_mutex_cond_wait(&d.changed, &d.lock);
        EXPECT_TRUE(ol_mutex_is_locked(&d.lock));
        ol_mutex_unlock(&d.lock);
    });
    eventually([&] { return ol_load_relaxed(&d.changed.last) != nullptr; });
    ol_mutex_lock(&d.lock);
    d.ready = true;
    ol_mutex_unlock(&d.lock);
    ol_cond_signal(&d.changed);
    waiter.join();
    EXPECT_FALSE(ol_mutex_is_locked(&d.lock));
}

TEST(CondMutex, GivesUpWithTheLockWhenTheTimeHasComeAndNotBefore) {
    Default d;
    ol_mutex_lock(&d.lock);
    for (int i = 0; i < 10; i++) {
        const ol_ticks_t until = from_now(300us);
        EXPECT_FALSE(ol_mutex_cond_timedwait(&d.changed, &d.lock, until));
        EXPECT_TRUE(ol_passed(until));
        EXPECT_FALSE(ol_mutex_trylock(&d.lock));
    }
    ol_mutex_unlock(&d.lock);
    EXPECT_EQ(d.changed.last, nullptr);
}

// Of those that give up and those that are woken none is lost, nor counted twice.
TEST(CondMutex, DeadlinesAtRandomLoseNoSignal) {
    Default d;
    uint64_t tokens = 0;
    std::atomic<uint64_t> taken = 0;
    constexpr uint64_t all = 2000;
    together(9, [&](unsigned me) {
        if (me == 0) {
            for (uint64_t i = 0; i < all; i++) {
                ol_mutex_lock(&d.lock);
                tokens++;
                ol_mutex_unlock(&d.lock);
                ol_cond_signal(&d.changed);
            }
            return;
        }
        while (taken < all) {
            ol_mutex_lock(&d.lock);
            if (!tokens) // the first half waits for as long as it takes, until the others end it
                ol_mutex_cond_timedwait(&d.changed, &d.lock,
                                        from_now(me < 5 ? 1s : std::chrono::microseconds(me * 7)));
            if (tokens) {
                tokens--;
                if (++taken == all)
                    ol_cond_broadcast(&d.changed);
            }
            ol_mutex_unlock(&d.lock);
        }
    });
    EXPECT_EQ(taken, all);
    EXPECT_EQ(tokens, 0u);
    EXPECT_EQ(d.changed.last, nullptr);
    EXPECT_EQ(d.changed.granted, 0u);
}

std::atomic<uint64_t> strikes;

TEST(CondMutex, SignalHandlersDoNotEndAWait) {
    Default d;
    std::atomic<bool> done = false;
    std::thread other([&] {
        eventually([&] { return strikes > 20; });
        ol_mutex_lock(&d.lock);
        d.ready = true;
        ol_cond_broadcast(&d.changed);
        ol_mutex_unlock(&d.lock);
    });
    {
        const Struck struck([](int) { strikes++; });
        ol_mutex_lock(&d.lock);
        while (!d.ready) {
            EXPECT_FALSE(done);
            ol_mutex_cond_wait(&d.changed, &d.lock);
            EXPECT_TRUE(d.ready); // no wake-up without cause
        }
        done = true;
        ol_mutex_unlock(&d.lock);
    }
    other.join();
}

// Initialised again, it works in the child, whose other threads are gone with their places in the
// queue.
TEST(CondFork, WorksInTheChildOnceItIsInitialisedAgain) {
    Default d;
    std::thread waiter([&] {
        ol_mutex_lock(&d.lock);
        while (!d.ready)
            ol_mutex_cond_wait(&d.changed, &d.lock);
        ol_mutex_unlock(&d.lock);
    });
    eventually([&] { return ol_load_relaxed(&d.changed.last) != nullptr; });
    ol_mutex_lock(&d.lock); // the child has it too
    const pid_t child = fork();
    if (!child) {
        d.changed = OL_COND_INIT;
        const bool empty = !ol_mutex_cond_timedwait(&d.changed, &d.lock, from_now(1ms));
        ol_node *node = ol_cond_prepare(&d.changed);
        ol_cond_signal(&d.changed);
        _exit(empty && ol_cond_finish(&d.changed, ol_cond_sleep(&d.changed, node, OL_NEVER)) ? 0
                                                                                             : 1);
    }
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    d.ready = true;
    ol_cond_signal(&d.changed);
    ol_mutex_unlock(&d.lock);
    waiter.join();
}

// The last waiter to be woken frees it, while the one that signalled may still be in its call.
TEST(CondLifetime, LastWaiterMayFreeIt) {
    for (int n = 0; n < 300; n++) {
        auto *d = new Default;
        std::thread waiter([&, d] {
            std::unique_ptr<Default> mine(d);
            ol_mutex_lock(&mine->lock);
            while (!mine->ready)
                ol_mutex_cond_wait(&mine->changed, &mine->lock);
            ol_mutex_unlock(&mine->lock);
        });
        eventually([&] { return ol_load_relaxed(&d->changed.last) != nullptr; });
        ol_mutex_lock(&d->lock);
        d->ready = true;
        ol_mutex_unlock(&d->lock);
        ol_cond_signal(&d->changed);
        waiter.join();
    }
}

// C++.

template <class L> void hands_over() {
    L lock;
    overlock::condition_variable changed;
    unsigned turn = 0;
    together(4, [&](unsigned me) {
        for (unsigned round = 0; round < 5; round++) {
            std::unique_lock guard(lock);
            changed.wait(guard, [&] { return turn == round * 4 + me; });
            turn++;
            changed.notify_all();
        }
    });
    EXPECT_EQ(turn, 20u);
}

TEST(CondClass, WorksWithEveryLock) {
#define OL_LOCK(id, ...) hands_over<overlock::id>();
#include <overlock/locks.def>
#undef OL_LOCK
    hands_over<std::mutex>();
}

TEST(CondClass, EndsByEitherClock) {
    overlock::mutex lock;
    overlock::condition_variable changed;
    const std::unique_lock guard(lock);
    auto never = [] { return false; };
    EXPECT_EQ(changed.wait_for(lock, 1ms), std::cv_status::timeout);
    EXPECT_EQ(changed.wait_for(lock, -1h), std::cv_status::timeout);
    EXPECT_FALSE(changed.wait_for(lock, 1ms, never));
    EXPECT_FALSE(changed.wait_until(lock, std::chrono::system_clock::now() + 1ms, never));
    EXPECT_FALSE(changed.wait_until(lock, std::chrono::steady_clock::now() + 1ms, never));
    EXPECT_TRUE(changed.wait_for(lock, 1h, [] { return true; }));
    EXPECT_TRUE(lock.is_locked());
    static_assert(sizeof(overlock::condition_variable) <= 16 && sizeof(overlock::mutex) == 4);
}

// The report: items through a buffer of 16, and meetings of all threads, per second.

template <class Mutex, class Cond> struct Pipe {
    Mutex lock;
    Cond filled, space;
    uint64_t items = 0;

    void turn(bool puts, uint64_t &done, const std::atomic<bool> &stop) {
        std::unique_lock guard(lock);
        Cond &mine = puts ? space : filled, &other = puts ? filled : space;
        mine.wait(guard, [&] { return stop || (puts ? items < 16 : items > 0); });
        items += puts ? 1 : -1;
        done++;
        guard.unlock();
        other.notify_one();
    }
    void end() {
        const std::unique_lock guard(lock);
        filled.notify_all();
        space.notify_all();
    }
};

template <class Mutex, class Cond> struct Meeting {
    Mutex lock{};
    Cond met{};
    unsigned here = 0, all;
    uint64_t meetings = 0;

    void turn(uint64_t &done, const std::atomic<bool> &stop) {
        std::unique_lock guard(lock);
        const uint64_t now = meetings;
        if (++here == all) {
            here = 0;
            meetings++;
            met.notify_all();
        }
        met.wait(guard, [&] { return stop || meetings != now; });
        done++;
    }
    void end() {
        const std::unique_lock guard(lock);
        met.notify_all();
    }
};

double per_second(auto &subject, unsigned threads, double seconds, auto turn) {
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> all = 0;
    std::thread clock([&] {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        stop = true;
        subject.end();
    });
    together(threads, [&](unsigned me) {
        uint64_t mine = 0;
        while (!stop)
            turn(me, mine, stop);
        all += mine;
    });
    clock.join();
    return static_cast<double>(all) / seconds;
}

struct Rates {
    std::vector<double> items, meetings;
};

template <class Mutex, class Cond> void measure(Rates &rates, unsigned threads, double seconds) {
    Pipe<Mutex, Cond> pipe;
    Meeting<Mutex, Cond> meeting{.all = threads};
    rates.items.push_back(
        per_second(pipe, threads, seconds, [&](unsigned me, auto &done, auto &stop) {
            pipe.turn(me % 2 == 0, done, stop);
        }));
    rates.meetings.push_back(
        per_second(meeting, threads, seconds,
                   [&](unsigned, auto &done, auto &stop) { meeting.turn(done, stop); }) /
        threads);
}

// The median, and the least and the most.
void print(std::vector<double> rates) {
    std::sort(rates.begin(), rates.end());
    printf("%12.0f (%.0f to %.0f)", rates[rates.size() / 2], rates.front(), rates.back());
}

int report_all(double seconds, unsigned rounds) {
    const unsigned numbers[] = {2, 8, 32};
    const struct {
        const char *name;
        void (*measure)(Rates &, unsigned, double);
    } subjects[] = {
        {"overlock, overlock", measure<overlock::mutex, overlock::condition_variable>},
        {"std, overlock", measure<std::mutex, overlock::condition_variable>},
        {"std, std", measure<std::mutex, std::condition_variable>},
        {"overlock, std any", measure<overlock::mutex, std::condition_variable_any>},
    };
    std::array<std::array<Rates, std::size(subjects)>, std::size(numbers)> all;

    for (unsigned round = 0; round < rounds; round++)
        for (size_t n = 0; n < std::size(numbers); n++)
            for (size_t s = 0; s < std::size(subjects); s++)
                subjects[s].measure(all[n][s], numbers[n], seconds);
    printf("threads; mutex, condition variable; items/s; meetings/s: medians of %u rounds\n",
           rounds);
    for (size_t n = 0; n < std::size(numbers); n++)
        for (size_t s = 0; s < std::size(subjects); s++) {
            printf("%2u %-20s", numbers[n], subjects[s].name);
            print(all[n][s].items);
            print(all[n][s].meetings);
            printf("\n");
        }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1 && !strcmp(argv[1], "--report"))
        return report_all(argc > 2 ? strtod(argv[2], nullptr) : 0.1,
                          argc > 3 ? static_cast<unsigned>(strtoul(argv[3], nullptr, 10)) : 7);
    return RUN_ALL_TESTS();
}
