// SPDX-License-Identifier: MIT
#ifndef OL_SIM_GUEST_H
#define OL_SIM_GUEST_H
// A process, a virtual machine, or the processes of one: contexts that share locks.
#include "blame.h"
#include "scenario.h"
#include "task.h"

#include <algorithm>

#include <bench/workload/random.h>

namespace ol::simulator {

// Waits, in the order in which they began, until their first microsecond is over.
class FreshWaits {
public:
    struct Wait {
        Task *task;
        Time from;
    };

    bool empty() const { return first_ == waits_.size(); }
    const Wait &first() const { return waits_[first_]; }
    void drop() {
        if (++first_ == waits_.size()) {
            waits_.clear();
            first_ = 0;
        }
    }
    void add(Task &t, Time from) {
        if (first_ > most_dropped && 2 * first_ > waits_.size()) {
            waits_.erase(waits_.begin(), waits_.begin() + static_cast<ptrdiff_t>(first_));
            first_ = 0;
        }
        waits_.push_back({&t, from});
    }
    // What need not be looked at: a wait that ended, if none began since.
    void forget_last(const Task &t) {
        if (!empty() && waits_.back().task == &t)
            waits_.pop_back();
        if (empty()) {
            waits_.clear();
            first_ = 0;
        }
    }

private:
    static constexpr size_t most_dropped = 64;

    std::vector<Wait> waits_;
    size_t first_ = 0;
};

} // namespace ol::simulator

struct workload_lock {
    const ol_lock_ops *ops;
    void *memory;
    ol::simulator::Task *holder;
    unsigned waiters, waiters_preempted;
    uint32_t number; // in traces
    // While somebody waited: time with the holder running, with it off its CPU, with the lock free.
    ol::simulator::Time since, held_running, held_off_cpu, free;
    ol::simulator::Time acquired_at;
    ol::simulator::Losses acquired_in; // its holder had lost its CPU so often
    ol::simulator::Time released_at;
    uint64_t acquisitions;
    ol::simulator::FreshWaits fresh;
    std::vector<const ol::simulator::Task *> queue; // if it is counted who waited for whom
};

struct workload_me {
    uint32_t index;
    struct workload_random random;
    ol::simulator::Task *task;
};

namespace ol::simulator {

class VirtualCpu final : public Entity, public Cpu {
public:
    VirtualCpu(Level &host, Group &group, Level &guest, unsigned number)
        : Entity(host, group), Cpu(guest, number) {
        live = false;
    }

    void start(Time delay) override { Cpu::level.live(*this, delay); }
    void stop() override { Cpu::level.dead(*this); }
    bool is_spinning() const override { return runs && runs->is_spinning(); }
    bool defers() const override { return runs && runs->defers(); }
    void interrupt(Time time) override {
        if (runs)
            runs->interrupt(time);
    }
    Entity *waits_on() override { return runs ? runs->waits_on() : nullptr; }
    Time slice_end() const override {
        return std::min(Cpu::slice_end(), cpu ? cpu->slice_end() : never);
    }
    unsigned physical() const override { return cpu->physical(); }
    void wanted() override { Entity::level.wake(*this); }
    void idles() override {
        if (cpu)
            halt();
    }
    uint64_t halts = 0;

private:
    void halt() {
        halts++;
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
    Lengths waits, holds, handovers;
    std::array<std::vector<uint64_t>, OL_EVENTS> positions; // of events that have one
    // Waiters that were preempted and run again: acquisitions by others until theirs, and how many
    // such waiters there were. Ouyang & Lange 2013, figure 2.
    std::map<std::pair<uint64_t, unsigned>, uint64_t> overtakers;
    std::unique_ptr<Blame> blame;
};

} // namespace ol::simulator
#endif
