// SPDX-License-Identifier: MIT
#ifndef OL_SIM_SIMULATION_H
#define OL_SIM_SIMULATION_H
// One run: the locks' world. Contexts run one at a time, each until something else happens first;
// so a run costs as much as happens in it, and idle polling costs nothing.
#include "guest.h"

#include <check/engine/memory.h>
#include <algorithm>
#include <unordered_map>

namespace ol::simulator {

class Simulation final : public engine::World {
public:
    explicit Simulation(const Scenario &scenario);
    ~Simulation();

    void run() { run_with(nullptr); }
    void run_with(const std::function<void()> &after); // whatever happens

    static Simulation &here() { return *static_cast<Simulation *>(engine::world_here); }
    const Machine &machine() const { return scenario_.machine; }
    Lines &lines() { return lines_; }
    Coroutine::Outside &outside() { return outside_; }
    const Scenario &scenario() const { return scenario_; }
    const std::vector<std::unique_ptr<Guest>> &guests() const { return guests_; }
    const Events &events() const { return events_; }
    const Level &host() const { return host_; }
    // How the run failed: a lock did not exclude, or nothing can go on; empty: it did not.
    const std::string &failure() const { return failure_; }
    const Trace *trace() const // null: not asked for
    {
        return trace_.get();
    }

    // Of timers.
    void resume(Task &t);
    void unpark(Task &t);

    // Of the workloads.
    void acquire(Task &t, workload_lock &l);
    void release(Task &t, workload_lock &l);
    void burn(Time time) {
        progress_++;
        if (self_->loaded > events_.now())
            time = until_loaded(*self_, time);
        if (machine().threads_per_core == 1)
            spend(time);
        else
            burn_beside_siblings(time);
    }
    void sleep(Time time);

    // Of tasks that get or lose their CPU.
    void settle(workload_lock &l) {
        Time now = events_.now(), passed = now - l.since;
        l.since = now;
        if (l.waiters)
            settle(l, passed);
    }

    // The platform layer.
    [[gnu::always_inline]] uint64_t access(const engine::Access &a) override {
        if (!in_transactions_.empty() && self_) {
            displace(a);
            if (self_->in_transaction())
                return access_inside(a);
        }
        return access_memory(a);
    }
    void fence(engine::Place) override;
    void relax(Time until, engine::Place) override;
    void yield(uint32_t to, engine::Place) override;
    void yield_until(Time t, engine::Place) override;
    void park(const uint32_t *word, uint32_t seen, uint32_t key, Time until,
              engine::Place) override;
    void kick(const uint32_t *word, uint32_t key, int n, engine::Place) override;
    uint32_t **competes() override;
    Time now(engine::Place) override;
    Time after(uint64_t n, Time d, engine::Place) override;
    Time later(Time t, uint64_t n, Time d, engine::Place) override;
    bool passed(Time t, engine::Place) override;
    bool before(Time a, Time b, engine::Place) override { return a < b; }
    uint32_t self(engine::Place) override { return self_ ? self_->id : 0; }
    ol_node *node_get(engine::Place) override;
    void node_put(ol_node *node, engine::Place) override;
    uint32_t node_number(const ol_node *node) override;
    ol_node *node_at(uint32_t number, engine::Place) override;
    uint64_t *wait_slot(size_t i, engine::Place) override;
    const ol_tuning &tuning() override { return self_->guest.plan.tuning; }
    void count(unsigned event, engine::Place) override;
    void count_at(unsigned event, unsigned n, engine::Place) override;
    void defer(bool begins, engine::Place) override;
    ol_crowd *crowd(engine::Place) override { return self_ ? &self_->crowd : nullptr; }
    uint64_t slice_id(engine::Place) override;
    Time slice_end(engine::Place) override;
    Time slice_min(engine::Place) override;
    bool is_preempted(uint32_t id, engine::Place) override;
    Time quota_end(engine::Place) override;
    uint32_t cpu(engine::Place) override;

