// SPDX-License-Identifier: MIT
// The platform layer: what a lock asks, and what that costs.
#include "simulation.h"

#include <algorithm>
#include <utility>

namespace ol::simulator {

using engine::Place;

// Going on.

inline void Simulation::goes_on(Task &t) {
    self_ = &t;
    if (t.doing == Doing::polls && t.on_cpu())
        t.polls(false);
    t.doing = Doing::goes_on;
    t.left = 0;
}

void Simulation::resume(Task &t) {
    goes_on(t);
    t.coroutine.resume();
    self_ = nullptr;
    if (wishes_)
        grant(*std::exchange(wishes_, nullptr));
}

// Whoever is next goes on, without a way over the loop of events if that is a context.
void Simulation::suspend(Task &t) {
    Task *next = one_by_one_ || over_ ? nullptr : events_.next_to_go_on();

    if (!next)
        return t.coroutine.suspend();
    goes_on(*next);
    if (next != &t)
        t.coroutine.hand_over(next->coroutine);
}

// Time.

// Something else happens before.
void Simulation::go_on_at(Time time) {
    events_.set(self_->step, time);
    suspend(*self_);
}

Time Simulation::now(Place) {
    if (!self_)
        return events_.now();
    self_->tells_by = events_.now();
    spend(machine().costs.clock);
    return events_.now();
}

Time Simulation::after(uint64_t n, Time d, Place place) {
    return d == never ? never : later(now(place), n, d, place);
}

Time Simulation::later(Time t, uint64_t n, Time d, Place) {
    Time span;

    if (d == never || __builtin_mul_overflow(n, d, &span))
        return never;
    return sum(t, span);
}

bool Simulation::passed(Time t, Place) {
    if (t == never)
        return false;
    if (self_) {
        spend(machine().costs.clock);
        if (t > events_.now())
            self_->tells_by = std::min(self_->tells_by, t);
    }
    return t <= events_.now();
}

void Simulation::fence(Place) {
    if (self_)
        spend(std::max(self_->drained, events_.now()) + machine().costs.atomic - events_.now());
}

// Waiting: a poller sleeps until a word changes, and is charged for its polls.

// Whether this turn of its loop has read what the last one did, and nothing of it has changed
// since: the next would do the same.
inline bool Simulation::repeats(const Task &t) {
    const Looks &now = t.looks_at;
    const Watch *last = t.watches.data();

    if (!now.are_all() || now.size() != t.watched)
        return false;
    for (const Look &l : now)
        if (!l.same_word(last++->look) || l.is_old())
            return false;
    return true;
}

void Simulation::watch(Task &t) {
    unwatch(t);
    for (const Look &l : t.looks_at) {
        Watch &w = t.watches[t.watched++];
        size_t line = line_of(l.at);
        auto &list = watchers_[line];
        w = {l, &t, line, list.size()};
        list.push_back(&w);
    }
}

void Simulation::leave_lists(Task &t) {
    for (unsigned i = 0; i < t.watched; i++) {
        Watch &w = t.watches[i];
        auto &list = watchers_[w.line];
        list[w.place] = list.back();
        list[w.place]->place = w.place;
        list.pop_back();
    }
    t.watched = 0;
}

// At its next poll it fetches the line, and then goes on.
inline void Simulation::look(Task &t, const Watch &w) {
    Time behind = remainder(events_.now() - t.poll_from, t.poll_period);
    Time at = events_.now() + (behind ? t.poll_period - behind : 0);

    if (!w.look.writes()) {
        at = lines_.read_again(w.look.at, t.core(), at);
        t.fetched = w.look.at;
        t.fetched_at = at;
    }
    if (!t.step.is_set() || at < t.step.at())
        events_.set(t.step, at);
    t.looks = true;
}

void Simulation::wake_lookers(const std::vector<Watch *> &list) {
    Watch *const *first = list.data(), *const *end = first + list.size();
    Watch *const *next = first + random_.below(static_cast<uint32_t>(list.size()));
    for (size_t left = list.size(); left; left--) {
        const Watch &w = **next;
        Task &t = *w.task;
        next = next + 1 == end ? first : next + 1;
        if (t.doing == Doing::polls && t.on_cpu() && !t.looks && w.look.is_old())
            look(t, w);
    }
}

// Processors see loops of virtual CPUs, not of the host's threads.
void Simulation::tell_of_spinning(Task &t) {
    Kind kind = t.guest.plan.kind;

    if (kind != Kind::threads && kind != Kind::tasks)
        host_.policy().spins(*t.on_host(), t.spins_from, kind == Kind::users);
}

inline void Simulation::poll(Task &t, Time until) {
    t.poll_from = events_.now();
    t.poll_period = machine().costs.pause + t.paused + t.watched * machine().costs.hit;
    t.doing = Doing::polls;
    t.looks = false;
    t.polls(true);
    if (until != never)
        events_.set(t.step, std::max(until, events_.now() + t.poll_period));
    if (watches_spinning_)
        tell_of_spinning(t);
    suspend(t);
}

// Until a time that has passed: a pause in the midst of a turn.
void Simulation::relax(Time until, Place) {
    cannot_be_inside();
    if (until > events_.now()) {
        end_turn(until);
        return;
    }
    self_->paused += machine().costs.pause;
    spend(machine().costs.pause);
    self_->in_order = events_.now();
}

void Simulation::end_turn(Time until) {
    Task &t = *self_;
    Time now = events_.now();

    until = std::min(until, t.told_at);
    t.told_at = t.tells_by = never;
    if (now > t.polled + host_.spin_gap)
        t.spins_from = now;
    // Without a word to look at, only time ends the wait.
    bool can_end = t.looks_at.size() || until != never;
    if (can_end && until > now && repeats(t)) {
        for (unsigned i = 0; i < t.watched; i++)
            t.watches[i].look.value = t.looks_at.begin()[i].value;
        t.looks_at.clear();
        poll(t, until);
    } else {
        watch(t);
        t.looks_at.clear();
        spend(machine().costs.pause);
    }
    t.paused = 0;
    t.polled = t.in_order = events_.now();
}

// A kernel that spins does not yield. Its loop may go by the clock, too.
void Simulation::yield(uint32_t to, Place) {
    cannot_be_inside();
    if (is_kernel() && !to) {
        self_->counts.yields++;
        end_turn(self_->tells_by);
    } else {
        give_up(to);
    }
}

// A call of the hypervisor, as Xen's SCHEDOP_yield: the time is then the scheduler's.
void Simulation::yield_until(Time, Place) {
    give_up(0);
}

void Simulation::give_up(uint32_t to) {
    Task &t = *self_;

    cannot_be_inside();
    t.counts.yields++;
    forget(t);
    spend(is_kernel() ? machine().costs.exit : machine().costs.yield);
    events_.set(t.step, events_.now());
    t.gives_up = true;
    if (to && to <= t.guest.tasks.size()) {
        t.counts.directed++;
        t.level.yield_to(t, *t.guest.tasks[to - 1]);
    } else {
        t.level.yield(t);
    }
    t.gives_up = false;
    suspend(t);
}

// Parking.

void Simulation::park(const uint32_t *word, uint32_t seen, uint32_t key, Time until, Place) {
    Task &t = *self_;
    const Costs &c = machine().costs;

    cannot_be_inside();
    forget(t);
    spend(is_kernel() ? c.exit : c.sleep);
    spend(lines_.read(word, request(t)) - events_.now());
    if (*word != seen || until <= events_.now())
        return;
    t.counts.parks++;
    t.doing = Doing::parked;
    t.parked_on = word;
    t.key = key;
    t.left = 0;
    parked_[word].push_back(&t);
    if (tracing_)
        tracing_->park(t);
    events_.set(t.alarm, until);
    t.level.block(t);
    suspend(t);
}

void Simulation::unpark(Task &t) {
    if (t.parked_on) {
        std::erase(parked_[t.parked_on], &t);
        t.parked_on = nullptr;
    }
    progress_++;
    t.level.wake(t);
}

// In the order in which they went to sleep.
void Simulation::kick(const uint32_t *word, uint32_t key, int n, Place) {
    Task &t = *self_;
    const Costs &c = machine().costs;
    Time interrupts = 0;

    cannot_be_inside();
    t.counts.kicks++;
    spend(is_kernel() ? c.exit : c.kick);
    auto found = parked_.find(word);
    if (found == parked_.end())
        return;
    auto &sleepers = found->second;
    for (size_t i = 0; n > 0 && i < sleepers.size();) {
        Task *s = sleepers[i];
        if (!(s->key & key) || &s->guest != &t.guest) {
            i++;
            continue;
        }
        sleepers.erase(sleepers.begin() + static_cast<ptrdiff_t>(i));
        s->parked_on = nullptr;
        if (tracing_)
            tracing_->kick(t, *s);
        bool to_idle = s->last && s->last->is_idle();
        events_.set(s->alarm, events_.now() + (to_idle ? c.wake : 0));
        interrupts += to_idle ? c.interrupt : 0;
        n--;
    }
    spend(interrupts);
}

// A kernel's idle loop says nothing.
uint32_t **Simulation::competes() {
    return is_kernel() ? nullptr : &self_->competes;
}

// Identity and nodes.

ol_node *Simulation::node_get(Place) {
    auto &nodes = self_->nodes;

    if (nodes.empty())
        return nullptr;
    ol_node *node = nodes.back();
    nodes.pop_back();
    return node;
}

void Simulation::node_put(ol_node *node, Place) {
    self_->nodes.push_back(node);
}

uint32_t Simulation::node_number(const ol_node *node) {
    return static_cast<uint32_t>(node - self_->guest.nodes.front()) + 1;
}

ol_node *Simulation::node_at(uint32_t number, Place) {
    return self_->guest.nodes[number - 1];
}

uint64_t *Simulation::wait_slot(size_t i, Place) {
    return &self_->guest.wait_slots[i & (tuning().wait_slots - 1)];
}

void Simulation::count(unsigned event, Place) {
    if (self_)
        self_->counts.events[event]++;
}

void Simulation::count_at(unsigned event, unsigned n, Place place) {
    if (!self_)
        return;
    auto &positions = self_->guest.positions[event];
    if (positions.size() <= n)
        positions.resize(n + 1);
    positions[n]++;
    if (event == OL_QUEUE)
        self_->takes_ticket();
    count(event, place);
}

// Knowledge.

// After the last of its locks it gives up a slice that went on for it.
void Simulation::defer(bool begins, Place) {
    Task &t = *self_;
    Entity *e = t.on_host();

    t.deferring = begins;
    if (begins || !e->cpu || !e->cpu->put_off)
        return;
    spend(is_kernel() ? machine().costs.exit : machine().costs.yield);
    events_.set(t.step, events_.now());
    e->level.stops_deferring(*e);
    suspend(t);
}

// A thread on a virtual CPU has a slice only while that CPU has one.
uint64_t Simulation::slice_id(Place) {
    if (!self_)
        return 0;
    Task &t = *self_;
    Time began = std::max(t.cpu->began, t.on_host()->cpu->began);
    Time told = sum(began, t.guest.plan.told_delay);
    bool late = t.guest.plan.told_slices && events_.now() < told;
    t.told_at = late ? told : never;
    return t.lost.all + !late;
}

// A page that the host writes says when the slice ends: for some time what it said before. Nobody
// knows the end better than by `error`, the same in all of a slice.
Time Simulation::told_end(const Cpu &c, uint64_t slice) const {
    const GuestPlan &plan = self_->guest.plan;
    Time end = c.slice_end();

    if (events_.now() < sum(c.end_set, plan.told_delay))
        end = c.end_before;
    if (end == never || !plan.told_error)
        return end;
    uint64_t mixed = (slice ^ uint64_t(self_->id) << 32 ^ scenario_.seed) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 29;
    Time error = mixed % (2 * plan.told_error + 1);
    return sum(end, error) - std::min(sum(end, error), plan.told_error);
}

Time Simulation::slice_end(Place) {
    if (!self_ || !self_->guest.plan.told_slices)
        return never;
    return told_end(*self_->cpu, self_->lost.all);
}

// What the scheduler guarantees from the slice's begin, but no more than the slice.
Time Simulation::slice_min(Place place) {
    Time end = slice_end(place);

    if (end == never)
        return never;
    const Entity &e = *self_->on_host();
    return std::min(end, sum(e.cpu->began, host_.policy().guaranteed(*e.cpu)));
}

// For a virtual CPU it is the flag of KVM's steal time page, set also while it halts.
bool Simulation::is_preempted(uint32_t id, Place) {
    const Guest &g = self_->guest;

    if (!g.plan.told_preempted || !id || id > g.tasks.size())
        return false;
    const Task &t = *g.tasks[id - 1];
    return !t.on_cpu() && (t.runnable || is_kernel());
}

Time Simulation::quota_end(Place) {
    if (!self_ || !self_->guest.plan.told_quota)
        return never;
    const auto &exhausted = self_->on_host()->group.exhausted;
    return exhausted && exhausted->is_set() ? exhausted->at() : never;
}

uint32_t Simulation::cpu(Place) {
    return self_->cpu->number;
}

} // namespace ol::simulator
