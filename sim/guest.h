// SPDX-License-Identifier: MIT
#ifndef OL_SIM_GUEST_H
#define OL_SIM_GUEST_H
// A process, a virtual machine, or the processes of one: contexts that share locks.
#include "scenario.h"
#include "task.h"

#include <workload/random.h>

struct workload_lock {
	const ol_lock_ops *ops;
	void *memory;
	ol::simulator::Task *holder;
	unsigned waiters;
	// How the time passed while somebody waited: the holder ran, it had no CPU, nobody held the lock.
	ol::simulator::Time since, held_running, held_off_cpu, free;
	ol::simulator::Time acquired_at;
	uint64_t acquired_in; // the slice
};

struct workload_me {
	uint32_t index;
	struct workload_random random;
	ol::simulator::Task *task;
};

namespace ol::simulator
{

class VirtualCpu final : public Entity, public Cpu
{
      public:
	VirtualCpu(Level &host, Group &group, Level &guest, unsigned number)
	    : Entity(host, group), Cpu(guest, number)
	{
		live = false;
	}

	void start(Time delay) override
	{
		Cpu::level.live(*this, delay);
	}
	void stop() override
	{
		Cpu::level.dead(*this);
	}
	bool is_spinning() const override
	{
		return runs && runs->is_spinning();
	}
	bool defers() const override
	{
		return runs && runs->defers();
	}
	void interrupt(Time time) override
	{
		if (runs)
			runs->interrupt(time);
	}
	Entity *waits_on() override
	{
		return runs ? runs->waits_on() : nullptr;
	}
	Time slice_end() const override
	{
		return std::min(Cpu::slice_end(), cpu ? cpu->slice_end() : never);
	}
	unsigned physical() const override
	{
		return cpu->physical();
	}
	void wanted() override
	{
		Entity::level.wake(*this);
	}
	void idles() override
	{
		if (cpu)
			Entity::level.block(*this);
	}
};

struct Loop { // a workload
	const char *name;
	size_t shared, guarded, own; // sizes
	void (*run)(const workload_run *run, void *shared, void *own, workload_me *me);
	const char *(*check)(const workload_run *run, const void *shared, uint64_t turns,
			     unsigned inside);
};

const Loop *find_loop(const std::string &name);

struct Guest {
	GuestPlan plan;
	const Loop *loop = nullptr;
	std::unique_ptr<Level> level; // of its own virtual CPUs
	Group group, own_group;
	std::vector<std::unique_ptr<VirtualCpu>> cpus;
	std::vector<std::unique_ptr<Task>> tasks;

	std::vector<workload_lock> locks;
	workload_run run{};
	void *shared = nullptr;
	std::vector<workload_me> contexts;
	std::vector<std::vector<uint64_t>> own; // each context's part of the workload
	uint64_t *wait_slots = nullptr;
	std::vector<ol_node *> nodes;
	Lengths waits, holds;
};

} // namespace ol::simulator
#endif
