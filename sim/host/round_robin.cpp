// SPDX-License-Identifier: MIT
// One queue, first come, first served. A waking context preempts none.
#include "host.h"

#include <algorithm>
#include <deque>

namespace ol::simulator {

namespace {

class RoundRobin final : public Policy {
public:
    RoundRobin(Level &level, Time slice) : level_(level), slice_(std::max<Time>(slice, 1)) {}

    Cpu &place(Entity &e, Why) override {
        for (Cpu *c : level_.cpus)
            if (c->is_idle() && c->live && e.may_run_on(*c))
                return *c;
        for (Cpu *c : level_.cpus)
            if (c->is_idle() && e.may_run_on(*c))
                return *c;
        return *level_.cpus[e.number % level_.cpus.size()];
    }

    void put(Entity &e, Cpu &, Why) override { queue_.push_back(&e); }

    Entity *take(Cpu &c) override {
        auto first = find(c);
        if (first == queue_.end())
            return nullptr;
        Entity *e = *first;
        queue_.erase(first);
        return e;
    }

    void remove(Entity &e) override { std::erase(queue_, &e); }
    Time slice(const Cpu &c, const Entity &) override { return slice_ - c.used() % slice_; }
    Time guaranteed(const Cpu &) const override { return slice_; }
    bool queues_are_cpus() const override { return false; }
    bool preempts(const Entity &, const Cpu &) override { return false; }
    bool anyone_waits(const Cpu &c) const override { return find(c) != queue_.end(); }
    void ran(Entity &, Time) override {}

private:
    std::deque<Entity *>::const_iterator find(const Cpu &c) const {
        return std::find_if(queue_.begin(), queue_.end(),
                            [&c](const Entity *e) { return e->may_run_on(c); });
    }

    Level &level_;
    const Time slice_;
    std::deque<Entity *> queue_;
};

} // namespace

std::unique_ptr<Policy> make_round_robin(Level &level, const HostSettings &s) {
    return std::make_unique<RoundRobin>(level, s.round_robin_slice);
}

} // namespace ol::simulator
