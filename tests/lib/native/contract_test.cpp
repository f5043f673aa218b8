// SPDX-License-Identifier: MIT
// What every lock promises besides exclusion.
#include "support.hpp"

#include <overlock/lock/anderson.h>
#include <overlock/lock/rota.h>

#include <csignal>
#include <list>
#include <semaphore.h>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

// Where there is no order there is no line to be seen in.
bool shows_waiters(const Lock &lock) {
    return lock.ops->traits & (OL_FIFO | OL_PATIENT | OL_BOUNDED | OL_LATE_FIFO);
}

// Whoever gave up counts as a waiter until the next release.
bool keeps_places(const Lock &lock) { return !strcmp(lock.ops->id, "mcs_tp"); }

// Starts a waiter and returns once it has joined the line, if the lock shows that: above the lowest
// of four bytes, for one that waited before may set a flag there. Who is on the way to the line may
// have changed the word already, as a transaction that looks whether it may begin. If the lock
// shows no line, the thread at least runs: one stopped as it starts can hold a lock of
// AddressSanitizer's.
std::thread waiter(Lock &lock, auto then) {
    auto tail = [&] { return lock.snapshot() >> (lock.ops->size == 4 ? 8 : 0); };
    const uint64_t before = tail();
    std::atomic<bool> runs = false;
    std::thread t([&lock, &runs, then] {
        runs = true;
        lock.lock();
        then();
        lock.unlock();
    });
    eventually([&] { return runs.load(); });
    if (shows_waiters(lock))
        eventually([&] { return tail() != before && lock.is_contended(); });
    return t;
}

TEST_P(EveryLock, IsFreeWhenAllZero) {
    EXPECT_FALSE(lock.is_locked());
    EXPECT_FALSE(lock.is_contended());
    EXPECT_TRUE(lock.try_lock());
}

TEST_P(EveryLock, FitsWhereItsLineSays) {
    EXPECT_EQ(lock.ops->abi, unsigned{OL_ABI});
    EXPECT_EQ(lock.ops->size == 4, (lock.ops->traits & OL_FITS4) != 0);
    EXPECT_EQ(ol_find_lock(lock.ops->id), lock.ops);
}

// Were trylock to wait, these would never return: nobody else is there to release.
TEST_P(EveryLock, TrylockNeverWaits) {
    lock.age();
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(lock.try_lock());
        EXPECT_FALSE(lock.try_lock());
        lock.unlock();
        lock.lock();
        EXPECT_FALSE(lock.try_lock());
        lock.unlock();
    }
}

TEST_P(EveryLock, TrylockDoesNotOvertakeTheQueue) {
    lock.lock();
    std::atomic<bool> entered = false;
    std::thread t = waiter(lock, [&] { entered = true; });
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(entered);
    lock.unlock();
    t.join();
    EXPECT_TRUE(entered);
}

TEST_P(EveryLock, TellsTheTruthAboutItself) {
    lock.age();
    for (int i = 0; i < 20; i++) {
        EXPECT_FALSE(lock.is_locked());
        lock.lock();
        EXPECT_TRUE(lock.is_locked());
        EXPECT_FALSE(lock.is_contended());
        std::thread t = waiter(lock, [&] { EXPECT_TRUE(lock.is_locked()); });
        EXPECT_TRUE(lock.is_locked());
        EXPECT_TRUE(lock.is_contended() || !shows_waiters(lock));
        lock.unlock();
        t.join();
        EXPECT_FALSE(lock.is_contended());
        EXPECT_FALSE(lock.is_locked());
    }
}

// Order of arrival, for those that promise it, through the wrap.
class Fifo : public EveryLock {};

TEST(FormerName, FindsTheLock) {
#define OL_ALIAS(old, now) EXPECT_EQ(ol_find_lock(#old), ol_find_lock(#now));
#include <overlock/aliases.def>
#undef OL_ALIAS
    EXPECT_EQ(ol_find_lock("overlocks"), nullptr);
}

