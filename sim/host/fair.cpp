// SPDX-License-Identifier: MIT
// Linux's completely fair scheduler, as of 6.1: each CPU runs whoever has the least virtual run time;
// a CPU without work pulls from the longest queue, and at each tick queues that differ by two or more
// are levelled. Without its groups and scheduling domains.
#include "host.h"

#include <algorithm>
#include <bit>

namespace ol::simulator
{

namespace
{

constexpr unsigned usual_weight = 1024;

class Fair final : public Policy
{
      public:
	Fair(Level &level, const HostSettings &s)
	    : level_(level), factor_(static_cast<unsigned>(
				     std::bit_width(std::min<size_t>(level.cpus.size(), 8)))),
	      latency_(s.fair_latency * factor_), granularity_(s.fair_granularity * factor_),
	      wakeup_(s.fair_wakeup * factor_), tick_(s.fair_tick), queues_(level.cpus.size()),
	      balance_([this] { balance(); })
	{
	}

	~Fair() override
	{
		level_.events.cancel(balance_);
	}

	void begin() override
	{
		level_.events.set(balance_, tick_);
	}

	Cpu &place(Entity &e, Why why) override
	{
		if (why != Why::woke && why != Why::unthrottled && e.last)
			return *e.last;
		if (e.last && free(*e.last))
			return *e.last;
		Cpu *best = nullptr;
		for (Cpu *c : level_.cpus)
			if (e.may_run_on(*c) && (!best || load(*c) < load(*best)))
				best = c;
		return e.last && load(*e.last) == load(*best) ? *e.last : *best;
	}

	void put(Entity &e, Cpu &c, Why why) override
	{
		Queue &q = queues_[c.number];
		if (&c != e.last) // its virtual time is relative to its queue's
			e.virtual_time = sum(e.virtual_time - std::min(e.virtual_time, least_of(e)),
					     q.least);
		if (why == Why::woke) { // no more than half a period of credit for the time asleep
			Time credit = latency_ / 2;
			e.virtual_time =
				std::max(e.virtual_time, q.least - std::min(q.least, credit));
		}
		if (why == Why::yielded && !q.waiting.empty()) // behind all that wait
			e.virtual_time =
				std::max(e.virtual_time, q.waiting.back()->virtual_time + 1);
		insert(q, e);
		where(e) = &q;
	}

	Entity *take(Cpu &c) override
	{
		Queue &q = queues_[c.number];
		if (q.waiting.empty())
			pull(c);
		if (q.waiting.empty())
			return nullptr;
		Entity *e = q.waiting.front();
		q.waiting.erase(q.waiting.begin());
		q.least = std::max(q.least, e->virtual_time);
		return e;
	}

	void remove(Entity &e) override
	{
		std::erase(where(e)->waiting, &e);
	}

	Time slice(const Cpu &c, const Entity &e) override
	{
		Time others = 0, least = granularity_;
		const auto &waiting = queues_[c.number].waiting;
		for (const Entity *w : waiting)
			others += w->weight;
		Time period = std::max(latency_, (waiting.size() + 1) * least);
		Time fair = std::max(least, period * e.weight / (e.weight + others));
		return (fair + tick_ - 1) / tick_ * tick_;
	}

	bool preempts(const Entity &woken, const Cpu &c) override
	{
		return sum(woken.virtual_time, wakeup_) < c.runs->virtual_time;
	}

	bool anyone_waits(const Cpu &c) const override
	{
		return !queues_[c.number].waiting.empty();
	}

	void ran(Entity &e, Time time) override
	{
		e.virtual_time += time * usual_weight / e.weight;
	}

      private:
	struct Queue {
		std::vector<Entity *> waiting; // by virtual time
		Time least = 0;		       // never goes back
	};

	static bool free(const Cpu &c)
	{
		return c.is_idle();
	}
	size_t load(const Cpu &c) const
	{
		return queues_[c.number].waiting.size() + !c.is_idle();
	}

	Time least_of(const Entity &e) const
	{
		return e.last ? queues_[e.last->number].least : 0;
	}

	static void insert(Queue &q, Entity &e)
	{
		auto before = [](const Entity *a, const Entity *b) {
			return a->virtual_time < b->virtual_time;
		};
		q.waiting.insert(std::upper_bound(q.waiting.begin(), q.waiting.end(), &e, before),
				 &e);
	}

	Queue *&where(const Entity &e)
	{
		if (where_.size() <= e.number)
			where_.resize(e.number + 1);
		return where_[e.number];
	}

	// One that may run there, from the longest queue.
	bool pull(Cpu &to)
	{
		for (Cpu *from : longest_first()) {
			auto &waiting = queues_[from->number].waiting;
			auto last =
				std::find_if(waiting.rbegin(), waiting.rend(),
					     [&to](const Entity *e) { return e->may_run_on(to); });
			if (from != &to && last != waiting.rend()) {
				move(**last, *from, to);
				return true;
			}
		}
		return false;
	}

	std::vector<Cpu *> longest_first() const
	{
		std::vector<Cpu *> all = level_.cpus;
		std::stable_sort(all.begin(), all.end(),
				 [this](Cpu *a, Cpu *b) { return load(*a) > load(*b); });
		return all;
	}

	void move(Entity &e, const Cpu &from, const Cpu &to)
	{
		Queue &a = queues_[from.number], &b = queues_[to.number];
		std::erase(a.waiting, &e);
		e.virtual_time = e.virtual_time - std::min(e.virtual_time, a.least) + b.least;
		insert(b, e);
		where(e) = &b;
		e.last = level_.cpus[to.number];
	}

	void balance()
	{
		std::vector<Cpu *> all = longest_first();
		if (!all.empty() && load(*all.front()) > load(*all.back()) + 1)
			pull(*all.back());
		for (Cpu *c : level_.cpus)
			level_.dispatch(*c);
		level_.events.set(balance_, level_.events.now() + tick_);
	}

	Level &level_;
	const unsigned factor_;
	const Time latency_, granularity_, wakeup_, tick_;
	std::vector<Queue> queues_;
	std::vector<Queue *> where_; // by entity
	Timer balance_;
};

} // namespace

std::unique_ptr<Policy> make_fair(Level &level, const HostSettings &s)
{
	return std::make_unique<Fair>(level, s);
}

} // namespace ol::simulator
