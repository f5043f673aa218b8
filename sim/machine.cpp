// SPDX-License-Identifier: MIT
#include "machine.h"

#include <algorithm>

namespace ol::simulator {

Lines::Lines(const Machine &machine, uintptr_t from, size_t size, uint64_t seed)
    : machine_(machine),
      random_(seed),
      from_(from),
      words_((machine.cores() + 63) / 64),
      serving_a_poller_(machine.costs.near * poller_percent / 100),
      until_lost_(machine.costs.near * lost_percent / 100),
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
static Time portion(Time n, Time part, Time all) {
    Time product;

    if (!__builtin_mul_overflow(n, part, &product))
        return product / all;
    return static_cast<Time>(static_cast<unsigned __int128>(n) * part / all);
}

// A closed queue: n cores that think for `period` and are then served for half a transfer each, as
// their requests wait at the home. The queue that an arrival finds, by mean value analysis.
Time Lines::among_hammers(const Line &l) const {
    Time served = machine_.costs.near, wait = 0;

    for (int n = 1; n <= l.hammers; n++) {
        Time stay = served + wait; // for the n-th
        wait = portion(static_cast<Time>(n) * served, stay, stay + l.period);
    }
    return wait;
}

Time Lines::fetch(Line &l, size_t number, const Request &request) {
    uint64_t *sharers = sharers_of(number, l);
    Time start = begins(l, asked(request)), takes = varied(way(l, sharers, request.core));

    l.busy = start + (l.owner != nobody ? takes : serving_a_poller_);
    share(l, sharers, request.core);
    return std::max(request.now, start + takes);
}

// Its request is one of those that wait at the home since the line was written.
Time Lines::read_again(const void *address, unsigned core, Time now) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return now + machine_.costs.hit;
    Line &l = lines_[number];
    Time start = std::max({now, l.busy, l.written}), each = serving_a_poller_;
    if (l.polled_until > start + each)
        start +=
            random_.below(static_cast<uint32_t>(quotient(l.polled_until - start, each))) * each;
    traffic.transfers++;
    share(l, sharers_of(number, l), core);
    return start + until_lost_ + machine_.costs.hit;
}

bool Lines::has_copy(const void *address, unsigned core) {
    size_t number = number_of(address);

    if (number >= lines_.size())
        return true;
    Line &l = lines_[number];
    return owns(l, core) || has(sharers_of(number, l), core);
}

// A core that owns a line which others poll can write it once more before they have it: at once.
Time Lines::take(Line &l, size_t number, Time kept, const Request &request) {
    unsigned core = request.core;
    Time now = request.now;
    uint64_t *sharers = sharers_of(number, l);
    Time start = begins(l, l.pollers ? now : asked(request));
    unsigned copies = std::max(others(sharers, core), static_cast<unsigned>(l.pollers));
    bool is_shared = owns(l, core) || (l.owner == nobody && has(sharers, core));
    Time far = is_shared ? farthest(sharers, core) : way(l, sharers, core);

    if (copies) {
        traffic.invalidations += copies;
        traffic.stores_to_shared++;
    }
    sharers[0] = 0;
    for (size_t w = 1; w < words_; w++)
        sharers[w] = 0;
    l.owner = l.writer = static_cast<int>(core);
    l.busy = start + varied(far) + copies * machine_.costs.invalidate;
    l.written = std::max(now, l.busy) + kept;
    l.polled_until = l.written + static_cast<Time>(l.pollers) * serving_a_poller_;
    return l.written;
}

void Lines::hammer(size_t number, int more, Time period) {
    if (number >= lines_.size())
        return;
    lines_[number].hammers += more;
    lines_[number].period = period;
}

} // namespace ol::simulator
