// SPDX-License-Identifier: MIT
// Pause-loop exiting, as KVM uses it: a virtual CPU that has polled for a window exits, and the
// host yields to a sibling that waits for a CPU, beginning after the one that it chose last. Each
// exit widens the window, and getting a CPU narrows it.
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Ple final : public OnSpinning {
public:
    Ple(Level &level, const Features &s, std::unique_ptr<Policy> base)
        : OnSpinning(level, std::move(base)),
          window_(std::max<Time>(s.ple_window, 1)),
          most_(s.ple_most),
          grow_(s.ple_grow),
          shrink_(s.ple_shrink),
          user_(s.ple_user) {
        level.spin_gap = s.ple_gap;
    }

    void begin() override {
        Feature::begin();
        of_.resize(level_.entities.size(), {window_});
    }

    void started(Cpu &c) override {
        State &s = of_[c.runs->number];

        s.window = shrink_ < 2 ? window_ : std::max(window_, s.window / shrink_);
        s.yielded = false;
        Feature::started(c);
    }

protected:
    Time patience(const Entity &e) override { return of_[e.number].window; }

    bool cares(bool in_user_mode) const override { return user_ || !in_user_mode; }

    void spun(Entity &e) override {
        State &s = of_[e.number];

        if (grow_ >= 2)
            s.window = std::min(most_, s.window * grow_);
        e.interrupt(level_.exit);
        s.yielded = true; // while it has not been back, others yield to it every other time
        s.eligible = false;
        yield_to_sibling(e);
        if (e.cpu)
            s.yielded = false;
    }

private:
    struct State {
        Time window;
        bool yielded = false, eligible = false;
        size_t last_boosted = 0; // of its group, if it is the first member
    };

    // One that waits for a CPU. Whoever lost its CPU while it yielded is likely to spin again, and
    // is passed over once.
    bool is_eligible(const Entity &e) {
        State &s = of_[e.number];

        if (!e.queued)
            return false;
        if (!s.yielded)
            return true;
        s.eligible = !s.eligible;
        return !s.eligible;
    }

    void yield_to_sibling(Entity &e) {
        const auto &members = e.group.members;
        size_t &last = of_[members.front()->number].last_boosted;

        for (size_t i = 1; i <= members.size(); i++) {
            size_t at = (last + i) % members.size();
            if (members[at] == &e || !is_eligible(*members[at]))
                continue;
            last = at;
            level_.yield_to(e, *members[at], Lost::exited);
            return;
        }
    }

    const Time window_, most_, grow_, shrink_;
    const bool user_;
    std::vector<State> of_; // by entity
};

} // namespace

std::unique_ptr<Policy> make_ple(Level &level, const Features &s, std::unique_ptr<Policy> base) {
    return std::make_unique<Ple>(level, s, std::move(base));
}

} // namespace ol::simulator
