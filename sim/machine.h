// SPDX-License-Identifier: MIT
#ifndef OL_SIM_MACHINE_H
#define OL_SIM_MACHINE_H
// The hardware: CPUs in cores in sockets, what operations cost, and where each cache line is.
//
// A line is owned by one core, shared by some, or nowhere. A transfer takes as long as its way, and
// a line serves one request at a time: waiters that all watch one word are served one after
// another. A store invalidates all other copies. Cores whose waiters try to write while they wait
// (tas) have the line in turns, and whoever else wants it waits among them.
#include "pages.h"
#include "time.h"

#include <check/engine/random.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace ol::simulator {

struct Costs {
#define COST(name, preset, source, what) Time name = preset * ns;
#include "costs.def"
#undef COST
};

struct Machine {
    unsigned cpus = 2, threads_per_core = 1, cores_per_socket = 2;
    unsigned smt_percent = 60;    // speed of each of two busy threads of a core
    unsigned jitter_percent = 20; // how much the way of a line varies, either way
    Time tick_jitter = 0;         // ticks of Linux's schedulers are late, by less than that
    Costs costs;

    unsigned core_of(unsigned cpu) const { return cpu / threads_per_core; }
    unsigned socket_of_core(unsigned core) const { return core / cores_per_socket; }
    unsigned cores() const { return (cpus + threads_per_core - 1) / threads_per_core; }
};

enum class Use : uint8_t { read, write, change }; // load, store, atomic operation

struct Traffic {
    uint64_t transfers = 0, invalidations = 0, stores_to_shared = 0;
};

class Lines {
public:
    static constexpr size_t bytes = 64;

    Lines(const Machine &machine, uintptr_t from, size_t size, uint64_t seed = 0);

    // When a core that begins to use it at `now` has done so.
    [[gnu::always_inline]] Time use(const void *address, unsigned core, Use use, Time now) {
        if (use == Use::read)
            return read(address, core, now);
        Time own = use == Use::write ? machine_.costs.store : machine_.costs.atomic;
        size_t number = number_of(address);
        if (number >= lines_.size())
            return now + own; // not the locks' memory
        Line &l = lines_[number];
        return (owns(l, core) ? now : take(l, number, core, now)) + own;
    }
    // The same, of a load.
    [[gnu::always_inline]] Time read(const void *address, unsigned core, Time now) {
        size_t number = number_of(address);
        Time hit = machine_.costs.hit;
        if (number >= lines_.size())
            return now + hit; // not the locks' memory
        Line &l = lines_[number];
        return (owns(l, core) || has(sharers_of(number, l), core) ? now
                                                                  : fetch(l, number, core, now)) +
               hit;
    }

    // Cores whose waiters write the line once per `period` while they wait.
    void hammer(const void *address, int more, Time period);

    Traffic traffic;

private:
    struct Line {
        Time busy = 0;        // until then it serves others
        Time period = 0;      // of each of the hammers
        uint64_t sharers = 0; // up to 64 cores
        int owner = nobody;
        int hammers = 0;
    };
    static constexpr int nobody = -1;

    // It travels to that core, which then may write it, or read it; until when.
    [[gnu::noinline]] Time take(Line &l, size_t number, unsigned core, Time now);
    [[gnu::noinline]] Time fetch(Line &l, size_t number, unsigned core, Time now);

    static bool owns(const Line &l, unsigned core) {
        return l.owner == static_cast<int>(core) && !l.hammers;
    }
    size_t number_of(const void *address) const {
        return (reinterpret_cast<uintptr_t>(address) - from_) / bytes;
    }
    [[gnu::noinline]] uint64_t *more_sharers(size_t number) {
        auto &words = sharers_[number];
        words.resize(words_);
        return words.data();
    }
    uint64_t *sharers_of(size_t number, Line &l) {
        return words_ == 1 ? &l.sharers : more_sharers(number);
    }
    static bool has(const uint64_t *set, unsigned core) { return set[core / 64] >> core % 64 & 1; }
    static void add(uint64_t *set, unsigned core) { set[core / 64] |= uint64_t(1) << core % 64; }

    const uint64_t *socket_of(unsigned core) const { return &sockets_[core * words_]; }
    Time distance(unsigned from, unsigned to) const {
        return has(socket_of(from), to) ? machine_.costs.near : machine_.costs.far;
    }
    // From the owner, else from the nearest core that has a copy, else from memory.
    Time way(const Line &l, const uint64_t *sharers, unsigned core) const {
        return l.owner != nobody ? distance(static_cast<unsigned>(l.owner), core)
                                 : nearest(sharers, core);
    }
    Time nearest(const uint64_t *sharers, unsigned core) const {
        const uint64_t *here = socket_of(core);
        uint64_t near = sharers[0] & here[0], far = sharers[0] & ~here[0];
        for (size_t w = 1; w < words_; w++) {
            near |= sharers[w] & here[w];
            far |= sharers[w] & ~here[w];
        }
        const Costs &c = machine_.costs;
        return std::min({c.memory, near ? c.near : never, far ? c.far : never});
    }
    // When the line is free for a request that comes at `now`.
    Time begins(const Line &l, Time now) {
        traffic.transfers++;
        return std::max(now, l.busy) + (l.hammers ? among_hammers(l) : 0);
    }
    unsigned others(const uint64_t *sharers, unsigned core) const;
    [[gnu::noinline]] Time among_hammers(const Line &l) const;
    // Otherwise contexts would fall into step with each other, as they do nowhere else.
    Time varied(Time way) {
        const uint32_t jitter = machine_.jitter_percent;
        return way * (100 - jitter + random_.below(2 * jitter + 1)) / 100;
    }

    const Machine &machine_;
    engine::Random random_;
    const uintptr_t from_;
    const size_t words_;
    Pages<Line> lines_;
    Pages<std::vector<uint64_t>> sharers_; // of a line, if there are more than 64 cores
    std::vector<uint64_t> sockets_;        // words_ for each core: those of its socket
};

} // namespace ol::simulator
#endif
