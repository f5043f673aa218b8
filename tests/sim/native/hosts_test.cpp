// SPDX-License-Identifier: MIT
// What each scheduler and feature promises, on guests that compute or share a lock.
#include "plans.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>
#include <sim/results.h>

namespace ol::simulator {

using namespace tests;

namespace {

const char *const schedulers[] = {
#define HOST(name, what) #name,
#define SETTING(...)
#include <sim/hosts.def>
#undef HOST
};

const char *const features[] = {
#define FEATURE(name, what) #name,
#include <sim/features.def>
#undef SETTING
#undef FEATURE
};

Json burner(unsigned contexts = 1, unsigned weight = 1024) {
    return {{"kind", "kernel"}, {"contexts", contexts}, {"weight", weight}};
}

// Virtual machines beside each other that only compute.
Json host(const char *scheduler, const std::vector<Json> &guests, unsigned cpus = 2,
          unsigned ms = 2000) {
    Json p = plan("none", 1, cpus, ms);

    p["host"] = {{"scheduler", scheduler}};
    p["guests"] = guests;
    return p;
}

// One whose locks are contended, beside one that computes on every CPU.
Json contended(const char *scheduler, const char *lock = "ticket", unsigned ms = 1000) {
    Json guest = {{"kind", "kernel"},
                  {"contexts", 4},
                  {"lock", lock},
                  {"parameters", {{"sections_cs", 2000}, {"sections_ncs", 2000}}}};

    return host(scheduler, {guest, burner(4)}, 4, ms);
}

double in_ms(Time t) {
    return static_cast<double>(t / us) / 1000;
}

uint64_t sum_of(const Simulation &s, uint64_t Counts::*what, size_t guest = 0) {
    uint64_t all = 0;

    for (auto &t : s.guests()[guest]->tasks)
        all += t->counts.*what;
    return all;
}

uint64_t preempted(const Simulation &s) {
    return sum_of(s, &Counts::holder_preempted) + sum_of(s, &Counts::waiter_preempted);
}

// Remainders of slices' ends by the tick. The first slice of a CPU is cut.
std::set<Time> late_ends(const char *scheduler, unsigned jitter_ns) {
    Json p = host(scheduler, {burner(4)}, 2, 400);
    std::set<Time> late;
    auto add = [&late](const Cpu &c) {
        if (c.slice_end() != never && !c.is_first)
            late.insert(c.slice_end() % (4 * ms));
    };

    p["machine"]["tick_jitter_ns"] = jitter_ns;
    Simulation s(scenario(p.dump()));
    s.run_with([&] { add(*s.host().cpus[0]), add(*s.host().cpus[1]); });
    return late;
}

TEST(Hosts, TicksAreLateByLessThanTheJitter) {
    for (const char *scheduler : {"fair", "eevdf"}) {
        EXPECT_EQ(late_ends(scheduler, 0), std::set<Time>{0}) << scheduler;
        std::set<Time> late = late_ends(scheduler, 1000);
        EXPECT_GT(late.size(), 20u) << scheduler;
        EXPECT_GT(*late.rbegin(), 700 * ns) << scheduler;
        EXPECT_LT(*late.rbegin(), 1000 * ns) << scheduler;
    }
}

// Whatever it runs, and with each feature: nobody starves, no CPU idles while one waits.
TEST(Hosts, WorkIsConserved) {
    for (const char *scheduler : {"fair", "eevdf", "credit", "credit2", "round_robin"})
        for (unsigned contexts : {2u, 3u, 5u, 9u}) {
            auto s = run(host(scheduler, {burner(contexts)}, 2, 500));
            EXPECT_EQ(s->host().stranded, 0) << scheduler << contexts;
            EXPECT_EQ(ran(*s), 2 * 500 * ms) << scheduler << contexts;
            for (auto &t : s->guests()[0]->tasks)
                EXPECT_GT(t->counts.ran, 0) << scheduler << contexts;
        }
}

TEST(Hosts, EveryLockSchedulerAndFeatureGoOn) {
    for (const char *scheduler : schedulers)
        for (const char *feature : features) {
            Json p = contended(scheduler, "preemptable_ticket", 200);
            p["host"]["features"] = {{feature, Json::object()}};
            auto s = run(p);
            EXPECT_EQ(s->failure(), "") << p;
            EXPECT_GT(turns(*s), 100) << p;
            EXPECT_GT(turns(*s, 1), 100) << p;
        }
}

TEST(Hosts, AreAFunctionOfTheirSeed) {
    for (const char *scheduler : schedulers) {
        auto results = [&](unsigned seed) {
            Json p = contended(scheduler, "ticket", 100), all;
            for (const char *f : features)
                p["host"]["features"][f] = Json::object();
            p["seed"] = seed;
            std::ostringstream out;
            write_results(*run(p), out);
            return out.str();
        };
        EXPECT_EQ(results(1), results(1)) << scheduler;
    }
}

TEST(Hosts, SharesFollowWeights) {
    for (const char *scheduler : {"fair", "eevdf", "credit", "credit2"}) {
        auto s = run(host(scheduler, {burner(2, 1024), burner(2, 3072)}, 2, 6000));
        double ratio = in_ms(ran(*s, 1)) / in_ms(ran(*s, 0));
        bool is_coarse = std::string(scheduler) == "credit"; // who is OVER runs in turns
        EXPECT_NEAR(ratio, 3, is_coarse ? 0.7 : 0.3) << scheduler;
    }
}

TEST(Hosts, AGroupHasOneShareHoweverManyRun) {
    Json p = host("fair", {burner(1), burner(3)}, 1, 4000);
    EXPECT_NEAR(in_ms(ran(*run(p), 0)), 1000, 60);
    p["host"]["settings"] = {{"groups", 1}};
    EXPECT_NEAR(in_ms(ran(*run(p), 0)), 2000, 100);
}

// In turns: without levelling, one would have a CPU of its own, 6 s.
TEST(Hosts, ThreeShareTwoCpus) {
    for (const char *scheduler : {"fair", "eevdf", "credit", "credit2"}) {
        auto s = run(host(scheduler, {burner(3)}, 2, 6000));
        for (auto &t : s->guests()[0]->tasks)
            EXPECT_NEAR(in_ms(t->counts.ran), 4000, 1010) << scheduler;
    }
}

TEST(Hosts, PinsAreKept) {
    for (const char *scheduler : schedulers) {
        Json pinned = burner(1);
        pinned["pinned"] = {1};
        auto s = run(host(scheduler, {pinned, pinned, burner(1)}, 2, 1000));
        EXPECT_NEAR(in_ms(ran(*s, 0) + ran(*s, 1)), 1000, 60) << scheduler;
    }
}

TEST(Hosts, QuotasThrottle) {
    for (const char *scheduler : schedulers) {
        Json limited = burner(2);
        limited["quota_us"] = 30'000;
        auto s = run(host(scheduler, {limited, burner(2)}, 2, 1000));
        EXPECT_LE(in_ms(ran(*s, 0)), 303) << scheduler;
        EXPECT_GE(in_ms(ran(*s, 0)), 250) << scheduler;
    }
}

// Without a core of its own, each is as fast as a core's second thread.
TEST(Hosts, LinuxBeginsOnCoresOfTheirOwn) {
    for (const char *scheduler : {"fair", "eevdf"}) {
        Json alone = host(scheduler, {burner(1)}, 8, 100);
        alone["machine"] = {{"cpus", 8}, {"threads_per_core", 2}, {"cores_per_socket", 2}};
        Json all = alone;
        all["guests"] = {burner(4)};
        auto one = static_cast<double>(turns(*run(alone)));
        EXPECT_NEAR(static_cast<double>(turns(*run(all))), 4 * one, 40) << scheduler;
    }
}

TEST(Credit, CapsAreKeptThoughCpusIdle) {
    Json capped = burner(2);

    capped["cap_percent"] = 50;
    auto s = run(host("credit", {capped}, 2, 6000));
    EXPECT_NEAR(in_ms(ran(*s)), 3000, 300);
    EXPECT_GT(s->host().idle, 8000 * ms);
}

// Who sleeps most of the time is boosted when it wakes, and need not wait for slices of 30 ms.
Json sleeper(const char *scheduler, Json settings) {
    Json guest = {{"kind", "kernel"},
                  {"contexts", 2},
                  {"lock", "pv_ticket"},
                  {"parameters", {{"sections_cs", 300'000}, {"sections_ncs", 0}}}};
    Json p = host(scheduler, {guest, burner(4)}, 2, 2000);

    p["host"]["settings"] = std::move(settings);
    return p;
}

TEST(Credit, TheWokenAreBoosted) {
    uint64_t boosted = turns(*run(sleeper("credit", {{"ratelimit", 0}})));

    EXPECT_GT(boosted, 3000) << "of 6666; without boosts about 1500";
}

TEST(Credit, ARatelimitIsASlicesLeast) {
    for (const char *scheduler : {"credit", "credit2"}) {
        auto slices = [&](unsigned us) {
            auto s = run(sleeper(scheduler, {{"ratelimit", us}}));
            uint64_t n = 0;
            for (auto &t : s->guests()[1]->tasks)
                n += t->slices;
            return n;
        };
        EXPECT_LE(slices(5'000), 2 * 2000 / 5 + 2) << scheduler;
        EXPECT_GT(slices(0), slices(5'000)) << scheduler;
    }
}

TEST(Credit, TicksTakeCreditsFromWhoRunsThen) {
    Json p = host("credit", {burner(2), burner(2)}, 2, 3000);

    p["host"]["settings"] = {{"by_ticks", 1}};
    EXPECT_NEAR(in_ms(ran(*run(p))), 3000, 300);
}

// At no time does a part of a guest run: it is asked whenever anything happens.
TEST(Gang, NeverRunsAPartOfAGuest) {
    auto with = [](const char *scheduler) {
        Json p = host(scheduler, {burner(2), burner(2), burner(2)}, 3, 500);
        Simulation s(scenario(p.dump()));
        uint64_t parts = 0;
        s.run_with([&] {
            for (auto &g : s.guests())
                parts += g->tasks[0]->on_cpu() != g->tasks[1]->on_cpu();
        });
        return parts;
    };
    EXPECT_EQ(with("gang"), 0);
    EXPECT_GT(with("fair"), 0);
}

// A guest that fills one of two sockets runs out of its quota: the other guest gets that socket.
TEST(Credit2, IdleCpusTakeFromOtherSockets) {
    Json first = burner(2), second = burner(4);

    first["pinned"] = {0, 1};
    first["quota_us"] = 20'000;
    Json p = host("credit2", {first, second}, 4, 1000);
    p["machine"]["cores_per_socket"] = 2;
    auto s = run(p);
    EXPECT_NEAR(in_ms(ran(*s, 0)), 200, 20);
    EXPECT_NEAR(in_ms(ran(*s, 1)), 3800, 100);
    EXPECT_LT(in_ms(s->host().stranded), 20);
}

TEST(Credit2, ASocketBurnsItsOwnCredits) {
    Json p = host("credit2", {burner(2), burner(2), burner(2)}, 4, 2000);

    p["machine"]["cores_per_socket"] = 2;
    auto s = run(p);
    for (size_t g = 0; g < 3; g++)
        EXPECT_GT(in_ms(ran(*s, g)), 1300) << g;
    EXPECT_LT(in_ms(s->host().stranded), 1);
}

TEST(Gang, LeavesCpusIdle) {
    auto s = run(host("gang", {burner(2), burner(2), burner(2)}, 3, 3000));

    EXPECT_EQ(s->host().stranded, 3000 * ms) << "the third CPU";
    for (size_t g = 0; g < 3; g++)
        EXPECT_NEAR(in_ms(ran(*s, g)), 2000, 110);
}

TEST(Gang, EndsPreemptionsWhileOthersRun) {
    uint64_t strict = preempted(*run(contended("gang")));

    EXPECT_LE(strict, 4 * 1000 / 50) << "only when a row ends";
    uint64_t gangs = turns(*run(contended("gang")));
    EXPECT_GT(gangs, 3 * turns(*run(contended("eevdf"))) / 2);
}

TEST(Gang, RefusesGuestsThatCannotRunAtOnce) {
    try {
        run(host("gang", {burner(3)}, 2, 10));
        ADD_FAILURE();
    } catch (const BadScenario &bad) {
        EXPECT_STREQ(bad.what(), "guest1 has more contexts than CPUs: they cannot run at once");
    }
}

TEST(Features, PauseLoopsExitAndYield) {
    Json p = contended("credit");
    EXPECT_EQ(sum_of(*run(p), &Counts::exits), 0);
    p["host"]["features"] = {{"ple", Json::object()}};
    auto with = run(p);
    EXPECT_GT(sum_of(*with, &Counts::exits), 100);
    EXPECT_GT(with->guests()[0]->tasks[0]->slices, 1000) << "it yields";
    EXPECT_EQ(sum_of(*with, &Counts::exits, 1), 0) << "who computes does not exit";
    with.reset();
    p["host"]["features"] = {{"ple", {{"window", 1e9}}}};
    EXPECT_EQ(sum_of(*run(p), &Counts::exits), 0);
}

TEST(Features, PauseLoopsOfThreadsDoNotExit) {
    Json p = contended("fair");

    p["guests"][0]["kind"] = "threads";
    p["host"]["features"] = {{"ple", Json::object()}};
    EXPECT_EQ(sum_of(*run(p), &Counts::exits), 0);
}

TEST(Features, PauseLoopsOfProgramsExitIfAsked) {
    auto exits = [](unsigned user) {
        Json p = contended("fair");
        p["guests"][0]["kind"] = "users";
        p["guests"][0]["vcpus"] = 4;
        p["host"]["features"] = {{"ple", {{"user", user}}}};
        return sum_of(*run(p), &Counts::exits);
    };
    EXPECT_EQ(exits(0), 0);
    EXPECT_GT(exits(1), 100);
}

TEST(Features, AWindowGrowsWithExits) {
    auto exits = [](unsigned grow) {
        Json p = contended("fair");
        p["host"]["features"] = {{"ple", {{"grow", grow}}}};
        return sum_of(*run(p), &Counts::exits);
    };
    EXPECT_GT(exits(0), 2 * exits(2));
}

// Two siblings and a hog on two CPUs: balanced siblings never share one.
TEST(Features, BalanceKeepsSiblingsApart) {
    auto together = [](bool balanced) {
        Json p = host("credit", {burner(2), burner(2), burner(1)}, 2, 1000);
        if (balanced)
            p["host"]["features"] = {{"balance", Json::object()}};
        Simulation s(scenario(p.dump()));
        uint64_t n = 0;
        s.run_with([&] {
            for (size_t g = 0; g < 2; g++) {
                auto &t = s.guests()[g]->tasks;
                n += t[0]->home && t[0]->home == t[1]->home;
            }
        });
        return n;
    };
    EXPECT_EQ(together(true), 0);
    EXPECT_GT(together(false), 0);
}

TEST(Features, SlicesAreReducedForAllOrForThoseThatSpin) {
    auto slices = [](bool all, size_t guest) {
        Json p = host("credit", {burner(2), burner(2)}, 2, 300);
        p["host"]["features"] = {{"micro_slices", {{"all", all ? 1 : 0}}}};
        auto s = run(p);
        return s->guests()[guest]->tasks[0]->slices;
    };
    EXPECT_GT(slices(true, 0), 1000);
    EXPECT_LT(slices(false, 0), 20);

    Json p = contended("credit");
    uint64_t usual = turns(*run(p));
    p["host"]["features"] = {{"micro_slices", {{"all", 1}}}};
    EXPECT_GT(turns(*run(p)), 2 * usual);
}

TEST(Features, SkewIsBounded) {
    auto most = [](bool relaxed) {
        Json p = host("credit", {burner(2), burner(1)}, 2, 1000);
        p["guests"][1]["pinned"] = {1};
        if (relaxed)
            p["host"]["features"] = {{"relaxed", Json::object()}};
        auto s = run(p);
        auto &t = s->guests()[0]->tasks;
        Time a = t[0]->counts.ran, b = t[1]->counts.ran;
        return in_ms(a > b ? a - b : b - a);
    };
    EXPECT_LE(most(true), 5);
    EXPECT_GT(most(false), 10);
}

TEST(Features, CoschedulingHelpsGuestsThatSpin) {
    Json p = contended("round_robin");
    uint64_t usual = turns(*run(p));
    for (unsigned dependencies : {0, 1}) {
        p["host"]["features"] = {{"coscheduling", {{"dependencies", dependencies}}}};
        if (dependencies) // of a lock whose holder matters, not the order of its waiters
            p["guests"][0]["lock"] = "ttas";
        auto s = run(p);
        EXPECT_GT(turns(*s), usual * 3 / 2) << dependencies;
    }
}

TEST(Features, DeferralIsBounded) {
    Json p = host("round_robin", {burner(1), burner(1)}, 1, 1000);
    auto longest = [&p](bool honoured) {
        if (honoured)
            p["host"]["features"] = {{"defer", {{"most", 50}}}};
        Simulation s(scenario(p.dump()));
        Time most = 0;
        s.guests()[0]->tasks[0]->deferring = true; // for ever
        s.run_with([&] {
            const Task &t = *s.guests()[0]->tasks[0];
            if (t.cpu)
                most = std::max(most, s.events().now() - t.cpu->began);
        });
        return most;
    };
    EXPECT_LE(longest(false), 10 * ms);
    EXPECT_GT(longest(true), 10 * ms);
    EXPECT_LE(longest(true), 10 * ms + 50 * us);
}

// One that does what a test says whenever it has had a CPU for some time.
class Actor final : public Entity {
public:
    Actor(Level &level, Group &group, Time each = never, std::function<void(Actor &)> acts = {})
        : Entity(level, group), each_(each), acts_(std::move(acts)), timer_([this] {
              this->level.events.set(timer_, sum(this->level.events.now(), each_));
              acts_(*this);
          }) {}
    ~Actor() { level.events.cancel(timer_); }
    void start(Time delay) override {
        level.events.set(timer_, sum(level.events.now() + delay, each_));
    }
    void stop() override { level.events.cancel(timer_); }

private:
    const Time each_;
    std::function<void(Actor &)> acts_;
    Timer timer_;
};

// One CPU under Linux's scheduler of that name.
struct OneCpu {
    explicit OneCpu(const char *scheduler) {
        level.add(cpu);
        level.use(make_policy(scheduler, level, {}));
    }
    ~OneCpu() { events.cancel(cpu.slice); }
    void run(std::initializer_list<Actor *> actors) {
        for (Actor *a : actors)
            level.add(*a);
        level.begin();
        for (Actor *a : actors)
            level.wake(*a);
    }
    void until(Time t) {
        while (events.now() < t && events.next())
            ;
    }

    Events events;
    Level level{events, 0};
    PhysicalCpu cpu{level, 0};
    Group group;
};

// A thread that yields to one that computes gives up its CPU only until that one is a little ahead.
TEST(Fair, YieldingGivesUpNoMoreThanTheGranularity) {
    OneCpu h("fair");
    Actor computes(h.level, h.group);
    Actor yields(h.level, h.group, 10 * us, [&h](Actor &a) { h.level.yield(a); });

    h.run({&computes, &yields});
    h.until(second);
    EXPECT_NEAR(in_ms(yields.ran), 500, 20);
    EXPECT_GT(yields.slices, 50);
}

TEST(Fair, ASleeperPreemptsAndIsNotPaidForItsSleep) {
    for (const char *scheduler : {"fair", "eevdf"}) {
        OneCpu h(scheduler);
        Actor computes(h.level, h.group);
        bool slept = false;
        Actor sleeps(h.level, h.group, 10 * us, [&](Actor &a) {
            if (!slept)
                h.level.block(a);
            slept = true;
        });
        h.run({&computes, &sleeps});
        h.until(second);
        Time before = sleeps.ran;
        h.level.wake(sleeps);
        if (std::string(scheduler) == "fair") {
            EXPECT_EQ(h.cpu.runs, &sleeps) << "it preempts";
        }
        h.until(second + 100 * ms);
        EXPECT_NEAR(in_ms(sleeps.ran - before), 50, 5) << scheduler;
    }
}

TEST(Told, SlicesEndAsToldIfNobodyErrs) {
    auto psp = [](Json more) {
        Json p = contended("credit", "i_spin", 3000);
        p["guests"][0]["told_slices"] = true;
        p["guests"][0].update(more);
        auto s = run(p);
        EXPECT_EQ(s->failure(), "");
        EXPECT_GT(turns(*s), 1000) << more;
        return sum_of(*s, &Counts::holder_preempted);
    };
    uint64_t exact = psp(Json::object());
    EXPECT_LE(exact, 2);
    EXPECT_GT(psp({{"told_error_us", 5000}}), exact);
    EXPECT_GT(psp({{"told_slices", false}}), exact);
    psp({{"told_delay_us", 200}});
}

// Whoever has no ticket and too little time: under I-Spinlock's PV form alone its CPU is others'.
TEST(Told, AWaiterWithoutATicketGivesUpItsCpu) {
    auto given_up = [](const char *lock) {
        Json p = contended("credit", lock, 3000);
        p["guests"][0]["told_slices"] = true;
        auto s = run(p);
        EXPECT_EQ(s->failure(), "");
        EXPECT_GT(turns(*s), 1000) << lock;
        uint64_t all = 0;
        for (auto &t : s->guests()[0]->tasks)
            all += t->lost.all - t->lost.to_others;
        return all;
    };
    EXPECT_EQ(given_up("i_spin"), 0);
    EXPECT_GT(given_up("i_spin_pv"), 10);
}

TEST(Told, FeaturesAreRefusedInOneLine) {
    const std::pair<const char *, const char *> wrong[] = {
        {R"({"plee": {}})", "there is no host.features.plee"},
        {R"({"ple": {"windo": 1}})", "there is no ple.windo"},
        {R"({"ple": 1})", "ple is no table"},
    };

    for (auto &[json, why] : wrong)
        try {
            Json p = contended("fair");
            p["host"]["features"] = Json::parse(json);
            scenario(p.dump());
            ADD_FAILURE() << json;
        } catch (const BadScenario &bad) {
            EXPECT_STREQ(bad.what(), why);
        }
}

} // namespace

} // namespace ol::simulator
