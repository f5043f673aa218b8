// SPDX-License-Identifier: MIT
// What is counted is what the trace tells, counted anew from its events.
#include "traced.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <map>

namespace ol::simulator {

using namespace tests;

namespace {

struct Span {
    size_t who;
    Time start, end;
};

bool holds(const Span &s, Time at) {
    return s.start <= at && at < s.end;
}

class Oracle {
public:
    explicit Oracle(const Json &trace) {
        for (const Step &s : steps(trace))
            add(s);
        Time end = trace["until"];
        for (auto &[who, since] : on_)
            running.push_back({who, since, end});
        for (auto &[who, since] : waits_)
            waits.push_back({who, since, end});
        if (holder_)
            sections.push_back({*holder_, acquired_, end});
    }

    bool runs(size_t who, Time at) const {
        return std::any_of(running.begin(), running.end(),
                           [&](const Span &s) { return s.who == who && holds(s, at); });
    }
    const Span *section(Time at) const {
        for (const Span &s : sections)
            if (holds(s, at))
                return &s;
        return nullptr;
    }
    // Of the time that `waiter` waited while `holder` held the lock, that with a CPU, and all.
    std::pair<Time, Time> waited(size_t waiter, size_t holder) const {
        Time with = 0, all = 0;
        for (const Span &w : waits)
            for (const Span &s : sections) {
                if (w.who != waiter || s.who != holder)
                    continue;
                Time start = std::max(w.start, s.start), end = std::min(w.end, s.end);
                if (start >= end)
                    continue;
                all += end - start;
                for (const Span &r : running)
                    if (r.who == holder && std::max(start, r.start) < std::min(end, r.end))
                        with += std::min(end, r.end) - std::max(start, r.start);
            }
        return {with, all};
    }

    std::vector<Span> running, waits, sections;
    uint64_t lhp = 0, lwp = 0, handovers = 0;
    Time handover_time = 0;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> overtakers;

private:
    void add(const Step &s) {
        if (s.what == "run")
            run(s);
        else if (s.what == "lose")
            lose(s);
        else if (s.what == "wait")
            waits_[s.who] = s.at, wait_lost_[s.who] = lost_[s.who];
        else if (s.what == "acquire")
            acquire(s);
        else if (s.what == "release")
            release(s);
    }
    void run(const Step &s) {
        on_[s.who] = s.at;
        if (!away_.count(s.who))
            return;
        again_[s.who] = {acquisitions_, away_.size()};
        away_.erase(s.who);
    }
    void lose(const Step &s) {
        running.push_back({s.who, on_[s.who], s.at});
        on_.erase(s.who);
        if (s.why == "blocked" || s.why == "yielded")
            return;
        lost_[s.who]++;
        if (waits_.count(s.who))
            away_[s.who] = true;
    }
    void acquire(const Step &s) {
        waits.push_back({s.who, waits_[s.who], s.at});
        lwp += lost_[s.who] != wait_lost_[s.who];
        if (waits_[s.who] < released_)
            handovers++, handover_time += s.at - released_;
        if (again_.count(s.who))
            overtakers[{acquisitions_ - again_[s.who].first, again_[s.who].second}]++;
        again_.erase(s.who);
        waits_.erase(s.who);
        holder_ = s.who;
        acquired_ = s.at;
        hold_lost_ = lost_[s.who];
        acquisitions_++;
    }
    void release(const Step &s) {
        sections.push_back({s.who, acquired_, s.at});
        lhp += lost_[s.who] != hold_lost_;
        released_ = s.at;
        holder_.reset();
    }

    std::map<size_t, Time> on_, waits_;
    std::map<size_t, uint64_t> lost_, wait_lost_;
    std::map<size_t, bool> away_;
    std::map<size_t, std::pair<uint64_t, uint64_t>> again_;
    std::optional<size_t> holder_;
    Time acquired_ = 0, released_ = 0;
    uint64_t hold_lost_ = 0, acquisitions_ = 0;
};

struct Stalls {
    uint64_t running = 0, off_cpu = 0, free = 0;
};

Stalls stalls(const Oracle &o) {
    Stalls found;

    for (const Span &w : o.waits) {
        if (w.end <= w.start + us)
            continue;
        const Span *s = o.section(w.start + us);
        (!s ? found.free : o.runs(s->who, w.start + us) ? found.running : found.off_cpu)++;
    }
    return found;
}

uint64_t sum(const Json &guest, const char *key) {
    uint64_t n = 0;

    for (const Json &c : guest["contexts"])
        n += c[key].get<uint64_t>();
    return n;
}

class Counters : public testing::TestWithParam<const char *> {
protected:
    void SetUp() override {
        Json p = traced(GetParam(), 5, 3);
        p["guests"].push_back({{"contexts", 2}});   // they compute
        if (GetParam() == std::string("pv_ticket")) // whose waiters sleep before that
            p["host"]["settings"]["slice"] = 100;
        p["who_for_whom"] = true;
        if (GetParam() == std::string("tas_yield")) // a kernel does not
            p["guests"][0]["kind"] = "threads";
        all = result(p);
        guest = all["guests"][0];
    }

