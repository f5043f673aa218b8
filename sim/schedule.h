// SPDX-License-Identifier: MIT
#ifndef OL_SIM_SCHEDULE_H
#define OL_SIM_SCHEDULE_H
// Who has a CPU. A level is a set of CPUs, the entities that share them, and a policy that decides: a
// host's CPUs run threads and virtual CPUs, a guest's virtual CPUs run its threads. A virtual CPU is
// both, an entity of the host and a CPU of its guest.
#include "events.h"
#include "trace.h"

#include <engine/random.h>
#include <memory>
#include <string>
#include <vector>

namespace ol::simulator
{

class Cpu;
class Level;
struct Group;

enum class Why : uint8_t { woke, preempted, yielded, unthrottled };

class Entity
{
      public:
	Entity(Level &level, Group &group) : level(level), group(group)
	{
	}
	Entity(const Entity &) = delete;
	Entity &operator=(const Entity &) = delete;

	virtual void start(Time delay) = 0; // it has a CPU, and goes on after `delay`
	virtual void stop() = 0;	    // it loses it
	virtual bool is_spinning() const
	{
		return false;
	}

	bool may_run_on(const Cpu &c) const;
	Time runnable_time() const; // with a CPU or without

	Level &level;
	Group &group;
	size_t number = 0;   // in its level
	uint32_t traced = 0; // its number in traces
	Cpu *cpu = nullptr, *last = nullptr;
	bool runnable = false, queued = false;
	std::vector<bool> pinned; // to these CPUs; empty: to none
	unsigned weight = 1024;
	Time since = 0; // it runs
	Time ran = 0;
	Time runnable_since = 0, was_runnable = 0;
	uint64_t slices = 0; // that it lost

	// What policies remember of it.
	Time virtual_time = 0;
	int64_t credits = 0;
	bool boosted = false, deferring = false;

      protected:
	~Entity() = default;
};

class Cpu
{
      public:
	Cpu(Level &level, unsigned number);
	Cpu(const Cpu &) = delete;
	Cpu &operator=(const Cpu &) = delete;

	virtual unsigned physical() const
	{
		return number;
	} // the CPU that it is, or is on
	virtual void wanted()
	{
	} // it is idle, and has something to run
	virtual void idles()
	{
	} // it has nothing to run

	bool is_idle() const
	{
		return !runs;
	}

	Level &level;
	const unsigned number;
	uint32_t traced = 0;
	bool live = true; // a virtual CPU is only while it has a CPU
	Entity *runs = nullptr;
	const Entity *ran_last = nullptr;
	Timer slice;
	Time slice_left = never; // while it is not live

      protected:
	~Cpu() = default;
};

class PhysicalCpu final : public Cpu
{
      public:
	using Cpu::Cpu;
};

// A virtual machine, a container, a process: what has a quota, and what gangs are made of.
struct Group {
	std::string name;
	uint32_t traced = 0;
	Time quota = never, period = 100 * ms; // CPU time in each period
	unsigned weight = 1024;
	// The quota in force.
	unsigned running = 0;
	Time used = 0, counted = 0;
	bool throttled = false;
	Time throttled_for = 0;
	std::unique_ptr<Timer> exhausted, refilled;
	std::vector<Entity *> members;
};

class Policy
{
      public:
	virtual ~Policy() = default;
	virtual Cpu &place(Entity &e, Why why) = 0; // where it queues
	virtual void put(Entity &e, Cpu &c, Why why) = 0;
	virtual Entity *take(Cpu &c) = 0;   // who runs next, no longer queued; null: nobody
	virtual void remove(Entity &e) = 0; // it is no longer to run
	virtual Time slice(const Cpu &c, const Entity &e) = 0;
	virtual bool preempts(const Entity &woken, const Cpu &c) = 0;
	virtual bool anyone_waits(const Cpu &c) const = 0;
	virtual void ran(Entity &e, Time time) = 0;
	virtual void begin()
	{
	}
};

class Level
{
      public:
	Level(Events &events, Time change) : events(events), change_(change)
	{
	}
	Level(const Level &) = delete;
	Level &operator=(const Level &) = delete;

	void use(std::unique_ptr<Policy> policy)
	{
		policy_ = std::move(policy);
	}
	void add(Cpu &c)
	{
		cpus.push_back(&c);
	}
	void add(Entity &e);
	void begin(); // everything is there

	void wake(Entity &e);  // it can run
	void block(Entity &e); // it cannot go on; it runs now
	bool yield(Entity &e); // true: it has lost its CPU
	bool yield_to(Entity &e, Entity &to);
	// Whoever runs there queues again.
	void preempt(Cpu &c, Why why, Lost lost = Lost::preempted);
	void dispatch(Cpu &c);	       // an idle CPU
	void live(Cpu &c, Time delay); // a virtual CPU has a CPU
	void dead(Cpu &c);

	Events &events;
	Trace *trace = nullptr;
	std::vector<Cpu *> cpus;
	std::vector<Entity *> entities;
	Policy &policy()
	{
		return *policy_;
	}

      private:
	friend class Cpu;

	void slice_ends(Cpu &c);
	void queue(Entity &e, Why why);
	void run(Cpu &c, Entity &e);
	Entity &leave(Cpu &c, Lost why);
	void account(Entity &e);
	void count(Group &g, int more);
	void throttle(Group &g);
	void refill(Group &g);

	const Time change_; // what a switch to another entity takes
	std::unique_ptr<Policy> policy_;
};

} // namespace ol::simulator
#endif
