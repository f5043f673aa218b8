// SPDX-License-Identifier: MIT
// The counted build: site records, and what the counters say of the locks.
#include "support.hpp"

#include <site.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

using Records = std::vector<ol_site_record>;

Records read_all() {
    Records all;
    EXPECT_EQ(ol_sites_read([](const ol_site_record *r,
                               void *arg) { static_cast<Records *>(arg)->push_back(*r); },
                            &all),
              0);
    return all;
}

uint64_t sum(const uint64_t *buckets) {
    uint64_t n = 0;
    for (unsigned i = 0; i < OL_BUCKETS; i++)
        n += buckets[i];
    return n;
}

uint64_t count(const ol_lock_ops *ops, ol_event event) {
    uint64_t n = 0;
    for (const ol_site_record &r : read_all())
        if (r.lock == ops)
            n += r.events[event];
    return n;
}

class Counted : public EveryLock {
protected:
    void SetUp() override { ol_sites_reset(); }
    uint64_t count(ol_event event) { return ::count(lock.ops, event); }
};

TEST_P(Counted, CountsEveryAcquisitionOnce) {
    const uint64_t acquired = contend(8, lock, ledger, by_lock);
    EXPECT_EQ(count(OL_ACQUIRE), acquired);
    EXPECT_EQ(count(OL_TRY_FAIL), 0u);
    lock.lock();
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_EQ(count(OL_TRY_FAIL), 1u);
    if (lock.can_give_up()) {
        lock.lock();
        EXPECT_FALSE(lock.timed(ol_now()));
        lock.unlock();
        EXPECT_EQ(count(OL_GIVE_UP), 1u);
    }
    EXPECT_EQ(ol_sites_missed(), 0u);
}

// While it lives, what costs a look at the clock is kept too.
struct KeepingTimes {
    KeepingTimes() { ol_sites_keep_times(true); }
    ~KeepingTimes() { ol_sites_keep_times(false); }
    KeepingTimes(const KeepingTimes &) = delete;
    KeepingTimes &operator=(const KeepingTimes &) = delete;
};

TEST_P(Counted, TimesWaitsAndHolds) {
    const KeepingTimes times;
    lock.lock();
    std::thread t([&] {
        lock.lock();
        lock.unlock();
    });
    eventually([&] { return count(OL_SLOW_PATH) == 1; });
    const ol_ticks_t hold = from_now(2ms);
    while (!ol_passed(hold))
        std::this_thread::yield();
    lock.unlock();
    t.join();
    uint64_t hold_ns = 0, holds = 0, waits = 0;
    for (const ol_site_record &r : read_all()) {
        hold_ns += r.hold_ns;
        holds += sum(r.hold);
        waits += sum(r.wait);
    }
    EXPECT_EQ(waits, 1u);
    EXPECT_EQ(holds, 2u);
    EXPECT_GE(hold_ns, 1'990'000u); // less what a tick may be wrong
}

TEST_P(Counted, NothingHappensWhereNobodyContends) {
    if (lock.ops->traits & (OL_AVOIDS | OL_ELIDES))
        GTEST_SKIP() << "ends of slices and transactions are also met alone";
    lock.age();
    std::array<uint64_t, OL_EVENTS> events{};
    for (const ol_site_record &r : read_all())
        for (size_t e = 0; e < OL_EVENTS; e++)
            events[e] += r.events[e];
    events[OL_LHP] = 0; // whoever holds it may be preempted
    for (size_t e = 0; e < OL_EVENTS; e++)
        EXPECT_EQ(events[e], e == OL_ACQUIRE ? 65528u : 0u) << e;
}

TEST_P(Counted, OutOfOrderGrantsAreNeverMoreThanTimeouts) {
    for (const char *tau : {"0", "400", "inf"}) {
        const Tuned tuned("tau", tau);
        ol_sites_reset();
        contend(8, lock, ledger, by_lock);
        EXPECT_LE(count(OL_OUT_OF_ORDER), count(OL_TIMEOUT)) << "tau " << tau;
        if (!strcmp(tau, "inf") || lock.fifo()) {
            EXPECT_EQ(count(OL_TIMEOUT), 0u) << "tau " << tau;
        }
    }
    EXPECT_TRUE(ledger.whole());
}

// Who waits in a line, but the first of some.
class CountedInLine : public Counted {};

TEST_P(CountedInLine, SaysWhenIdsOrNodesRanOut) {
    const FewNodes few(0);
    ol_test_limits(0, 0);
    lock.lock();
    std::array<std::thread, 2> waiters;
    for (std::thread &t : waiters)
        t = std::thread([&] {
            lock.lock();
            lock.unlock();
        });
    // Without an id the waiter leaves no trace in the lock; its counter is all there is to see.
    eventually([&] { return count(OL_NO_ID) >= 1; });
    lock.unlock();
    for (std::thread &t : waiters)
        t.join();
}

INSTANTIATE_TEST_SUITE_P(All, Counted, all_locks(), lock_name);
INSTANTIATE_TEST_SUITE_P(All, CountedInLine, locks_with([](const ol_lock_ops *l) {
                             return l->traits & OL_FIFO &&
                                    l->traits & (OL_NEEDS_ID | OL_NEEDS_NODES);
                         }),
                         lock_name);

