// SPDX-License-Identifier: MIT
// Acquisition that fails: circles of two to four threads, a thread that waits for itself, deadlines
// behind a stopped holder, locks that nobody has, more locks than a row has room for, handlers,
// fork.
#include "support.hpp"

#include <overlock/overlock.h>

#include <cerrno>
#include <semaphore.h>
#include <sys/wait.h>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

// The calls of a lock, as a template can have them.
struct Calls {
    const char *id;
    int (*lock)(void *l, ol_ticks_t until);
    int (*unlock)(void *l);
};

const std::vector<Calls> &all_calls() {
    static const std::vector<Calls> all = {
#define ADD_waits(id)
#define ADD_timed(id)                                                                              \
    {#id,                                                                                          \
     [](void *l, ol_ticks_t until) {                                                               \
         return ol_##id##_lock_or_fail(static_cast<ol_##id##_t *>(l), until);                      \
     },                                                                                            \
     [](void *l) { return ol_##id##_unlock_or_fail(static_cast<ol_##id##_t *>(l)); }},
#define OL_LOCK(id, gives_up, ...) ADD_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK
    };
    return all;
}

class OrFail : public testing::TestWithParam<Calls> {
protected:
    struct alignas(128) Room {
        std::array<std::byte, 256> memory{};
    };
    int lock(size_t i, ol_ticks_t until = OL_NEVER) { return GetParam().lock(&rooms[i], until); }
    int unlock(size_t i) { return GetParam().unlock(&rooms[i]); }
    bool is_free(size_t i) {
        int error = -1;
        std::thread([&] {
            error = lock(i, ol_now());
            if (!error)
                unlock(i);
        }).join();
        return !error;
    }

    std::array<Room, OL_HELD + 3> rooms{};
};

TEST_P(OrFail, ThreadDoesNotWaitForItself) {
    EXPECT_EQ(lock(0), 0);
    EXPECT_EQ(lock(1), 0);
    EXPECT_EQ(lock(0), EDEADLK);
    EXPECT_EQ(lock(1), EDEADLK);
    EXPECT_EQ(unlock(0), 0);
    EXPECT_EQ(lock(0), 0);
    EXPECT_EQ(unlock(0), 0);
    EXPECT_EQ(unlock(1), 0);
    EXPECT_TRUE(is_free(0) && is_free(1));
}

TEST_P(OrFail, NobodyReleasesWhatItDoesNotHave) {
    EXPECT_EQ(unlock(0), EPERM);
    EXPECT_EQ(lock(0), 0);
    int other = 0;
    std::thread([&] { other = unlock(0); }).join();
    EXPECT_EQ(other, EPERM);
    EXPECT_FALSE(is_free(0));
    EXPECT_EQ(unlock(0), 0);
    EXPECT_EQ(unlock(0), EPERM);
}

// Thread i has lock i and waits for the next one, without a deadline. Whoever fails releases what
// it has, so that the others go on; only if nobody failed would this hang.
TEST_P(OrFail, CircleIsBroken) {
    for (const unsigned threads : {2u, 3u, 4u}) {
        std::atomic<unsigned> holders = 0, failed = 0, entered = 0;
        together(threads, [&](unsigned me) {
            EXPECT_EQ(lock(me), 0);
            holders++;
            eventually([&] { return holders == threads; });
            const int error = lock((me + 1) % threads);
            if (error) {
                EXPECT_EQ(error, EDEADLK);
                failed++;
            } else {
                entered++;
                EXPECT_EQ(unlock((me + 1) % threads), 0);
            }
            EXPECT_EQ(unlock(me), 0);
        });
        EXPECT_GE(failed, 1u) << threads << " threads";
        EXPECT_EQ(failed + entered, threads);
        for (unsigned i = 0; i < threads; i++)
            EXPECT_TRUE(is_free(i));
    }
}

// Others' waits for one another's locks, in one order, are no circle, however long they take.
TEST_P(OrFail, ChainIsNoCircle) {
    std::atomic<unsigned> ready = 0;
    std::atomic<int> errors = 0;
    EXPECT_EQ(lock(3), 0);
    std::vector<std::thread> chain;
    for (unsigned me = 0; me < 3; me++)
        chain.emplace_back([&, me] {
            errors += lock(me) != 0;
            ready++;
            eventually([&] { return ready == 3; });
            errors += lock(me + 1) != 0;
            errors += unlock(me + 1) != 0;
            errors += unlock(me) != 0;
        });
    eventually([&] { return ready == 3; });
    std::this_thread::sleep_for(10ms); // many looks
    EXPECT_EQ(unlock(3), 0);
    for (auto &t : chain)
        t.join();
    EXPECT_EQ(errors, 0);
}

// In any order, with retries: nobody hangs, and nothing is lost.
TEST_P(OrFail, DisorderedPairsExclude) {
    std::array<Ledger, 3> ledgers;
    std::array<std::atomic<uint64_t>, 3> entries{};
    together(3, [&](unsigned me) {
        for (unsigned i = 0; i < 40; i++) {
            const unsigned outer = (me + i) % 3, inner = (outer + 1 + (me & 1)) % 3;
            for (;;) {
                EXPECT_EQ(lock(outer), 0); // has none
                if (!lock(inner))
                    break;
                EXPECT_EQ(unlock(outer), 0);
                std::this_thread::yield();
            }
            for (const unsigned l : {outer, inner}) {
                ledgers[l].update();
                entries[l]++;
            }
            EXPECT_EQ(unlock(outer), 0);
            EXPECT_EQ(unlock(inner), 0);
        }
    });
    for (unsigned l = 0; l < 3; l++) {
        EXPECT_TRUE(ledgers[l].whole());
        EXPECT_EQ(ledgers[l].total(), entries[l]);
    }
}

// A holder that a signal has stopped: its lock is not coming back.
sem_t stopped, resume;

TEST_P(OrFail, DeadlineHoldsBehindAStoppedHolder) {
    sem_init(&stopped, 0, 0);
    sem_init(&resume, 0, 0);
    signal(SIGUSR1, [](int) {
        sem_post(&stopped);
        while (sem_wait(&resume))
            ;
    });
    std::atomic<bool> held = false, done = false;
    std::thread holder([&] {
        EXPECT_EQ(lock(0), 0);
        held = true;
        eventually([&] { return done.load(); });
        EXPECT_EQ(unlock(0), 0);
    });
    eventually([&] { return held.load(); });
    pthread_kill(holder.native_handle(), SIGUSR1);
    while (sem_wait(&stopped))
        ;
    EXPECT_EQ(lock(1), 0);
    const ol_ticks_t until = from_now(3ms);
    EXPECT_EQ(lock(0, until), ETIMEDOUT);
    EXPECT_TRUE(ol_passed(until));
    EXPECT_EQ(unlock(1), 0);
    EXPECT_EQ(unlock(0), EPERM);
    sem_post(&resume);
    done = true;
    holder.join();
    EXPECT_EQ(lock(0), 0);
    EXPECT_EQ(unlock(0), 0);
}

// Locks beyond the row are unknown to it; the deadline still holds.
TEST_P(OrFail, MoreLocksThanARowHasRoomFor) {
    for (size_t i = 0; i < rooms.size(); i++)
        EXPECT_EQ(lock(i), 0);
    EXPECT_EQ(lock(0), EDEADLK);
    EXPECT_EQ(lock(OL_HELD, from_now(1ms)), ETIMEDOUT);
    EXPECT_EQ(unlock(OL_HELD), 0);
    EXPECT_EQ(unlock(0), 0);
    for (size_t i = 1; i < rooms.size(); i++)
        if (i != OL_HELD) {
            EXPECT_EQ(unlock(i), 0);
        }
    EXPECT_EQ(unlock(1), EPERM);
    for (size_t i = 0; i < rooms.size(); i++)
        EXPECT_TRUE(is_free(i));
}

TEST_P(OrFail, ThreadWithoutAnIdHasTheDeadline) {
    ol_test_limits(0, no_limit);
    std::thread([&] {
        EXPECT_EQ(ol_self(), 0u);
        EXPECT_EQ(lock(0), 0);
        EXPECT_EQ(lock(0, from_now(1ms)), ETIMEDOUT);
        EXPECT_EQ(unlock(0), 0);
    }).join();
    ol_test_limits(OL_ID_MAX, no_limit);
}

// The next thread may have the id of one that ended with the lock; it does not have the lock.
TEST_P(OrFail, RowDoesNotOutliveItsThread) {
    uint32_t first = 0;
    std::thread([&] {
        first = ol_self();
        EXPECT_EQ(lock(0), 0);
    }).join();
    std::thread([&] {
        EXPECT_EQ(ol_self(), first);
        EXPECT_EQ(lock(0, from_now(1ms)), ETIMEDOUT);
        EXPECT_EQ(unlock(0), EPERM);
    }).join();
}

INSTANTIATE_TEST_SUITE_P(All, OrFail, testing::ValuesIn(all_calls()),
                         [](const testing::TestParamInfo<Calls> &p) { return p.param.id; });

// A handler that strikes anywhere within these calls uses other locks in the same way.
ol_mutex_t handlers, ours, second;
std::atomic<int> wrong;
std::atomic<uint64_t> strikes;

TEST(OrFailHandler, LeavesTheRowAsItWas) {
    {
        const Struck struck([](int) {
            strikes++;
            wrong += ol_mutex_lock_or_fail(&handlers, OL_NEVER) != 0;
            wrong += ol_mutex_lock_or_fail(&handlers, OL_NEVER) != EDEADLK;
            wrong += ol_mutex_unlock_or_fail(&handlers) != 0;
        });
        while (strikes < 200) {
            ASSERT_EQ(ol_mutex_lock_or_fail(&ours, OL_NEVER), 0);
            ASSERT_EQ(ol_mutex_lock_or_fail(&second, OL_NEVER), 0);
            ASSERT_EQ(ol_mutex_lock_or_fail(&ours, OL_NEVER), EDEADLK);
            ASSERT_EQ(ol_mutex_unlock_or_fail(&ours), 0);
            ASSERT_EQ(ol_mutex_unlock_or_fail(&second), 0);
        }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ol_held_mine()->held, 0u);
}

// It may strike when the lock is acquired and not in the list yet, or no more. It must not wait
// then.
TEST(OrFailHandler, DoesNotWaitForTheInterrupted) {
    strikes = 0;
    {
        const Struck struck([](int) {
            if (strikes++ % 2)
                return;
            const int error = ol_mutex_lock_or_fail(&ours, from_now(10s));
            wrong += error && error != EDEADLK;
            wrong += !error && ol_mutex_unlock_or_fail(&ours) != 0;
        });
        while (strikes < 200 && !wrong) {
            ASSERT_EQ(ol_mutex_lock_or_fail(&ours, OL_NEVER), 0);
            ASSERT_EQ(ol_mutex_unlock_or_fail(&ours), 0);
        }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ol_held_mine()->held, 0u);
    EXPECT_EQ(ol_held_mine()->moves, nullptr);
}

TEST(OrFailFork, ChildHasARowOfItsOwn) {
    ol_mutex_t inherited = OL_MUTEX_INIT, fresh = OL_MUTEX_INIT;
    ASSERT_EQ(ol_mutex_lock_or_fail(&inherited, OL_NEVER), 0);
    const pid_t child = fork();
    if (!child)
        _exit(ol_mutex_unlock_or_fail(&inherited) == EPERM &&
                      !ol_mutex_lock_or_fail(&fresh, OL_NEVER) &&
                      ol_mutex_lock_or_fail(&fresh, OL_NEVER) == EDEADLK
                  ? 0
                  : 1);
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ol_mutex_unlock_or_fail(&inherited), 0);
}

} // namespace
