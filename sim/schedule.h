// SPDX-License-Identifier: MIT
#ifndef OL_SIM_SCHEDULE_H
#define OL_SIM_SCHEDULE_H
// Who has a CPU. A level is a set of CPUs, the entities that share them, and a policy that decides:
// a host's CPUs run threads and virtual CPUs, a guest's virtual CPUs run its threads. A virtual CPU
// is both, an entity of the host and a CPU of its guest.
#include "events.h"
#include "trace.h"

#include <check/engine/random.h>
#include <memory>
#include <string>
#include <vector>

namespace ol::simulator {

class Cpu;
class Level;
struct Group;

enum class Why : uint8_t { woke, preempted, yielded, unthrottled };

class Entity {
public:
    Entity(Level &level, Group &group) : level(level), group(group) {}
    Entity(const Entity &) = delete;
    Entity &operator=(const Entity &) = delete;

    virtual void start(Time delay) = 0; // it has a CPU, and goes on after `delay`
    virtual void stop() = 0;            // it loses it
    virtual bool is_spinning() const { return false; }
    virtual bool defers() const // it asks not to be preempted
    {
        return deferring;
    }
    virtual void interrupt(Time) // the host takes that long, while it has a CPU
    {}
    virtual Entity *waits_on() // the one without a CPU that it spins for, where that is known
    {
        return nullptr;
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
    bool deferring = false;
    unsigned held = 0;   // by so many it is kept from running
    Time told_end = 0;   // when its slice before was to end
    Time change = never; // what a switch to it takes; never: what its level says

    // What policies remember of it: times in ps of virtual time, credits as they count them.
    Cpu *home = nullptr; // where it runs or queues
    int64_t virtual_time = 0, deadline = 0, lag = 0, credits = 0;
    uint8_t priority = 0;

protected:
    ~Entity() = default;
};

class Cpu {
public:
    Cpu(Level &level, unsigned number);
    Cpu(const Cpu &) = delete;
    Cpu &operator=(const Cpu &) = delete;

    virtual unsigned physical() const { return number; } // the CPU that it is, or is on
    virtual void wanted() {}                             // it is idle, and has something to run
    virtual void idles() {}                              // it has nothing to run

    bool is_idle() const { return !runs; }
    // When the running entity is to lose it, as far as is known; never: not at all.
    virtual Time slice_end() const { return slice.is_set() ? slice.at() : never; }
    // CPU time of the one that runs since it got this CPU.
    Time used() const;

    Level &level;
    const unsigned number;
    uint32_t traced = 0;
    bool live = true; // a virtual CPU is only while it has a CPU
    Entity *runs = nullptr;
    const Entity *ran_last = nullptr;
    Timer slice;
    Time slice_left = never;        // while it is not live
    Time began = 0, ran_before = 0; // the one that runs: since when, and its CPU time then
    Time end_before = 0,
         end_set = 0;     // what the end was before it was last set, and when that was
    bool is_first = true; // slice of this CPU
    bool put_off = false; // the slice is over, and goes on by request

protected:
    ~Cpu() = default;
};

class PhysicalCpu final : public Cpu {
public:
    using Cpu::Cpu;
};

// A virtual machine, a container, a process: what has a quota, and what gangs are made of.
struct Group {
    std::string name;
    uint32_t traced = 0;
    Time quota = never, period = 100 * ms; // CPU time in each period
    unsigned weight = 1024;
    unsigned cap_percent = 0; // of a CPU, which Xen's schedulers enforce; 0: none
    unsigned runnable = 0;    // members
    Time spins_until = 0;     // it was found to spin, which holds until then
    // The quota in force.
    unsigned running = 0;
    Time used = 0, counted = 0;
    bool throttled = false;
    Time throttled_for = 0;
    std::unique_ptr<Timer> exhausted, refilled;
    std::vector<Entity *> members;
};

class Policy {
public:
    virtual ~Policy() = default;
    virtual void begin() {}

    // Queues.
    virtual Cpu &place(Entity &e, Why why) = 0; // where it queues
    virtual void put(Entity &e, Cpu &c, Why why) = 0;
    virtual Entity *take(Cpu &c) = 0;   // who runs next, no longer queued; null: nobody
    virtual void remove(Entity &e) = 0; // it is no longer to run
    virtual bool anyone_waits(const Cpu &c) const = 0;
    virtual bool queues_are_cpus() const // each CPU has its own queue
    {
        return true;
    }

