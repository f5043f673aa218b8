// SPDX-License-Identifier: MIT
// A run from its scenario to its end, and what the workloads ask.
#include "simulation.h"

#include "barriers.h"

#include <algorithm>
#include <utility>

namespace ol::simulator {

namespace {

constexpr size_t memory_bytes = 64 << 20;
constexpr unsigned nodes_each = 4;
constexpr Time often = second;  // the watchdog looks
constexpr Time short_wait = us; // longer ones are stalls: Ouyang & Lange 2013, section 3

} // namespace

Simulation::Simulation(const Scenario &scenario)
    : scenario_(scenario),
      memory_(memory_bytes),
      random_(scenario.seed),
      lines_(scenario_.machine, engine::Memory::base, memory_bytes, random_.next()),
      host_(events_, scenario.machine.costs.change),
      watchers_(memory_bytes / Lines::bytes),
      warmed_up_([this] { begin_counting(); }),
      ended_([this] { over_ = true; }),
      watchdog_([this] { watchdog(); }),
      traced_([this] { begin_tracing(); }) {
    engine::world_here = this;
    memory_.reset(0);
    for (unsigned i = 0; i < scenario_.machine.cpus; i++) {
        cpus_.push_back(std::make_unique<PhysicalCpu>(host_, i));
        host_.add(*cpus_.back());
    }
    host_.cpus_per_core = machine().threads_per_core;
    host_.cpus_per_socket = machine().threads_per_core * machine().cores_per_socket;
    host_.seed = scenario_.seed;
    host_.exit = machine().costs.exit;
    host_.tick_jitter = machine().tick_jitter;
    host_.use(make_policy(scenario_.scheduler, host_, scenario_.settings, scenario_.features));
    watches_spinning_ = host_.policy().watches_spinning();
    for (const GuestPlan &plan : scenario_.guests)
        make_guest(plan);
    if (scenario_.trace.wanted)
        number_entities();
}

Simulation::~Simulation() {
    engine::world_here = nullptr;
}

// Setting up.

void Simulation::make_guest(const GuestPlan &plan) {
    guests_.push_back(std::make_unique<Guest>());
    Guest &g = *guests_.back();

    g.plan = plan;
    g.loop = find_loop(plan.workload);
    if (!g.loop)
        throw BadScenario("there is no workload " + plan.workload);
    g.group.name = plan.name;
    g.group.quota = plan.quota;
    g.group.period = plan.period;
    if (scenario_.who_for_whom)
        g.blame = std::make_unique<Blame>();
    g.group.weight = plan.weight;
    g.group.cap_percent = plan.cap_percent;
    make_workload(g);
    make_contexts(g);
}

static uint64_t locks_of(const GuestPlan &plan) {
    if (plan.workload == "mix")
        return plan.mix.number_of_locks();
    return plan.workload == "sections" ? plan.params.sections_locks : 1;
}

void Simulation::make_workload(Guest &g) {
    const GuestPlan &plan = g.plan;
    uint64_t n = locks_of(plan);

    for (uint64_t i = 0; g.plan.lock && i < n; i++) {
        workload_lock l{};
        l.ops = plan.lock;
        l.memory = allocate("lock", plan.lock->size);
        if (is_barrier(*plan.lock))
            *static_cast<uint32_t *>(l.memory) = plan.contexts;
        g.locks.push_back(l);
    }
    g.shared = allocate("shared", g.loop->shared);
    g.run.locks = g.locks.data();
    g.run.guarded = allocate("guarded", n * g.loop->guarded);
    g.run.n_locks = static_cast<uint32_t>(n);
    g.run.contexts = plan.contexts;
    g.run.params = &g.plan.params;
    g.run.patience = 100 * ms;
    g.wait_slots = static_cast<uint64_t *>(
        allocate("waiting array", plan.tuning.wait_slots * sizeof(uint64_t)));
    auto *nodes =
        static_cast<ol_node *>(allocate("nodes", sizeof(ol_node) * nodes_each * plan.contexts));
    for (size_t i = 0; i < static_cast<size_t>(nodes_each) * plan.contexts; i++)
        g.nodes.push_back(&nodes[i]);
}

void Simulation::make_contexts(Guest &g) {
    const GuestPlan &plan = g.plan;
    bool nested = plan.kind == Kind::users;
    std::vector<bool> pinned;

    if (!plan.pinned.empty()) {
        pinned.resize(machine().cpus);
        for (unsigned cpu : plan.pinned)
            pinned[cpu] = true;
    }
    if (nested) {
        g.level = std::make_unique<Level>(events_, machine().costs.change);
        g.level->tick_jitter = machine().tick_jitter;
        for (unsigned i = 0; i < plan.vcpus; i++) {
            g.cpus.push_back(std::make_unique<VirtualCpu>(host_, g.group, *g.level, i));
            g.level->add(static_cast<Cpu &>(*g.cpus.back()));
            g.cpus.back()->pinned = pinned;
            g.cpus.back()->weight = plan.weight;
            g.cpus.back()->change = machine().costs.enter;
            host_.add(static_cast<Entity &>(*g.cpus.back()));
        }
        g.level->use(make_policy(plan.scheduler, *g.level, plan.settings));
    }
    if (plan.kind == Kind::tasks) // as long as a wait takes
        host_.most_deferral = std::max(host_.most_deferral, scenario_.warm_up + scenario_.time);
    g.contexts.resize(plan.contexts);
    g.own.resize(plan.contexts);
    for (uint32_t i = 0; i < plan.contexts; i++) {
        Level &level = nested ? *g.level : host_;
        g.tasks.push_back(
            std::make_unique<Task>(*this, g, level, nested ? g.own_group : g.group, i));
        Task &t = *g.tasks.back();
        if (!nested) {
            t.pinned = pinned;
            t.weight = plan.weight;
            if (plan.kind == Kind::kernel)
                t.change = machine().costs.enter;
        }
        level.add(t);
        for (unsigned k = 0; k < nodes_each; k++)
            t.nodes.push_back(g.nodes[i * nodes_each + k]);
        workload_me &me = g.contexts[i];
        me.index = i;
        me.task = &t;
        workload_random_seed(&me.random, random_.next());
        g.own[i].resize(g.loop->own / sizeof(uint64_t) + 1);
        t.coroutine.begin([&g, &me, i] { g.loop->run(&g.run, g.shared, g.own[i].data(), &me); });
    }
}

// Contexts, then virtual CPUs; physical CPUs, then virtual ones.
void Simulation::number_entities() {
    uint32_t guests = 0, entities = 0, cpus = 0, locks = 0;

    for (auto &g : guests_) {
        g->group.traced = guests++;
        for (auto &t : g->tasks)
            t->traced = entities++;
        for (auto &l : g->locks)
            l.number = locks++;
    }
    for (auto &c : cpus_)
        c->traced = cpus++;
    for (auto &g : guests_)
        for (auto &c : g->cpus) {
            static_cast<Entity &>(*c).traced = entities++;
            static_cast<Cpu &>(*c).traced = cpus++;
        }
    trace_ = std::make_unique<Trace>(*this, scenario_.trace);
}

void Simulation::begin_tracing() {
    tracing_ = host_.trace = trace_.get();
    for (auto &g : guests_)
        if (g->level)
            g->level->trace = trace_.get();
    trace_->begin();
}

// Running.

void Simulation::run_with(const std::function<void()> &after) {
    one_by_one_ = bool(after);
    events_.set(warmed_up_, scenario_.warm_up);
    events_.set(ended_, scenario_.warm_up + scenario_.time);
    events_.set(watchdog_, often);
    if (trace_)
        events_.set(traced_, scenario_.trace.from);
    host_.begin();
    for (auto &g : guests_) {
        if (g->level)
            g->level->begin();
        for (auto &t : g->tasks)
            t->level.wake(*t);
    }
    while (!over_ && events_.next())
        if (after)
            after();
    end();
}

void Simulation::begin_counting() {
    for (auto &g : guests_) {
        g->waits = g->holds = g->handovers = {};
        g->positions = {};
        g->overtakers.clear();
        for (auto &c : g->cpus)
            c->halts = 0;
        if (g->blame)
            g->blame->clear();
        for (auto &l : g->locks) {
            settle(l);
            l.held_running = l.held_off_cpu = l.free = 0;
        }
        for (auto &t : g->tasks) {
            t->counts = {};
            t->counts.ran -= t->cpu_time();
            t->counts.waited -= t->runnable_time() - t->cpu_time();
            t->wait_cpu = t->cpu_time();
        }
    }
    lines_.traffic = {};
    host_.begin_counting();
}

void Simulation::end() {
    host_.end_counting();
    for (auto &g : guests_) {
        for (auto &l : g->locks)
            settle(l);
        for (auto &t : g->tasks) {
            t->counts.ran += t->cpu_time();
            t->counts.waited += t->runnable_time() - t->cpu_time();
            if (t->waiting)
                t->counts.spun += t->cpu_time() - t->wait_cpu;
        }
    }
    verify();
}

void Simulation::verify() {
    for (auto &g : guests_) {
        uint64_t turns = 0;
        if (scenario_.warm_up) // turns were counted since
            continue;
        for (auto &t : g->tasks)
            turns += t->counts.turns;
        if (const char *wrong = g->loop->check(&g->run, g->shared, turns, g->plan.contexts))
            failure_ = g->plan.name + ": " + wrong;
    }
}

// Contexts that wait, and no store changes a word: nobody will ever go on.
void Simulation::watchdog() {
    if (progress_ == progress_seen_ && !anyone_will_wake()) {
        failure_ = "nothing can go on: " + who_waits();
        over_ = true;
        return;
    }
    progress_seen_ = progress_;
    events_.set(watchdog_, events_.now() + often);
}

bool Simulation::anyone_will_wake() const {
    for (auto &g : guests_)
        for (auto &t : g->tasks)
            if (t->alarm.is_set())
                return true;
    return false;
}

std::string Simulation::who_waits() const {
    std::string all;

    for (auto &g : guests_)
        for (auto &t : g->tasks) {
            const Task *holder = t->waits_for ? t->waits_for->holder : nullptr;
            all += (all.empty() ? "" : "; ") + g->plan.name + " " + std::to_string(t->id);
            if (t->doing == Doing::parked)
                all += " sleeps";
            else if (t->doing == Doing::polls)
                all += " polls";
            else
                all += " runs";
            if (t->waits_for)
                all += holder ? ", for the lock of " + std::to_string(holder->id)
                              : ", for a lock that nobody holds";
        }
    return all;
}

// For the workloads.

void Simulation::settle(workload_lock &l, Time passed) {
    if (!l.fresh.empty() && l.fresh.first().from + short_wait < events_.now())
        judge(l);
    if (!l.queue.empty())
        l.queue.front()->guest.blame->passed(l.queue, l.holder, passed);
    if (!l.holder)
        l.free += passed;
    else if (l.holder->on_cpu())
        l.held_running += passed;
    else
        l.held_off_cpu += passed;
}

// What the lock was when those that wait had waited for a microsecond.
void Simulation::judge(workload_lock &l) {
    while (!l.fresh.empty() && l.fresh.first().from + short_wait < events_.now()) {
        FreshWaits::Wait wait = l.fresh.first();
        Task &t = *wait.task;
        l.fresh.drop();
        if (t.waits_for != &l || t.wait_from != wait.from)
            continue;
        if (!l.holder)
            t.counts.stalls_free++;
        else if (l.holder->on_cpu())
            t.counts.stalls_running++;
        else
            t.counts.stalls_off_cpu++;
    }
}

void Simulation::begin_wait(Task &t, workload_lock &l) {
    settle(l);
    l.waiters++;
    t.waiting = true;
    t.waits_for = &l;
    t.wait_from = events_.now();
    t.wait_cpu = t.cpu_time();
    t.wait_lost = t.lost;
    l.fresh.add(t, t.wait_from);
    if (t.guest.blame)
        l.queue.push_back(&t);
    if (tracing_)
        tracing_->lock(Traced::wait, t, l.number);
}

void Simulation::end_wait(Task &t, workload_lock &l, Instant had) {
    settle(l);
    l.waiters--;
    l.fresh.forget_last(t);
    if (t.guest.blame)
        std::erase(l.queue, &t);
    t.waiting = false;
    t.waits_for = nullptr;
    t.counts.spun += had.cpu - t.wait_cpu;
    t.counts.waiter_preempted += t.lost.to_others != t.wait_lost.to_others;
    t.counts.waiter_changed += t.lost.all != t.wait_lost.all;
    if (t.queue_lost) {
        t.counts.queued_preempted += t.lost.to_others != t.queue_lost->to_others;
        t.counts.queued_changed += t.lost.all != t.queue_lost->all;
        t.queue_lost.reset();
    }
    t.guest.waits.add(had.at - t.wait_from);
    if (t.wait_from < l.released_at && l.released_at <= had.at)
        t.guest.handovers.add(had.at - l.released_at);
    if (t.ran_again())
        t.guest.overtakers[{l.acquisitions - t.runs_again_at, t.rivals}]++;
}

void Simulation::acquire(Task &t, workload_lock &l) {
    if (t.guest.plan.kind == Kind::tasks)
        t.deferring = true;
    begin_wait(t, l);
    forget(t);
    l.ops->lock(l.memory);
    forget(t);
    Instant now = {events_.now(), t.cpu_time()};
    if (t.in_transaction()) { // until that commits, it waits
        t.elided = now;
        return;
    }
    end_wait(t, l, now);
    if (l.holder)
        failure_ = t.guest.plan.name + ": two contexts hold a lock";
    t.holds++;
    l.holder = &t;
    l.acquired_at = events_.now();
    l.acquired_in = t.lost;
    l.acquisitions++;
    t.held.push_back(&l);
    progress_++;
    if (tracing_)
        tracing_->lock(Traced::acquire, t, l.number);
}

// An abort goes back to acquire().
void Simulation::release_elided(Task &t, workload_lock &l) {
    l.ops->unlock(l.memory);
    Instant had = *std::exchange(t.elided, std::nullopt);
    end_wait(t, l, had);
    l.acquisitions++;
    t.guest.holds.add(events_.now() - had.at);
    if (tracing_)
        for (Traced what : {Traced::acquire, Traced::release})
            tracing_->lock(what, t, l.number);
    stop_deferring(t);
}

// A kernel's section is over, which nobody preempts.
void Simulation::stop_deferring(Task &t) {
    if (t.guest.plan.kind == Kind::tasks && !t.holds)
        defer(false, {});
}

void Simulation::release(Task &t, workload_lock &l) {
    if (t.elided)
        return release_elided(t, l);
    settle(l);
    if (tracing_)
        tracing_->lock(Traced::release, t, l.number);
    l.released_at = events_.now();
    t.guest.holds.add(l.released_at - l.acquired_at);
    t.counts.holder_preempted += t.lost.to_others != l.acquired_in.to_others;
    t.counts.holder_changed += t.lost.all != l.acquired_in.all;
    t.forget_held(l);
    t.holds--;
    l.holder = nullptr;
    l.ops->unlock(l.memory);
    stop_deferring(t);
}

// For a device. The CPU that it leaves may do something else.
void Simulation::sleep(Time time) {
    Task &t = *self_;

    forget(t);
    t.counts.sleeps++;
    spend(is_kernel() ? machine().costs.exit : machine().costs.sleep);
    t.doing = Doing::parked;
    t.left = 0;
    events_.set(t.alarm, events_.now() + time);
    t.level.block(t);
    suspend(t);
}

// Work goes on beside loads, but only so far ahead of them.
Time Simulation::until_loaded(Task &t, Time work) const {
    Time after = work - std::min(work, machine().costs.ahead);

    return std::max(work, std::exchange(t.loaded, 0) - events_.now() + after);
}

// Two threads of a core share it: each goes on more slowly while the other is busy. That is asked
// once in a while.
void Simulation::burn_beside_siblings(Time time) {
    while (time) {
        constexpr Time once = 10 * us;
        unsigned busy = 0;
        Time part = std::min(time, once);
        unsigned first = self_->core() * machine().threads_per_core;
        for (unsigned i = first; i < std::min(first + machine().threads_per_core, machine().cpus);
             i++)
            busy += !cpus_[i]->is_idle();
        spend(busy > 1 ? part * 100 / machine().smt_percent : part);
        time -= part;
    }
}

} // namespace ol::simulator