    // Transactions: transactions.cpp.
    unsigned htm_begin(engine::Place) override;
    void htm_commit(engine::Place) override;
    void htm_abort(engine::Place) override;
    bool htm_active(engine::Place) override;
    bool htm_works(engine::Place) override;
    void htm_set_owner(const void *p, engine::Place) override;
    const void *htm_owner(engine::Place) override;
    void interrupted(Task &t); // or it has lost its CPU

private:
    void make_guest(const GuestPlan &plan);
    void make_contexts(Guest &g);
    void make_workload(Guest &g);
    void *allocate(const char *name, size_t size) { return memory_.allocate(name, size).at; }
    void number_entities();
    void begin_tracing();
    void begin_counting();
    void settle(workload_lock &l, Time passed);
    void judge(workload_lock &l);
    Time until_loaded(Task &t, Time work) const;
    void burn_beside_siblings(Time time);
    void begin_wait(Task &t, workload_lock &l);
    void end_wait(Task &t, workload_lock &l, Instant had);
    void stop_deferring(Task &t);
    void release_elided(Task &t, workload_lock &l);
    void end();
    void watchdog();
    bool anyone_will_wake() const;
    std::string who_waits() const;
    void verify();

    void spend(Time time) {
        Time until = events_.now() + time;
        if (!time)
            return;
        if (events_.nothing_before(until))
            events_.advance(until);
        else
            go_on_at(until);
    }
    [[gnu::noinline]] void go_on_at(Time time);
    void suspend(Task &t);
    void goes_on(Task &t);
    bool is_kernel() const { return self_->guest.plan.is_kernel(); }
    static bool repeats(const Task &t);
    void watch(Task &t);
    void unwatch(Task &t) {
        if (t.watched)
            leave_lists(t);
    }
    void leave_lists(Task &t);
    // What it has read so far is not part of a loop that comes.
    void forget(Task &t) {
        unwatch(t);
        t.looks_at.clear();
    }
    void give_up(uint32_t to);
    void end_turn(Time until);
    void poll(Task &t, Time until);
    void tell_of_spinning(Task &t);
    void notice(size_t line) {
        if (line < watchers_.size() && !watchers_[line].empty())
            wake_lookers(watchers_[line]);
    }
    [[gnu::noinline]] void wake_lookers(const std::vector<Watch *> &list);
    Request request(const Task &t) const;
    void fetch(Task &t, const uint8_t *at);
    uint64_t load(const engine::Access &a);
    uint64_t change(const engine::Access &a, uint64_t old);
    void look(Task &t, const Watch &w);
    uint64_t access_memory(const engine::Access &a);
    uint64_t access_inside(const engine::Access &a);
    void displace(const engine::Access &a);
    void keep_or_put_back(Task &t);
    void grant(Task &t);
    void forget_transaction(Task &t, unsigned cause);
    void abort(Task &t, unsigned cause);
    [[noreturn]] void abort_self(unsigned cause);
    void cannot_be_inside();
    Time told_end(const Cpu &c, uint64_t slice) const;
    size_t line_of(const void *p) const {
        return (reinterpret_cast<uintptr_t>(p) - engine::Memory::base) / Lines::bytes;
    }

