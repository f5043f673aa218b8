// SPDX-License-Identifier: MIT
#include "machine.h"

#include <algorithm>

namespace ol::simulator {

Lines::Lines(const Machine &machine, uintptr_t from, size_t size, uint64_t seed)
    : machine_(machine),
      random_(seed),
      from_(from),
      words_((machine.cores() + 63) / 64),
      lines_(size / bytes),
      sharers_(words_ == 1 ? 0 : lines_.size()) {
    sockets_.resize(machine.cores() * words_);
    for (unsigned a = 0; a < machine.cores(); a++)
        for (unsigned b = 0; b < machine.cores(); b++)
            if (machine.socket_of_core(a) == machine.socket_of_core(b))
                add(&sockets_[a * words_], b);
}

unsigned Lines::others(const uint64_t *sharers, unsigned core) const {
    unsigned n = 0;

    for (size_t w = 0; w < words_; w++)
        if (sharers[w]) // a call, where the CPU need not know the instruction
            n += static_cast<unsigned>(std::popcount(sharers[w]));
    return n - has(sharers, core);
}

// n * part / all. What fits in 64 bits, as nearly everything does, is divided in much less time.
static Time share(Time n, Time part, Time all) {
    Time product;

    if (!__builtin_mul_overflow(n, part, &product))
        return product / all;
    return static_cast<Time>(static_cast<unsigned __int128>(n) * part / all);
}

// A closed queue: n cores that think for `period` and are then served for a transfer each. The
// queue that an arrival finds, by mean value analysis.
Time Lines::among_hammers(const Line &l) const {
    Time served = machine_.costs.near, wait = 0;

    for (int n = 1; n <= l.hammers; n++) {
        Time stay = served + wait; // for the n-th
        wait = share(static_cast<Time>(n) * served, stay, stay + l.period);
    }
    return wait;
}

Time Lines::fetch(Line &l, size_t number, unsigned core, Time now) {
    uint64_t *sharers = sharers_of(number, l);
    Time start = begins(l, now);
    Time done = start + varied(way(l, sharers, core));

    l.busy = start + machine_.costs.occupied;
    if (l.owner != nobody)
        add(sharers, static_cast<unsigned>(l.owner));
    l.owner = nobody;
    add(sharers, core);
    return done;
}

Time Lines::take(Line &l, size_t number, unsigned core, Time now) {
    const Costs &c = machine_.costs;
    uint64_t *sharers = sharers_of(number, l);
    Time start = begins(l, now);
    unsigned copies = others(sharers, core);
    bool upgrades = l.owner == nobody && has(sharers, core);
    Time takes = varied(upgrades ? c.upgrade : way(l, sharers, core)) + copies * c.invalidate;

    if (copies) {
        traffic.invalidations += copies;
        traffic.stores_to_shared++;
    }
    sharers[0] = 0;
    for (size_t w = 1; w < words_; w++)
        sharers[w] = 0;
    l.owner = static_cast<int>(core);
    l.busy = start + takes;
    return l.busy;
}

void Lines::hammer(const void *address, int more, Time period) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return;
    lines_[number].hammers += more;
    lines_[number].period = period;
}

} // namespace ol::simulator
