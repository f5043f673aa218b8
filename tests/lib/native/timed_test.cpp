// SPDX-License-Identifier: MIT
// Every lock that can give up, under 32 threads with deadlines drawn at random: nothing is lost,
// nobody gives up early, and what they leave behind is a free lock.
//
//	native-timed-plain --report [SECONDS]
//
// tells how much CPU time of their own callers spend after their deadline, lock by lock. It asserts
// nothing, for what it measures is this machine too.
#include "support.hpp"

#include <broken.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

constexpr unsigned threads = 32;
constexpr std::chrono::microseconds longest_patience{500};

uint64_t own_cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// What this thread's CPU clock said when it first ran after the deadline: a signal is due then.
// While the thread has no CPU the signal waits for it, and so does that clock.
class Deadline {
public:
    Deadline() {
        struct sigaction action{};
        action.sa_handler = [](int) {
            if (!cpu_ns)
                cpu_ns = own_cpu_ns();
        };
        sigaction(SIGUSR1, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR1;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        timer_create(CLOCK_MONOTONIC, &event, &timer);
    }
    ~Deadline() { timer_delete(timer); }
    Deadline(const Deadline &) = delete;
    Deadline &operator=(const Deadline &) = delete;

    void in(std::chrono::nanoseconds patience) {
        const itimerspec once{{0, 0}, {0, std::max<long>(1, patience.count())}};
        cpu_ns = 0;
        timer_settime(timer, 0, &once, nullptr);
    }
    // Since the deadline, of which `late_ns` have passed on the wall.
    uint64_t spent_ns(uint64_t late_ns) const {
        const uint64_t then = cpu_ns, now = own_cpu_ns();
        return then ? std::min(late_ns, now - std::min(now, then)) : late_ns;
    }

private:
    static inline thread_local volatile uint64_t cpu_ns = 0;
    timer_t timer{};
};

struct Scene {
    Ledger ledger;
    std::atomic<uint64_t> acquired = 0, gave_up = 0, early = 0;
    std::mutex mutex;
    std::vector<uint64_t> after_ns; // of every call that returned after its deadline
};

void play(Lock &lock, Scene &scene, std::chrono::milliseconds length) {
    std::atomic<bool> stop = false;
    std::thread clock([&] {
        std::this_thread::sleep_for(length);
        stop = true;
    });
    together(threads, [&](unsigned me) {
        std::minstd_rand random(me + 1);
        std::uniform_int_distribution<long> patience(0, longest_patience / 1ns);
        std::vector<uint64_t> after;
        Deadline deadline;
        do {
            const std::chrono::nanoseconds left(patience(random));
            const ol_ticks_t until = from_now(left);
            deadline.in(left);
            const bool got = lock.timed(until);
            const ol_ticks_t now = ol_now();
            if (ol_before(until, now))
                after.push_back(deadline.spent_ns(ol_ns_from_ticks(now - until)));
            else
                scene.early += !got;
            if (got) {
                scene.ledger.update();
                lock.unlock();
            }
            (got ? scene.acquired : scene.gave_up)++;
        } while (!stop);
        const std::lock_guard guard(scene.mutex);
        scene.after_ns.insert(scene.after_ns.end(), after.begin(), after.end());
    });
    clock.join();
}

// Empty if all is well.
std::string left_behind(Lock &lock, const Scene &scene) {
    if (!scene.ledger.whole() || scene.ledger.total() != scene.acquired)
        return "an update was lost";
    if (scene.early)
        return "somebody gave up early";
    if (lock.is_locked() || lock.is_contended())
        return "the idle lock says that it is not";
    if (!lock.try_lock())
        return "the idle lock cannot be tried";
    lock.unlock();
    return "";
}

class TimedOut : public EveryLock {};

TEST_P(TimedOut, LosesNothingWithDeadlinesAtRandom) {
    Scene scene;
    play(lock, scene, 60ms);
    EXPECT_EQ(left_behind(lock, scene), "");
    EXPECT_GT(scene.acquired, 0u);
}

// Somebody holds it beyond all deadlines: everybody has given up by then.
TEST_P(TimedOut, LeavesNobodyInLine) {
    lock.lock();
    together(threads, [&](unsigned me) {
        EXPECT_FALSE(lock.timed(from_now(std::chrono::microseconds(10 * me))));
    });
    EXPECT_TRUE(lock.is_locked());
    lock.unlock();
    EXPECT_EQ(left_behind(lock, Scene()), "");
}

INSTANTIATE_TEST_SUITE_P(All, TimedOut, timed_locks(), lock_name);

TEST(Mutant, TicketLeftInLineIsNoticed) {
    Lock lock(&ol_ops_forgetful);
    Scene scene;
    lock.lock();
    std::thread([&] { EXPECT_FALSE(lock.timed(from_now(100us))); }).join();
    lock.unlock();
    EXPECT_NE(left_behind(lock, scene), "");
}

// Everybody gives up: 32 times or more. A call that is wrong by microseconds is not seen where it
// has no CPU for all of them; were that every second one, all would be missed once in 2^32.
void play_held(Lock &lock, Scene &scene) {
    lock.lock();
    play(lock, scene, 5ms);
    lock.unlock();
    EXPECT_GE(scene.gave_up, threads);
    EXPECT_EQ(scene.acquired, 0u);
}

TEST(Mutant, GivingUpEarlyIsNoticed) {
    Lock lock(&ol_ops_hasty);
    Scene scene;
    play_held(lock, scene);
    EXPECT_EQ(left_behind(lock, scene), "somebody gave up early");
}

// It burns 200 us of CPU time after its deadline.
TEST(Mutant, GivingUpLateIsMeasured) {
    Lock lock(&ol_ops_late);
    Scene scene;
    play_held(lock, scene);
    EXPECT_EQ(left_behind(lock, scene), "");
    ASSERT_FALSE(scene.after_ns.empty());
    EXPECT_GT(*std::max_element(scene.after_ns.begin(), scene.after_ns.end()), 100'000u);
}

// The report.

constexpr uint64_t bound_ns = 50'000;

double us(const std::vector<uint64_t> &sorted, double share) {
    const double last = static_cast<double>(sorted.size() - 1);
    return static_cast<double>(sorted[static_cast<size_t>(last * share)]) / 1000;
}

void report(const ol_lock_ops *ops, double seconds) {
    Lock lock(ops);
    Scene scene;
    play(lock, scene, std::chrono::milliseconds(static_cast<long>(seconds * 1000)));
    const std::string wrong = left_behind(lock, scene);
    std::vector<uint64_t> &after = scene.after_ns;
    std::sort(after.begin(), after.end());
    if (after.empty())
        after.push_back(0);
    const auto over = after.end() - std::upper_bound(after.begin(), after.end(), bound_ns);
    printf("%-22s %9zu %9zu %9.2f %9.2f %9.2f %9.2f %8td  %s\n", ops->id,
           static_cast<size_t>(scene.acquired + scene.gave_up), static_cast<size_t>(scene.gave_up),
           us(after, 0.5), us(after, 0.99), us(after, 0.999), us(after, 1), over, wrong.c_str());
}

int report_all(double seconds) {
    printf("%u threads on %ld CPUs, deadlines of 0 to %ld us; own CPU time after the deadline, in "
           "us\n",
           threads, sysconf(_SC_NPROCESSORS_ONLN), static_cast<long>(longest_patience.count()));
    printf("%-22s %9s %9s %9s %9s %9s %9s %8s\n", "lock", "calls", "gave up", "median", "99 %",
           "99.9 %", "most", "> 50 us");
    for (size_t i = 0; ol_locks[i]; i++)
        if (ol_locks[i]->timedlock)
            report(ol_locks[i], seconds);
    report(&ol_ops_late, seconds);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1 && !strcmp(argv[1], "--report"))
        return report_all(argc > 2 ? strtod(argv[2], nullptr) : 1.0);
    return RUN_ALL_TESTS();
}