const ol_lock_ops *const any = ol_find_lock("ttas");

TEST(Sites, AreToldApart) {
    ol_sites_reset();
    Lock lock(any);
    static const char here = 0, there = 0;
    for (int i = 0; i < 30; i++) {
        ol_at_site(i % 3 ? &here : &there);
        lock.lock();
        lock.unlock();
    }
    const Records all = read_all();
    ASSERT_GE(all.size(), 2u);
    EXPECT_EQ(all[0].site, &here); // busiest first
    EXPECT_EQ(all[0].events[OL_ACQUIRE], 20u);
    EXPECT_EQ(all[1].site, &there);
    EXPECT_EQ(all[1].events[OL_ACQUIRE], 10u);
}

// More sites than any first size, from threads that are gone.
TEST(Sites, GrowWithoutLimit) {
    ol_sites_reset();
    static const std::array<char, 5000> places{};
    together(3, [&](unsigned) {
        Lock lock(any);
        for (const char &place : places) {
            ol_at_site(&place);
            lock.lock();
            lock.unlock();
        }
    });
    std::map<const void *, uint64_t> seen;
    for (const ol_site_record &r : read_all())
        seen[r.site] = r.events[OL_ACQUIRE];
    for (const char &place : places)
        ASSERT_EQ(seen[&place], 3u);
    EXPECT_EQ(ol_sites_missed(), 0u);
}

// Any number of locks held, released in any order, each with its own time.
TEST(Sites, HoldsAnyNumberOfLocks) {
    const KeepingTimes times;
    ol_sites_reset();
    std::vector<Lock> locks;
    for (int i = 0; i < 1000; i++)
        locks.emplace_back(any);
    for (int round = 0; round < 3; round++) {
        for (Lock &l : locks)
            l.lock();
        for (size_t i = 0; i < locks.size(); i++)
            locks[i * 7 % locks.size()].unlock();
    }
    uint64_t holds = 0;
    for (const ol_site_record &r : read_all())
        holds += sum(r.hold);
    EXPECT_EQ(holds, 3000u);
}

TEST(Sites, ReleaseByAnotherThreadIsNoHold) {
    const KeepingTimes times;
    ol_sites_reset();
    Lock lock(any);
    for (int i = 0; i < 100; i++) {
        lock.lock();
        std::thread([&] { lock.unlock(); }).join();
    }
    lock.lock();
    lock.unlock();
    uint64_t holds = 0;
    for (const ol_site_record &r : read_all())
        holds += sum(r.hold);
    EXPECT_EQ(holds, 1u);
}

TEST(Sites, BucketsHoldWhatTheySay) {
    EXPECT_EQ(ol_bucket_least(0), 0u);
    EXPECT_EQ(ol_bucket_least(1), 1u);
    for (unsigned i = 1; i < OL_BUCKETS; i++)
        EXPECT_GT(ol_bucket_least(i), ol_bucket_least(i - 1)) << i;
    EXPECT_EQ(ol_bucket_least(20), 1024u);
    EXPECT_EQ(ol_bucket_least(21), 1536u);
}

