// SPDX-License-Identifier: MIT
#ifndef OL_SIM_MACHINE_H
#define OL_SIM_MACHINE_H
// The hardware: CPUs in cores in sockets, what operations cost, and where each cache line is.
//
// A line is owned by one core, shared by some, or nowhere. Its home, a part of the caches that all
// cores share, serves one request at a time. A transfer takes two ways: the request's, and the
// answer's; ownership of a line that others share, as long, for the home must hear from them first.
//
// A store invalidates all other copies, and each poller asks for the line again at once,
// whether or not a word has changed. These requests wait at the home until the store is done, so
// that a poller has the line as soon as it is served. The home serves them in any order, and others
// between them: half of them, on average, before a request that comes later. Until the home has
// told the core that wrote the line, that core can write it again.
//
// Cores whose waiters try to write while they wait (tas) have the line in turns, and whoever else
// wants it waits among them.
//
// A core works ahead of what it waits for, and asks for lines before it needs them. That is in vain
// if another core has written the line since.
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

enum class Use : uint8_t { write, change }; // store, atomic operation

struct Request {
    unsigned core;
    Time now;      // when the core needs the line
    Time comes;    // when it comes to the operation: it may ask for the line some time before
    Time in_order; // but not before that, when it last had to wait
};

struct Traffic {
    uint64_t transfers = 0, invalidations = 0, stores_to_shared = 0;
};

class Lines {
public:
    static constexpr size_t bytes = 64;

    Lines(const Machine &machine, uintptr_t from, size_t size, uint64_t seed = 0);

    // When the core has loaded it, or has written it. An atomic operation keeps the line until it
    // is done; a store leaves the buffer when the line has come.
    [[gnu::always_inline]] Time read(const void *address, const Request &request) {
        size_t number = number_of(address);
        Time hit = machine_.costs.hit;
        if (number >= lines_.size())
            return request.now + hit; // not the locks' memory
        Line &l = lines_[number];
        bool has_it =
            (owns(l, request.core) && !l.hammers) || has(sharers_of(number, l), request.core);
        return (has_it ? request.now : fetch(l, number, request)) + hit;
    }
    [[gnu::always_inline]] Time write(const void *address, Use use, const Request &request) {
        Time stored = use == Use::write ? machine_.costs.store : 0;
        Time kept = use == Use::change ? machine_.costs.atomic : 0;
        size_t number = number_of(address);
        if (number >= lines_.size())
            return request.now + stored + kept; // not the locks' memory
        Line &l = lines_[number];
        if (!can_write(l, request.core, request.now))
            return take(l, number, kept, request) + stored;
        l.written = std::max(l.written, request.now + kept);
        return request.now + stored + kept;
    }

    // The load of a poller whose copy was invalidated.
    Time read_again(const void *address, unsigned core, Time now);
    bool has_copy(const void *address, unsigned core);

    // More waiters, or fewer, that poll the line with this number.
    void poll(size_t number, int more) {
        if (number < lines_.size())
            lines_[number].pollers += more;
    }
    // The same, of those that write it once per `period` while they wait.
    void hammer(size_t number, int more, Time period);
    size_t number_of(const void *address) const {
        return (reinterpret_cast<uintptr_t>(address) - from_) / bytes;
    }

    Traffic traffic;

private:
    struct alignas(bytes) Line {
        Time busy = 0;                       // until then the home serves others
        Time written = 0;                    // last
        Time polled_until = 0;               // the home serves pollers
        Time period = 0;                     // of each of the hammers
        uint64_t sharers = 0;                // up to 64 cores
        int owner = nobody, writer = nobody; // now; who wrote it last
        int pollers = 0, hammers = 0;
    };
    static constexpr int nobody = -1;

    // It travels to that core, which then has read it, or has written it.
    [[gnu::noinline]] Time fetch(Line &l, size_t number, const Request &request);
    [[gnu::noinline]] Time take(Line &l, size_t number, Time kept, const Request &request);

    // In hundredths of `near`: what a poller's request takes of the home's time, and how long a
    // core keeps a line that it has written and others wait for. No publication says it: they were
    // fitted to rates of six locks on 16 CPUs (docs/results/simulator_validation.md).
    static constexpr Time poller_percent = 75, lost_percent = 12;

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
        return 2 * (has(socket_of(from), to) ? machine_.costs.near : machine_.costs.far);
    }
    bool owns(const Line &l, unsigned core) const { return l.owner == static_cast<int>(core); }
    // Who has just written it can do so again, until the home has told it that others want the
    // line.
    bool can_write(const Line &l, unsigned core, Time now) const {
        if (owns(l, core) && !(l.hammers | l.pollers))
            return true;
        return l.writer == static_cast<int>(core) && now <= l.written + until_lost_ &&
               (l.owner == nobody || owns(l, core));
    }
    Time asked(const Request &r) const {
        Time earliest = r.comes - std::min(r.comes, machine_.costs.ahead);
        return std::max(earliest, std::min(r.in_order, r.comes));
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
        return std::min({c.memory, near ? 2 * c.near : never, far ? 2 * c.far : never});
    }
    // To the farthest core that has a copy.
    Time farthest(const uint64_t *sharers, unsigned core) const {
        const uint64_t *here = socket_of(core);
        for (size_t w = 0; w < words_; w++)
            if (sharers[w] & ~here[w])
                return 2 * machine_.costs.far;
        return 2 * machine_.costs.near;
    }
    // When the home begins to serve a request that came at `asked`.
    Time begins(const Line &l, Time asked) {
        traffic.transfers++;
        Time free = std::max({asked, l.busy, l.written});
        if (l.polled_until > free)
            free += (l.polled_until - free) / 2;
        return free + (l.hammers ? among_hammers(l) : 0);
    }
    void share(Line &l, uint64_t *sharers, unsigned core) {
        if (l.owner != nobody)
            add(sharers, static_cast<unsigned>(l.owner));
        l.owner = nobody;
        add(sharers, core);
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
    const Time serving_a_poller_, until_lost_;
    Pages<Line> lines_;
    Pages<std::vector<uint64_t>> sharers_; // of a line, if there are more than 64 cores
    std::vector<uint64_t> sockets_;        // words_ for each core: those of its socket
};

} // namespace ol::simulator
#endif
