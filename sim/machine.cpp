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
    sockets_.resize(machine.cores() * words_);
    for (unsigned a = 0; a < machine.cores(); a++)
        for (unsigned b = 0; b < machine.cores(); b++)
            if (machine.socket_of_core(a) == machine.socket_of_core(b))
                add(&sockets_[a * words_], b);
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

Time Lines::read(const void *address, const Request &request) {
    size_t number = number_of(address);
    const Costs &c = machine_.costs;
    auto [core, now, asked] = request;

    if (number >= lines_.size())
        return now + c.hit; // not the locks' memory
    Line &l = lines_[number];
    uint64_t *sharers = sharers_of(number, l);
    if ((owns(l, core) && !l.hammers) || has(sharers, core))
        return now + c.hit;
    Time start = begins(l, asked), takes = varied(way(l, sharers, core));
    l.busy = start + (l.owner != nobody ? takes : serving_a_poller());
    share(l, sharers, core);
    return std::max(now, start + takes) + c.hit;
}

// Its request is one of those that wait at the home since the line was written.
Time Lines::read_again(const void *address, unsigned core, Time now) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return now + machine_.costs.hit;
    Line &l = lines_[number];
    Time start = std::max({now, l.busy, l.written}), each = serving_a_poller();
    if (l.polled_until > start + each)
        start += random_.below(static_cast<uint32_t>((l.polled_until - start) / each)) * each;
    traffic.transfers++;
    share(l, sharers_of(number, l), core);
    return start + until_lost() + machine_.costs.hit;
}

bool Lines::has_copy(const void *address, unsigned core) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return true;
    Line &l = lines_[number];
    return owns(l, core) || has(sharers_of(number, l), core);
}

// A core that owns a line which others poll can write it once more before they have it: at once.
// An atomic operation keeps the line until it is done; a store leaves the buffer when it has come.
Time Lines::write(const void *address, Use use, const Request &request) {
    size_t number = number_of(address);
    const Costs &c = machine_.costs;
    Time stored = use == Use::write ? c.store : 0, kept = use == Use::change ? c.atomic : 0;
    auto [core, now, asked] = request;

    if (number >= lines_.size())
        return now + stored + kept; // not the locks' memory
    Line &l = lines_[number];
    if (can_write(l, core, now)) {
        l.written = std::max(l.written, now + kept);
        return now + stored + kept;
    }

    uint64_t *sharers = sharers_of(number, l);
    Time start = begins(l, l.pollers ? now : asked);
    unsigned copies = std::max(others(sharers, core), static_cast<unsigned>(l.pollers));
    bool is_shared = owns(l, core) || (l.owner == nobody && has(sharers, core));
    Time far = is_shared ? farthest(sharers, core) : way(l, sharers, core);
    if (copies) {
        traffic.invalidations += copies;
        traffic.stores_to_shared++;
    }
    std::fill(sharers, sharers + words_, 0);
    l.owner = l.writer = static_cast<int>(core);
    l.busy = start + varied(far) + copies * c.invalidate;
    l.written = std::max(now, l.busy) + kept;
    l.polled_until = l.written + static_cast<Time>(l.pollers) * serving_a_poller();
    return l.written + stored;
}

void Lines::poll(const void *address, int more) {
    size_t number = number_of(address);

    if (number < lines_.size())
        lines_[number].pollers += more;
}

void Lines::hammer(const void *address, int more, Time period) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return;
    lines_[number].hammers += more;
    lines_[number].period = period;
}

} // namespace ol::simulator