    // The one that runs on `c`: how long it goes on if nothing happens; whether another follows
    // when that is over, when it yields, and when `woken` has queued; the time after its begin in
    // which no other takes its place.
    virtual Time slice(const Cpu &c, const Entity &e) = 0;
    virtual bool passes(const Cpu &c) const { return anyone_waits(c); }
    virtual bool yields(Cpu &c) { return anyone_waits(c); }
    virtual bool preempts(const Entity &woken, const Cpu &c) = 0;
    virtual Time guaranteed(const Cpu &) const { return 0; }
    // `to`, which is queued, is to be next where it is queued. That CPU; null: there is no such
    // thing.
    virtual Cpu *favour(Entity &) { return nullptr; }

    // What happens.
    virtual void started(Cpu &) {}
    virtual void ran(Entity &e, Time time) = 0;
    virtual void blocks(Entity &) {}
    virtual void spins(Entity &, Time since,
                       bool in_user_mode) // it waits in a loop, with a CPU
    {
        (void)since;
        (void)in_user_mode;
    }
    virtual bool watches_spinning() const { return false; } // else spins() need not be called

    // Of features: beside what it is pinned to.
    virtual bool allows(const Entity &, const Cpu &) const { return true; }
};

class Level {
public:
    Level(Events &events, Time change) : events(events), change_(change) {}
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;

    void use(std::unique_ptr<Policy> policy) { policy_ = std::move(policy); }
    void add(Cpu &c) { cpus.push_back(&c); }
    void add(Entity &e);
    void begin(); // everything is there

    void wake(Entity &e);  // it can run
    void block(Entity &e); // it cannot go on; it runs now
    // True: it has lost its CPU.
    bool yield(Entity &e, Lost why = Lost::yielded);
    bool yield_to(Entity &e, Entity &to, Lost why = Lost::yielded);
    bool stops_deferring(Entity &e); // true: it has lost its CPU, whose slice was over
    // Whoever runs there queues again.
    void preempt(Cpu &c, Why why, Lost lost = Lost::preempted);
    // The same, and nobody takes its place.
    void vacate(Cpu &c, Lost why = Lost::preempted);
    void dispatch(Cpu &c); // an idle CPU
    void attend(Cpu &c);   // the same, of a virtual CPU that may be without a CPU
    // At once, although it is queued.
    void run_at(Cpu &c, Entity &e, Lost why = Lost::preempted);
    void reslice(Cpu &c); // what its policy says of its slice has changed
    void charge(Cpu &c);  // whoever runs there, for the time until now
    void hold(Entity &e); // it may not run
    void release(Entity &e);
    void live(Cpu &c, Time delay); // a virtual CPU has a CPU
    void dead(Cpu &c);

    void begin_counting();
    void end_counting();
    Time idle = 0;     // of all CPUs
    Time stranded = 0; // the part of it in which something waited for a CPU

    Events &events;
    Trace *trace = nullptr;
    std::vector<Cpu *> cpus;
    std::vector<Entity *> entities;
    unsigned cpus_per_socket = UINT32_MAX, cpus_per_core = 1;
    uint64_t seed = 0;                              // of what is not to be in step
    Time part_of(Time time, uint64_t number) const; // less than all, by the seed
    Time tick_jitter = 0;                           // ticks are late, by less than that
    Time most_deferral = 0; // a slice that is over goes on for so long on request
    Time spin_gap = 0;      // polls that are further apart are not one loop
    Time exit = 0;          // cost of an interruption of a virtual CPU
    unsigned socket_of(const Cpu &c) const { return c.number / cpus_per_socket; }
    Policy &policy() { return *policy_; }

private:
    friend class Cpu;

    void slice_ends(Cpu &c);
    void queue(Entity &e, Why why);
    void set_queued(Entity &e, bool queued);
    void run(Cpu &c, Entity &e);
    Time slice_of(Cpu &c);
    void set_slice(Cpu &c, Time end);
    bool put_off(Cpu &c);
    void settle_idle();
    Entity &leave(Cpu &c, Lost why);
    void account(Entity &e);
    void count(Group &g, int more);
    void throttle(Group &g);
    void refill(Group &g);

    const Time change_; // what a switch to another entity takes
    std::unique_ptr<Policy> policy_;
    size_t running_ = 0, queued_ = 0;
    Time settled_ = 0;
};

} // namespace ol::simulator
#endif