    Json all, guest;
};

TEST_P(Counters, AreThoseOfTheTrace) {
    Oracle o(all["trace"]);
    const Json &events = guest["events"];

    EXPECT_EQ(events["LHP"], o.lhp);
    EXPECT_EQ(events["LWP"], o.lwp);
    EXPECT_EQ(events["HANDOVER"], o.handovers);
    EXPECT_NEAR(guest["handovers"]["total_ns"].get<double>(),
                static_cast<double>(o.handover_time) / 1000, 1);
    EXPECT_GT(o.lhp + o.lwp, 5);
}

TEST_P(Counters, JudgeStallsAfterAMicrosecond) {
    Oracle o(all["trace"]);
    Stalls s = stalls(o);

    EXPECT_EQ(sum(guest, "stalls_held_running"), s.running);
    EXPECT_EQ(sum(guest, "stalls_held_off_cpu"), s.off_cpu);
    EXPECT_EQ(sum(guest, "stalls_free"), s.free);
    EXPECT_EQ(guest["events"]["STALL"], s.running + s.off_cpu + s.free);
    EXPECT_GT(s.running, 10);
    EXPECT_TRUE(s.off_cpu || GetParam() == std::string("tas_yield"));
}

TEST_P(Counters, FollowWaitersThatRunAgain) {
    Oracle o(all["trace"]);
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> counted;

    for (const Json &each : guest["overtakers"])
        counted[{each[0], each[1]}] = each[2];
    EXPECT_EQ(counted, o.overtakers);
}

TEST_P(Counters, SayWhoWaitedForWhom) {
    Oracle o(all["trace"]);
    double whole = 0;

    for (const Json &each : guest["who_for_whom"]["held"]) {
        auto [with, time] = o.waited(each[0].get<size_t>() - 1, each[1].get<size_t>() - 1);
        EXPECT_NEAR(each[2].get<double>(), static_cast<double>(with) / 1000, 1);
        EXPECT_NEAR(each[2].get<double>() + each[3].get<double>(), static_cast<double>(time) / 1000,
                    1);
        whole += each[2].get<double>() + each[3].get<double>();
    }
    for (const Json &each : guest["who_for_whom"]["free"])
        whole += each[1].get<double>();
    Time waited = 0;
    for (const Span &w : o.waits)
        waited += w.end - w.start;
    EXPECT_NEAR(whole, static_cast<double>(waited) / 1000, 10);
}

INSTANTIATE_TEST_SUITE_P(Locks, Counters,
                         testing::Values("ticket", "tas", "preemptable_ticket", "pv_ticket",
                                         "tas_yield"),
                         [](auto &lock) { return std::string(lock.param); });

TEST(Positions, AreThoseAheadWhenATicketIsTaken) {
    Json guest = result(traced("ticket", 5, 5))["guests"][0];
    uint64_t queued = 0;

    for (const Json &each : guest["positions"]["QUEUE"]) {
        EXPECT_LE(each[0], 4) << "the others";
        queued += each[1].get<uint64_t>();
    }
    EXPECT_EQ(queued, guest["events"]["QUEUE"]);
    EXPECT_GT(queued, 100);
    guest = result(traced("ticket", 2, 2))["guests"][0];
    EXPECT_EQ(guest["positions"]["QUEUE"], Json::array({{1, guest["events"]["QUEUE"]}}));
}

TEST(Halts, AreParksOrIdleVirtualCpus) {
    Json guest = result(traced("pv_ticket", 5, 3))["guests"][0];
    EXPECT_GT(guest["halts"], 10);
    EXPECT_EQ(guest["halts"], sum(guest, "parks"));

    Json users = traced("pv_ticket", 3, 3);
    users["guests"][0]["kind"] = "users";
    users["guests"][0]["vcpus"] = 3;
    EXPECT_GT(result(users)["guests"][0]["halts"], 10);
}

} // namespace

} // namespace ol::simulator
