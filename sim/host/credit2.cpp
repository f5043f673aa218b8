// SPDX-License-Identifier: MIT
// Xen's credit2: the CPUs of a socket share a queue, in the order of credits. Credits burn as one
// runs, the faster the less its weight; when the next one has none left, all of the queue get new
// ones.
#include "host.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Credit2 final : public Policy {
public:
    Credit2(Level &level, const HostSettings &s)
        : level_(level),
          most_(static_cast<int64_t>(s.credit2_credits)),
          least_(static_cast<int64_t>(s.credit2_least)),
          resist_(static_cast<int64_t>(s.credit2_resist)),
          ratelimit_(s.credit2_ratelimit) {
        for (Cpu *c : level.cpus)
            queues_.resize(std::max<size_t>(queues_.size(), level.socket_of(*c) + 1));
    }

    bool queues_are_cpus() const override { return false; }

    void begin() override {
        for (Entity *e : level_.entities) {
            e->credits = most_;
            heaviest_ = std::max(heaviest_, e->weight);
        }
    }

    // An idle CPU. If there is none, a CPU of the queue with the fewest entities per CPU: the one
    // whose entity has the least credits, which may be preempted.
    Cpu &place(Entity &e, Why why) override {
        if (why != Why::woke && e.last && e.may_run_on(*e.last))
            return *e.last;
        size_t socket = emptiest_for(e);
        Cpu *best = nullptr;
        if (e.last && e.last->is_idle() && e.may_run_on(*e.last) && queue(*e.last).empty())
            return *e.last;
        for (Cpu *c : level_.cpus) {
            if (level_.socket_of(*c) != socket || !e.may_run_on(*c))
                continue;
            if (c->is_idle())
                return *c;
            if (!best || c->runs->credits < best->runs->credits)
                best = c;
        }
        return *best;
    }

    void put(Entity &e, Cpu &c, Why why) override {
        auto &q = queue(c);
        auto at = std::find_if(q.begin(), q.end(),
                               [&e](const Entity *other) { return other->credits < e.credits; });

        if (why == Why::yielded && at != q.end()) // one passes that has less
            at++;
        q.insert(at, &e);
        e.home = &c;
    }

    Entity *take(Cpu &c) override {
        Entity *e = candidate(c);

        for (size_t i = 0; !e && i < queues_.size(); i++) // of another socket
            for (Entity *other : queues_[i])
                if (!e && other->may_run_on(c))
                    e = other;
        if (!e)
            return nullptr;
        remove(*e);
        if (e->credits <= 0)
            reset(c, *e);
        return e;
    }

    void remove(Entity &e) override { std::erase(queue(*e.home), &e); }

    bool anyone_waits(const Cpu &c) const override { return candidate(c); }

    // Until it has no more credits, or no more than the next one.
    Time slice(const Cpu &c, const Entity &e) override {
        const Entity *next = candidate(c);
        int64_t credits = e.credits - (next ? std::max<int64_t>(next->credits, 0) : 0);
        auto least = static_cast<Time>(least_);
        if (ratelimit_ > c.used())
            least = std::max(least, ratelimit_ - c.used());
        Time time = credits > 0 ? static_cast<Time>(credits) * e.weight / heaviest_ : 0;

        return std::clamp(time, least, std::max(least, static_cast<Time>(most_)));
    }

    bool passes(const Cpu &c) const override {
        const Entity *next = candidate(c);

        return next && next->credits >= c.runs->credits;
    }

    bool preempts(const Entity &woken, const Cpu &c) override {
        int64_t more = woken.last && woken.last != &c ? resist_ : 0;

        return woken.credits > c.runs->credits + more && c.used() >= ratelimit_;
    }

    Time guaranteed(const Cpu &) const override {
        return std::max(ratelimit_, static_cast<Time>(least_));
    }

    void ran(Entity &e, Time time) override {
        e.credits -= static_cast<int64_t>(time) * heaviest_ / e.weight;
        e.credits = std::max(e.credits, -most_);
    }

private:
    std::vector<Entity *> &queue(const Cpu &c) { return queues_[level_.socket_of(c)]; }
    const std::vector<Entity *> &queue(const Cpu &c) const { return queues_[level_.socket_of(c)]; }

    // With the most credits of those that may run there. Who last ran elsewhere needs a lead.
    Entity *candidate(const Cpu &c) const {
        Entity *best = nullptr;

        for (Entity *e : queue(c)) {
            int64_t less = e->last && e->last != &c ? resist_ : 0;
            if (!e->may_run_on(c))
                continue;
            if (!best || e->credits - less > best->credits)
                best = e;
            if (best->last == &c || !best->last)
                break;
        }
        return best;
    }

    size_t emptiest_for(const Entity &e) const {
        std::vector<size_t> load(queues_.size()), cpus(queues_.size());

        for (const Cpu *c : level_.cpus) {
            size_t s = level_.socket_of(*c);
            load[s] += !c->is_idle();
            cpus[s] += e.may_run_on(*c);
        }
        size_t best = queues_.size();
        for (size_t s = 0; s < queues_.size(); s++) {
            load[s] += queues_[s].size();
            if (cpus[s] && (best == queues_.size() || load[s] * cpus[best] < load[best] * cpus[s]))
                best = s;
        }
        return best;
    }

    void reset(Cpu &c, Entity &next) {
        int64_t more = next.credits <= -most_ ? 2 * most_ : most_;

        for (Entity *e : level_.entities) {
            const Cpu *at = e->cpu ? e->cpu : e->home;
            if (at && level_.socket_of(*at) == level_.socket_of(c))
                e->credits = std::min(e->credits + more, most_ + least_);
        }
    }

    Level &level_;
    const int64_t most_, least_, resist_;
    const Time ratelimit_;
    unsigned heaviest_ = 1;
    std::vector<std::vector<Entity *>> queues_; // by socket, most credits first
};

} // namespace

std::unique_ptr<Policy> make_credit2(Level &level, const HostSettings &s) {
    return std::make_unique<Credit2>(level, s);
}

} // namespace ol::simulator
