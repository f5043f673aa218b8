// SPDX-License-Identifier: MIT
#include "schedule.h"

#include <algorithm>

namespace ol::simulator
{

Time Entity::runnable_time() const
{
	return was_runnable + (runnable ? level.events.now() - runnable_since : 0);
}

bool Entity::may_run_on(const Cpu &c) const
{
	return pinned.empty() || pinned[c.number];
}

Cpu::Cpu(Level &level, unsigned number)
    : level(level), number(number), slice([this] { this->level.slice_ends(*this); })
{
}

void Level::add(Entity &e)
{
	e.number = entities.size();
	entities.push_back(&e);
	e.group.members.push_back(&e);
}

void Level::begin()
{
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

void Level::account(Entity &e)
{
	Time time = events.now() - e.since;

	e.since = events.now();
	if (!e.cpu || !e.cpu->live)
		return;
	e.ran += time;
	policy_->ran(e, time);
}

void Level::run(Cpu &c, Entity &e)
{
	Time delay = c.ran_last == &e ? 0 : change_;
	Time slice = policy_->slice(c, e);

	account(e);
	e.cpu = &c;
	c.runs = &e;
	c.ran_last = &e;
	count(e.group, 1);
	if (trace)
		trace->run(e, c);
	events.set(c.slice, sum(events.now() + delay, slice));
	e.start(delay);
}

// It is not queued: whoever calls says where it goes.
Entity &Level::leave(Cpu &c, Lost why)
{
	Entity &e = *c.runs;

	if (trace)
		trace->lose(e, c, why);
	if (c.live) {
		e.stop();
		count(e.group, -1);
	}
	account(e);
	e.slices++;
	e.last = &c;
	e.cpu = nullptr;
	c.runs = nullptr;
	events.cancel(c.slice);
	return e;
}

void Level::dispatch(Cpu &c)
{
	if (!c.live || c.runs)
		return;
	Entity *e = policy_->take(c);
	if (!e) {
		c.idles();
		return;
	}
	e->queued = false;
	run(c, *e);
}

void Level::preempt(Cpu &c, Why why, Lost lost)
{
	queue(leave(c, lost), why);
	dispatch(c);
}

void Level::slice_ends(Cpu &c)
{
	account(*c.runs);
	if (policy_->anyone_waits(c))
		preempt(c, Why::preempted, Lost::slice);
	else
		events.set(c.slice, sum(events.now(), policy_->slice(c, *c.runs)));
}

// Waiting for a CPU.

void Level::queue(Entity &e, Why why)
{
	if (e.group.throttled)
		return;
	Cpu &c = policy_->place(e, why);
	e.queued = true;
	policy_->put(e, c, why);
	if (why == Why::preempted || why == Why::yielded) // its CPU is about to choose
		return;
	if (!c.runs) {
		c.live ? dispatch(c) : c.wanted();
	} else {
		account(*c.runs);
		if (policy_->preempts(e, c)) {
			if (c.live) {
				preempt(c, Why::preempted);
			} else {
				queue(leave(c, Lost::preempted), Why::preempted);
				c.slice_left = 0;
			}
		}
	}
}

void Level::wake(Entity &e)
{
	if (e.runnable)
		return;
	e.runnable = true;
	e.runnable_since = events.now();
	if (trace)
		trace->ready(e);
	queue(e, Why::woke);
}

void Level::block(Entity &e)
{
	Cpu &c = *e.cpu;

	e.was_runnable = e.runnable_time();
	e.runnable = false;
	leave(c, Lost::blocked);
	dispatch(c);
}

bool Level::yield(Entity &e)
{
	Cpu &c = *e.cpu;

	account(e);
	if (!policy_->anyone_waits(c))
		return false;
	preempt(c, Why::yielded, Lost::yielded);
	return c.runs != &e;
}

// The CPU goes to `to`, if that waits for one.
bool Level::yield_to(Entity &e, Entity &to)
{
	Cpu &c = *e.cpu;

	if (!to.queued || !to.may_run_on(c))
		return yield(e);
	policy_->remove(to);
	to.queued = false;
	queue(leave(c, Lost::yielded), Why::yielded);
	run(c, to);
	return true;
}

// Virtual CPUs.

void Level::live(Cpu &c, Time delay)
{
	c.live = true;
	if (!c.runs) {
		dispatch(c);
		return;
	}
	c.runs->since = events.now();
	count(c.runs->group, 1);
	events.set(c.slice, sum(events.now(), c.slice_left));
	c.runs->start(delay);
}

void Level::dead(Cpu &c)
{
	if (c.runs) {
		c.slice_left = c.slice.at() - events.now();
		events.cancel(c.slice);
		account(*c.runs);
		c.runs->stop();
		count(c.runs->group, -1);
	}
	c.live = false;
}

// Quotas.

void Level::count(Group &g, int more)
{
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

void Level::throttle(Group &g)
{
	g.throttled = true;
	g.throttled_for -= events.now();
	if (trace)
		trace->quota(Traced::throttle, g);
	for (Entity *e : g.members) {
		if (e->queued) {
			policy_->remove(*e);
			e->queued = false;
		}
		if (e->cpu) {
			Cpu &c = *e->cpu;
			leave(c, Lost::throttled);
			dispatch(c);
		}
	}
}

void Level::refill(Group &g)
{
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
