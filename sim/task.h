// SPDX-License-Identifier: MIT
#ifndef OL_SIM_TASK_H
#define OL_SIM_TASK_H
// A context of a guest: what the host, or the guest's kernel, schedules; and what it waits for.
#include "coroutine.h"
#include "machine.h"
#include "schedule.h"

#include <check/engine/memory.h>
#include <check/engine/transaction.h>
#include <overlock/port.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

struct workload_lock;

namespace ol::simulator {

class Simulation;
class Task;
struct Guest;

// A word that a waiter has read, and what it saw there.
class Look {
public:
    Look() = default;
    Look(uint8_t *at, uint64_t value, uint32_t width, bool writes)
        : at(at), value(value), how_(width | (writes ? by_writing : 0)) {}

    bool writes() const { return how_ & by_writing; } // it was read by what takes the line
    bool same_word(const Look &l) const { return at == l.at && how_ == l.how_; }
    bool is_old() const { return engine::Memory::read(at, how_ % by_writing) != value; }
    bool joins(const Look &l) { // the same place, and perhaps another way
        if (at != l.at || how_ % by_writing != l.how_ % by_writing)
            return false;
        value = l.value;
        how_ |= l.how_;
        return true;
    }
    void wrote(const uint8_t *from, uint8_t width) {
        if (at < from + width && from < at + how_ % by_writing)
            value = engine::Memory::read(at, how_ % by_writing);
    }

    uint8_t *at = nullptr;
    uint64_t value = 0;

private:
    static constexpr uint64_t by_writing = 256;
    uint64_t how_ = 0; // and the width: one word, which a store and a load have whole
};

// What it has read since it last relaxed.
class Looks {
public:
    static constexpr unsigned most = 8;

    void add(const Look &look) {
        for (unsigned i = 0; i < size_; i++)
            if (looks_[i].joins(look))
                return;
        if (size_ == most)
            all_ = false;
        else
            looks_[size_++] = look;
    }
    void wrote(const uint8_t *at, uint8_t width) { // itself: what it finds there is not news
        for (unsigned i = 0; i < size_; i++)
            looks_[i].wrote(at, width);
    }
    void clear() { size_ = 0, all_ = true; }
    bool are_all() const { return all_; } // nothing was left out

    const Look *begin() const { return looks_.data(); }
    const Look *end() const { return looks_.data() + size_; }
    unsigned size() const { return size_; }

private:
    unsigned size_ = 0;
    bool all_ = true;
    std::array<Look, most> looks_;
};

// A word whose change it shall see, in the list of the word's line.
struct Watch {
    Look look;
    Task *task = nullptr;
    size_t line = 0, place = 0;
};

enum class Doing : uint8_t { goes_on, polls, parked, done };

// Lengths of time by size: eight buckets for each doubling, from 1 ns.
class Lengths {
public:
    static constexpr unsigned parts = 8, doublings = 48;

    void add(Time t) {
        Time n = t / ns;
        auto log = static_cast<unsigned>(std::bit_width(n | 1) - 1);
        unsigned part = log >= 3 ? static_cast<unsigned>(n >> (log - 3)) & 7 : 0;

        counts_[std::min(log, doublings - 1) * parts + part]++;
        longest = std::max(longest, t);
        total += t;
        number++;
    }
    static Time least(size_t bucket); // in ps
    const auto &counts() const { return counts_; }
    Time longest = 0, total = 0;
    uint64_t number = 0;

private:
    std::array<uint64_t, parts * doublings> counts_{};
};

struct Counts { // since the warm-up
    uint64_t turns = 0;
    Time spun = 0;            // CPU time while it waited for a lock
    Time ran = 0, waited = 0; // with a CPU, and for one
    // Sections, and waits, that began in one slice and ended in another: LHP and LWP of Teabe et
    // al. 2017, 2.3.2. Waits from the call, and those with a ticket from that on.
    uint64_t holder_preempted = 0, waiter_preempted = 0, queued_preempted = 0;
    // The same, if slices also end where the context gives them up, by a yield or a halt.
    uint64_t holder_changed = 0, waiter_changed = 0, queued_changed = 0;
    // The events: a CPU lost to others, by a holder, a waiter, one with a ticket.
    uint64_t preempted_inside = 0, preempted_waiting = 0, preempted_queued = 0;
    // Waits of more than 1 us, by what the lock was then: Ouyang & Lange 2013, table 1.
    uint64_t stalls_running = 0, stalls_off_cpu = 0, stalls_free = 0;
    uint64_t sleeps = 0, interrupts = 0, interrupts_inside = 0; // of the workload
    uint64_t parks = 0, kicks = 0, yields = 0, directed = 0, exits = 0;
    std::array<uint64_t, OL_EVENTS> events{};
};

// How often a context has lost its physical CPU.
struct Losses {
    uint64_t to_others = 0, all = 0; // all: also where it gave it up
};

// Now, and by the CPU time of a context.
struct Instant {
    Time at, cpu;
};

class Task final : public Entity {
public:
    Task(Simulation &simulation, Guest &guest, Level &level, Group &group, uint32_t index);