void expect_grants_in_order(Lock &lock, unsigned n) {
    std::vector<unsigned> order;
    std::vector<std::thread> waiters;
    lock.lock();
    for (unsigned i = 0; i < n; i++)
        waiters.push_back(waiter(lock, [&order, i] { order.push_back(i); }));
    lock.unlock();
    for (auto &t : waiters)
        t.join();
    ASSERT_EQ(order.size(), n);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(Fifo, GrantsInOrder) {
    lock.age();
    expect_grants_in_order(lock, 12);
}

// As a child of fork() may find it: whoever claimed the lock is not there.
TEST(Rota, TakesOverAClaimThatLeavesTheLockFree) {
    ol_rota_t claimed = {OL_ROTA_CLAIMED};

    ol_rota_lock(&claimed);
    EXPECT_FALSE(ol_rota_trylock(&claimed));
    ol_rota_unlock(&claimed);
    EXPECT_FALSE(ol_rota_is_locked(&claimed));
}

TEST(Anderson, GrantsInOrderToMoreWaitersThanItHasSlots) {
    Lock lock(ol_find_lock("anderson"));
    expect_grants_in_order(lock, OL_ANDERSON_SLOTS + 1);
}

// Not of those whose sections end in the context that began them. What is left of a transaction
// after its commit, and who holds the fallback, are told by who calls.
class EndsAnywhere : public EveryLock {};

TEST_P(EndsAnywhere, MayBeReleasedByAnotherThread) {
    for (int i = 0; i < 50; i++) {
        lock.lock();
        std::thread([&] { lock.unlock(); }).join();
        EXPECT_FALSE(lock.is_locked());
    }
    EXPECT_TRUE(lock.try_lock());
}

TEST_P(EndsAnywhere, SurvivesAThreadThatExitsHolding) {
    std::thread([&] { lock.lock(); }).join();
    EXPECT_FALSE(lock.try_lock());
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; i++)
        waiters.push_back(waiter(lock, [&] { ledger.update(); }));
    lock.unlock();
    for (auto &t : waiters)
        t.join();
    EXPECT_EQ(ledger.total(), 3u);
    EXPECT_TRUE(ledger.whole());
}

// Each thread walks a list and takes the next cell's lock before it leaves the last one's.
TEST_P(EveryLock, GoesHandOverHand) {
    std::list<Lock> cells;
    std::array<Ledger, 4> ledgers;
    for (size_t i = 0; i < ledgers.size(); i++)
        cells.emplace_back(GetParam());
    std::atomic<uint64_t> walks = 0;
    together(3, [&](unsigned) {
        for (int n = 0; n < 20; n++, walks++) {
            Lock *last = nullptr;
            auto ledger = ledgers.begin();
            for (Lock &cell : cells) {
                cell.lock();
                if (last)
                    last->unlock();
                (ledger++)->update();
                last = &cell;
            }
            last->unlock();
        }
    });
    for (const Ledger &l : ledgers) {
        EXPECT_TRUE(l.whole());
        EXPECT_EQ(l.total(), walks);
    }
}

// Memory is given to the next owner the moment it can take the lock.
TEST_P(EndsAnywhere, IsNotTouchedAfterItsRelease) {
    struct Object {
        explicit Object(const ol_lock_ops *ops) : lock(ops) {}
        Lock lock;
        int users = 2;
    };
    for (int n = 0; n < 200; n++) {
        auto *object = new Object(GetParam());
        together(2, [&](unsigned) {
            object->lock.lock();
            const bool last = --object->users == 0;
            object->lock.unlock();
            if (last)
                delete object; // the other may still be on its way out of unlock
        });
    }
}

// Giving up.

class Timed : public EveryLock {
protected:
    void SetUp() override { lock.age(); }
};

TEST_P(Timed, TakesAFreeLockEvenTooLate) {
    EXPECT_TRUE(lock.timed(ol_now()));
    lock.unlock();
    EXPECT_TRUE(lock.timed(OL_NEVER));
}

TEST_P(Timed, GivesUpWhenTheTimeHasComeAndNotBefore) {
    for (const char *tau : {"0", "400", "inf"}) {
        Tuned tuned("tau", tau);
        lock.lock();
        for (int i = 0; i < 10; i++) {
            const ol_ticks_t until = from_now(300us);
            EXPECT_FALSE(lock.timed(until)) << "tau " << tau;
            EXPECT_TRUE(ol_passed(until)) << "tau " << tau;
        }
        EXPECT_TRUE(keeps_places(lock) || !lock.is_contended()) << "tau " << tau;
        EXPECT_TRUE(lock.is_locked());
        lock.unlock();
        EXPECT_FALSE(lock.is_contended()) << "tau " << tau;
        EXPECT_FALSE(lock.is_locked()) << "tau " << tau;
        ASSERT_TRUE(lock.try_lock()) << "tau " << tau;
        lock.unlock();
    }
}

