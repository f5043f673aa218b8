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
      sharers_(words_ == 1 ? 0 : lines_.size(), words_) {
    for (unsigned core = 0; core < machine.cores(); core++) {
        unsigned socket = machine.socket_of_core(core);
        sockets_.push_back(socket);
        members_.resize((socket + 1) * words_);
        add(&members_[socket * words_], core);
    }
}

// From the owner, else from the nearest core that has a copy, else from memory.
Time Lines::way(const Line &l, const uint64_t *sharers, unsigned core) const {
    if (l.owner != nobody)
        return distance(static_cast<unsigned>(l.owner), core);
    return nearest(sharers, core);
}

Time Lines::nearest(const uint64_t *sharers, unsigned core) const {
    const uint64_t *here = &members_[sockets_[core] * words_];
    uint64_t near = 0, far = 0;

    for (size_t w = 0; w < words_; w++) {
        near |= sharers[w] & here[w];
        far |= sharers[w] & ~here[w];
    }
    Time least = machine_.costs.memory;
    if (near)
        least = std::min(least, machine_.costs.near);
    if (far)
        least = std::min(least, machine_.costs.far);
    return least;
}

unsigned Lines::others(const uint64_t *sharers, unsigned core) const {
    unsigned n = 0;

    for (size_t w = 0; w < words_; w++)
        n += static_cast<unsigned>(std::popcount(sharers[w]));
    return n - has(sharers, core);
}

// A closed queue: n cores that think for `period` and are then served for a transfer each. The
// queue that an arrival finds, by mean value analysis.
Time Lines::among_hammers(const Line &l) const {
    Time served = machine_.costs.near, wait = 0;

    for (int n = 1; n <= l.hammers; n++) {
        Time stay = served + wait; // for the n-th
        auto queue = static_cast<unsigned __int128>(n) * stay * served / (stay + l.period);
        wait = static_cast<Time>(queue);
    }
    return wait;
}

Time Lines::read(Line &l, uint64_t *sharers, unsigned core, Time start) {
    Time done = start + varied(way(l, sharers, core)) + machine_.costs.hit;

    l.busy = start + machine_.costs.occupied;
    if (l.owner != nobody)
        add(sharers, static_cast<unsigned>(l.owner));
    l.owner = nobody;
    add(sharers, core);
    return done;
}

Time Lines::use(const void *address, unsigned core, Use use, Time now) {
    size_t number = number_of(address);
    const Costs &c = machine_.costs;
    Time own = use == Use::read ? c.hit : use == Use::write ? c.store : c.atomic;

    if (number >= lines_.size())
        return now + own; // not the locks' memory
    Line &l = lines_[number];
    uint64_t *sharers = sharers_of(number, l);
    bool mine = l.owner == static_cast<int>(core) && !l.hammers;
    if (mine || (use == Use::read && has(sharers, core)))
        return now + own;

    Time start = std::max(now, l.busy) + (l.hammers ? among_hammers(l) : 0);
    traffic.transfers++;
    if (use == Use::read)
        return read(l, sharers, core, start);
    unsigned copies = others(sharers, core);
    bool upgrades = l.owner == nobody && has(sharers, core);
    Time takes = varied(upgrades ? c.upgrade : way(l, sharers, core)) + copies * c.invalidate;
    if (copies) {
        traffic.invalidations += copies;
        traffic.stores_to_shared++;
    }
    std::fill(sharers, sharers + words_, 0);
    l.owner = static_cast<int>(core);
    l.busy = start + takes;
    return l.busy + own;
}

void Lines::hammer(const void *address, int more, Time period) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return;
    lines_[number].hammers += more;
    lines_[number].period = period;
}

} // namespace ol::simulator
