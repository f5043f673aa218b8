// SPDX-License-Identifier: MIT
// Linux's completely fair scheduler, as of 6.1: each CPU runs the entity with the least virtual run
// time. Who yields is skipped only if the next one is not much behind it, and else goes on at once.
#include "linux.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Fair final : public Linux {
public:
    Fair(Level &level, const HostSettings &s)
        : Linux(level, s.fair_tick, s.fair_balance, s.fair_groups),
          latency_(static_cast<int64_t>(s.fair_latency) * factor_),
          granularity_(static_cast<int64_t>(s.fair_granularity) * factor_),
          wakeup_(s.fair_wakeup * static_cast<Time>(factor_)) {}

    Time slice(const Cpu &c, const Entity &e) override {
        auto used = static_cast<int64_t>(c.used());
        int64_t left = share(c, e) - used;

        return until_tick(c, left > 0 ? static_cast<Time>(left) : 0);
    }

    bool passes(const Cpu &c) const override {
        const Queue &q = queue(c);

        return !q.waiting.empty() &&
               (q.next || q.waiting.front()->virtual_time < c.runs->virtual_time);
    }

    // What sched_yield() does: the next one runs unless it is too far behind.
    bool yields(Cpu &c) override {
        Queue &q = queue(c);

        if (q.waiting.empty())
            return false;
        if (!q.next && is_behind(*q.waiting.front(), c.runs->virtual_time))
            return false;
        q.skip = c.runs;
        return true;
    }

    bool preempts(const Entity &woken, const Cpu &c) override {
        return woken.virtual_time + virtually(wakeup_, woken) < c.runs->virtual_time;
    }

    Cpu *favour(Entity &to) override {
        Queue &q = queue(*to.home);
        int64_t least = q.waiting.front()->virtual_time;

        if (to.home->runs)
            least = std::min(least, to.home->runs->virtual_time);
        if (!is_behind(to, least))
            q.next = &to;
        return to.home;
    }

protected:
    // A new one begins up to a slice later than the others (in Linux a slice later, but not all of
    // them at one time), one that slept not too long before them.
    void join(Queue &q, Entity &e, const Cpu &c, Why why) override {
        if (why != Why::woke)
            return;
        if (!e.last && !e.ran)
            e.virtual_time =
                q.least + static_cast<int64_t>(level_.part_of(static_cast<Time>(vslice(c, e)),
                                                              e.number + level_.cpus.size()));
        else
            e.virtual_time = std::max(e.virtual_time, q.least - latency_ / 2);
    }

    Entity *pick(Queue &q, const Cpu &) override {
        Entity *first = q.waiting.front();

        if (q.next && !is_behind(*q.next, first->virtual_time))
            return q.next;
        if (first != q.skip || q.waiting.size() == 1)
            return first;
        Entity *second = q.waiting[1];
        return is_behind(*second, first->virtual_time) ? first : second;
    }

private:
    bool is_behind(const Entity &e, int64_t least) const {
        return e.virtual_time - least > virtually(wakeup_, e);
    }

    int64_t share(const Cpu &c, const Entity &e) const {
        int64_t all = weight(e);
        const auto &waiting = queue(c).waiting;

        for (const Entity *w : waiting)
            if (w != &e)
                all += weight(*w);
        auto n = static_cast<int64_t>(waiting.size()) + 1;
        int64_t period = std::max(latency_, n * granularity_);
        return std::max(granularity_, period * weight(e) / all);
    }

    int64_t vslice(const Cpu &c, const Entity &e) const {
        return virtually(static_cast<Time>(share(c, e)), e);
    }

    const int64_t latency_, granularity_;
    const Time wakeup_;
};

} // namespace

std::unique_ptr<Policy> make_fair(Level &level, const HostSettings &s) {
    return std::make_unique<Fair>(level, s);
}

} // namespace ol::simulator