TEST_P(Timed, LeavesTheLockUsableUnderContention) {
    for (const char *tau : {"0", "400", "inf"}) {
        Tuned tuned("tau", tau);
        Ledger fresh;
        std::atomic<uint64_t> gave_up = 0;
        const uint64_t acquired = contend(8, lock, fresh, [&](Lock &l) {
            if (l.timed(from_now(2us)))
                return true;
            gave_up++;
            return false;
        });
        EXPECT_TRUE(fresh.whole()) << "tau " << tau;
        EXPECT_EQ(fresh.total(), acquired) << "tau " << tau;
        EXPECT_FALSE(lock.is_locked()) << "tau " << tau;
        ASSERT_TRUE(lock.try_lock()) << "tau " << tau << ", " << gave_up << " gave up";
        lock.unlock();
    }
}

TEST_P(Timed, AcquiresAmongWaitersThatDoNotGiveUp) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 2; i++)
        others.emplace_back([&] {
            while (!stop) {
                lock.lock();
                ledger.update();
                lock.unlock();
                std::this_thread::yield();
            }
        });
    for (int got = 0; got < 5;)
        if (lock.timed(from_now(20ms))) {
            ledger.update();
            lock.unlock();
            got++;
        }
    stop = true;
    for (auto &t : others)
        t.join();
    EXPECT_TRUE(ledger.whole());
}

INSTANTIATE_TEST_SUITE_P(All, EveryLock, all_locks(), lock_name);
INSTANTIATE_TEST_SUITE_P(All, EndsAnywhere,
                         locks_with([](const ol_lock_ops *l) { return !(l->traits & OL_ELIDES); }),
                         lock_name);
INSTANTIATE_TEST_SUITE_P(All, Fifo, fifo_locks(), lock_name);
INSTANTIATE_TEST_SUITE_P(All, Timed, timed_locks(), lock_name);

// A waiter without its CPU: a signal handler holds it for as long as the test likes.

sem_t stalled, resume;

void stall(int) {
    sem_post(&stalled);
    while (sem_wait(&resume))
        ;
}

class Preempted : public testing::TestWithParam<const ol_lock_ops *> {
protected:
    void SetUp() override {
        sem_init(&stalled, 0, 0);
        sem_init(&resume, 0, 0);
        signal(SIGUSR1, stall);
    }

    // Does the second waiter get the lock while the first, whose turn it is, has no CPU?
    // The patience with a waiter ahead is `tau`, or `stale` of the lock that publishes times.
    bool second_gets_it(const char *tau) {
        Tuned tuned("tau", tau), patient("stale", tau);
        Lock lock(GetParam());
        std::atomic<bool> entered = false;
        lock.lock();
        std::thread first = waiter(lock, [] {});
        std::thread second = waiter(lock, [&] { entered = true; });
        pthread_kill(first.native_handle(), SIGUSR1);
        while (sem_wait(&stalled))
            ;
        lock.unlock();
        const ol_ticks_t patience = from_now(waits_forever(tau) ? 20ms : 300s);
        while (!entered && !ol_passed(patience))
            std::this_thread::yield();
        const bool got_it = entered;
        sem_post(&resume);
        first.join();
        second.join();
        EXPECT_FALSE(lock.is_locked());
        return got_it;
    }

    static bool has_line() { return GetParam()->traits & (OL_FIFO | OL_LATE_FIFO); }

    static bool waits_forever(const char *tau) { return has_line() || !strcmp(tau, "inf"); }
};

// At tau = 0 a generic spinlock, at infinity a ticket lock (Ouyang & Lange 2013, section 4).
TEST_P(Preempted, WaiterHoldsUpOthersOnlyInALine) {
    EXPECT_EQ(second_gets_it("0"), !has_line());
    EXPECT_EQ(second_gets_it("400"), !has_line());
}

class PreemptedWithTau : public Preempted {};

TEST_P(PreemptedWithTau, WaiterHoldsUpOthersForEverAtInfinity) {
    EXPECT_FALSE(second_gets_it("inf"));
}

// owner_qspin answers either way: who has just come may overtake the first, who has queued may not.
INSTANTIATE_TEST_SUITE_P(All, Preempted, locks_with([](const ol_lock_ops *l) {
                             return strcmp(l->id, "owner_qspin") != 0;
                         }),
                         lock_name);
INSTANTIATE_TEST_SUITE_P(All, PreemptedWithTau, locks_with_tau(), lock_name);

} // namespace
