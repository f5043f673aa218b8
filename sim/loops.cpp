// SPDX-License-Identifier: MIT
// The workloads, each as a loop of turns on the simulated platform.
#define OL_ONE_WORLD <sim/one_world.h>
#include <overlock/port.h>

#include <algorithm>

using ol::simulator::Loop;
using ol::simulator::Mix;
using ol::simulator::ns;
using ol::simulator::Simulation;

static inline void workload_acquire(workload_me *me, workload_lock *lock) {
    Simulation::here().acquire(*me->task, *lock);
}

static inline void workload_release(workload_me *me, workload_lock *lock) {
    Simulation::here().release(*me->task, *lock);
}

static inline bool workload_is_asked(workload_me *) {
    return false; // the simulation ends, and nobody has to leave
}

static inline void workload_leave(workload_me *) {}

static inline void workload_burn(uint64_t units) {
    Simulation::here().burn(units * ns);
}

#define WORKLOAD_CHARGE(cost, n)                                                                   \
    Simulation::here().burn((n) * Simulation::here().machine().costs.cost)
#include <workload_headers.h>

namespace {

#define WORKLOAD(name, what)                                                                       \
    void name##_loop(const workload_run *run, void *shared, void *own, workload_me *me) {          \
        auto *w = static_cast<struct name *>(shared);                                              \
        auto *mine = static_cast<name##_own *>(own);                                               \
        name##_begin(run, w, mine, me);                                                            \
        for (;;)                                                                                   \
            me->task->counts.turns += name##_turn(run, w, mine, me);                               \
    }                                                                                              \
    const char *name##_verdict(const workload_run *run, const void *shared, uint64_t turns,        \
                               unsigned inside) {                                                  \
        return name##_check(run, static_cast<const struct name *>(shared), turns, inside);         \
    }
#include <bench/workload/workloads.def>
#undef WORKLOAD

// A neighbour: it computes, and takes no lock.
void burn_loop(const workload_run *, void *, void *, workload_me *me) {
    for (;; me->task->counts.turns++)
        workload_burn(10'000);
}

const char *burn_verdict(const workload_run *, const void *, uint64_t, unsigned) {
    return nullptr;
}

// As sim/mix.h says. Its turns are done when all their sections are.
struct MixShared {
    struct sections all;
    uint64_t in_a_turn;
};

// Not on the stack, which an aborted transaction puts back: an interrupt comes once.
struct MixOwn {
    uint64_t until_interrupt; // CPU time
};

class Mixer {
public:
    Mixer(const workload_run &run, struct sections &shared, MixOwn &own, workload_me &me)
        : run_(run),
          shared_(shared),
          me_(me),
          mix_(me.task->guest.plan.mix),
          until_interrupt_(own.until_interrupt) {
        next_interrupt();
    }

    void section() {
        const Mix::Locks &kind = mix_.pick(me_.random);
        uint32_t i = kind.first + instance(kind);
        sections_guarded *data = sections_data(&run_, i);
        uint64_t length = kind.section.draw(me_.random);

        workload_acquire(&me_, &run_.locks[i]);
        uint64_t entry = sections_enter(&shared_, data);
        work(length, kind.interrupted);
        sections_leave(data, entry);
        workload_release(&me_, &run_.locks[i]);
        work(mix_.think.draw(me_.random), true);
        if (mix_.wait_every && workload_random_below(&me_.random, mix_.wait_every) == 0)
            Simulation::here().sleep(mix_.wait.draw(me_.random) * ns);
    }

private:
    uint32_t instance(const Mix::Locks &kind) {
        if (kind.count == 1)
            return 0;
        if (kind.own && workload_random_next(&me_.random) < kind.own)
            return me_.index % kind.count;
        return workload_random_below(&me_.random, kind.count);
    }

    // Interrupts come at any CPU time of it; while they may not, they are put off.
    void work(uint64_t length, bool interrupted) {
        while (mix_.interrupt_every && interrupted && until_interrupt_ <= length) {
            workload_burn(until_interrupt_);
            length -= until_interrupt_;
            interrupt();
        }
        workload_burn(length);
        until_interrupt_ -= std::min(until_interrupt_, length);
    }

    void interrupt() {
        me_.task->counts.interrupts++;
        me_.task->counts.interrupts_inside += me_.task->holds > 0;
        uint64_t length = mix_.interrupt.draw(me_.random);
        next_interrupt();
        Simulation::here().interrupted(*me_.task);
        workload_burn(length);
    }

    void next_interrupt() {
        unsigned __int128 drawn = mix_.interrupt_every;
        drawn *= workload_random_exponential(&me_.random);
        until_interrupt_ = static_cast<uint64_t>(drawn / WORKLOAD_ONE);
    }

    const workload_run &run_;
    struct sections &shared_;
    workload_me &me_;
    const Mix &mix_;
    uint64_t &until_interrupt_;
};

void mix_loop(const workload_run *run, void *shared, void *own, workload_me *me) {
    auto *all = static_cast<MixShared *>(shared);
    Mixer mixer(*run, all->all, *static_cast<MixOwn *>(own), *me);

    all->in_a_turn = me->task->guest.plan.mix.sections;
    for (;; me->task->counts.turns++)
        for (uint64_t i = 0; i < all->in_a_turn; i++)
            mixer.section();
}

const char *mix_verdict(const workload_run *run, const void *shared, uint64_t turns,
                        unsigned inside) {
    const auto *all = static_cast<const MixShared *>(shared);
    uint64_t entries = 0, least = turns * all->in_a_turn;

    for (uint32_t i = 0; i < run->n_locks; i++)
        entries += sections_data(run, i)->first.entries;
    return ledger_verdict(all->all.torn, entries, least, least + inside * all->in_a_turn);
}

constexpr Loop loops[] = {
#define WORKLOAD(name, what)                                                                       \
    {#name,       sizeof(struct name), sizeof(name##_guarded), sizeof(name##_own),                 \
     name##_loop, name##_verdict},
#include <bench/workload/workloads.def>
#undef WORKLOAD
    {"mix", sizeof(MixShared), sizeof(sections_guarded), sizeof(MixOwn), mix_loop, mix_verdict},
    {"burn", 1, 1, 1, burn_loop, burn_verdict},
};

} // namespace

const Loop *ol::simulator::find_loop(const std::string &name) {
    for (const Loop &l : loops)
        if (name == l.name)
            return &l;
    return nullptr;
}