    void start(Time delay) override;
    void stop() override;
    bool is_spinning() const override { return doing == Doing::polls; }

    void interrupt(Time time) override;
    Entity *waits_on() override;
    Entity *on_host(); // itself or the virtual CPU that it is on; null: on none

    // With a physical CPU at this moment.
    bool on_cpu() const { return core_ >= 0; }
    unsigned core() const { return static_cast<unsigned>(core_); }
    Time cpu_time() const { return ran + (on_cpu() ? level.events.now() - since : 0); }
    // While it polls, it asks for the lines again and again, and by writing takes them from others.
    void polls(bool begins);
    // A waiter that had been preempted, since it was last asked.
    bool ran_again() { return std::exchange(runs_again_, false); }
    void forget_held(const workload_lock &l) { // nearly always the last
        if (held.back() == &l)
            held.pop_back();
        else
            std::erase(held, &l);
    }
    void takes_ticket();

    Guest &guest;
    const uint32_t index, id; // in its guest; in its address space, from 1

    // What a look needs is in few cache lines: waiters take turns at looking.
    alignas(Lines::bytes) std::array<Watch, Looks::most> watches;
    Coroutine coroutine;
    Timer step; // it goes on
    Doing doing = Doing::goes_on;
    bool looks = false;   // it polls, and will see what has changed
    bool waiting = false; // for a lock
    unsigned watched = 0; // in the turn before

private:
    int core_ = -1; // null: it has none

public:
    Time left = 0; // of what it does, while it has no CPU
    ol_crowd crowd{};
    Time poll_from = 0, poll_period = 0;
    Time paused = 0;                  // in this turn of its loop
    const uint8_t *fetched = nullptr; // what it looks at, and when it has it
    Time fetched_at = 0;
    Time spins_from = 0, polled = 0; // the loop that it is in, and its last poll
    Time told_at = never;            // it polls a page of the host, which is written then
    Time tells_by = never;           // when the clock will tell this turn something new
    Looks looks_at;                  // in this turn of its loop
    Time drained = 0;                // its stores are in the caches
    Time loaded = 0;                 // what it has loaded in its section is there
    Time in_order = 0;               // it last had to wait, and did not work ahead

    Timer alarm; // a park ends
    const uint32_t *parked_on = nullptr;
    uint32_t *competes = nullptr; // for what those parked there wait for
    uint32_t key = 0;

    workload_lock *waits_for = nullptr;
    Time wait_from = 0, wait_cpu = 0;
    Losses lost;
    Losses wait_lost, changed_lost;   // when the wait began, and when it last changed a word
    std::optional<Losses> queue_lost; // when it took its ticket
    bool gives_up = false;            // it yields its CPU
    unsigned rivals = 0;              // waiters without a CPU, and it, when it ran again
    uint64_t runs_again_at = 0;       // the lock's acquisitions then
    unsigned holds = 0;
    std::vector<workload_lock *> held;
    engine::Transaction transaction;
    std::optional<Instant> elided; // its section is a transaction, since then
    bool in_transaction() const { return transaction.active(); }
    std::vector<ol_node *> nodes;
    Counts counts;

private:
    void settle();
    void preempted();
    void runs_again();

    Simulation &simulation_;
    bool was_preempted_ = false, runs_again_ = false; // while it waits
};

} // namespace ol::simulator
#endif
