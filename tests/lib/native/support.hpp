// SPDX-License-Identifier: MIT
#ifndef OL_TEST_SUPPORT_HPP
#define OL_TEST_SUPPORT_HPP
// What the native tests share. A test that would hang is ended by the suite's time limit.
#include <overlock/ops.h>
#include <internal.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace overlock_test {

// Milliseconds that each contended scene lasts: long enough for several time slices.
inline constexpr std::chrono::milliseconds scene{30};

// Any lock, by its table.
class Lock {
public:
    explicit Lock(const ol_lock_ops *o) : ops(o) {
        if (o->size > memory.size())
            ADD_FAILURE() << o->id << " needs " << o->size << " bytes";
    }
    void lock() { ops->lock(memory.data()); }
    bool try_lock() { return ops->trylock(memory.data()); }
    bool timed(ol_ticks_t until) { return ops->timedlock(memory.data(), until); }
    void unlock() { ops->unlock(memory.data()); }
    bool is_locked() const { return ops->is_locked(memory.data()); }
    bool is_contended() const { return ops->is_contended(memory.data()); }
    bool can_give_up() const { return ops->timedlock != nullptr; }
    bool fifo() const { return ops->traits & OL_FIFO; }
    const uint32_t *word() const { return reinterpret_cast<const uint32_t *>(memory.data()); }

    // The words of the queue, whatever they mean: they change when somebody joins or leaves. Of a
    // large lock, the first two, one of which is the tail.
    uint64_t snapshot() const {
        const auto *words = reinterpret_cast<const uint64_t *>(memory.data());
        if (ops->size == 4)
            return __atomic_load_n(word(), __ATOMIC_RELAXED);
        return __atomic_load_n(words, __ATOMIC_RELAXED) * 31 +
               __atomic_load_n(words + 1, __ATOMIC_RELAXED);
    }

    // 65528 grants: near the end of any 16-bit count, in ones, twos and fours.
    void age() {
        for (int i = 0; i < 65528; i++) {
            lock();
            unlock();
        }
    }

    void clear() { memory.fill(std::byte{0}); }

    const ol_lock_ops *const ops;

private:
    alignas(128) std::array<std::byte, 8192> memory{};
};

// A counter that loses updates, and shows a mixed pair, unless its users exclude each other.
class Ledger {
public:
    void update() {
        const uint64_t seen = first;
        if (seen != second)
            torn.store(true, std::memory_order_relaxed);
        first = seen + 1;
        for (int i = 0; i < 4; i++)
            ol_relax();
        second = seen + 1;
    }
    bool whole() const { return !torn && first == second; }
    uint64_t total() const { return first; }

private:
    volatile uint64_t first = 0, second = 0;
    std::atomic<bool> torn = false;
};

inline void together(unsigned threads, auto body) {
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; i++)
        all.emplace_back(body, i);
    for (auto &t : all)
        t.join();
}

inline bool eventually(auto condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) {
            ADD_FAILURE() << "what is waited for did not come about within five minutes";
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

// `threads` threads take the lock as `acquire` says for a while; how often they got it.
inline uint64_t contend(unsigned threads, Lock &lock, Ledger &ledger, auto acquire) {
    std::atomic<uint64_t> acquired = 0;
    std::atomic<bool> stop = false;
    std::thread clock([&] {
        std::this_thread::sleep_for(scene);
        stop = true;
    });
    together(threads, [&](unsigned) {
        uint64_t mine = 0;
        do {
            if (!acquire(lock))
                continue;
            ledger.update();
            lock.unlock();
            mine++;
        } while (!stop.load(std::memory_order_relaxed));
        acquired += mine;
    });
    clock.join();
    return acquired;
}

inline constexpr auto by_lock = [](Lock &l) {
    l.lock();
    return true;
};
inline constexpr auto by_trylock = [](Lock &l) { return l.try_lock(); };

inline ol_ticks_t from_now(std::chrono::nanoseconds d) {
    return ol_after(1, ol_ticks_from_ns(static_cast<uint64_t>(d.count())));
}

// Those of the list for which `wanted` holds, as parameters of a test.
inline auto locks_with(auto wanted) {
    std::vector<const ol_lock_ops *> locks;
    for (size_t i = 0; ol_locks[i]; i++)
        if (wanted(ol_locks[i]))
            locks.push_back(ol_locks[i]);
    return testing::ValuesIn(locks);
}
inline auto all_locks() {
    return locks_with([](const ol_lock_ops *) { return true; });
}
inline auto fifo_locks() {
    return locks_with([](const ol_lock_ops *l) { return l->traits & OL_FIFO; });
}
inline auto timed_locks() {
    return locks_with([](const ol_lock_ops *l) { return l->timedlock != nullptr; });
}
inline auto locks_with_tau() {
    return locks_with([](const ol_lock_ops *l) {
        return strstr(l->id, "preemptable") || !strcmp(l->id, "tx") ||
               !strcmp(l->id, "mcs_tp"); // of mcs_tp it is `stale`
    });
}

inline std::string lock_name(const testing::TestParamInfo<const ol_lock_ops *> &p) {
    return p.param->id;
}

class EveryLock : public testing::TestWithParam<const ol_lock_ops *> {
protected:
    Lock lock{GetParam()};
    Ledger ledger;
};

inline constexpr uint32_t no_limit = UINT32_MAX / 2;

// While it lives there are so many nodes left, and no more are made.
class FewNodes {
public:
    explicit FewNodes(unsigned left) {
        ol_test_limits(OL_ID_MAX, 0);
        while (ol_node *node = ol_node_get())
            taken.push_back(node);
        give_back(left);
    }
    ~FewNodes() {
        give_back(static_cast<unsigned>(taken.size()));
        ol_test_limits(OL_ID_MAX, no_limit);
    }
    FewNodes(const FewNodes &) = delete;
    FewNodes &operator=(const FewNodes &) = delete;

private:
    // By a thread that exits, lest one stay in this thread's cache.
    void give_back(unsigned n) {
        ol_test_limits(OL_ID_MAX, no_limit);
        while (taken.size() < n)
            taken.push_back(ol_node_get());
        ol_test_limits(OL_ID_MAX, 0);
        std::thread([&] {
            for (; n; n--) {
                ol_node_put(taken.back());
                taken.pop_back();
            }
        }).join();
    }

    std::vector<ol_node *> taken;
};

// While it lives, a signal strikes the thread that made it every 20 us, wherever it happens to be.
class Struck {
public:
    explicit Struck(void (*handler)(int)) {
        struct sigaction action{};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGALRM;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        const itimerspec every{{0, 20'000}, {0, 20'000}};
        timer_settime(timer, 0, &every, nullptr);
    }
    // No signal is pending when it returns.
    ~Struck() {
        timer_delete(timer);
        sigset_t one, old;
        sigemptyset(&one);
        sigaddset(&one, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &one, &old);
        const timespec now{0, 0};
        while (sigtimedwait(&one, nullptr, &now) > 0)
            ;
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
    }
    Struck(const Struck &) = delete;
    Struck &operator=(const Struck &) = delete;

private:
    timer_t timer{};
};

// Sets a tunable for one scope.
class Tuned {
public:
    Tuned(const char *name, const char *value) : name(name) {
        ol_get_tunable(name, before, sizeof(before));
        EXPECT_EQ(ol_set_tunable(name, value), nullptr);
    }
    ~Tuned() { ol_set_tunable(name, before); }
    Tuned(const Tuned &) = delete;
    Tuned &operator=(const Tuned &) = delete;

private:
    const char *name;
    char before[32];
};

} // namespace overlock_test
#endif
