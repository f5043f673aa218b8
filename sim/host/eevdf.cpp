// SPDX-License-Identifier: MIT
// Linux's scheduler from 6.6 on: earliest eligible virtual deadline first (Stoica and Abdel-Wahab
// 1995). Each asks for a base slice; it is eligible while it has had no more than its share, and
// its deadline is when a request that began now would have been served. What it is ahead or behind
// outlasts its sleep.
#include "linux.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Eevdf final : public Linux {
public:
    Eevdf(Level &level, const HostSettings &s)
        : Linux(level, s.eevdf_tick, s.eevdf_balance, s.eevdf_groups),
          slice_(s.eevdf_slice * static_cast<Time>(factor_)),
          tick_(s.eevdf_tick),
          parity_(s.eevdf_run_to_parity),
          forfeit_(s.eevdf_forfeit) {}

    Time slice(const Cpu &c, const Entity &e) override {
        int64_t left = (e.deadline - e.virtual_time) * weight(e) / usual_weight;

        return until_tick(c, left > 0 ? static_cast<Time>(left) : 0);
    }

    bool passes(const Cpu &c) const override {
        return anyone_waits(c) && best(queue(c), c.runs) != c.runs;
    }

    // It asks for a further slice. Unless it forfeits this one, it may still be the only one that
    // is eligible, and goes on.
    bool yields(Cpu &c) override {
        Entity &e = *c.runs;

        if (!anyone_waits(c))
            return false;
        if (forfeit_ && is_eligible(queue(c), &e, e))
            e.virtual_time = e.deadline;
        if (!forfeit_ || e.virtual_time == e.deadline)
            e.deadline += vslice(e);
        queue(c).request_ends = e.virtual_time;
        return best(queue(c), &e) != &e;
    }

    bool preempts(const Entity &woken, const Cpu &c) override {
        return best(queue(c), c.runs) == &woken;
    }

    Cpu *favour(Entity &to) override {
        Queue &q = queue(*to.home);

        if (is_eligible(q, to.home->runs, to))
            q.next = &to;
        return to.home;
    }

    void ran(Entity &e, Time time) override {
        Linux::ran(e, time);
        if (e.virtual_time >= e.deadline)
            e.deadline = e.virtual_time + vslice(e);
    }

    void blocks(Entity &e) override {
        const Queue &q = queue(*e.cpu);
        int64_t most = virtually(std::max(2 * slice_, tick_), e);

        e.lag = std::clamp(average(q, &e) - e.virtual_time, -most, most);
    }

protected:
    void join(Queue &q, Entity &e, const Cpu &c, Why why) override {
        int64_t request = vslice(e);

        if (why == Why::woke) {
            bool is_new = !e.last && !e.ran;
            e.virtual_time = average(q, c.runs) - (is_new ? 0 : inflated(q, e, c));
            e.deadline = e.virtual_time + (is_new ? request / 2 : request);
        } else if (e.deadline <= e.virtual_time || e.deadline > e.virtual_time + 2 * request) {
            e.deadline = e.virtual_time + request; // it comes from another queue
        }
    }

    Entity *pick(Queue &q, const Cpu &) override {
        if (q.next && is_eligible(q, nullptr, *q.next))
            return q.next;
        return const_cast<Entity *>(best(q, nullptr));
    }

private:
    struct Sum {
        int64_t weights = 0;
        __int128 times = 0; // above the queue's least, by weight

        void add(const Queue &q, const Entity &e, int64_t weight) {
            weights += weight;
            times += static_cast<__int128>(e.virtual_time - q.least) * weight;
        }
    };

    Sum sum_of(const Queue &q, const Entity *runs) const {
        Sum s;

        for (const Entity *e : q.waiting)
            s.add(q, *e, weight(*e));
        if (runs)
            s.add(q, *runs, weight(*runs));
        return s;
    }

    int64_t average(const Queue &q, const Entity *runs) const {
        Sum s = sum_of(q, runs);

        return s.weights ? q.least + static_cast<int64_t>(s.times / s.weights) : q.least;
    }

    bool is_eligible(const Queue &q, const Entity *runs, const Entity &e) const {
        Sum s = sum_of(q, runs);

        return s.times >= static_cast<__int128>(e.virtual_time - q.least) * s.weights;
    }

    // Among those that wait and, if one is named, the one that runs.
    const Entity *best(const Queue &q, const Entity *runs) const {
        Sum s = sum_of(q, runs);
        auto eligible = [&](const Entity *e) {
            return s.times >= static_cast<__int128>(e->virtual_time - q.least) * s.weights;
        };
        const Entity *found = runs && eligible(runs) ? runs : nullptr;

        if (found && parity_ && runs->virtual_time < q.request_ends)
            return found;
        for (const Entity *e : q.waiting)
            if (eligible(e) && (!found || e->deadline < found->deadline))
                found = e;
        return found ? found : q.waiting.front(); // the average was rounded
    }

    // It joins the average, which its lag moves: Linux places it so that the lag is what it was.
    int64_t inflated(const Queue &q, const Entity &e, const Cpu &c) const {
        Sum s = sum_of(q, c.runs);

        return s.weights ? e.lag * (s.weights + weight(e)) / s.weights : 0;
    }

    int64_t vslice(const Entity &e) const { return virtually(slice_, e); }

    const Time slice_, tick_;
    const bool parity_, forfeit_;
};

} // namespace

std::unique_ptr<Policy> make_eevdf(Level &level, const HostSettings &s) {
    return std::make_unique<Eevdf>(level, s);
}

} // namespace ol::simulator
