// SPDX-License-Identifier: MIT
// Relaxed co-scheduling, as VMware describes it: a virtual CPU makes progress while it runs or
// sleeps, not while it waits for a CPU. One that is too far ahead of its slowest sibling is stopped
// until that has caught up.
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Relaxed final : public Feature {
public:
    Relaxed(Level &level, const Features &s, std::unique_ptr<Policy> base)
        : Feature(level, std::move(base)),
          limit_(s.relaxed_limit),
          release_(s.relaxed_release),
          sample_(std::max<Time>(s.relaxed_sample, 1)),
          look_([this] { look(); }) {}

    ~Relaxed() override { level_.events.cancel(look_); }

    void begin() override {
        Feature::begin();
        of_.resize(level_.entities.size());
        level_.events.set(look_, sample_);
    }

private:
    struct State {
        Time progress = 0;
        bool stopped = false;
    };

    State &of(const Entity &e) { return of_[e.number]; }

    void look() {
        level_.events.set(look_, level_.events.now() + sample_);
        for (const Entity *e : level_.entities)
            if (e->cpu || !e->runnable)
                of(*e).progress += sample_;
        for (const Entity *e : level_.entities)
            if (e->group.members.front() == e)
                compare(e->group);
    }

    void compare(const Group &g) {
        Time least = never;

        for (const Entity *e : g.members)
            least = std::min(least, of(*e).progress);
        for (Entity *e : g.members) {
            State &s = of(*e);
            Time lead = s.progress - least;
            if (!s.stopped && lead > limit_ && e->runnable) {
                s.stopped = true;
                level_.hold(*e);
            } else if (s.stopped && lead <= release_) {
                s.stopped = false;
                level_.release(*e);
            }
        }
    }

    const Time limit_, release_, sample_;
    std::vector<State> of_; // by entity
    Timer look_;
};

} // namespace

std::unique_ptr<Policy> make_relaxed(Level &level, const Features &s,
                                     std::unique_ptr<Policy> base) {
    return std::make_unique<Relaxed>(level, s, std::move(base));
}

} // namespace ol::simulator
