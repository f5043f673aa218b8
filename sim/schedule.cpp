// SPDX-License-Identifier: MIT
#include "schedule.h"

#include <algorithm>

namespace ol::simulator {

Time Entity::runnable_time() const {
    return was_runnable + (runnable ? level.events.now() - runnable_since : 0);
}

bool Entity::may_run_on(const Cpu &c) const {
    return (pinned.empty() || pinned[c.number]) && level.policy().allows(*this, c);
}

Cpu::Cpu(Level &level, unsigned number)
    : level(level), number(number), slice([this] { this->level.slice_ends(*this); }) {}

Time Cpu::used() const {
    return runs->ran - ran_before;
}

void Level::add(Entity &e) {
    e.number = entities.size();
    entities.push_back(&e);
    e.group.members.push_back(&e);
}

void Level::begin() {
    for (Entity *e : entities) {
        Group &g = e->group;
        if (g.quota == never || g.refilled)
            continue;
        g.exhausted = std::make_unique<Timer>([this, &g] { throttle(g); });
        g.refilled = std::make_unique<Timer>([this, &g] { refill(g); });
        events.set(*g.refilled, events.now() + g.period);
    }
    policy_->begin();
}

// Running.

void Level::account(Entity &e) {
    Time time = events.now() - e.since;

    e.since = events.now();
    if (!e.cpu || !e.cpu->live)
        return;
    e.ran += time;
    policy_->ran(e, time);
}

// CPUs that idle, and whether they should.
void Level::settle_idle() {
    Time passed = (events.now() - settled_) * (cpus.size() - running_);

    settled_ = events.now();
    idle += passed;
    if (queued_)
        stranded += passed;
}

void Level::begin_counting() {
    settle_idle();
    idle = stranded = 0;
}

void Level::end_counting() {
    settle_idle();
}

void Level::set_slice(Cpu &c, Time end) {
    if (c.slice.is_set())
        c.end_before = c.slice.at();
    c.end_set = events.now();
    if (end == never)
        events.cancel(c.slice);
    else
        events.set(c.slice, end);
}

void Level::charge(Cpu &c) {
    if (c.runs)
        account(*c.runs);
}

void Level::reslice(Cpu &c) {
    if (!c.live || !c.runs || c.put_off)
        return;
    account(*c.runs);
    set_slice(c, sum(events.now(), std::max<Time>(1, slice_of(c))));
}

Time Level::part_of(Time time, uint64_t number) const {
    uint64_t mixed = (seed + number + 1) * 0x9e3779b97f4a7c15;

    mixed ^= mixed >> 32;
    return time / 1024 * (mixed * 0xd6e8feb86659fd93 >> 54);
}

// Guests do not begin at one time: so that slices of all CPUs are not in step, the first of each is
// cut.
Time Level::slice_of(Cpu &c) {
    Time slice = policy_->slice(c, *c.runs);

    return c.is_first && slice != never ? part_of(slice, c.number) : slice;
}

void Level::run(Cpu &c, Entity &e) {
    Time now = events.now();
    Time delay = c.ran_last == &e ? 0 : e.change == never ? change_ : e.change;

    settle_idle();
    running_++;
    account(e);
    e.cpu = e.home = &c;
    c.runs = &e;
    c.ran_last = &e;
    c.began = now;
    c.ran_before = e.ran;
    c.put_off = false;
    c.end_before = e.told_end;
    count(e.group, 1);
    if (trace)
        trace->run(e, c);
    set_slice(c, std::max(sum(now, slice_of(c)), now + delay + 1));
    e.start(delay);
    policy_->started(c);
}

// It is not queued: the caller says where it goes.
Entity &Level::leave(Cpu &c, Lost why) {
    Entity &e = *c.runs;

    if (trace)
        trace->lose(e, c, why);
    settle_idle();
    running_--;
    if (c.live) {
        e.stop();
        count(e.group, -1);
    }
    account(e);
    e.slices++;
    e.last = &c;
    e.cpu = nullptr;
    c.runs = nullptr;
    e.told_end = c.slice.is_set() ? c.slice.at() : events.now();
    events.cancel(c.slice);
    return e;
}

void Level::dispatch(Cpu &c) {
    if (!c.live || c.runs)
        return;
    Entity *e = policy_->take(c);
    if (!e) {
        c.idles();
        return;
    }
    set_queued(*e, false);
    run(c, *e);
}

void Level::attend(Cpu &c) {
    if (c.live)
        dispatch(c);
    else if (!c.runs && policy_->anyone_waits(c))
        c.wanted();
}

void Level::vacate(Cpu &c, Lost why) {
    queue(leave(c, why), Why::preempted);
}

void Level::preempt(Cpu &c, Why why, Lost lost) {
    queue(leave(c, lost), why);
    dispatch(c);
}

void Level::run_at(Cpu &c, Entity &e, Lost why) {
    policy_->remove(e);
    set_queued(e, false);
    if (c.runs)
        vacate(c, why);
    run(c, e);
}

// Whoever asked not to be preempted goes on, once in a slice, and no longer than is allowed.
bool Level::put_off(Cpu &c) {
    if (!most_deferral || c.put_off || !c.live || !c.runs->defers())
        return false;
    c.put_off = true;
    set_slice(c, events.now() + most_deferral);
    return true;
}

bool Level::stops_deferring(Entity &e) {
    Cpu *c = e.cpu;

    if (!c || !c->put_off)
        return false;
    slice_ends(*c);
    return !e.cpu;
}

void Level::slice_ends(Cpu &c) {
    account(*c.runs);
    c.is_first = false;
    if (!policy_->passes(c)) {
        c.put_off = false;
        reslice(c);
    } else if (!put_off(c)) {
        preempt(c, Why::preempted, Lost::slice);
    }
}

// Waiting for a CPU.

void Level::set_queued(Entity &e, bool queued) {
    settle_idle();
    queued_ += queued;
    queued_ -= !queued;
    e.queued = queued;
}

void Level::queue(Entity &e, Why why) {
    if (e.group.throttled || e.held)
        return;
    Cpu &c = policy_->place(e, why);
    set_queued(e, true);
    policy_->put(e, c, why);
    e.home = &c;
    if (why == Why::preempted || why == Why::yielded) // its CPU is about to choose
        return;
    if (!c.runs) {
        c.live ? dispatch(c) : c.wanted();
        return;
    }
    account(*c.runs);
    if (!policy_->preempts(e, c)) {
        reslice(c);
    } else if (!c.live) {
        vacate(c);
        c.slice_left = 0;
    } else if (!c.put_off && !put_off(c)) {
        preempt(c, Why::preempted);
    }
}

void Level::wake(Entity &e) {
    if (e.runnable)
        return;
    e.runnable = true;
    e.runnable_since = events.now();
    if (trace)
        trace->ready(e);
    e.group.runnable++;
    queue(e, Why::woke);
}

void Level::block(Entity &e) {
    Cpu &c = *e.cpu;

    e.was_runnable = e.runnable_time();
    e.runnable = false;
    e.group.runnable--;
    account(e);
    policy_->blocks(e);
    leave(c, Lost::blocked);
    dispatch(c);
}

bool Level::yield(Entity &e, Lost why) {
    Cpu &c = *e.cpu;

    account(e);
    if (!policy_->yields(c))
        return false;
    preempt(c, Why::yielded, why);
    return c.runs != &e;
}

// `to` is next where it is queued, as Linux does it, or gets this CPU, if that is no notion here.
bool Level::yield_to(Entity &e, Entity &to, Lost why) {
    if (!to.queued)
        return yield(e, why);
    if (Cpu *c = policy_->favour(to)) {
        if (c != e.cpu && c->live && c->runs) {
            account(*c->runs);
            if (policy_->passes(*c) && !put_off(*c))
                preempt(*c, Why::preempted);
        }
        return !e.cpu || yield(e, why);
    }
    if (!to.may_run_on(*e.cpu))
        return yield(e, why);
    run_at(*e.cpu, to, why);
    return true;
}

void Level::hold(Entity &e) {
    if (e.held++)
        return;
    if (e.queued) {
        policy_->remove(e);
        set_queued(e, false);
    }
    if (Cpu *c = e.cpu) {
        leave(*c, Lost::preempted);
        dispatch(*c);
    }
}

void Level::release(Entity &e) {
    if (!--e.held && e.runnable && !e.cpu && !e.queued)
        queue(e, Why::unthrottled);
}

// Virtual CPUs.

void Level::live(Cpu &c, Time delay) {
    c.live = true;
    if (!c.runs) {
        dispatch(c);
        return;
    }
    c.runs->since = events.now();
    count(c.runs->group, 1);
    set_slice(c, sum(events.now(), c.slice_left));
    c.runs->start(delay);
}

void Level::dead(Cpu &c) {
    if (c.runs) {
        c.slice_left = c.slice.is_set() ? c.slice.at() - events.now() : never;
        events.cancel(c.slice);
        account(*c.runs);
        c.runs->stop();
        count(c.runs->group, -1);
    }
    c.live = false;
}

// Quotas.

void Level::count(Group &g, int more) {
    Time now = events.now();

    if (g.quota == never)
        return;
    g.used += (now - g.counted) * g.running;
    g.counted = now;
    g.running = static_cast<unsigned>(static_cast<int>(g.running) + more);
    if (g.running && g.exhausted) {
        Time left = g.used < g.quota ? g.quota - g.used : 0;
        events.set(*g.exhausted, now + left / g.running);
    } else if (g.exhausted) {
        events.cancel(*g.exhausted);
    }
}

void Level::throttle(Group &g) {
    g.throttled = true;
    g.throttled_for -= events.now();
    if (trace)
        trace->quota(Traced::throttle, g);
    for (Entity *e : g.members) {
        if (e->queued) {
            policy_->remove(*e);
            set_queued(*e, false);
        }
        if (e->cpu) {
            Cpu &c = *e->cpu;
            leave(c, Lost::throttled);
            dispatch(c);
        }
    }
}

void Level::refill(Group &g) {
    count(g, 0);
    g.used = g.used > g.quota ? g.used - g.quota : 0;
    events.set(*g.refilled, events.now() + g.period);
    if (g.throttled) {
        g.throttled = false;
        g.throttled_for += events.now();
        if (trace)
            trace->quota(Traced::refill, g);
        for (Entity *e : g.members)
            if (e->runnable && !e->cpu && !e->queued)
                queue(*e, Why::unthrottled);
    }
    count(g, 0);
}

} // namespace ol::simulator
