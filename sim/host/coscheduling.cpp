// SPDX-License-Identifier: MIT
// Adaptive co-scheduling, after Weng et al. 2011: a guest that is found to spin has all its
// contexts run at once, until their common slice ends, for as long as it is found to spin. With
// dependencies, which a lock could tell (Ouyang and Lange 2013, section 7), only the context that
// another one spins for gets that one's CPU.
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Coscheduling final : public OnSpinning {
public:
    Coscheduling(Level &level, const Features &s, std::unique_ptr<Policy> base)
        : OnSpinning(level, std::move(base)),
          threshold_(s.coscheduling_threshold),
          keep_(s.coscheduling_keep),
          dependencies_(s.coscheduling_dependencies),
          gather_([this] { gather(); }) {}

    ~Coscheduling() override { level_.events.cancel(gather_); }

    void begin() override {
        Feature::begin();
        of_.resize(level_.entities.size());
    }

    Time slice(const Cpu &c, const Entity &e) override {
        Time now = level_.events.now(), ends = of(e.group).ends;

        return ends > now ? ends - now : Feature::slice(c, e);
    }

    bool preempts(const Entity &woken, const Cpu &c) override {
        return of(c.runs->group).ends <= level_.events.now() && Feature::preempts(woken, c);
    }

    void started(Cpu &c) override {
        Feature::started(c);
        ask_for(c.runs->group);
    }

protected:
    Time patience(const Entity &) override { return threshold_; }

    void spun(Entity &e) override {
        if (!dependencies_) {
            of(e.group).until = level_.events.now() + keep_;
            ask_for(e.group);
            return;
        }
        Entity *other = e.waits_on();
        if (other && other->queued && other->may_run_on(*e.cpu)) {
            e.interrupt(level_.exit);
            level_.run_at(*e.cpu, *other);
        }
    }

private:
    struct Gang {
        Time until = 0, ends = 0; // co-scheduled, and its common slice
        bool gathers = false;
    };

    Gang &of(const Group &g) { return of_[g.members.front()->number]; }

    // By a timer, since the caller is in the middle of a decision of its own.
    void ask_for(Group &g) {
        Time now = level_.events.now();
        Gang &gang = of(g);

        if (now >= gang.until || now < gang.ends || gang.gathers)
            return;
        gang.gathers = true;
        asked_.push_back(&g);
        level_.events.set(gather_, now);
    }

    void gather() {
        std::vector<Group *> all;

        all.swap(asked_);
        for (Group *g : all) {
            of(*g).gathers = false;
            gather(*g);
        }
    }

    // The slice of the first member that runs is that of all.
    void gather(Group &g) {
        auto leads = std::find_if(g.members.begin(), g.members.end(),
                                  [](const Entity *e) { return e->cpu; });

        if (leads == g.members.end())
            return;
        of(g).ends = std::min((*leads)->cpu->slice_end(), level_.events.now() + keep_);
        for (Entity *e : g.members) {
            Cpu *c = e->queued ? cpu_for(*e) : nullptr;
            if (c)
                level_.run_at(*c, *e);
            else if (e->cpu)
                level_.reslice(*e->cpu);
        }
    }

    // Where no sibling runs, and no other gang does; the one where it queues before others.
    Cpu *cpu_for(const Entity &e) {
        auto suits = [&](const Cpu *c) {
            return c->live && e.may_run_on(*c) &&
                   (!c->runs || (&c->runs->group != &e.group &&
                                 of(c->runs->group).ends <= level_.events.now()));
        };
        if (suits(e.home))
            return e.home;
        auto other = std::find_if(level_.cpus.begin(), level_.cpus.end(), suits);
        return other == level_.cpus.end() ? nullptr : *other;
    }

    const Time threshold_, keep_;
    const bool dependencies_;
    std::vector<Gang> of_; // by the number of a group's first member
    std::vector<Group *> asked_;
    Timer gather_;
};

} // namespace

std::unique_ptr<Policy> make_coscheduling(Level &level, const Features &s,
                                          std::unique_ptr<Policy> base) {
    return std::make_unique<Coscheduling>(level, s, std::move(base));
}

} // namespace ol::simulator