TEST(Sites, ChildOfAForkStartsFromZero) {
    ol_sites_reset();
    Lock lock(any);
    lock.lock();
    const pid_t child = fork();
    if (!child) {
        lock.clear();
        if (!read_all().empty())
            _exit(1);
        lock.lock();
        lock.unlock();
        _exit(count(any, OL_ACQUIRE) == 1 ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    lock.unlock();
    EXPECT_EQ(count(any, OL_ACQUIRE), 1u);
}

// Preemption as the papers count it.

ol_site_record all_of(const ol_lock_ops *ops) {
    ol_site_record sums{};
    for (const ol_site_record &r : read_all())
        for (size_t e = 0; r.lock == ops && e < OL_EVENTS; e++)
            sums.events[e] += r.events[e];
    return sums;
}

TEST(Preemption, AStallBehindAHolderIsSeen) {
    ol_sites_reset();
    Lock lock(any);
    lock.lock();
    std::thread waiter([&] {
        lock.lock();
        lock.unlock();
    });
    eventually([&] { return count(any, OL_SLOW_PATH) == 1; });
    std::this_thread::sleep_for(20ms); // off the CPU, like one preempted
    lock.unlock();
    waiter.join();
    const ol_site_record sums = all_of(any);
    EXPECT_EQ(sums.events[OL_STALL], 1u);
    EXPECT_EQ(sums.events[OL_STALL_HELD], 1u);
    EXPECT_EQ(sums.events[OL_STALL_FREE], 0u);
    EXPECT_EQ(sums.events[OL_LHP], ol_sites_know_slices() ? 1u : 0u);
}

// Kicks without a cause.
TEST(Preemption, ASleepThatEndsWithTheWordUnchangedIsSpurious) {
    const ol_lock_ops *parks = ol_find_lock("pv_ticket");
    ol_sites_reset();
    Lock lock(parks);
    lock.lock();
    std::thread waiter([&] {
        lock.lock();
        lock.unlock();
    });
    eventually([&] {
        ol_kick(lock.word(), OL_ANY, 1);
        return count(parks, OL_SPURIOUS) > 0;
    });
    EXPECT_LE(count(parks, OL_SPURIOUS), count(parks, OL_PARK));
    lock.unlock();
    waiter.join();
    EXPECT_LT(count(parks, OL_SPURIOUS), count(parks, OL_PARK)); // its last sleep had a cause
}

std::atomic<bool> is_away, may_return;

void stay_away(int) {
    is_away = true;
    while (!may_return)
        std::this_thread::sleep_for(1ms);
}

// At an address that no other test left a note about: those whose lock another thread released
// stay.
Lock never_elsewhere(ol_find_lock("ticket"));

// The first in line is off the CPU when its turn comes; who is behind it finds the lock free.
TEST(Preemption, AStallBehindAWaiterIsSeen) {
    const ol_lock_ops *fifo = ol_find_lock("ticket");
    struct sigaction away{}, before{};
    is_away = may_return = false;
    away.sa_handler = stay_away;
    sigaction(SIGUSR1, &away, &before);
    ol_sites_reset();
    Lock &lock = never_elsewhere;
    lock.lock();
    auto take_turn = [&] {
        lock.lock();
        lock.unlock();
    };
    std::thread first(take_turn);
    eventually([&] { return count(fifo, OL_SLOW_PATH) == 1; });
    pthread_kill(first.native_handle(), SIGUSR1);
    eventually([&] { return is_away.load(); });
    lock.unlock();
    std::thread second(take_turn);
    eventually([&] { return count(fifo, OL_SLOW_PATH) == 2; });
    std::this_thread::sleep_for(20ms);
    may_return = true;
    first.join();
    second.join();
    sigaction(SIGUSR1, &before, nullptr);
    const ol_site_record sums = all_of(fifo);
    EXPECT_EQ(sums.events[OL_STALL], 2u);
    EXPECT_GE(sums.events[OL_STALL_FREE], 1u);
    if (ol_sites_know_slices()) {
        EXPECT_GE(sums.events[OL_LWP], 1u);
    }
}

TEST(Preemption, PlacesAreKeptInTheirBuckets) {
    const std::map<unsigned, unsigned> buckets{{0, 0},  {1, 1},  {3, 3},  {4, 4},  {7, 4},  {8, 5},
                                               {15, 5}, {16, 6}, {31, 6}, {32, 7}, {~0u, 7}};
    for (auto [n, bucket] : buckets)
        EXPECT_EQ(ol_place(n), bucket) << n;
    const ol_lock_ops *fifo = ol_find_lock("ticket");
    ol_sites_reset();
    Lock lock(fifo);
    lock.lock();
    std::vector<std::thread> waiters;
    for (uint64_t n = 1; n <= 5; n++) {
        waiters.emplace_back([&] {
            lock.lock();
            lock.unlock();
        });
        eventually([&] { return count(fifo, OL_QUEUE) == n; });
    }
    lock.unlock();
    for (std::thread &waiter : waiters)
        waiter.join();
    std::array<uint64_t, OL_PLACES> places{};
    for (const ol_site_record &r : read_all())
        for (size_t i = 0; r.lock == fifo && i < OL_PLACES; i++)
            places[i] += r.places[OL_QUEUE][i];
    EXPECT_EQ(places, (std::array<uint64_t, OL_PLACES>{0, 1, 1, 1, 2, 0, 0, 0}));
}

Lock *others;
std::atomic<uint64_t> in_handlers;

// One call site for the thread and its handler, so that they share a record.
[[gnu::noinline]] void attempt(Lock &lock) {
    if (lock.try_lock())
        lock.unlock();
}

void in_handler(int) {
    attempt(*others);
    in_handlers++;
}

// A handler that finds its thread at the books counts as missed; nothing else is lost.
TEST(Sites, AccountForEveryAcquisitionInASignalStorm) {
    ol_sites_reset();
    Lock lock(any), other(any);
    others = &other;
    uint64_t mine = 0;
    {
        const Struck storm(in_handler);
        while (in_handlers < 5000) {
            attempt(lock);
            mine++;
        }
    }
    EXPECT_EQ(count(any, OL_ACQUIRE) + count(any, OL_TRY_FAIL) + ol_sites_missed(),
              mine + in_handlers);
}

TEST(Sites, ReportGoesToAnyDescriptor) {
    Lock lock(any);
    lock.lock();
    lock.unlock();
    FILE *file = tmpfile();
    EXPECT_EQ(ol_sites_write(fileno(file)), 0);
    rewind(file);
    std::string text;
    for (int c; (c = fgetc(file)) != EOF;)
        text += static_cast<char>(c);
    fclose(file);
    EXPECT_NE(text.find("\"lock\": \"ttas\""), std::string::npos);
    EXPECT_NE(text.find("\"ACQUIRE\": "), std::string::npos);
    EXPECT_EQ(ol_sites_write(-1), EBADF);
}

} // namespace
