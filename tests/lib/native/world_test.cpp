// SPDX-License-Identifier: MIT
// Calibration, tuning, parking, knowledge.
#include "support.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace overlock_test;
using namespace std::chrono_literals;

namespace {

struct Instant {
    uint64_t ticks, ns;
};

// Of many looks the one that took least.
Instant look() {
    Instant best{};
    for (uint64_t least = UINT64_MAX, i = 0; i < 100; i++) {
        const uint64_t before = ol_now(), ns = ol_clock(), took = ol_now() - before;
        if (took < least) {
            least = took;
            best = {before + took / 2, ns};
        }
    }
    return best;
}

// How exactly, is calibrate_test's. To be off by 1 ms of 50, all of 100 looks must be interrupted.
TEST(Calibration, TicksKeepTimeWithTheClock) {
    const Instant first = look();
    std::this_thread::sleep_for(50ms);
    const Instant last = look();
    const double ratio = static_cast<double>(ol_ns_from_ticks(last.ticks - first.ticks)) /
                         static_cast<double>(last.ns - first.ns);
    EXPECT_NEAR(ratio, 1.0, 0.02);
    EXPECT_GT(ol_calibration()->relax_ns, 0.0);
    EXPECT_GT(ol_calibration()->yield_ns, 0.0);
}

TEST(Calibration, ConversionsRoundAndSaturate) {
    EXPECT_EQ(ol_ticks_from_ns(0), 0u);
    EXPECT_EQ(ol_ticks_from_ns(UINT64_MAX), OL_NEVER);
    EXPECT_EQ(ol_ns_from_ticks(OL_NEVER), UINT64_MAX);
    EXPECT_NEAR(static_cast<double>(ol_ns_from_ticks(ol_ticks_from_ns(1'000'000'000))), 1e9, 2e2);
    EXPECT_EQ(ol_after(1, OL_NEVER), OL_NEVER);
    EXPECT_EQ(ol_after(UINT64_MAX, 2), OL_NEVER);
    EXPECT_FALSE(ol_passed(OL_NEVER));
    EXPECT_TRUE(ol_passed(ol_now()));
    EXPECT_FALSE(ol_passed(ol_after(1, ol_ticks_from_ns(3'600'000'000'000))));
}

std::string get(const char *name) {
    char text[32] = "";
    EXPECT_TRUE(ol_get_tunable(name, text, sizeof(text)));
    return text;
}

TEST(Tuning, SetsAndGets) {
    const Tuned restore("tau", "400");
    EXPECT_EQ(get("tau"), "400");
    EXPECT_EQ(ol_set_tunable("tau", "12345"), nullptr);
    EXPECT_EQ(get("tau"), "12345");
    EXPECT_EQ(ol_tune(tau), ol_ticks_from_ns(12345));
    EXPECT_EQ(ol_set_tunable("tau", "inf"), nullptr);
    EXPECT_EQ(get("tau"), "inf");
    EXPECT_EQ(ol_tune(tau), OL_NEVER);
}

TEST(Tuning, RefusesNonsenseAndKeepsWhatWas) {
    const Tuned restore("tau", "77");
    for (const char *bad : {"", "-1", "+1", " 1", "1 ", "1e3", "0x10", "1000000001", "INF",
                            "99999999999999999999999", "1.5"}) {
        const char *line = ol_set_tunable("tau", bad);
        ASSERT_NE(line, nullptr) << bad;
        EXPECT_EQ(std::string(line).find('\n'), std::string::npos);
        EXPECT_EQ(get("tau"), "77") << bad;
    }
    EXPECT_NE(ol_set_tunable("long_term", "0"), nullptr);
    EXPECT_NE(ol_set_tunable("long_term", "inf"), nullptr);
    EXPECT_NE(ol_set_tunable("wait_slots", "100"), nullptr);
    EXPECT_NE(ol_set_tunable("wait_slots", "0"), nullptr);
    EXPECT_NE(ol_set_tunable("no_such", "1"), nullptr);
    char text[8];
    EXPECT_FALSE(ol_get_tunable("no_such", text, sizeof(text)));
}

// What this program says about its tunables when it is started with `environment`.
std::string started_with(const std::string &environment) {
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        ADD_FAILURE() << "cannot find myself";
    FILE *out = popen((environment + " '" + self + "' --tunables 2>&1").c_str(), "r");
    std::string text;
    for (int c; (c = fgetc(out)) != EOF;)
        text += static_cast<char>(c);
    pclose(out);
    return text;
}

// What it then says, if all are as the list presets them but for these.
std::string presets_but(const std::map<std::string, std::string> &changed) {
    std::string text;
#define OL_TUNABLE(name, unit, preset, ...)                                                        \
    text += #name "=" + (changed.count(#name) ? changed.at(#name) : std::to_string(preset)) + "\n";
#include <overlock/tunables.def>
#undef OL_TUNABLE
    return text;
}

TEST(Tuning, ComesFromTheEnvironment) {
    const std::string text = started_with("OVERLOCK_TAU_NS=inf OVERLOCK_SPIN_NS=0 "
                                          "OVERLOCK_LONG_TERM=9 OVERLOCK_WAIT_SLOTS=64");
    EXPECT_EQ(text, presets_but(
                        {{"tau", "inf"}, {"spin", "0"}, {"long_term", "9"}, {"wait_slots", "64"}}));
}

TEST(Tuning, SaysWhatIsWrongInTheEnvironmentAndGoesOn) {
    const std::string text = started_with("OVERLOCK_TAU_NS=soon OVERLOCK_LONG_TERM=0 "
                                          "OVERLOCK_WAIT_SLOTS=100 OVERLOCK_PACE_NS=inf "
                                          "OVERLOCK_BACKOFF_NS=inf");
    EXPECT_EQ(text, "overlock: OVERLOCK_TAU_NS=soon ignored: expected a time of 0 to 1000000000 "
                    "ns, or inf\n"
                    "overlock: OVERLOCK_BACKOFF_NS=inf ignored: expected a time of 0 to 1000000000 "
                    "ns\n"
                    "overlock: OVERLOCK_LONG_TERM=0 ignored: expected a number from 1 to 16383\n"
                    "overlock: OVERLOCK_WAIT_SLOTS=100 ignored: expected a power of two from 1 to "
                    "16384\n"
                    "overlock: OVERLOCK_PACE_NS=inf ignored: expected a time of 0 to 1000000000 "
                    "ns\n" +
                        presets_but({}));
}

// Parking.

TEST(Park, ReturnsAtOnceIfTheWordDiffers) {
    const uint32_t word = 1;
    ol_park(&word, 2, OL_ANY, OL_NEVER); // else for ever
}

TEST(Park, ReturnsWhenTheTimeHasComeAndNotBefore) {
    const uint32_t word = 1;
    errno = 4711;
    const ol_ticks_t until = from_now(3ms);
    while (!ol_passed(until))
        ol_park(&word, 1, 1, until);
    ol_park(&word, 1, 1, ol_now());
    EXPECT_EQ(errno, 4711);
}

TEST(Park, KicksReachOnlyTheirKey) {
    static uint32_t word;
    std::array<std::atomic<bool>, 2> awake{};
    std::array<std::thread, 2> sleepers;
    word = 0;
    for (unsigned i = 0; i < 2; i++)
        sleepers[i] = std::thread([&, i] {
            ol_park(&word, 0, 1u << i, OL_NEVER);
            awake[i] = true;
        });
    eventually([&] {
        ol_kick(&word, 2, 1);
        return awake[1].load();
    });
    EXPECT_FALSE(awake[0]);
    eventually([&] {
        ol_kick(&word, OL_ANY, 1);
        return awake[0].load();
    });
    for (auto &t : sleepers)
        t.join();
}

TEST(Park, KickNeedsNoMemoryBehindTheAddress) {
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    errno = 4711;
    ol_kick(static_cast<uint32_t *>(page), OL_ANY, INT32_MAX);
    EXPECT_EQ(errno, 4711);
}

TEST(Park, WhoLeavesGivesItsPlaceToASleeper) {
    static std::array<uint32_t, 2> words;
    words = {};
    std::thread sleeper([] { ol_park(&words[0], 0, 4, OL_NEVER); });
    ol_leave(); // from nowhere
    ol_compete(&words[1]);
    ol_compete(&words[0]);
    errno = 4711;
    ol_leave();
    ol_leave();
    EXPECT_EQ(errno, 4711);
    sleeper.join();
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(words[1], 0);
}

TEST(Park, WhoEndsLeaves) {
    static uint32_t word;
    word = 0;
    std::thread sleeper([] { ol_park(&word, 0, OL_ANY, OL_NEVER); });
    std::thread([] {
        EXPECT_NE(ol_self(), 0);
        ol_compete(&word);
    }).join();
    sleeper.join();
    EXPECT_EQ(word, 1);
}

TEST(Park, CrossesProcessesOnlyWhenShared) {
    const Tuned tuned("shared", "1");
    auto *word = static_cast<uint32_t *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (!child) {
        ol_park(word, 0, OL_ANY, OL_NEVER);
        _exit(0);
    }
    int status = -1;
    eventually([&] {
        ol_kick(word, OL_ANY, 1);
        return waitpid(child, &status, WNOHANG) == child;
    });
    EXPECT_EQ(status, 0);
    munmap(word, 4096);
}

// Knowledge.

long switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

void pin_to_one_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

// The kernel's own count of switches is the truth that the slice id must follow.
TEST(Knowledge, SliceIdChangesWithEveryPreemptionAndOnlyThen) {
    if (!ol_slice_id())
        GTEST_SKIP() << "no rseq here";
    std::atomic<bool> stop = false;
    std::thread([&] {
        pin_to_one_cpu();
        std::thread rival([&] { // inherits the one CPU
            while (!stop)
                ol_relax();
        });
        int away = 0, there = 0;
        while (away < 10 || there < 10) {
            const long count = switches();
            const uint64_t id = ol_slice_id();
            const long inner = switches();
            const ol_ticks_t busy = from_now(200us);
            while (!ol_passed(busy))
                ol_relax();
            const long inner_later = switches();
            const uint64_t id_later = ol_slice_id();
            const long count_later = switches();
            if (inner_later != inner) {
                EXPECT_NE(id_later, id);
                away++;
            }
            if (count_later == count) {
                EXPECT_EQ(id_later, id);
                there++;
            }
        }
        stop = true;
        rival.join();
    }).join();
}

TEST(Knowledge, SliceEndLiesAheadWhenASliceBegins) {
    std::thread([] {
        const ol_ticks_t now = ol_now(), end = ol_slice_end();
        EXPECT_TRUE(end == OL_NEVER || ol_before(now, end));
    }).join();
}

TEST(Knowledge, ListsItsSources) {
    int n = 0;
    for (const ol_source *s = ol_sources(); s->name; s++, n++) {
        EXPECT_NE(s->knows, nullptr);
        if (!strcmp(s->name, "rseq")) {
            EXPECT_EQ(s->available, ol_slice_id() != 0);
        }
    }
    EXPECT_GE(n, 1);
}

TEST(Knowledge, ElsewhereSaysUnknown) {
    EXPECT_EQ(ol_slice_min(), OL_NEVER);
    EXPECT_FALSE(ol_is_preempted(1));
    EXPECT_EQ(ol_quota_end(), OL_NEVER);
    ol_defer_begin();
    ol_defer_end();
    ol_yield_to(ol_self());
}

TEST(Transactions, CommitOrSayWhyNot) {
    if (ol_htm_begin() == OL_HTM_STARTED) {
        const bool active = ol_htm_active();
        ol_htm_commit();
        EXPECT_TRUE(active);
        EXPECT_TRUE(ol_world->htm);
    }
    EXPECT_FALSE(ol_htm_active());
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--tunables")) {
        char text[32];
#define OL_TUNABLE(name, ...)                                                                      \
    ol_get_tunable(#name, text, sizeof(text));                                                     \
    printf(#name "=%s\n", text);
#include <overlock/tunables.def>
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