    const Scenario scenario_;
    engine::Memory memory_;
    engine::Random random_;
    Lines lines_;
    Events events_;
    Level host_;
    std::vector<std::unique_ptr<PhysicalCpu>> cpus_;
    std::vector<std::unique_ptr<Guest>> guests_;
    Pages<std::vector<Watch *>> watchers_; // by line
    std::unordered_map<const uint32_t *, std::vector<Task *>> parked_;
    Task *self_ = nullptr;
    Coroutine::Outside outside_;
    std::vector<Task *> in_transactions_;
    Task *wishes_ = nullptr;        // that its stack is kept or put back
    bool watches_spinning_ = false; // the host does
    bool one_by_one_ = false;       // every event from the loop of events
    uint64_t progress_ = 0, progress_seen_ = 0;
    bool over_ = false;
    std::unique_ptr<Trace> trace_;
    Trace *tracing_ = nullptr; // null: it does not trace now
    Timer warmed_up_, ended_, watchdog_, traced_;
    std::string failure_;
};

// What follows is a part of each lock's code: nearly all that a lock asks is a load or a change of
// a line that its core has.

constexpr uint64_t result_of(const engine::Access &a, uint64_t old) {
    switch (a.op) {
    case engine::Op::load:
        return old;
    case engine::Op::store:
    case engine::Op::xchg:
        return a.value;
    case engine::Op::cas:
        return old == a.expected ? a.value : old;
    case engine::Op::add:
        return old + a.value;
    case engine::Op::bit_or:
        return old | a.value;
    case engine::Op::bit_and:
        return old & a.value;
    case engine::Op::bit_xor:
        return old ^ a.value;
    }
    return old;
}

constexpr uint64_t truncated(uint64_t v, unsigned width) {
    return width == 8 ? v : v & ((uint64_t(1) << 8 * width) - 1);
}

// For what it comes to now.
inline Request Simulation::request(const Task &t) const {
    return {t.core(), events_.now(), events_.now(), t.in_order};
}

// A waiter that saw the word change has asked for the line: this is the load that did so. What a
// section loads is not waited for, as long as the core can work ahead.
[[gnu::always_inline]] inline void Simulation::fetch(Task &t, const uint8_t *at) {
    Time now = events_.now();

    if (t.fetched == at && t.fetched_at == now) {
        if (!lines_.has_copy(at, t.core()))
            spend(lines_.read_again(at, t.core(), now) - now);
        return;
    }
    Time done = lines_.read(at, request(t));
    if (t.holds && !t.waiting)
        t.loaded = std::max(t.loaded, done);
    else
        spend(done - now);
}

// What it finds is what the word is when the line has come.
[[gnu::always_inline]] inline uint64_t Simulation::load(const engine::Access &a) {
    if (self_)
        fetch(*self_, a.address());
    uint64_t value = engine::Memory::read(a.address(), a.width);
    if (self_ && self_->waiting)
        self_->looks_at.add({a.address(), value, a.width, false});
    return value;
}

// Its effect is there at once, but nobody else can have the line before it is done. A store waits
// in the store buffer, an atomic operation for all stores before it.
[[gnu::always_inline]] inline uint64_t Simulation::change(const engine::Access &a, uint64_t old) {
    uint64_t result = truncated(result_of(a, old), a.width);
    if (!self_) {
        engine::Memory::write(a.address(), a.width, result);
        return old;
    }
    Task &t = *self_;
    Use use = a.op == engine::Op::store ? Use::write : Use::change;
    Request asks = request(t);
    Time now = asks.now;
    if (use == Use::change)
        asks.now = std::max({now, t.drained, t.loaded});
    Time done = lines_.write(a.address(), use, asks);
    if (result != old) {
        engine::Memory::write(a.address(), a.width, result);
        t.looks_at.wrote(a.address(), a.width);
        t.changed_lost = t.lost;
        progress_++;
        notice(line_of(a.address()));
    } else if (t.waiting && use == Use::change) {
        t.looks_at.add({a.address(), old, a.width, true});
    }
    if (use == Use::write) {
        t.drained = std::max(t.drained, done);
        done = now + machine().costs.store;
    }
    if (a.op == engine::Op::cas && old != a.expected)
        done += machine().costs.mispredict;
    spend(done - now);
    if (use == Use::change)
        t.in_order = events_.now();
    return old;
}

[[gnu::always_inline]] inline uint64_t Simulation::access_memory(const engine::Access &a) {
    return a.op == engine::Op::load ? load(a)
                                    : change(a, engine::Memory::read(a.address(), a.width));
}

} // namespace ol::simulator
#endif
