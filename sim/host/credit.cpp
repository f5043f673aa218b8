// SPDX-License-Identifier: MIT
// Xen's credit scheduler: a queue for each CPU, by priority. A context with credits is UNDER, one
// without is OVER, and one that wakes with credits is BOOSTed until a tick. Credits are CPU time:
// those that ran lose it, and every 30 ms all active ones share what the CPUs had, by weight. A CPU
// that would idle, or run one that is OVER, steals from the others.
#include "host.h"

#include <algorithm>

namespace ol::simulator {

namespace {

enum Priority : uint8_t { boost, under, over, idle };

class Credit final : public Policy {
public:
    Credit(Level &level, const HostSettings &s)
        : level_(level),
          slice_(std::max<Time>(s.credit_slice, 1)),
          tick_(std::max<Time>(slice_ / std::max<Time>(s.credit_ticks, 1), 1)),
          ratelimit_(s.credit_ratelimit),
          by_ticks_(s.credit_by_ticks),
          queues_(level.cpus.size()),
          ticker_([this] { tick(); }),
          accounting_([this] { share_out(); }) {}

    ~Credit() override {
        level_.events.cancel(ticker_);
        level_.events.cancel(accounting_);
    }

    void begin() override {
        level_.events.set(ticker_, tick_);
        level_.events.set(accounting_, slice_);
        for (Entity *e : level_.entities) {
            e->priority = under;
            if (groups_.empty() || groups_.back() != &e->group)
                groups_.push_back(&e->group);
        }
        of_.resize(level_.entities.size());
    }

    Cpu &place(Entity &e, Why why) override {
        if (why != Why::woke && e.last)
            return *e.last;
        if (Cpu *c = idle_from(e, e.last ? e.last->number : 0))
            return *c;
        if (e.last && e.may_run_on(*e.last))
            return *e.last;
        Cpu *best = nullptr;
        for (Cpu *c : level_.cpus)
            if (e.may_run_on(*c) && (!best || load(*c) < load(*best)))
                best = c;
        return *best;
    }

    void put(Entity &e, Cpu &c, Why why) override {
        auto &q = queues_[c.number];

        if (why == Why::woke && e.priority == under && (e.last || e.ran))
            e.priority = boost;
        auto at = std::find_if(q.begin(), q.end(),
                               [&e](const Entity *other) { return other->priority > e.priority; });
        if (why == Why::yielded && at != q.end()) // behind one that has less
            at++;
        q.insert(at, &e);
    }

    Entity *take(Cpu &c) override {
        auto &q = queues_[c.number];
        Entity *e = q.empty() ? nullptr : q.front();

        if (!e || e->priority == over)
            if (Entity *better = stealable(c, e ? over : idle)) {
                remove(*better);
                return better;
            }
        if (e)
            q.erase(q.begin());
        return e;
    }

    void remove(Entity &e) override { std::erase(queues_[e.home->number], &e); }

    bool anyone_waits(const Cpu &c) const override { return !queues_[c.number].empty(); }

    Time slice(const Cpu &c, const Entity &e) override {
        Time used = c.used();

        if (anyone_waits(c) && queues_[c.number].front()->priority < e.priority)
            return ratelimit_ > used ? ratelimit_ - used : 1;
        return slice_ - used % slice_;
    }

    bool passes(const Cpu &c) const override {
        uint8_t mine = c.runs->priority;

        if (anyone_waits(c) && queues_[c.number].front()->priority <= mine)
            return true;
        return mine == over && stealable(c, over);
    }

    bool preempts(const Entity &woken, const Cpu &c) override {
        return woken.priority < c.runs->priority && c.used() >= ratelimit_;
    }

    Time guaranteed(const Cpu &) const override { return std::min(ratelimit_, slice_); }

    void ran(Entity &e, Time time) override {
        if (!by_ticks_)
            e.credits -= static_cast<int64_t>(time);
    }

private:
    struct State {
        bool active = false, parked = false;
    };

    size_t load(const Cpu &c) const { return queues_[c.number].size() + !c.is_idle(); }

