// SPDX-License-Identifier: MIT
#include <sim/events.h>

#include <check/engine/random.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

namespace ol::simulator {

namespace {

struct Recorder {
    Events events;
    std::vector<std::unique_ptr<Timer>> timers;
    std::vector<std::pair<Time, size_t>> happened;

    size_t add() {
        size_t i = timers.size();
        timers.push_back(
            std::make_unique<Timer>([this, i] { happened.emplace_back(events.now(), i); }));
        return i;
    }
    void run() {
        while (events.next())
            ;
    }
};

TEST(Events, HappenInTheOrderOfTimeThenOfSetting) {
    Recorder r;
    engine::Random random(1);
    std::vector<std::pair<Time, size_t>> expected;

    for (int i = 0; i < 1000; i++) {
        Time at = random.below(100);
        size_t t = r.add();
        r.events.set(*r.timers[t], at);
        expected.emplace_back(at, t);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](auto &a, auto &b) { return a.first < b.first; });
    r.run();
    EXPECT_EQ(r.happened, expected);
}

TEST(Events, AreCancelledAndMoved) {
    Recorder r;
    engine::Random random(2);
    std::vector<std::pair<Time, size_t>> expected;

    for (size_t i = 0; i < 300; i++)
        r.events.set(*r.timers[r.add()], random.below(1000));
    for (size_t i = 0; i < 300; i += 3)
        r.events.cancel(*r.timers[i]);
    for (size_t i = 1; i < 300; i += 3)
        r.events.set(*r.timers[i], 1000 + i);
    for (size_t i = 0; i < 300; i++) {
        EXPECT_EQ(r.timers[i]->is_set(), i % 3 != 0);
        if (i % 3)
            expected.emplace_back(r.timers[i]->at(), i);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](auto &a, auto &b) { return a.first < b.first; });
    r.run();
    EXPECT_TRUE(std::is_sorted(r.happened.begin(), r.happened.end(),
                               [](auto &a, auto &b) { return a.first < b.first; }));
    std::stable_sort(r.happened.begin(), r.happened.end());
    std::stable_sort(expected.begin(), expected.end());
    EXPECT_EQ(r.happened, expected);
}

// From picoseconds to seconds, against a plain list; what happens sets and cancels others.
TEST(Events, OfAllDistancesHappenInTheirOrder) {
    Recorder r;
    engine::Random random(3);
    std::vector<std::pair<Time, size_t>> expected;
    uint64_t order = 0;
    std::map<std::pair<Time, uint64_t>, size_t> plan;
    std::map<size_t, std::pair<Time, uint64_t>> set;

    for (size_t i = 0; i < 200; i++)
        r.add();
    auto change = [&](size_t i) {
        plan.erase(set[i]);
        if (random.one_in(4)) {
            r.events.cancel(*r.timers[i]);
            return;
        }
        Time at = r.events.now() + 1 + (random.next() >> (24 + random.below(40)));
        r.events.set(*r.timers[i], at);
        set[i] = {at, ++order};
        plan[set[i]] = i;
    };
    for (size_t i = 0; i < 200; i++)
        change(i);
    for (int n = 0; n < 20'000 && !plan.empty(); n++) {
        auto first = plan.begin();
        expected.emplace_back(first->first.first, first->second);
        EXPECT_TRUE(r.events.nothing_before(first->first.first - 1));
        EXPECT_FALSE(r.events.nothing_before(first->first.first));
        plan.erase(first);
        ASSERT_TRUE(r.events.next());
        for (int k = 0; k < 2; k++)
            change(random.below(200));
    }
    EXPECT_GT(expected.size(), 10'000u);
    EXPECT_EQ(r.happened, expected);
}

// Also if it is a whole turn of what keeps near events away.
TEST(Events, HappenAfterAllThatIsNearer) {
    for (Time distance = 2 * ns; distance < 10 * us; distance += ns) {
        Recorder r;
        size_t last = r.add(), second = r.add(), first = r.add();

        r.events.set(*r.timers[last], distance + 6 * ns);
        r.events.set(*r.timers[second], 6 * ns);
        r.events.set(*r.timers[first], 1);
        r.run();
        ASSERT_EQ(r.happened[1].second, second) << distance;
        ASSERT_EQ(r.happened[2].second, last) << distance;
    }
}

TEST(Events, NeverIsNoTime) {
    Recorder r;
    size_t t = r.add();

    r.events.set(*r.timers[t], 5);
    r.events.set(*r.timers[t], never);
    EXPECT_FALSE(r.timers[t]->is_set());
    EXPECT_FALSE(r.events.next());
}

TEST(Events, SayWhatIsBefore) {
    Recorder r;
    size_t t = r.add();

    EXPECT_TRUE(r.events.nothing_before(never - 1));
    r.events.set(*r.timers[t], 10);
    EXPECT_TRUE(r.events.nothing_before(9));
    EXPECT_FALSE(r.events.nothing_before(10)) << "what was set first happens first";
}

} // namespace

} // namespace ol::simulator