    Cpu *idle_from(const Entity &e, size_t first) const {
        for (size_t i = 0; i < level_.cpus.size(); i++) {
            Cpu *c = level_.cpus[(first + i) % level_.cpus.size()];
            if (load(*c) == 0 && e.may_run_on(*c))
                return c;
        }
        return nullptr;
    }

    // Of a busy CPU, better than `priority`.
    Entity *stealable(const Cpu &c, uint8_t priority) const {
        for (size_t i = 1; i < level_.cpus.size(); i++) {
            const Cpu *peer = level_.cpus[(c.number + i) % level_.cpus.size()];
            if (peer->is_idle())
                continue;
            for (Entity *e : queues_[peer->number])
                if (e->priority < priority && e->may_run_on(c))
                    return e;
        }
        return nullptr;
    }

    void tick() {
        level_.events.set(ticker_, level_.events.now() + tick_);
        for (Cpu *c : level_.cpus)
            if (Entity *e = c->runs) {
                if (e->priority == boost)
                    e->priority = under;
                of_[e->number].active = true;
                if (by_ticks_)
                    e->credits -= static_cast<int64_t>(tick_);
            }
    }

    unsigned active_of(const Group &g) const {
        return static_cast<unsigned>(
            std::count_if(g.members.begin(), g.members.end(),
                          [this](const Entity *e) { return of_[e->number].active; }));
    }

    void share_out() {
        Time weights = 0, total = slice_ * level_.cpus.size();

        for (Cpu *c : level_.cpus)
            level_.charge(*c);
        level_.events.set(accounting_, level_.events.now() + slice_);
        for (Group *g : groups_)
            weights += Time(g->members.front()->weight) * active_of(*g);
        if (balance_ < 0)
            total += static_cast<Time>(-balance_);
        Time left = weights, owed = balance_ < 0 ? static_cast<Time>(-balance_) : 0;
        balance_ = 0;
        for (Group *g : groups_) {
            unsigned active = active_of(*g);
            if (!active)
                continue;
            Time weight = Time(g->members.front()->weight) * active;
            left -= weight;
            Time peak = active * slice_ + portion(owed, weight, weights), cap = 0;
            if (g->cap_percent) {
                cap = g->cap_percent * slice_ / 100;
                peak = std::min(peak, cap);
            }
            Time fair = portion(total, weight, weights);
            if (fair >= peak) { // the others have a chance at the rest
                if (left)
                    total += portion(fair - peak, weights, left);
                fair = peak;
            }
            for (Entity *e : g->members)
                if (of_[e->number].active)
                    earn(*e, fair / active, cap / active);
        }
        for (Cpu *c : level_.cpus) {
            auto &q = queues_[c->number];
            std::stable_sort(q.begin(), q.end(), [](const Entity *a, const Entity *b) {
                return a->priority < b->priority;
            });
        }
    }

    static Time portion(Time of, Time part, Time whole) {
        return static_cast<Time>(static_cast<unsigned __int128>(of) * part / whole);
    }

    void earn(Entity &e, Time credits, Time cap) {
        auto most = static_cast<int64_t>(slice_);
        State &state = of_[e.number];

        e.credits += static_cast<int64_t>(credits);
        if (e.credits < 0) {
            e.priority = over;
            if (cap && e.credits < -static_cast<int64_t>(cap) && !state.parked) {
                state.parked = true;
                level_.hold(e);
            }
            e.credits = std::max(e.credits, -most);
        } else {
            e.priority = under;
            if (state.parked) {
                state.parked = false;
                level_.release(e);
            }
            if (e.credits > most) { // it earns no more, and is ahead when it begins again
                state.active = false;
                e.credits /= 2;
            }
        }
        balance_ += e.credits;
    }

    Level &level_;
    const Time slice_, tick_, ratelimit_;
    const bool by_ticks_;
    std::vector<std::vector<Entity *>> queues_; // by priority
    std::vector<State> of_;                     // by entity
    std::vector<Group *> groups_;
    int64_t balance_ = 0; // of all credits
    Timer ticker_, accounting_;
};

} // namespace

std::unique_ptr<Policy> make_credit(Level &level, const HostSettings &s) {
    return std::make_unique<Credit>(level, s);
}

} // namespace ol::simulator
